// The steps of a proof, evaluated at one position of a running model. The steps are data of the package
// (anyorder/constructions/steps.py); anyorder/web/proof.py does the same on the server.
import { dot, linear, sides, stacked } from "./forward.js";
import { sentence } from "./sentences.js";

// `look` is a model on a sequence at one position: model, kappa, trace, round, tokens, symbols, position, order, begins,
// matches (of this position), anchor and beta.
export function story(look, steps) {
  const { position: n, order: k, matches, tokens, symbols } = look,
    counts = symbols.map((_, symbol) => matches.filter((match) => tokens[match] === symbol).length);
  return {
    position: n,
    order: k,
    window: n >= k - 1 ? span(n - k + 1, n) : [],
    matches,
    counts,
    steps: steps.map((step) => ({
      ...step,
      here: sentence(step.here, look),
      about: about(step.here, look),
      weights: Object.entries(step.weights).map(([name, does]) => ({ name, shape: shape(look.model, name), does })),
      parts: step.shows.map((show) => SHOWS[show.kind](look, show)),
    })),
  };
}

const span = (first, last) => Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => first + at);

// The positions that a step is about.
function about(kind, { position: n, order: k, matches }) {
  const before = span(Math.max(n - k, 0), n - 1),
    recent = n >= k - 1 ? span(n - k + 1, n) : [];
  return (
    { window: before, oldest: before.slice(0, n >= k ? 1 : 0), counts: matches, smoothed: matches }[kind] ?? recent
  );
}

// The shape of an array by its path, such as layers.0.mlp.1.weight; a vector has one number.
function shape(model, name) {
  const found = name.split(".").reduce((value, part) => value[part], model);
  if (found?.rows === undefined) return [];
  return /bias|beginning|gain/.test(name) ? [found.width] : [found.rows, found.width];
}

const row = (look) => look.position + look.begins;
const last = (look, point) => look.trace.points[point];

function place(look, name) {
  let start = 0;
  for (const [block, width] of look.model.blocks ?? []) {
    if (block === name) return [start, start + width];
    start += width;
  }
  throw new Error(`no block ${name} in this stream`);
}

// A block at a point, minus its anchor, the constant that all embeddings share there.
function block(look, of, point, at = row(look)) {
  const bounds = place(look, of),
    anchor = look.anchor.slice(...bounds);
  return [...last(look, point)[at].slice(...bounds)].map((value, i) => value - anchor[i]);
}

function inside(look, { layer, place: index, of, point }) {
  const { weight, bias } = look.model.layers[layer].mlp[index];
  return [...linear(weight, last(look, point)[row(look)], bias, look.round).slice(...place(look, of))];
}

// The query of a head at n, its keys up to n, and their scores.
function compared(look, { layer, head = 0, point }) {
  const stream = last(look, point).slice(0, row(look) + 1),
    { queries, keys } = sides(look.model.layers[layer].heads[head], stream, look.round),
    query = queries[row(look)];
  return { query, keys, scores: keys.map((key) => dot(query, key, look.round)) };
}

function direction(values) {
  const length = Math.hypot(...values);
  return values.map((value) => (length ? value / length : 0));
}

const bars = (name, read, labels, values, more = {}) => ({
  kind: "bars", name, read, labels, values, line: null, marks: [], first: 0, unit: "", over: [], ...more,
}); // prettier-ignore

function keys(look, name, read, values, more = {}) {
  const first = -look.begins,
    labels = span(first, look.position).map((at) => (at < 0 ? "⊢" : look.symbols[look.tokens[at]])),
    marks = look.matches.map((match) => match - first);
  return { ...bars(name, read, labels, [...values], more), kind: "keys", marks, first, ...more };
}

