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
    "p ← p - η D_t^{-1} ∇_p L: the offsets of the window move together, all others fall behind. Uniform weights distinguish bags of tokens, not their order (E8).",
    "Algorithm 2; App. D",
  ],
};

const $ = (id) => document.getElementById(id);
const field = (name) => $(`dynamics-${name}`);

export class DynamicsPage {
  constructor(work, change) {
    this.work = work;
    this.change = change;
    this.timer = null;
    this.frame = 0;
    this.playing = $("play");
    this.slider = $("frame");
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
      field("stage").classList.add("stale");
      const film = await this.work.do(
        (signal) => backend.dynamics({ run }, signal),
        "Running gradient descent; compiling takes half a minute the first time…",
        "long",
      );
      if (film === undefined) return false;
      this.film = film;
      this.key = key;
      this.slider.max = film.steps.length - 1;
    }
    field("stage").classList.remove("stale");
    const last = this.film.steps.length - 1;
    this.frame = Math.min(Math.max(state.frame ?? last, 0), last);
    this.title = this.options.stored.find((entry) => entry.path === state.run)?.title ?? this.film.title;
    this.#draw();
    return true;
  }

  repaint() {
    if (this.film) this.#draw();
  }

  // Move by one frame, for the keyboard.
  move(by) {
    if (!this.film) return;
    this.#pause();
    const to = Math.min(Math.max(this.frame + by, 0), this.film.steps.length - 1);
    this.change({ frame: to }, { typing: "frame" });
  }

  // The page has the form; the backend has its limits and the stored runs.
  #build() {
    this.built = true;
    const { limits, stored, features } = this.options,
      films = stored.filter((entry) => entry.kind === "trajectory"),
      fresh = features.includes("fresh") ? [{ path: "fresh", title: "a fresh, short run" }] : [];
    this.first = films[0]?.path ?? "fresh";
    field("run").append(...[...films, ...fresh].map(({ path, title }) => element("option", { value: path }, title)));
    for (const name of ["length", "steps"]) field(name).max = limits[name];
    field("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
    field("form").addEventListener("input", () => this.#enable());
    field("run").addEventListener("change", () => {
      if (field("run").value !== "fresh") this.#ask();
    });
    this.playing.addEventListener("click", () => (this.timer ? this.#stop() : this.#play()));
    this.slider.addEventListener("input", () => {
      this.#pause();
      this.frame = Number(this.slider.value);
      this.#draw();
    });
    this.slider.addEventListener("change", () => this.change({ frame: this.frame }, { typing: "frame" }));
  }

  #fill(state) {
    for (const name of ["run", "algorithm", "chainsOrder", "symbols", "length", "steps", "seed"])
      if (document.activeElement !== field(name)) field(name).value = state[name];
    this.#enable();
  }

  #enable() {
    const first = field("algorithm").value === "1";
    $("fresh").hidden = field("run").value !== "fresh";
    field("chainsOrder").disabled = first;
    if (first) field("chainsOrder").value = 1; // Algorithm 1 is about order 1
  }

  #ask() {
    const numbers = Object.fromEntries(
      ["algorithm", "symbols", "length", "steps", "seed"].map((name) => [name, Number(field(name).value)]),
    );
    if (numbers.algorithm === 2) numbers.chainsOrder = Number(field("chainsOrder").value);
    this.change({ run: field("run").value, ...numbers, frame: null });
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
    this.playing.textContent = "Play";
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
    $("frame-step").textContent = `step ${step} of ${film.steps[film.steps.length - 1]}`;
    this.slider.setAttribute("aria-valuetext", $("frame-step").textContent);
    field("about").replaceChildren(
      element("h3", {}, `${title}`),
      element("p", {}, math(text)),
      element("p", {}, math("p_i: the score of offset i in layer 1; a_2: how sharply layer 2 compares.")),
      element("p", {}, element("small", {}, math(`${source}. ${this.title}`))),
    );
    const shown = Math.min(film.attention.columns, 17),
      row = film.attention.row(at).slice(0, shown),
      marks = Array.from({ length: film.order ?? 1 }, (_, i) => i + 1),
      offsets = film.order > 1 ? `offsets 1 … ${film.order}` : "offset 1";
    const over = (title, values, more) => [
      title,
      () => curves({ title, xs: film.steps, series: [values], cursor: step, xname: "step", width: 410, ...more }).svg,
    ];
    const byOffset = "Layer 1 attention by offset",
      share = film.steps.map((_, i) => marks.reduce((sum, offset) => sum + (film.attention.row(i)[offset] ?? 0), 0));
    const drawings = [
      [
        byOffset,
        () =>
          bars({
            title: byOffset,
            labels: row.map((_, offset) => String(offset)),
            series: [{ name: "softmax(p)", colour: "model", values: row }],
            most: 1,
            marks,
            height: 190,
            width: 410,
          }),
      ],
      over(
        `Attention at ${offsets}`,
        { name: "", colour: "vermillion", values: share },
        { low: 0, high: 1, yname: "share" },
      ),
      over(
        "Loss above the true loss",
        { name: "this run", colour: "model", values: film.excess },
        {
          rules: [{ name: "Bayes", value: film.floor_excess, colour: "green" }],
          log: true,
          yname: "excess loss (nats)",
        },
      ),
      over("a₂, sharpness of layer 2", { name: "", colour: "purple", values: film.a_2 }, { low: 0 }),
    ];
    const names = drawings.map(([name]) => name).join();
    if (names !== this.names)
      field("charts").replaceChildren(
        ...drawings.map(([name], place) =>
          figure(name, element("div", { class: "scroll" }), () => this.drawings[place][1]()),
        ),
      );
    this.names = names;
    this.drawings = drawings;
    drawings.forEach(([, draw], place) =>
      field("charts").children[place].querySelector(".scroll").replaceChildren(parsed(draw())),
    );
    const standing = Object.entries(film.standings).map(([name, value]) => [name, `${number(value)} nats above`]);
    field("standing").replaceChildren(
      element("strong", {}, "Where the run ends"),
      list([
        ["algorithm", `${film.algorithm}, order ${film.order ?? "unknown"}`],
        ["true loss", `${number(film.true_loss)} nats`],
        ...standing,
        ...(film.algorithm === 1 ? [["stage 1", `${film.stage_one_steps} steps`]] : []),
      ]),
    );
  }
}
