// The backend of the exported page, with the interface of ../static/backend.js; it computes in the page. Its data are
// scripts that fill `anyorderData`; those of a model are loaded when it is first requested.
import { Matrix } from "../static/matrix.js";
import { Problem } from "../static/problem.js";
import { counted, matches, meanLoss, pseudoAttention } from "./estimators.js";
import { ROUND, run } from "./forward.js";
import { story } from "./proof.js";
import { drawn } from "./sequence.js";
import { unpacked } from "./weights.js";

const data = globalThis.anyorderData;
// Units in the last place that count as rounding: two sums and a division.
const ROUNDING = { float32: 4 * 2 ** -24, float64: 4 * 2 ** -53 };

export const backend = {
  options: async () => data.options,
  view: async (request) => view(await running(request)),
  map: async (request, which) => map(await running(request), which),
  async story({ position, ...request }) {
    const now = await running(request);
    const told = story(
        { ...now, ...now.sequence, symbols: now.symbols, position, matches: now.matches[position] },
        now.steps,
      ),
      [layer, head] = nearest(now),
      row = position + now.begins;
    return { ...told, looks: Array.from(now.trace.attention[layer - 1][head - 1][row]).slice(0, row + 1) };
  },
  probes: async () => Object.entries(data.probes).map(([path, { model }]) => ({ path, title: model })),
  probe: async (path) => data.probes[path],
  async dynamics({ run: { path } }) {
    if (!data.films[path]) throw new Problem("this page plays stored runs; the server computes fresh ones");
    return { ...data.films[path], attention: new Matrix(data.films[path].attention) };
  },
};

// Cache of recent traces, so that a click on a position needs no forward pass.
const kept = new Map();

async function running({ model, sequence }) {
  const key = JSON.stringify([model, sequence]);
  if (!kept.has(key)) {
    const made = await (model.kind === "construction" ? constructed : stored)(
      model,
      drawn(sequence, data.options.limits),
    );
    if (kept.size > 7) kept.delete(kept.keys().next().value);
    kept.set(key, { ...made, asked: sequence });
  }
  return kept.get(key);
}

const loading = new Map();

function loaded(name) {
  if (!loading.has(name))
    loading.set(
      name,
      new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = data.files[name];
        script.onload = () => resolve(data.models[name]);
        script.onerror = () => reject(new Problem(`${data.files[name]} is missing; export the page again`));
        document.head.append(script);
      }),
    );
  return loading.get(name);
}

async function constructed(asked, sequence) {
  const { limits } = data.options,
    size = asked.alphabet_size ?? Math.max(2, sequence.symbols.length);
  within(asked.order, 1, limits.order, "order");
  within(size, 2, limits.symbols, "alphabet size");
  fits(sequence, size, asked.order, "choose a larger alphabet", "lower it, or lengthen the sequence");
  if (!data.files[asked.name]) throw new Problem(`this page has no ${asked.name}; the server has all constructions`);
  const found = (await loaded(asked.name)).orders[asked.order];
  if (!found)
    throw new Problem(`order is ${asked.order}, ${asked.name} is not for that order; choose dyadic or k-head`);
  if (!found.sizes[size])
    throw new Problem(
      `this page has no ${asked.name} of order ${asked.order} over ${size} symbols, whose weights are too large; the server has`,
    );
  const { packed, certificates, info, coordinates } = found.sizes[size],
    certificate = certificates[asked.dtype],
    kappa = certificate.kappa / (certificate.tempered ? asked.temperature : 1),
    longest = certificate.length,
    warmth = Math.round(2 * (Math.log2(asked.temperature) - limits.coldest_step));
  if (sequence.tokens.length > longest)
    throw new Problem(
      `the sequence has ${sequence.tokens.length} tokens, this page has ${asked.name} for ${longest}; shorten it`,
    );
  return traced({
    packed: packed[asked.dtype] ?? packed.float64,
    dtype: asked.dtype,
    kappa,
    sequence,
    order: asked.order,
    steps: found.steps,
    opening: found.opening,
    coordinates,
    info: {
      ...info,
      construction: asked.name,
      dtype: asked.dtype,
      certified_kappa: certificate.kappa,
      refusal: certificate.refusal,
      certificate: { ...certificate, kappa, bound: certificate.bounds[warmth] },
    },
  });
}

async function stored(asked, sequence) {
  const found = data.files[asked.path] && (await loaded(asked.path));
  if (!found) throw new Problem(`there is no ${asked.path} in this page; the server opens runs and files`);
  const { info } = found,
    order = asked.order ?? info.order;
  fits(sequence, info.alphabet_size, order, "choose another sequence", "lengthen the sequence");
  return traced({
    packed: found.packed,
    dtype: info.dtype,
    kappa: null,
    sequence,
    order,
    steps: found.steps,
    info: { ...info, order },
  });
}

// Refuse a sequence with more symbols than the model has, or without a full window, and name the remedies.
function fits({ symbols, tokens }, size, order, other, longer) {
  if (symbols.length > size)
    throw new Problem(`the sequence has ${symbols.length} symbols, the model has ${size}; ${other}`);
  if (tokens.length <= order)
    throw new Problem(`order is ${order}, must be smaller than the length ${tokens.length}; ${longer}`);
}

function traced(given) {
  const round = ROUND[given.dtype],
    model = unpacked(given.packed, given.kappa, round),
    size = given.info.alphabet_size,
    named = given.sequence.symbols,
    symbols = [...named, ...Array.from({ length: size - named.length }, (_, at) => `(${named.length + at})`)];
  return {
    ...given,
    model,
    round,
    symbols,
    size,
    beta: 1,
    begins: model.beginning ? 1 : 0,
    anchor: anchored(model),
    trace: run(model, given.sequence.tokens, round),
    matches: matches(given.sequence.tokens, given.order),
  };
}