const SHOWS = {
  Block(look, { name, of, point }) {
    const values = block(look, of, point);
    return bars(
      name,
      `block ${of}: after ${point}`,
      values.length === look.symbols.length ? look.symbols : values.map(() => of),
      values,
    );
  },
  Combined(look, { name, of, point }) {
    const values = of
      .map(([one, factor]) => block(look, one, point).map((value) => value * factor))
      .reduce((sum, more) => sum.map((value, i) => value + more[i]));
    const terms = of.slice(0, 4).map(([one, factor]) => `${factor < 0 ? "-" : "+"} ${Math.abs(factor)}·${one}`),
      read = terms.join(" ").replace(/^\+ /, "") + (of.length > 4 ? " …" : "");
    return bars(name, `${read}: after ${point}`, look.symbols, values);
  },
  Inside(look, show) {
    const read = `W x + b of layers.${show.layer}.mlp.${show.place} in block ${show.of}`;
    return bars(show.name, read, look.symbols, inside(look, show), { line: 0 });
  },
  Threshold(look, { shown, inside: into }) {
    const part = SHOWS.Block(look, shown),
      left = inside(look, into),
      most = Math.max(...left.map(Math.abs)),
      line = part.values.reduce((sum, value, at) => sum + value - left[at], 0) / left.length;
    // Rounding may leave a small difference between equal numbers: do not mark it.
    return { ...part, line, marks: [...left.keys()].filter((at) => left[at] > 1e-6 * most) };
  },
  Attention(look, { name, layer, head = 0, offsets = null }) {
    const part = keys(
      look,
      name,
      `attention of layer ${layer + 1}, head ${head + 1}, row ${look.position}`,
      look.trace.attention[layer][head][row(look)],
    );
    if (offsets === null) return part;
    const near = span(Math.max(look.position - offsets[1], 0), look.position - offsets[0]);
    return { ...part, marks: near.map((at) => at - part.first) };
  },
  Scores(look, show) {
    const read = `score of layer ${show.layer + 1}, head ${(show.head ?? 0) + 1}`,
      values = compared(look, show).scores.map((score) => score / (look.kappa ?? 1));
    return keys(look, show.name, look.kappa ? `${read} / kappa` : read, values, {
      unit: look.kappa ? "kappa" : "",
    });
  },
  Overlay(look, show) {
    const coordinates = look.coordinates[show.layer],
      { query, keys: found, scores } = compared(look, show),
      score = (at) => scores[at + look.begins],
      directed = (values) => direction(coordinates[0].map((at) => values[at]));
    const misses = span(look.order, look.position).filter((at) => !look.matches.includes(at)),
      nearest = misses.reduce((best, at) => (best === null || score(at) >= score(best) ? at : best), null);
    const chosen = [
      ["match", look.matches[look.matches.length - 1]],
      ["near miss", nearest],
    ].filter(([, at]) => at !== undefined && at !== null);
    const over = chosen.map(([kind, at]) => ({
      kind,
      position: at,
      word: span(at - look.order, at - 1).map((one) => look.symbols[look.tokens[one]]),
      values: directed(found[at + look.begins]),
      score: score(at) / (look.kappa ?? 1),
    }));
    const labels = coordinates[1].map((symbol) => look.symbols[symbol]);
    return bars(show.name, "directions of the query at n and of two keys", labels, directed(query), {
      kind: "overlay",
      over,
      unit: look.kappa ? "kappa" : "",
    });
  },
  Hidden(look, { name, layer, place: index, keys: byKey }) {
    const stack = stacked(look.model.layers[layer], [last(look, `attention ${layer + 1}`)[row(look)]], look.round),
      values = [...stack[index + 1][0]],
      read = `layers.${layer}.mlp.${index}`,
      size = look.symbols.length;
    if (!byKey) return bars(name, read, look.symbols, values);
    const sums = span(0, row(look)).map((at) => {
      const from = (at - look.begins - look.order) * size;
      return from < 0 ? 0 : values.slice(from, from + size).reduce((sum, value) => sum + value, 0);
    });
    return keys(look, name, `${read}, the sum over symbols`, sums);
  },
  Prediction: (look, { name }) =>
    bars(name, "output of the model", look.symbols, [...look.trace.probabilities[look.position]]),
};
