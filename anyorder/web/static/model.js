// The page of one model on one sequence.
import { post, Matrix } from "./api.js";
import { element, list, math, number, symbol } from "./format.js";
import { figure } from "./figure.js";
import { HeatMap } from "./heatmap.js";
import { bars, curves, parsed } from "./svg.js";
import { Story } from "./story.js";
import { Tokens } from "./tokens.js";
import { viewRequest } from "./state.js";

const $ = (id) => document.getElementById(id);

export class ModelPage {
  constructor(work, change) {
    this.work = work;
    this.change = change;
    this.maps = [];
    this.tokens = new Tokens($("tokens"), (position) => change({ position }));
    this.story = new Story($("steps"), $("step"), (step) => change({ step }));
  }

  // Gives whether the page shows this state now: not if it was refused, cancelled or overtaken.
  async show(state) {
    const request = viewRequest(state),
      key = JSON.stringify(request);
    if (key !== this.key) {
      this.key = null;
      $("stage").classList.add("stale");
      const view = await this.work.do(
        (signal) => post("api/view", request, signal),
        `Running ${state.model.replace(/^stored:/, "")}…`,
      );
      if (view === undefined) return false;
      this.#take(view);
      this.key = key;
      this.told = null;
    }
    $("stage").classList.remove("stale");
    const last = this.view.tokens.length - 1;
    const position = Math.min(Math.max(state.position ?? Math.max(last - 2, 0), 0), last);
    if (this.told !== position) {
      const story = await this.work.do(
        (signal) => post("api/story", { ...request, position }, signal),
        "Reading the proof…",
      );
      if (story === undefined) return false;
      this.told = position;
      this.#tell(story);
    }
    if (this.heads !== state.heads) this.#headings(state.heads);
    this.story.show(this.current, state.step);
    return true;
  }

  forget() {
    this.key = null;
  }
  repaint(state) {
    for (const map of this.maps) map.repaint();
    if (this.current) {
      this.#tell(this.current);
      this.story.show(this.current, state.step);
    }
  }

