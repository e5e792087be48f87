// The state of the page and its form in the address: a copied address reproduces the view.

// The fields in the address of each page, in order; a sequence is given by its text or its chain.
const MODEL = {
  model: "unrolled",
  order: 2,
  alphabet: null,
  dtype: "float64",
  estimator: "",
  temperature: 0,
  beta: 1,
  gated: true,
  dimension: 256,
  own: "",
  index: 0,
  source: "text",
  position: null,
  step: 0,
  heads: "",
};
const TEXT = { text: null };
const CHAIN = {
  chainOrder: 2,
  chainAlphabet: 2,
  chainLength: 64,
  chainSeed: 0,
  chainTokenNoise: 0,
  chainTransitionNoise: 0,
};
const DYNAMICS = { run: "", algorithm: 1, chainsOrder: 2, symbols: 3, length: 64, steps: 200, seed: 0, frame: null };
const HEADS = { result: "", layer: null, head: null };
// `show` is the open view of a position, `hide` lists the parts that a tour hides until "Reveal".
const EVERYWHERE = { show: "answer", hide: "", present: false, tour: "", stop: 0 };

export const DEFAULTS = { page: "model", ...MODEL, ...TEXT, ...CHAIN, ...DYNAMICS, ...HEADS, ...EVERYWHERE };

export function toHash(state) {
  const model = { ...MODEL, ...(state.source === "text" ? TEXT : CHAIN) },
    shown = { dynamics: DYNAMICS, heads: HEADS }[state.page] ?? model;
  const written = new URLSearchParams([["page", state.page]]);
  for (const name in shown) if (state[name] !== null && state[name] !== "") written.set(name, String(state[name]));
  for (const name in EVERYWHERE)
    if (state[name] !== DEFAULTS[name] && (name !== "stop" || state.tour)) written.set(name, String(state[name]));
  return `#${written}`;
}

export const fromHash = (hash) => fromWords(new URLSearchParams(hash.replace(/^#/, "")));

// A state from pairs of names and values, with defaults for all others.
export function fromWords(words) {
  const state = { ...DEFAULTS };
  for (const [name, value] of words) {
    if (!(name in DEFAULTS)) continue;
    const kind = typeof DEFAULTS[name];
    if (kind === "boolean") state[name] = value === "true";
    else if (kind === "number" || (DEFAULTS[name] === null && name !== "text")) {
      const given = Number(value);
      state[name] = value.trim() === "" || Number.isNaN(given) ? DEFAULTS[name] : given;
    } else state[name] = value;
  }
  if (state.hide === "none") state.hide = "";
  return state;
}

// The shape that the server compiles a program for; further states of the same shape are fast.
export const shape = (state) =>
  [
    state.model,
    state.order,
    state.dtype,
    state.alphabet,
    Math.ceil((state.text ?? "").length / 32),
    state.source,
  ].join();

// Options of one construction, as the address writes them: "heads=2,group=1".
export const ownOptions = (own) =>
  Object.fromEntries(
    own
      .split(",")
      .filter(Boolean)
      .map((pair) => pair.split("="))
      .map(([name, value]) => [name, value === "true" ? true : value === "false" ? false : Number(value)]),
  );

// The body of a request for the view.
export function viewRequest(state) {
  const stored = state.model.startsWith("stored:");
  const model = stored
    ? {
        kind: "stored",
        path: state.model.slice(7),
        index: state.index,
        beta: state.beta,
        ...(state.order ? { order: state.order } : {}),
      }
    : {
        kind: "construction",
        name: state.model,
        order: state.order,
        alphabet_size: state.alphabet,
        dtype: state.dtype,
        temperature: 2 ** state.temperature,
        beta: state.beta,
        gated: state.gated,
        dimension: state.dimension,
        ...ownOptions(state.own),
      };
  const sequence =
    state.source === "text"
      ? { kind: "text", text: state.text }
      : {
          kind: "chain",
          order: state.chainOrder,
          alphabet_size: state.chainAlphabet,
          length: state.chainLength,
          seed: state.chainSeed,
          token_noise: state.chainTokenNoise,
          transition_noise: state.chainTransitionNoise,
        };
  return { model, sequence, ...(state.estimator ? { estimator: state.estimator } : {}) };
}
