// The form on the left shows and changes the state.
import { element } from "./format.js";
import { ownOptions } from "./state.js";

const IDS =
  "model order alphabet dtype estimator temperature beta gated dimension index text " +
  "chain-order chain-alphabet chain-length chain-seed chain-token-noise chain-transition-noise";
// Ids of the fields; the state has their names in camel case, such as chainOrder for chain-order.
const FIELDS = IDS.split(" ").map((id) => [id, id.replace(/-(.)/g, (_, letter) => letter.toUpperCase())]);
const $ = (id) => document.getElementById(id);

export class Controls {
  constructor(options, change) {
    this.options = options;
    this.change = change;
    const choice = (value, name) => element("option", { value }, name),
      stored = options.stored.filter((entry) => entry.kind !== "trajectory"),
      groups = {
        Constructions: options.constructions.map((entry) => choice(entry.name, entry.name)),
        "Trained and stored models": stored.map((entry) => choice(`stored:${entry.path}`, entry.title)),
      };
    for (const [label, entries] of Object.entries(groups))
      if (entries.length) $("model").append(element("optgroup", { label }, ...entries));
    const skipped = $("left-out"),
      left = options.left_out;
    skipped.hidden = !left.length;
    skipped.querySelector("summary").textContent =
      `${left.length} ${left.length === 1 ? "entry" : "entries"} of the folders cannot be opened`;
    skipped.querySelector("ul").append(...left.map(({ path, why }) => element("li", {}, `${path}: ${why}`)));
    $("dtype").append(...options.dtypes.map((name) => choice(name, name)));
    for (const [value, title] of Object.entries(options.estimators))
      $("estimator").append(element("option", { value, title }, value));
    $("estimator-label").hidden = !Object.keys(options.estimators).length;
    for (const id of ["order", "chain-order"]) $(id).max = options.limits.order;
    for (const id of ["alphabet", "chain-alphabet"]) $(id).max = options.limits.symbols;
    $("chain-length").max = options.limits.tokens;
    $("dimension").max = options.limits.dimension;
    for (const [id, name] of FIELDS) $(id).addEventListener("input", () => this.#taken(id, name));
    for (const radio of document.querySelectorAll("[name=source]"))
      radio.addEventListener("change", () => change({ source: radio.value, position: null }));
    $("another").addEventListener("click", () => change({ chainSeed: Number($("chain-seed").value) + 1 }));
    $("noise").hidden = !options.features.includes("noise");
    $("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  #taken(id, name) {
    const field = $(id);
    let value = field.type === "checkbox" ? field.checked : field.value;
    if (field.type === "number" || field.type === "range" || id === "index") {
      if (field.value === "" && id === "alphabet") value = null;
      else if (field.value === "") return;
      else value = Number(field.value);
    }
    const changes = { [name]: value };
    if (name === "model") {
      const entry = this.options.constructions.find((one) => one.name === value);
      if (entry?.largest_order && this.state.order > entry.largest_order) changes.order = entry.largest_order;
      if (value.startsWith("stored:")) Object.assign(changes, { order: 0 }, this.#fitting(value.slice(7)));
      else if (this.state.model.startsWith("stored:") && !this.state.order) changes.order = 2;
      changes.heads = "";
      changes.own = "";
      changes.step = 0;
      changes.index = 0;
    }
    this.change(changes, { typing: field.type !== "checkbox" && field.tagName !== "SELECT" ? id : null });
  }

  // If the sequence has too many symbols or the wrong length for a stored model, replace it by one that fits.
  #fitting(path) {
    const { alphabet_size: size, order, length } = this.options.stored.find((entry) => entry.path === path),
      state = this.state,
      typed = state.source === "text",
      symbols = typed ? new Set(state.text).size : state.chainAlphabet,
      tokens = typed ? [...state.text].length : state.chainLength;
    if (!size || (symbols <= size && tokens > order && (!length || tokens <= length))) return {};
    const fits = Math.min(64, length ?? 64, this.options.limits.tokens);
    return {
      source: "chain",
      chainAlphabet: size,
      chainOrder: Math.max(order, 1),
      chainLength: fits,
      chainTokenNoise: 0,
      chainTransitionNoise: 0,
      position: null,
    };
  }

  // A number field for each option that the registry lists for this construction and the form lacks.
  #showOwn(entry, state) {
    const box = $("own"),
      named = (entry?.options ?? []).filter((one) => !$(`${one.name}-label`) && one.name !== "seed"),
      given = ownOptions(state.own);
    if (box.dataset.model !== state.model) {
      box.dataset.model = state.model;
      box.replaceChildren(
        ...named.map((one) => {
          const input = element("input", { id: `own-${one.name}`, type: "number", min: one.least ?? "", max: one.most ?? "" });
          input.addEventListener("input", () => {
            const pairs = named.map((each) => [each.name, $(`own-${each.name}`).value]);
            const own = pairs.filter(([, value]) => value !== "").map((pair) => pair.join("="));
            this.change({ own: own.join(","), step: 0 }, { typing: input.id });
          });
          return element("label", { title: one.help }, `${one.name[0].toUpperCase()}${one.name.slice(1)} `, input);
        }),
      );
    }
    for (const one of named)
      if (document.activeElement !== $(`own-${one.name}`)) $(`own-${one.name}`).value = given[one.name] ?? one.default;
  }

  show(state) {
    this.state = state;
    for (const [id, name] of FIELDS) {
      const field = $(id);
      if (id === "index") continue;
      if (field.type === "checkbox") field.checked = state[name];
      else if (document.activeElement !== field || field.tagName === "SELECT" || field.type === "range")
        field.value = name === "order" && !state.order ? "" : (state[name] ?? "");
    }
    $(`source-${state.source}`).checked = true;
    const stored = state.model.startsWith("stored:"),
      entry = this.options.constructions.find((one) => one.name === state.model);
    const has = (option) => (entry ? entry.options.some((one) => one.name === option) : false);
    this.#showOwn(entry, state);
    $("model-about").textContent = entry
      ? `${entry.title}. ${entry.source}; ${entry.exactness}, heads ${entry.heads}, d = ${entry.dimension}. ${entry.advice}`
      : (this.options.stored.find((one) => `stored:${one.path}` === state.model)?.about ?? "");
    $("order").placeholder = stored ? "its own" : "";
    for (const [id, shown] of [
      ["alphabet-label", !stored],
      ["dtype-label", !stored],
      ["temperature-label", !stored],
      ["temperature-hint", !stored],
      ["beta-label", has("beta")],
      ["gated-label", has("gated")],
      ["dimension-label", has("dimension")],
    ])
      $(id).hidden = !shown;
    const run = this.options.stored.find((one) => `stored:${one.path}` === state.model && one.kind === "run");
    $("index-label").hidden = !run || run.models < 2;
    if (run)
      $("index").replaceChildren(
        ...Array.from({ length: run.models }, (_, place) =>
          element("option", { value: place, selected: place === state.index }, `model ${place}`),
        ),
      );
    if (state.temperature || state.dtype !== "float64" || state.own || state.estimator) $("settings").open = true;
    const factor = 2 ** state.temperature;
    $("temperature-out").textContent =
      state.temperature === 0
        ? entry?.exactness === "approximate"
          ? "its own"
          : "certified"
        : `${factor >= 1 ? Number(factor.toPrecision(3)) + "× warmer" : Number((1 / factor).toPrecision(3)) + "× colder"}`;
    $("temperature").setAttribute("aria-valuetext", $("temperature-out").textContent);
    $("text-label").hidden = $("text-hint").hidden = state.source !== "text";
    $("chain").hidden = state.source !== "chain";
    $("text-hint").textContent =
      `${[...(state.text ?? "")].length} of at most ${this.options.limits.tokens} characters; each is a token.`;
  }
}
