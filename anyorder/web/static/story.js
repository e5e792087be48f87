// The proof at one position, a step at a time.
import { element, math, symbol } from "./format.js";
import { figure } from "./figure.js";
import { bars, keys, parsed } from "./svg.js";

export class Story {
  constructor(steps, place, go) {
    this.steps = steps;
    this.place = place;
    this.go = go;
  }

  show(story, step) {
    this.story = story;
    const at = Math.min(Math.max(step, 0), story.steps.length - 1),
      shown = story.steps[at];
    this.steps.replaceChildren(
      ...story.steps.map((one, place) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", "aria-current": place === at ? "step" : null, on: { click: () => this.go(place) } },
            math(one.title),
          ),
        ),
      ),
    );
    const turn = (to, name) =>
      element(
        "button",
        { type: "button", disabled: to < 0 || to >= story.steps.length, on: { click: () => this.go(to) } },
        name,
      );
    this.place.replaceChildren(
      element(
        "div",
        {},
        element("h3", {}, math(`${at + 1}. ${shown.title}`)),
        element("p", {}, math(shown.text)),
        shown.here ? element("p", { class: "here" }, math(visible(shown.here))) : null,
        element("p", { class: "equation" }, math(shown.equation)),
        element("p", {}, element("small", {}, math(`Where: ${shown.source}`))),
        element("small", {}, "Weights that do it"),
        element(
          "ul",
          { class: "weights" },
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
        element("div", { class: "turn" }, turn(at - 1, "Previous step"), turn(at + 1, "Next step")),
      ),
      element("div", { class: "parts" }, ...shown.parts.map((part) => drawn(part, story.position))),
    );
  }
}

// Spaces and line ends in a sentence of the API are those of tokens between other tokens.
const visible = (sentence) =>
  sentence.replace(/[\n\t\r]/g, (c) => symbol(c)).replace(/(^|[ ])[ ](?=[ ]|[.:,]|$)/g, "$1␣");

function drawn(part, position) {
  const labels = part.labels.map(symbol),
    title = `${part.name} at n = ${position}`;
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
      : keys({ title, labels, values: part.values, marks: part.marks, first: part.first });
  const made = figure(part.name, element("div", { class: "scroll", title: part.read }, parsed(draw())), draw);
  made.classList.add(part.kind === "keys" ? "whole" : labels.length < 2 ? "narrow" : "broad");
  return made;
}
