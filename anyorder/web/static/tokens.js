// The sequence as a row of selectable positions, with the query window, the key windows and the tokens that followed them
// marked, and a bar of attention above each.
import { element, symbol } from "./format.js";

const WORDS = { query: "in the query window", key: "in a key window", match: "followed the window" };
// The weight of a full bar if all weights are smaller, so that noise stays small.
const FULL = 0.2;

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
          element("b", {}, element("i")),
          symbol(symbols[token]),
        ),
      ),
    );
    this.refocus = focused;
  }

  // `sets` has the positions of each kind, `weights` the attention from n to every position up to it.
  mark(position, sets, weights) {
    const kinds = Object.entries(sets).map(([name, positions]) => [name, new Set(positions)]),
      moved = this.place.contains(document.activeElement) || this.refocus,
      most = Math.max(FULL, ...weights);
    this.position = position;
    this.refocus = false;
    [...this.place.children].forEach((option, at) => {
      const own = kinds.filter(([, positions]) => positions.has(at)).map(([name]) => name);
      for (const [name] of kinds) option.classList.toggle(name, own.includes(name));
      option.classList.toggle("unread", at > position);
      option.setAttribute("aria-selected", at === position ? "true" : "false");
      option.tabIndex = at === position ? 0 : -1;
      option.setAttribute("aria-description", own.map((name) => WORDS[name]).join(", "));
      option.firstChild.firstChild.style.height = `${(100 * (weights[at] ?? 0)) / most}%`;
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
