// The page of a probe: the heads of a model by the number of tokens they compare, and one head in detail.
import { backend } from "./backend.js";
import { bars } from "./charts.js";
import { figure } from "./figure.js";
import { element, list, number } from "./format.js";
import { HeatMap } from "./heatmap.js";
import { Matrix } from "./matrix.js";
import { hex } from "./palette.js";
import { across, parsed, sheet, tag, text } from "./svg.js";

const $ = (id) => document.getElementById(id);
const name = ({ layer, head }) => `L${layer} H${head}`;
const LABELS = {
  sink_mass: "mass on the first key",
  own_mass: "mass on the query itself",
  held_out_contrast: "all minus none, held-out half",
  recency_balanced_contrast: "all minus none, recency balanced",
  distractor: "keys that share k - 1 tokens, over matches",
  permuted: "permuted windows, over matches",
};
const MOST_ORDER = 5;
const COUNTED = "(layers and heads count from 0, as in code)";

// The number of tokens that a head compares, for a graded head the mean; null where there is no such number.
const compared = (one) => one.order ?? (one.graded ? one.mean_length : null);
const rises = (one) => compared(one) !== null || ["skip", "diffuse"].includes(one.kind);
const tone = (one) => (rises(one) ? `order-${Math.min(Math.max(Math.round(compared(one) ?? 1), 1), MOST_ORDER)}` : "none");

function said(one) {
  const order = one.order === null ? null : `${one.capped ? "at least " : ""}${one.order}`,
    last = one.order === 1 ? "the last token" : `the last ${order} tokens`;
  if (one.kind === "bag") return `Compares ${last} in any order.`;
  if (order !== null) return `An induction head of order ${order}: it looks where ${last} stood before.`;
  if (one.graded)
    return `Graded: the more of the last tokens agree, the more it attends. On average ${number(one.mean_length, 2)} tokens count.`;
  if (one.kind === "skip") return `Compares only the tokens at offsets ${one.needed.join(", ")}.`;
  if (one.kind === "diffuse") return "Attends more where more offsets agree, but no single offset is decisive.";
  return "Its attention does not rise with agreement: it does not compare tokens.";
}

export class HeadsPage {
  constructor(work, change) {
    this.work = work;
    this.change = change;
    $("result").addEventListener("change", () => change({ result: $("result").value, layer: null, head: null }));
  }

  async show(state) {
    this.results ??= await this.work.do((signal) => backend.probes(signal), "Looking for results…", "probe");
    if (!this.results) return false;
    const path = state.result || this.results[0].path;
    if (path !== this.path) {
      const result = await this.work.do((signal) => backend.probe(path, signal), "Opening the result…", "probe");
      if (!result) return false;
      this.path = path;
      this.result = result;
      $("result").replaceChildren(
        ...this.results.map(({ path, title, why }) => element("option", { value: path, disabled: Boolean(why), title: why }, title)),
      );
      $("result").value = path;
      this.#grid();
    }
    const named = state.layer !== null || state.head !== null,
      asked = { layer: state.layer ?? 0, head: state.head ?? 0 },
      given = named ? this.result.heads.find((one) => one.layer === asked.layer && one.head === asked.head) : null;
    this.covered = state.hide.includes("profile");
    this.#choose(given ?? this.found[0] ?? this.result.heads[0]);
    this.work.report(given === undefined ? `${this.result.model} has no head ${name(asked)}; shown is ${name(this.chosen)}` : null);
    return given !== undefined;
  }

  // Go to the next head that compares tokens, for the keyboard.
  move(by) {
    const next = this.found?.[this.found.indexOf(this.chosen) + by];
    if (next) this.change({ layer: next.layer, head: next.head });
  }

  repaint() {
    if (this.chosen) this.#choose(this.chosen);
  }

  #grid() {
    const { heads, model, controls } = this.result,
      layers = [...new Set(heads.map((one) => one.layer))],
      width = Math.max(...heads.map((one) => one.head)) + 1,
      contrast = (one) => one.scores.held_out_contrast ?? 0,
      control = controls.no_repeat;
    this.found = heads.filter(rises).sort((left, right) => contrast(right) - contrast(left));
    this.buttons = new Map();
    $("summary").textContent =
      `Each square is a head of ${model}, with the number of last tokens that it compares. ` +
      `${this.found.length} of ${heads.length} heads attend to earlier occurrences of these tokens.` +
      (control ? ` On sequences without repeats ${control.heads_above} of ${control.heads} pass the same test.` : "");
    const cell = (one) => (one ? element("td", {}, this.#square(one)) : element("td")),
      row = (layer) =>
        Array.from({ length: width }, (_, head) => heads.find((one) => one.layer === layer && one.head === head)).map(cell),
      heading = Array.from({ length: width }, (_, head) => element("th", { scope: "col" }, `H${head}`));
    $("grid").replaceChildren(
      element(
        "table",
        {},
        element("caption", { class: "hidden" }, "Tokens compared, by layer and head"),
        element("thead", {}, element("tr", {}, element("td"), ...heading)),
        element("tbody", {}, ...layers.map((layer) => element("tr", {}, element("th", { scope: "row" }, `L${layer}`), ...row(layer)))),
      ),
    );
    const tones = Array.from({ length: MOST_ORDER }, (_, at) => element("span", { class: `tone order-${at + 1}` }, String(at + 1)));
    tones.at(-1).textContent += "+";
    $("orders").replaceChildren("tokens compared: ", element("span", { class: "tone none" }, "·"), " none ", ...tones, " ~ no fixed number ", COUNTED);
  }

  #square(one) {
    const button = element("button", { type: "button", on: { click: () => this.change({ layer: one.layer, head: one.head }) } });
    this.buttons.set(one, button);
    return button;
  }

