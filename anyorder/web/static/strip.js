// The architecture as a row of boxes, tokens → layer 1 → MLP → … → prediction; the parts of the current step are highlighted.
import { element } from "./format.js";

export class Strip {
  constructor(place) {
    this.place = place;
  }

  show(model) {
    const boxes = [["tokens", "tokens", ""]];
    model.heads.forEach((heads, layer) => {
      boxes.push([`layers.${layer}.heads`, `layer ${layer + 1}`, heads > 1 ? `${heads} heads` : "1 head"]);
      if (model.mlp[layer])
        boxes.push([`layers.${layer}.mlp`, "MLP", `${model.mlp[layer]} layer${model.mlp[layer] > 1 ? "s" : ""}`]);
    });
    boxes.push(["prediction", "prediction", ""]);
    this.parts = boxes.map(([part]) => part);
    this.place.replaceChildren(
      ...boxes.map(([, name, detail]) => element("li", {}, name, detail ? element("small", {}, detail) : null)),
    );
  }

  // A step highlights the parts whose weights it names, and marks the parts before them as done.
  light(step) {
    const named = step.weights.map((weight) => weight.name),
      lit = this.parts.map(
        (part) =>
          named.some((name) => name.startsWith(part)) ||
          (part === "prediction" && named.some((name) => name.startsWith("output"))) ||
          (part === "prediction" && step.parts.some((one) => one.read === "output of the model")),
      ),
      first = lit.indexOf(true);
    [...this.place.children].forEach((box, at) => {
      box.classList.toggle("lit", lit[at]);
      box.classList.toggle("done", at < first);
      if (lit[at]) box.setAttribute("aria-current", "true");
      else box.removeAttribute("aria-current");
    });
  }
}