// The constant that all embeddings share, as in Trace.anchor of the package.
function anchored(model) {
  const rows = Array.from({ length: model.embedding.rows }, (_, symbol) => model.embedding.vector(symbol));
  if (model.beginning) rows.push(model.beginning.vector());
  return rows[0].map((value, at) => (rows.every((row) => row[at] === value) ? value : 0));
}

function within(value, least, most, name) {
  if (!(value >= least && value <= most))
    throw new Problem(`${name} is ${value}, this page has ${least} to ${most}; the server has more`);
}

const table = (rows, size) =>
  new Matrix({ rows: rows.length, columns: size, values: Float32Array.from(rows.flatMap((row) => [...row])) });
const bayesName = (own) => (own ? "Bayes: add-1" : "add-1");
const finite = (value) => (Number.isFinite(value) ? value : null);

function view(now) {
  const { tokens, outcome, truth } = now.sequence,
    { order, size, info, asked } = now;
  const kgram = counted(tokens, order, size),
    bayes = counted(tokens, order, size, { beta: 1 }),
    own = asked.kind === "chain" && order === asked.order && size === asked.alphabet_size;
  const wide = truth?.map((row) => [...row, ...Array(size - row.length).fill(0)]),
    loss = (rows) => meanLoss(rows, wide, order),
    predicted = now.trace.probabilities;
  const least = truth && loss(wide.slice(1));
  return {
    symbols: now.symbols,
    tokens,
    outcome,
    begins: now.begins,
    model: info,
    layers: info.heads,
    nearest: nearest(now),
    predicted: table(predicted, size),
    kgram: table(kgram, size),
    bayes: table(bayes, size),
    bayes_name: bayesName(own),
    truth: truth ? table(wide.slice(1), size) : null,
    ...compared(now, bayes, own),
    losses: truth && {
      true_loss: least,
      model_excess: finite(loss(predicted) - least),
      bayes_excess: loss(bayes) - least,
      kgram_excess: finite(loss(kgram) - least),
    },
  };
}

// The largest error of a probability at every position, next to the bound.
function compared({ sequence: { tokens }, order, size, info, opening, trace, dtype }, bayes, own) {
  const promise = info.certificate,
    estimator = promise?.estimator,
    names = { kgram: "the conditional k-gram", biased: "the biased k-gram", bayes: "add-1 smoothing" };
  const exact =
    !promise || estimator === "bayes" ? bayes : counted(tokens, order, size, { biased: estimator === "biased" });
  const errors = exact.map((row, n) => {
    if (Number.isNaN(row[0]) || (promise && n < order - 1 + opening)) return null;
    const worst = Math.max(...row.map((value, symbol) => Math.abs(value - trace.probabilities[n][symbol])));
    return Number.isNaN(worst) ? Infinity : worst;
  });
  const defined = errors.filter((error) => error !== null),
    worst = Math.max(0, ...defined),
    bound = promise ? promise.bound : null,
    passed = bound === null ? null : worst <= bound && bound < 1;
  return {
    errors: errors.map((error) => (error === null ? null : finite(error))),
    exactness: {
      compared_with: promise ? names[estimator] : bayesName(own),
      max_error: defined.length ? finite(worst) : null,
      at: defined.length ? errors.indexOf(worst) : null,
      bound,
      positions_checked: defined.length,
      passed,
      level: passed === null ? "open" : !passed ? "beyond" : worst <= ROUNDING[dtype] ? "exact" : "within",
    },
  };
}

const sink = ({ info, size }) => (info.certificate?.estimator === "bayes" ? size : 0);
const pseudo = (now) => pseudoAttention(now.matches, now.begins, sink(now));

// The head to compare with pseudo-attention, as [layer, head] from 1: the last one, for a trained model the nearest.
function nearest(now) {
  const heads = now.info.heads;
  if (now.info.construction !== null) return [heads.length, heads[heads.length - 1]];
  const ideal = pseudo(now);
  let best = null;
  heads.forEach((count, layer) => {
    for (let head = 0; head < count; head++) {
      const distance = weights(now, layer, head).reduce((sum, value, at) => sum + (value - ideal[at]) ** 2, 0);
      if (best === null || distance < best[0]) best = [distance, layer + 1, head + 1];
    }
  });
  return best.slice(1);
}

function weights(now, layer, head) {
  const rows = now.trace.attention[layer][head],
    values = new Float32Array(rows.length ** 2);
  rows.forEach((row, n) => values.set(row, n * rows.length));
  return values;
}

// One map: `which` is "pseudo", "difference" or [layer, head]. Rows of windows that are new are not defined in the
// difference.
function map(now, which) {
  const rows = now.sequence.tokens.length + now.begins,
    made = (values) => new Matrix({ rows, columns: rows, values });
  if (Array.isArray(which)) return made(weights(now, which[0] - 1, which[1] - 1));
  const ideal = pseudo(now);
  if (which === "pseudo") return made(ideal);
  const [layer, head] = nearest(now),
    given = weights(now, layer - 1, head - 1);
  const promised = (row) => (now.begins && sink(now)) || now.matches[row - now.begins].length,
    defined = (row) => row >= now.begins && promised(row);
  return made(given.map((value, at) => (defined(Math.floor(at / rows)) ? value - ideal[at] : NaN)));
}