  // The label of a square; "?" while a tour hides it.
  #label(one, button, covered) {
    const count = compared(one),
      graded = one.graded ? " on average" : "",
      vague = rises(one) ? "compares no fixed number of tokens" : "compares nothing",
      label = count === null ? vague : `compares ${number(count, 2)} tokens${graded}`;
    button.className = `tone ${covered ? "none" : tone(one)}`;
    button.ariaLabel = `${name(one)}: ${covered ? "covered" : label}`;
    button.textContent = covered ? "?" : count === null ? (rises(one) ? "~" : "·") : String(Math.round(count));
  }

  #choose(one) {
    this.chosen = one;
    for (const [other, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(other === one));
      this.#label(other, button, other === one && this.covered);
    }
    $("head-title").textContent = name(one);
    $("head-about").textContent = said(one);
    $("agreement").replaceChildren(parsed(agreementPicture()));
    $("profile").replaceChildren(profile(one));
    const { agreement: found, agreement_error: error } = one,
      pair = (value, deviation) => `${number(value)} ± ${number(deviation, 2)}`,
      alone = (found?.alone ?? []).map((value, at) => [`only offset ${at + 1} agrees`, pair(value, error.alone[at])]),
      flipped = (found?.flipped ?? []).map((value, at) => [`offset ${at + 1} flipped`, pair(value, error.flipped[at])]),
      ends = found ? [["all agree", pair(found.all, error.all)], ["none agrees", pair(found.none, error.none)]] : [],
      scores = Object.entries({ sink_mass: one.sink_mass, ...one.scores }).filter(([, value]) => value !== null);
    $("scores").replaceChildren(
      list([...ends, ...flipped, ...alone, ...scores.map(([key, value]) => [LABELS[key] ?? key.replaceAll("_", " "), number(value)])]),
    );
    this.#map(one);
  }

  #map(one) {
    const kept = this.result.maps?.heads.find((map) => map.layer === one.layer && map.head === one.head);
    $("head-map").hidden = !kept;
    if (!kept) return;
    const rows = kept.thousandths.length,
      values = new Float32Array(rows * rows),
      letters = new Map();
    kept.thousandths.forEach((row, n) => row.forEach((value, i) => (values[n * rows + i] = value / 1000)));
    for (const token of this.result.maps.tokens) if (!letters.has(token)) letters.set(token, String.fromCharCode(97 + (letters.size % 26)));
    const say = (row, column) => {
      const there = row !== null && column <= row;
      $("map-readout").textContent = there ? `query ${row}, key ${column}: ${number(values[row * rows + column])}` : "";
    };
    const map = new HeatMap(`Attention of ${name(one)}`, { point: say, choose: () => {} });
    $("map").replaceChildren(map.canvas);
    map.show(new Matrix({ rows, columns: rows, values }), this.result.maps.tokens.map((token) => letters.get(token)), 0);
  }
}

// Attention when one offset is flipped, relative to an average key; all bars of a head that compares nothing are near 1.
function profile(one) {
  const found = one.agreement;
  if (!found) return element("p", { class: "hint" }, "This result has no agreement profile; probe the model again.");
  const draw = () =>
    bars({
      title: `Attention of ${name(one)} to a key, over that to an average key`,
      labels: ["all", ...found.flipped.map((_, at) => String(at + 1)), "none"],
      xname: "flipped offset (all: all agree, none: none agrees)",
      series: [{ name: "attention", colour: "model", values: [found.all, ...found.flipped, found.none] }],
      line: 1,
      lineName: "",
      top: 4,
      width: 420,
      height: 170,
    });
  return figure("Attention to a key when all offsets agree, and with one flipped (dashed: an average key)", parsed(draw()), draw);
}

// Three offsets of a key and of the query, the second of them flipped.
function agreementPicture() {
  const width = 410,
    at = (offset) => 228 - 48 * (offset - 1),
    label = { "font-size": 13, fill: hex("quiet") },
    tile = (x, y, letter, colour, filled) => [
      tag("rect", { x: x - 14, y, width: 28, height: 26, rx: 4, fill: filled ? hex(colour) : "none", stroke: hex(colour), "stroke-width": 2 }),
      text(x, y + 18, letter, { "text-anchor": "middle", "font-size": 15, "font-family": "ui-monospace, monospace" }),
    ],
    row = (y, words, colour) => words.flatMap((letter, place) => tile(at(3 - place), y, letter, colour, false));
  const parts = [
    text(4, 19, "before the key", label),
    ...row(2, ["c", "a", "b"], "keys"),
    ...tile(at(0), 2, "e", "keys", true),
    text(at(0) + 22, 19, "key: attention?", label),
    text(4, 69, "up to the query", label),
    ...row(52, ["c", "d", "b"], "queries"),
    text(at(0) - 14, 69, "?", { "font-size": 15 }),
    ...[3, 2, 1].flatMap((offset) => [
      text(at(offset), 45, offset === 2 ? "≠" : "=", { "text-anchor": "middle", "font-size": 15, "font-weight": 700 }),
      text(at(offset), 97, `offset ${offset}`, { ...label, "text-anchor": "middle", "font-size": 11 }),
    ]),
    across(at(3) - 20, at(1) + 20, 82, { stroke: hex("line") }),
  ];
  return sheet(width, 102, "An offset agrees if the token before the key equals the token before the query there; here offset 2 is flipped", ...parts);
}
