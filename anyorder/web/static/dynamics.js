// The page that plays gradient descent: Algorithm 1 and 2 on the reduced model.
import { backend } from "./backend.js";
import { element, list, math, number } from "./format.js";
import { figure } from "./figure.js";
import { bars } from "./charts.js";
import { curves } from "./curves.js";
import { parsed } from "./svg.js";

const STAGES = {
  1.1: [
    "Stage 1: where to look",
    "p ← p - η_1 ∇_p L, with a_2 small and fixed. The gradient is largest at offset 1: attention goes to the token before.",
    "Algorithm 1, stage 1; App. C",
  ],
  1.2: [
    "Stage 2: how sharply",
    "a_2 ← a_2 - η_2 ∂L/∂a_2, with p fixed and norms switched on. The second layer sharpens on the matches.",
    "Algorithm 1, stage 2; App. C",
  ],
  2.1: [
    "Preconditioned steps",
    "p ← p - η D_t^{-1} ∇_p L: the offsets of the window move together, all others fall behind. Uniform weights tell apart bags of tokens, not their order (E8).",
    "Algorithm 2; App. D",
  ],
};

export class DynamicsPage {
  constructor(place, work, change) {
    this.place = place;
    this.work = work;
    this.change = change;
    this.timer = null;
    this.frame = 0;
  }

  async show(state) {
    if (!this.built) this.#build();
    state = { ...state, run: state.run || this.first };
    this.#fill(state);
    const run =
      state.run === "fresh"
        ? {
            kind: "fresh",
            algorithm: state.algorithm,
            order: state.algorithm === 1 ? 1 : state.chainsOrder,
            alphabet_size: state.symbols,
            length: state.length,
            steps: state.steps,
            seed: state.seed,
          }
        : { kind: "stored", path: state.run };
    const key = JSON.stringify(run);
    if (key !== this.key) {
      this.#pause();
      this.key = null;
      this.stage.classList.add("stale");
      const film = await this.work.do(
        (signal) => backend.dynamics({ run }, signal),
        "Running gradient descent; the first time it is compiled for half a minute…",
        "long",
      );
      if (film === undefined) return false;
      this.film = film;
      this.key = key;
      this.slider.max = film.steps.length - 1;
    }
    this.stage.classList.remove("stale");
    this.frame = Math.min(Math.max(state.frame, 0), this.film.steps.length - 1);
    this.#draw();
    return true;
  }

  repaint() {
    if (this.film) this.#draw();
  }

  // One frame on or back, for the keyboard.
  move(by) {
    if (!this.film) return;
    this.#pause();
    const to = Math.min(Math.max(this.frame + by, 0), this.film.steps.length - 1);
    this.change({ frame: to }, { typing: "frame" });
  }

  #build() {
    this.built = true;
    const { limits, stored, features } = this.options,
      films = stored.filter((entry) => entry.kind === "trajectory"),
      fresh = features.includes("fresh");
    this.first = films[0]?.path ?? "fresh";
    const field = (name, label, least, most) =>
      element("label", {}, label, element("input", { id: `dynamics-${name}`, type: "number", min: least, max: most }));
    const form = element(
      "form",
      {
        "aria-label": "Run",
        autocomplete: "off",
        novalidate: true,
        on: {
          submit: (event) => {
            event.preventDefault();
            this.#ask();
          },
        },
      },
      element(
        "fieldset",
        {},
        element("legend", {}, "Run"),
        element(
          "label",
          {},
          "Which",
          element(
            "select",
            { id: "dynamics-run" },
            ...films.map((entry) => element("option", { value: entry.path }, entry.title)),
            fresh ? element("option", { value: "fresh" }, "a fresh, short run") : null,
          ),
        ),
        element(
          "div",
          { id: "fresh" },
          element(
            "label",
            {},
            "Algorithm",
            element(
              "select",
              { id: "dynamics-algorithm" },
              element("option", { value: "1" }, "1: two stages, order 1"),
              element("option", { value: "2" }, "2: preconditioned, any order"),
            ),
          ),
          element("div", { class: "row" }, field("chainsOrder", "Order k", 1, 4), field("symbols", "Symbols S", 2, 8)),
          element(
            "div",
            { class: "row" },
            field("length", "Length T", 4, limits.length),
            field("steps", "Steps a stage", 1, limits.steps),
          ),
          field("seed", "Seed", 0, 2 ** 31 - 1),
          element("button", { type: "submit", id: "dynamics-go" }, "Run"),
        ),
      ),
      element("section", { id: "dynamics-standing", "aria-label": "Where the run ends" }),
    );
    form.addEventListener("input", () => this.#enable());
    form.querySelector("#dynamics-run").addEventListener("change", (event) => {
      if (event.target.value !== "fresh") this.#ask();
    });
    this.playing = element(
      "button",
      { type: "button", id: "play", on: { click: () => (this.timer ? this.#stop() : this.#play()) } },
      "Play",
    );
    this.slider = element("input", {
      type: "range",
      id: "frame",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Frame",
      on: {
        input: () => {
          this.#pause();
          this.frame = Number(this.slider.value);
          this.#draw();
        },
        change: () => this.change({ frame: this.frame }, { typing: "frame" }),
      },
    });
    this.told = element("output", { id: "frame-step", for: "frame" });
    this.charts = element("div", { class: "charts" });
    this.about = element("div", { id: "dynamics-about" });
    this.stage = element(
      "div",
      { id: "dynamics-stage" },
      element(
        "section",
        { "aria-labelledby": "dynamics-title" },
        element("h2", { id: "dynamics-title" }, "Gradient descent finds the induction head"),
        element("div", { class: "player" }, this.playing, this.slider, this.told),
        this.about,
        this.charts,
      ),
    );
    this.place.replaceChildren(form, this.stage);
  }

  #fill(state) {
    for (const name of ["run", "algorithm", "chainsOrder", "symbols", "length", "steps", "seed"]) {
      const field = document.getElementById(`dynamics-${name}`);
      if (document.activeElement !== field) field.value = state[name];
    }
    this.#enable();
  }

  #enable() {
    const field = (name) => document.getElementById(`dynamics-${name}`),
      first = field("algorithm").value === "1";
    document.getElementById("fresh").hidden = field("run").value !== "fresh";
    field("chainsOrder").disabled = first;
    if (first) field("chainsOrder").value = 1; // Algorithm 1 is about order 1
  }

  #ask() {
    const value = (name) => document.getElementById(`dynamics-${name}`).value;
    const numbers = Object.fromEntries(
      ["algorithm", "symbols", "length", "steps", "seed"].map((name) => [name, Number(value(name))]),
    );
    if (numbers.algorithm === 2) numbers.chainsOrder = Number(value("chainsOrder"));
    this.change({ run: value("run"), ...numbers, frame: 0 });
  }

