// The first view: a question about one position, and one sentence each on the sequence, the counts, layer 2 and the prediction.
import { deviation, element, number, replaced, symbol } from "./format.js";
import { hex } from "./palette.js";
import { parsed, sheet, tag, text } from "./svg.js";

const $ = (id) => document.getElementById(id);
// Rows of the small chart of the prediction.
const MOST_ROWS = 5;

const times = (count) => (count === 1 ? "once" : `${count} times`);
const share = (value) => `${number(100 * value, value > 0.995 ? 3 : 2)}\u00a0%`;

export function showAnswer(view, story, step, hide) {
  const names = view.symbols.map(symbol),
    noun = view.outcome === null ? "letter" : "token",
    word = story.window.map((at) => names[view.tokens[at]]).join(" ");
  replaced($("question"), ...(word ? ["What comes after ", element("code", { id: "window" }, word), "?"] : ["What comes next?"]));
  const layers = ["one layer", "two layers"][view.model.heads.length - 1] ?? `${view.model.heads.length} layers`,
    by = view.model.construction ? `built by hand (“${view.model.construction}”)` : "trained",
    model = `A transformer with ${layers}, ${by},`;
  $("reader").textContent = `${model} has read this sequence up to the framed ${noun}. Choose another one.`;
  replaced($("legend"), ...legend(story, noun, word, ownKey(story, step), step || hide.includes("attention") ? null : view.nearest[0]));
  replaced($("counted"), ...counted(story, names, word, noun));
  replaced($("looks"), looks(view, story, noun));
  predicted(view, story, names);
}

// The legend: blue is the query window, orange the key windows; bars show attention of a layer, or null.
function legend(story, noun, word, own, layer) {
  const entry = (kind, ...said) => element("li", { class: kind }, ...said),
    { position: n, order: k, matches } = story,
    many = k > 1 ? `${k} ${noun}s` : noun,
    oldest = own && own.length < Math.min(k, n);
  return [
    word ? entry("query", `query window: the last ${many} up to here`) : null,
    own ? entry("key", oldest ? `the oldest ${noun} of position ${n}'s key window` : `key window of position ${n}: the ${many} before it`) : null,
    !own && matches.length ? entry("key", `key windows: the same ${k > 1 ? `${noun}s` : noun} earlier`) : null,
    matches.length ? entry("match", `${noun} that followed${layer === null ? "" : `; its bar is the attention of layer ${layer}`}`) : null,
  ].filter(Boolean);
}

// The key window at n if it is the subject of the step; otherwise null.
export function ownKey({ position, window, matches }, step) {
  const own = step && step.about.length && !step.about.includes(position) && step.about.join() !== matches.join();
  return own && step.about.join() !== window.join() ? step.about : null;
}

function counted(story, names, word, noun) {
  const found = story.counts.map((count, at) => [names[at], count]).filter(([, count]) => count);
  if (!story.window.length) return [`A window needs ${story.order} ${noun}s; there are ${story.position + 1} so far.`];
  if (!found.length) return [element("code", {}, word), " has not been seen before, so there is nothing to count."];
  found.sort((left, right) => right[1] - left[1]);
  const list = found.map(([name, count]) => `${name}\u00a0${count}×`).join(", ");
  return [
    element("code", {}, word),
    ` stood here ${times(story.matches.length)} before. Then came `,
    element("code", { id: "counts" }, list),
    ".",
  ];
}

function looks(view, story, noun) {
  const [layer, head] = view.nearest,
    name = view.model.heads[layer - 1] > 1 ? `Layer ${layer}, head ${head},` : `Layer ${layer}`,
    at = (position) => story.looks[position + view.begins] ?? 0,
    found = story.matches.map(at),
    mass = found.reduce((sum, one) => sum + one, 0),
    sink = view.begins ? `; ${share(story.looks[0] ?? 0)} rest on the beginning token` : "";
  if (!found.length) return `${name} finds no match, so its attention, the bars, goes elsewhere${sink}.`;
  const equal = Math.max(...found) - Math.min(...found) < 0.005 * mass,
    each = found.length > 1 && equal ? `, ${number(found[0], 2)} on each` : "",
    where = found.length > 1 ? `these ${found.length} ${noun}s` : `this ${noun}`;
  return `${name} puts ${share(mass)} of its attention on ${where}${each}${sink}.`;
}

// The largest probabilities as bars; the outline is the counted fraction.
function predicted(view, story, names) {
  const n = story.position,
    given = view.predicted.row(n),
    exact = view.kgram.row(n),
    rows = given
      .map((value, at) => ({ name: names[at], value, counted: exact[at] }))
      .filter(({ value }) => value >= 0.005)
      .sort((left, right) => right.value - left.value),
    shown = rows.slice(0, MOST_ROWS),
    said = shown.map(({ name, value }) => `${name} ${share(value)}`).join(", "),
    rest = rows.length > shown.length ? `, ${rows.length - shown.length} more` : "";
  const { level, max_error: error, bound, compared_with: target } = view.exactness,
    counts = target === "the conditional k-gram",
    worst = `the largest error on this sequence is ${deviation(error)}`,
    promise = {
      exact: `${counts ? "These are the counted fractions" : `This is ${target}`}: ${worst}.`,
      within: `${counts ? "These are the counted fractions" : `This is ${target}`}: ${worst}, the bound ${number(bound)}.`,
      beyond: `Not ${counts ? "the counted fractions" : target}: ${worst}.`,
      open: `Learned, so there is no guarantee: it differs from ${target} by up to ${deviation(error)}.`,
      new: "This window is new, so there is no guarantee for the prediction.",
    }[level !== "open" && view.errors[n] === null ? "new" : level];
  replaced(
    $("predicted"),
    element("p", {}, `The model predicts ${said}${rest}.`),
    parsed(sideways(shown, `Prediction: ${said}`)),
    element("p", { class: `promise ${level}` }, promise),
  );
}

function sideways(rows, title) {
  const width = 320,
    left = 26,
    full = width - left - 44,
    tall = 19;
  const drawn = rows.flatMap(({ name, value, counted: exact }, row) => [
    text(left - 8, row * tall + 14, name, { "text-anchor": "end", "font-size": 13, "font-family": "ui-monospace, monospace" }),
    tag("rect", { x: left, y: row * tall + 2, width: full * value, height: tall - 5, rx: 2, fill: hex("model") }),
    Number.isNaN(exact)
      ? ""
      : tag("rect", { x: left, y: row * tall + 2, width: Math.max(full * exact, 1), height: tall - 5, fill: "none", stroke: hex("text") }),
    text(left + full * Math.max(value, Number.isNaN(exact) ? 0 : exact) + 6, row * tall + 14, share(value), { "font-size": 12 }),
  ]);
  return sheet(width, rows.length * tall + 2, title, ...drawn);
}