  #take(view) {
    for (const name of ["pseudo_attention", "difference", "predicted", "kgram", "bayes"])
      view[name] = new Matrix(view[name]);
    if (view.truth) view.truth = new Matrix(view.truth);
    for (const map of view.maps) map.weights = new Matrix(map.weights);
    this.view = view;
    this.heads = null;
    this.tokens.show(view.tokens, view.symbols);
    $("story-title").textContent =
      view.model.construction === null ? "What the model does at this position" : "The proof at this position";
    this.#verdict();
    this.#certificate();
  }

  #names() {
    return [...(this.view.begins ? ["⊢"] : []), ...this.view.tokens.map((token) => symbol(this.view.symbols[token]))];
  }

  // One map for each layer, with a choice of heads, then pseudo-attention and the difference.
  #headings(heads) {
    const view = this.view,
      chosen = heads.split(".").map(Number),
      layers = [...new Set(view.maps.map((map) => map.layer))];
    const on = {
      point: (row, column) => this.#point(row, column),
      choose: (row) => this.change({ position: Math.max(row - view.begins, 0) }),
    };
    this.heads = heads;
    this.maps = [];
    this.sources = [];
    const nearest = view.maps.find(({ layer, head }) => layer === view.nearest[0] && head === view.nearest[1]),
      panels = [];
    const add = (name, matrix, extra, signed = false) => {
      const map = new HeatMap(name, on);
      this.maps.push(map);
      this.sources.push(matrix);
      panels.push([figure(name, map.canvas, () => map.svg(), extra), map, matrix, signed]);
    };
    for (const layer of layers) {
      const own = view.maps.filter((map) => map.layer === layer),
        index = Math.min(chosen[layer - 1] || 1, own.length);
      const extra =
        own.length < 2
          ? null
          : element(
              "select",
              {
                "aria-label": `head of layer ${layer}`,
                on: {
                  change: (event) => {
                    const next = layers.map((one) => (one === layer ? event.target.value : chosen[one - 1] || 1));
                    this.change({ heads: next.join(".") });
                  },
                },
              },
              ...own.map((map) =>
                element("option", { value: map.head, selected: map.head === index }, `head ${map.head}`),
              ),
            );
      add(`Layer ${layer}${own.length < 2 ? "" : `, head ${index}`}`, own[index - 1].weights, extra);
    }
    add("Pseudo-attention", view.pseudo_attention, null);
    add(`Layer ${nearest.layer} minus pseudo`, view.difference, null, true);
    $("maps").replaceChildren(...panels.map(([panel]) => panel));
    for (const [, map, matrix, signed] of panels) map.show(matrix, this.#names(), -view.begins, { signed });
    this.#marked();
  }

  #point(row, column) {
    for (const map of this.maps) map.point(row === null ? null : [row, column]);
    if (row === null) return;
    const names = this.#names(),
      first = -this.view.begins;
    const values = this.maps
      .map((map, index) => `${map.name.toLowerCase()} ${number(this.sources[index].at(row, column), 4)}`)
      .join(" · ");
    $("readout").textContent =
      `query ${row + first} (${names[row]}) → key ${column + first} (${names[column]}): ${values}`;
  }

  #tell(story) {
    this.current = story;
    const names = this.view.symbols.map(symbol),
      total = story.counts.reduce((sum, count) => sum + count, 0);
    const context = story.window.map((at) => names[this.view.tokens[at]]).join(" ");
    this.tokens.mark(story.position, story.window, story.matches);
    const counted = story.counts
      .map((count, index) => (count ? `${names[index]} ${count}×` : ""))
      .filter(Boolean)
      .join(", ");
    $("tokens-about").replaceChildren(
      ...(story.window.length
        ? [
            "Window ",
            element("code", { id: "window" }, context),
            ` up to n = ${story.position}. `,
            total ? `Seen ${total}× before, then came ` : "Never seen before: the k-gram is 0/0 here.",
            total ? element("code", { id: "counts" }, counted) : null,
            total ? "." : null,
          ]
        : [`Position ${story.position} has no window of ${story.order} tokens yet.`]
      ).filter((part) => part !== null),
    );
    if (this.maps.length) this.#marked();
    this.#predictions(story);
  }

  #marked() {
    if (!this.current) return;
    const begins = this.view.begins;
    for (const map of this.maps)
      map.mark(
        this.current.position + begins,
        this.current.matches.map((match) => match + begins),
      );
  }

  #predictions(story) {
    const view = this.view,
      n = story.position,
      labels = view.symbols.map(symbol);
    const series = [
      ["model", "model", view.predicted],
      ["k-gram", "vermillion", view.kgram],
      [view.bayes_name, "green", view.bayes],
      ...(view.truth ? [["true kernel", "purple", view.truth]] : []),
    ].map(([name, colour, matrix]) => ({
      name,
      colour,
      values: matrix.row(n).map((value) => (Number.isNaN(value) ? null : value)),
    }));
    const title = `Next token after n = ${n}`;
    const draw = () => bars({ title, labels, series, most: 1, height: 190, width: 380 });
    const error = view.errors[n],
      bound = view.exactness.bound;
    const errors = () =>
      curves({
        title: "Error at every position",
        xs: view.errors.map((_, at) => at),
        series: [
          {
            name: "",
            colour: "model",
            dots: true,
            values: view.errors.map((value) => (value === null ? null : Math.max(value, 1e-18))),
          },
        ],
        rules: [{ name: `bound ${number(bound)}`, value: bound, colour: "vermillion" }],
        cursor: n,
        log: true,
        xname: "position n",
        yname: "largest error of a probability",
      });
    const chart = parsed(errors().svg);
    chart.addEventListener("click", (event) => {
      const box = chart.getBoundingClientRect(),
        at = Math.round(errors().place((event.clientX - box.left) / box.width));
      this.change({ position: Math.min(Math.max(at, 0), view.tokens.length - 1) });
    });
    const outcome = n === view.tokens.length - 1 ? view.outcome : view.tokens[n + 1];
    $("predictions").replaceChildren(
      element(
        "div",
        {},
        figure(title, element("div", { class: "scroll" }, parsed(draw())), draw),
        element(
          "p",
          {},
          `Error here ${number(error)}; ${outcome === null || outcome === undefined ? "nothing came after it" : `then came ${labels[outcome]}`}.`,
        ),
      ),
      figure("Error at every position", chart, () => errors().svg),
    );
    const losses = view.losses;
    $("losses").textContent =
      losses === null
        ? ""
        : `Mean loss above the true ${number(losses.true_loss, 4)} nats: model ${losses.model_excess === null ? "infinite or undefined" : number(losses.model_excess, 4)}, ${view.bayes_name} ${number(losses.bayes_excess, 4)}, k-gram ${losses.kgram_excess === null ? "infinite or undefined" : number(losses.kgram_excess, 4)}.`;
  }

  #verdict() {
    const { exactness, model } = this.view,
      kept = exactness.passed;
    const [name, badge] = kept === null ? ["no promise", "open"] : kept ? ["exact", "exact"] : ["broken", "broken"];
    $("verdict").replaceChildren(
      element("span", { class: `badge ${badge}`, id: "badge" }, name),
      list([
        ["error", element("span", { id: "error" }, number(exactness.max_error))],
        ["bound", element("span", { id: "bound" }, number(exactness.bound))],
        ["against", exactness.compared_with],
        ["checked", `${exactness.positions_checked} positions`],
        ...(exactness.at === null ? [] : [["worst at", `n = ${exactness.at}`]]),
      ]),
      ...(model.refusal
        ? [element("p", { id: "refusal" }, element("small", {}, math(`Built by force: ${model.refusal}`)))]
        : []),
    );
  }

  #certificate() {
    const { model } = this.view,
      promise = model.certificate;
    const facts = [
      ["model", model.title],
      ["source", model.source],
      [
        "shape",
        `${model.heads.length} layers, heads ${model.heads.join(", ")}, d = ${model.dimension}, ${model.parameters} parameters, ${model.dtype}`,
      ],
    ];
    if (promise)
      facts.push(
        ["computes", `${promise.estimator}, order ${promise.order}, up to ${promise.length} tokens`],
        ["margin", number(promise.margin)],
        [
          "kappa",
          `${number(promise.kappa)}${model.certified_kappa && Math.abs(promise.kappa / model.certified_kappa - 1) > 1e-9 ? `, certified ${number(model.certified_kappa)}` : ", certified"}`,
        ],
        ["bound", `${number(promise.bound)} for a target of ${number(promise.target_error)}`],
        ["bits", `needs ${promise.bits_needed}, ${model.dtype} has ${promise.mantissa_bits}`],
      );
    else facts.push(["promise", "none: this model has no certificate"]);
    const result = element("p", { id: "verified", "aria-live": "polite" });
    const verify =
      this.request().model.kind !== "construction"
        ? null
        : element(
            "button",
            {
              type: "button",
              id: "verify",
              on: {
                click: async () => {
                  const { model: asked } = this.request();
                  const length = Math.max(this.view.tokens.length, asked.order + 1);
                  const found = await this.work.do(
                    (signal) =>
                      post(
                        "api/verify",
                        { model: asked, alphabet_size: this.view.model.alphabet_size, length },
                        signal,
                      ),
                    "Verifying on hard sequences…",
                    "long",
                  );
                  if (found)
                    result.textContent = `Worst error ${number(found.max_error)} on ${found.positions_checked} positions of 8 hard sequences; ${found.bound === null ? "no bound" : `bound ${number(found.bound)}: ${found.passed ? "kept" : "not kept"}`}.`;
                },
              },
            },
            "Verify on hard sequences",
          );
    $("certificate").replaceChildren(list(facts), element("p", {}, verify), result);
  }
}
