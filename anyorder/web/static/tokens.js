// The sequence as a row of positions to choose from, with what the step is about, the window and its matches.
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
    const focused = this.place.contains(document.activeElement);
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
    this.refocus = focused;
  }

  // `about` are the positions that the step speaks of; they are the ones that are shaded.
  mark(position, window, matches, about) {
    const sets = { window: new Set(window), match: new Set(matches), about: new Set(about) },
      words = { window: "in the window", match: "matches", about: "what this step is about" },
      moved = this.place.contains(document.activeElement) || this.refocus;
    this.position = position;
    this.refocus = false;
    [...this.place.children].forEach((option, at) => {
      for (const name of Object.keys(sets)) option.classList.toggle(name, sets[name].has(at));
      option.setAttribute("aria-selected", at === position ? "true" : "false");
      option.tabIndex = at === position ? 0 : -1;
      const said = Object.keys(sets).filter((name) => sets[name].has(at));
      option.setAttribute("aria-description", said.map((name) => words[name]).join(", "));
    });
    // Only the row of tokens scrolls, not the page.
    const chosen = this.place.children[position],
      top = chosen.offsetTop - this.place.offsetTop;
    if (top < this.place.scrollTop || top + chosen.offsetHeight > this.place.scrollTop + this.place.clientHeight)
      this.place.scrollTop = top - this.place.clientHeight / 2;
    if (moved) chosen.focus({ preventScroll: true });
  }

  #key(event) {
    const to = { Home: 0, End: this.count - 1, PageUp: this.position - 10, PageDown: this.position + 10 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(Math.min(Math.max(to, 0), this.count - 1));
  }
}