  #play() {
    if (!this.film) return;
    if (this.frame >= this.film.steps.length - 1) this.frame = 0;
    this.playing.textContent = "Pause";
    this.timer = setInterval(() => {
      if (this.frame >= this.film.steps.length - 1) {
        this.#stop();
        return;
      }
      this.frame += 1;
      this.#draw();
    }, 50);
  }
  #pause() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.playing) this.playing.textContent = "Play";
  }
  #stop() {
    this.#pause();
    this.change({ frame: this.frame }, { replace: true });
  }

  #draw() {
    const film = this.film,
      at = this.frame,
      step = film.steps[at],
      stage = film.algorithm === 1 && step >= film.stage_one_steps ? 2 : 1;
    const [title, text, source] = STAGES[`${film.algorithm}.${stage}`];
    this.slider.value = at;
    this.told.textContent = `step ${step} of ${film.steps[film.steps.length - 1]}`;
    this.slider.setAttribute("aria-valuetext", this.told.textContent);
    this.about.replaceChildren(
      element("h3", {}, `${title}`),
      element("p", {}, math(text)),
      element("p", {}, element("small", {}, math(`${source}. ${film.title}`))),
    );
    const shown = Math.min(film.attention.columns, 17),
      row = film.attention.row(at).slice(0, shown),
      marks = Array.from({ length: film.order ?? 1 }, (_, i) => i + 1),
      offsets = film.order > 1 ? `offsets 1 … ${film.order}` : "offset 1";
    const attention = () =>
      bars({
        title: "Layer 1 attention by offset",
        labels: row.map((_, offset) => String(offset)),
        series: [{ name: "softmax(p)", colour: "model", values: row }],
        most: 1,
        marks,
        height: 190,
        width: 430,
      });
    const boundary = film.algorithm === 1 ? film.stage_one_steps : null;
    const excess = () =>
      curves({
        title: "Loss above the true loss",
        xs: film.steps,
        series: [{ name: "this run", colour: "model", values: film.excess }],
        rules: [{ name: "Bayes", value: film.floor_excess, colour: "green" }],
        cursor: step,
        log: true,
        xname: "step",
        yname: "excess loss (nats)",
        width: 430,
      }).svg;
    const sharpness = () =>
      curves({
        title: "a₂, sharpness of layer 2",
        xs: film.steps,
        series: [{ name: "a₂", colour: "purple", values: film.a_2 }],
        cursor: step,
        low: 0,
        xname: "step",
        yname: "a₂",
        width: 430,
      }).svg;
    const share = () =>
      curves({
        title: `Attention at ${offsets}`,
        xs: film.steps,
        series: [
          {
            name: offsets,
            colour: "vermillion",
            values: film.steps.map((_, i) =>
              marks.reduce((sum, offset) => sum + (film.attention.row(i)[offset] ?? 0), 0),
            ),
          },
        ],
        cursor: step,
        low: 0,
        high: 1,
        xname: "step",
        yname: "share",
        width: 430,
      }).svg;
    const drawings = [
      ["Layer 1 attention by offset", attention],
      [`Attention at ${offsets}`, share],
      ["Loss above the true loss", excess],
      ["a₂, sharpness of layer 2", sharpness],
    ];
    const names = drawings.map(([name]) => name).join();
    if (names !== this.names)
      this.charts.replaceChildren(
        ...drawings.map(([name], place) =>
          figure(name, element("div", { class: "scroll" }), () => this.drawings[place][1]()),
        ),
      );
    this.names = names;
    this.drawings = drawings;
    drawings.forEach(([, draw], place) =>
      this.charts.children[place].querySelector(".scroll").replaceChildren(parsed(draw())),
    );
    const standing = Object.entries(film.standings).map(([name, value]) => [name, `${number(value)} nats above`]);
    document
      .getElementById("dynamics-standing")
      .replaceChildren(
        element("strong", {}, "Where the run ends"),
        list([
          ["algorithm", `${film.algorithm}, order ${film.order ?? "unknown"}`],
          ["true loss", `${number(film.true_loss, 4)} nats`],
          ...standing,
          ...(boundary === null ? [] : [["stage 1", `${boundary} steps`]]),
        ]),
      );
  }
}
