// The sequence as a row of positions to choose from, with the window and the matches of the chosen one.
import { element, symbol } from "./format.js";

export class Tokens {
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    place.addEventListener("click", (event) => {
      const at = event.target.closest("[role=option]");
      if (at) choose(Number(at.dataset.position));
    });
    place.addEventListener("keydown", (event) => this.#key(event));
  }

  show(tokens, symbols) {
    this.count = tokens.length;
    this.place.replaceChildren(
      ...tokens.map((token, position) =>
        element(
          "div",
          {
            role: "option",
            "data-position": position,
            tabindex: "-1",
            "aria-label": `position ${position}, ${symbol(symbols[token])}`,
            title: `position ${position}`,
          },
          symbol(symbols[token]),
        ),
      ),
    );
  }

  mark(position, window, matches) {
    const inWindow = new Set(window),
      matched = new Set(matches);
    this.position = position;
    [...this.place.children].forEach((option, at) => {
      option.classList.toggle("window", inWindow.has(at));
      option.classList.toggle("match", matched.has(at));
      option.setAttribute("aria-selected", at === position ? "true" : "false");
      option.tabIndex = at === position ? 0 : -1;
      option.setAttribute(
        "aria-description",
        [inWindow.has(at) ? "in the window" : "", matched.has(at) ? "matches" : ""].filter(Boolean).join(", "),
      );
    });
    // Only the row of tokens scrolls, not the page.
    const chosen = this.place.children[position],
      top = chosen.offsetTop - this.place.offsetTop;
    if (top < this.place.scrollTop || top + chosen.offsetHeight > this.place.scrollTop + this.place.clientHeight)
      this.place.scrollTop = top - this.place.clientHeight / 2;
  }

  #key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 };
    let to =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? this.count - 1
          : event.key in moves
            ? this.position + moves[event.key]
            : null;
    if (to === null) return;
    event.preventDefault();
    to = Math.min(Math.max(to, 0), this.count - 1);
    this.choose(to);
    this.place.children[to].focus();
  }
}
