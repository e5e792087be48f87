// The proof at one position, a step at a time. Controls are created once, so that they keep the focus.
import { element, math, number, plain, replaced, symbol } from "./format.js";
import { figure } from "./figure.js";
import { bars, keys, overlay } from "./charts.js";
import { parsed } from "./svg.js";

export class Story {
  constructor(steps, place, turns, go) {
    this.steps = steps;
    this.place = place;
    this.turns = turns;
    this.go = go;
    for (const [by, button] of [
      [-1, turns.previous],
      [1, turns.next],
    ])
      button.addEventListener("click", () => this.turn(by));
  }

  // Move by one step; false at the end.
  turn(by) {
    const to = this.at + by,
      there = this.story && to >= 0 && to < this.story.steps.length;
    if (there) this.go(to);
    return Boolean(there);
  }

  show(story, step) {
    const at = Math.min(Math.max(step, 0), story.steps.length - 1),
      shown = story.steps[at];
    this.story = story;
    this.at = at;
    this.#list(story.steps);
    [...this.steps.children].forEach((entry, place) => {
      const button = entry.firstChild;
      if (place === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    this.turns.previous.setAttribute("aria-disabled", String(at === 0));
    this.turns.next.setAttribute("aria-disabled", String(at === story.steps.length - 1));
    this.turns.count.textContent = `${at + 1} of ${story.steps.length}`;
    replaced(
      this.place,
      element(
        "div",
        { class: "words" },
        element("h3", {}, math(`${at + 1}. ${shown.title}`)),
        element("p", {}, math(shown.text)),
        shown.here ? element("p", { class: "here", "data-hides": "counts" }, math(visible(shown.here))) : null,
        element(
          "p",
          { class: "equation", tabindex: "0", role: "group", "aria-label": "Equation" },
          math(shown.equation),
        ),
        element("p", { class: "where" }, element("small", {}, math(`Where: ${shown.source}`))),
        element(
          "details",
          { class: "weights" },
          element("summary", {}, "Weights of this step"),
          element(
            "ul",
            {},
            ...shown.weights.map((weight) =>
              element(
                "li",
                {},
                element("code", {}, weight.name),
                ` ${weight.shape.length ? `(${weight.shape.join(" × ")})` : ""}: `,
                math(weight.does),
              ),
            ),
          ),
        ),
      ),
      element("div", { class: "parts" }, ...shown.parts.flatMap((part) => drawn(part, story.position))),
    );
  }

  #list(steps) {
    const titles = JSON.stringify(steps.map((step) => step.title));
    if (titles === this.titles) return;
    this.titles = titles;
    replaced(
      this.steps,
      ...steps.map((step, place) =>
        element("li", {}, element("button", { type: "button", on: { click: () => this.go(place) } }, math(step.title))),
      ),
    );
  }
}

// Spaces and line ends in a sentence of the API are tokens between other tokens; show them as symbols.
const visible = (sentence) =>
  sentence.replace(/[\n\t\r]/g, (c) => symbol(c)).replace(/(^|[ ])[ ](?=[ ]|[.:,]|$)/g, "$1␣");

function drawn(part, position) {
  const labels = part.labels.map(symbol),
    title = `${plain(part.name)} at n = ${position}`;
  if (part.kind === "overlay") return part.over.map((over) => laid(part, over, labels));
  const draw = () =>
    part.kind === "bars"
      ? bars({
          title,
          labels,
          series: [{ name: part.name, colour: "model", values: part.values }],
          line: part.line,
          marks: part.marks,
          height: 130,
          width: labels.length < 2 ? 130 : 300,
        })
      : keys({ title, labels, values: part.values, marks: part.marks, first: part.first, unit: part.unit });
  const made = framed(
    part.name,
    draw,
    plain(part.read),
    part.kind === "keys" ? "whole" : labels.length < 2 ? "narrow" : "broad",
  );
  if (/output/.test(part.read)) made.dataset.hides = "prediction";
  return made;
}

// u_n drawn over a key: equal for a match, nearly equal for a near miss.
function laid(part, over, labels) {
  const match = over.kind === "match",
    name = `${part.name} over v_${over.position}: ${match ? "a match" : "the nearest miss"}`,
    cosine = part.values.reduce((sum, value, at) => sum + value * over.values[at], 0),
    word = cosine > 1 - 1e-12 ? "Equal." : cosine > 0.75 ? "Nearly equal." : "Different.";
  const draw = () =>
    overlay({
      title: plain(name),
      labels,
      over: part.values.map((value) => value ?? 0),
      under: over.values.map((value) => value ?? 0),
      names: ["uₙ", `v of ${over.word.map(symbol).join(" ")}`],
      colour: match ? "green" : "vermillion",
    });
  const made = framed(name, draw, plain(part.read), "broad"),
    score = over.score === null ? "" : ` Score ${number(over.score)} ${part.unit}.`;
  made.classList.add(match ? "match" : "miss");
  made.append(element("p", { class: "under" }, word + score));
  return made;
}

function framed(name, draw, read, width) {
  const made = figure(name, element("div", { class: "scroll", title: read }, parsed(draw())), draw);
  made.classList.add(width);
  return made;
}
