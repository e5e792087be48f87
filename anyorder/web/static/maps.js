// The attention maps: one for each layer with a choice of heads, then pseudo-attention and the difference.
import { element, number, replaced } from "./format.js";
import { figure } from "./figure.js";
import { HeatMap } from "./heatmap.js";

// Longest sequence whose maps are loaded at once; maps of longer ones are loaded when they scroll into view.
const SHORT = 128;

export class Maps {
  // load(which) returns a matrix; change(changes) requests another state.
  constructor({ place, readout, dialog }, load, change) {
    Object.assign(this, { place, readout, dialog, load, change });
    this.panels = [];
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#fill(this.#panel(target));
    });
    dialog.querySelector("button").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      this.large = null;
    });
  }

  // Resolves when all maps in view are drawn.
  async show(view, labels, heads) {
    const chosen = heads.split(".").map(Number);
    this.view = view;
    this.labels = labels;
    this.panels = view.model.heads.map((count, layer) => {
      const head = Math.min(chosen[layer] || 1, count);
      return this.#made(`Layer ${layer + 1}${count < 2 ? "" : `, head ${head}`}`, [layer + 1, head], {
        extra: count < 2 ? null : this.#choice(layer, head, chosen),
      });
    });
    this.panels.push(
      this.#made("Pseudo-attention", "pseudo"),
      this.#made("Difference", "difference", { signed: true }),
    );
    this.seen.disconnect();
    replaced(this.place, ...this.panels.map((panel) => panel.figure));
    if (labels.length > SHORT) for (const { map } of this.panels) this.seen.observe(map.canvas);
    else await Promise.all(this.panels.map((panel) => this.#fill(panel)));
  }

  mark(row, matches) {
    this.marks = [row, matches];
    for (const map of this.#all()) map.mark(row, matches);
  }

  repaint() {
    for (const map of this.#all()) map.repaint();
  }

  #all() {
    return [...this.panels.map((panel) => panel.map), ...(this.large ? [this.large] : [])];
  }

  #panel(canvas) {
    return this.panels.find((panel) => panel.map.canvas === canvas);
  }

  #made(name, which, { extra = null, signed = false } = {}) {
    const map = new HeatMap(
        name,
        this.#on(() => this.#enlarge(panel)),
      ),
      enlarge = element(
        "button",
        { type: "button", "aria-label": `Enlarge ${name}`, on: { click: () => this.#enlarge(panel) } },
        "⤢",
      );
    const panel = { name, which, map, signed, matrix: null };
    panel.figure = figure(name, map.canvas, () => map.svg(), element("span", { class: "extra" }, extra, enlarge));
    map.expect(this.labels.length);
    return panel;
  }

  #on(click) {
    return {
      point: (row, column) => this.#point(row, column),
      choose: (row) => this.change({ position: Math.max(row - this.view.begins, 0) }),
      click,
    };
  }

  async #fill(panel) {
    if (panel.matrix || panel.asked) return;
    panel.asked = true;
    const view = this.view,
      matrix = await this.load(panel.which);
    panel.asked = false;
    if (!matrix || view !== this.view) return;
    panel.matrix = matrix;
    panel.map.show(matrix, this.labels, -view.begins, { signed: panel.signed });
    if (this.marks) panel.map.mark(...this.marks);
  }

  async #enlarge(panel) {
    await this.#fill(panel);
    if (!panel.matrix) return;
    this.large = new HeatMap(panel.name, this.#on(null));
    this.dialog.querySelector("h2").textContent = panel.name;
    this.dialog.querySelector(".large").replaceChildren(this.large.canvas);
    this.dialog.showModal();
    this.large.show(panel.matrix, this.labels, -this.view.begins, { signed: panel.signed });
    if (this.marks) this.large.mark(...this.marks);
    this.large.canvas.focus();
  }

  #choice(layer, head, chosen) {
    const counts = this.view.model.heads;
    return element(
      "select",
      {
        "aria-label": `head of layer ${layer + 1}`,
        on: {
          change: (event) => {
            const next = counts.map((_, one) => (one === layer ? event.target.value : chosen[one] || 1));
            this.change({ heads: next.join(".") });
          },
        },
      },
      ...Array.from({ length: counts[layer] }, (_, one) =>
        element("option", { value: one + 1, selected: one + 1 === head }, `head ${one + 1}`),
      ),
    );
  }

  #point(row, column) {
    for (const map of this.#all()) map.point(row === null ? null : [row, column]);
    if (row === null) return;
    const first = -this.view.begins,
      values = this.panels
        .filter((panel) => panel.matrix)
        .map((panel) => `${panel.name.toLowerCase()} ${number(panel.matrix.at(row, column))}`)
        .join(" · ");
    const said = `query ${row + first} (${this.labels[row]}) → key ${column + first} (${this.labels[column]}): ${values}`;
    this.readout.textContent = said;
    this.dialog.querySelector("p").textContent = said;
  }
}
