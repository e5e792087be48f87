// The page of a probe: the grid of heads, and for one head its spectrum, its scores and its map on a sequence.
import { HeatMap } from "./heatmap.js";
import { Matrix } from "./matrix.js";
import { json } from "./backend.js";
import { bars } from "./charts.js";
import { element, list, number } from "./format.js";
import { hex } from "./palette.js";
import { parsed } from "./svg.js";

const at = (id) => document.getElementById(id);
const name = ({ layer, head }) => `layer ${layer}, head ${head}`;
const LABELS = {
  prefix_matching: "prefix matching",
  previous_token: "previous token",
  copying: "copying",
  held_out_contrast: "contrast on the held-out half",
  recency_balanced_contrast: "contrast, recency balanced",
  distractor: "keys that share k - 1 tokens, over matches",
  permuted: "permuted windows, over matches",
  own_mass: "mass on the query itself",
};
let shown = null;

// Whatever goes wrong is said in one line, and the page is never left busy.
async function guarded(job) {
  document.body.dataset.state = "busy";
  at("problem").hidden = true;
  try {
    await job();
  } catch (error) {
    at("problem").textContent = error.message;
    at("problem").hidden = false;
  }
  document.body.dataset.state = "ready";
}

function grid(result) {
  const layers = [...new Set(result.heads.map((one) => one.layer))],
    width = Math.max(...result.heads.map((one) => one.head)) + 1;
  const cell = (one) => {
    if (!one) return element("td");
    const order = one.order === null ? "no order" : `order ${one.capped ? "at least " : ""}${one.order}`;
    const rises = one.order ?? (one.graded ? Math.round(one.mean_length) : null);
    const button = element(
      "button",
      {
        type: "button",
        class: rises === null ? "none" : `order-${Math.min(Math.max(rises, 1), 5)}`,
        "aria-label": `${name(one)}: ${order}${one.graded ? ", graded" : ""}`,
        "aria-pressed": "false",
        on: { click: () => choose(one) },
      },
      rises === null ? "·" : String(rises),
    );
    one.button = button;
    return element("td", {}, button);
  };
  const rows = layers.map((layer) => {
    const heads = Array.from({ length: width }, (_, head) =>
      result.heads.find((one) => one.layer === layer && one.head === head),
    );
    return element("tr", {}, element("th", { scope: "row" }, `layer ${layer}`), ...heads.map(cell));
  });
  const numbers = Array.from({ length: width }, (_, head) => element("th", { scope: "col" }, String(head)));
  const caption = element("caption", { class: "hidden" }, "Order by layer and head");
  at("grid").replaceChildren(
    element("table", {}, caption, element("thead", {}, element("tr", {}, element("td"), ...numbers)), element("tbody", {}, ...rows)),
  );
}

function choose(one) {
  for (const other of shown.heads) other.button.setAttribute("aria-pressed", String(other === one));
  const order = one.order === null ? "no order" : `order ${one.capped ? "≥ " : ""}${one.order}`;
  at("head-title").textContent = `${name(one)}: ${order}${one.graded ? ", graded" : ""}${one.kind === "bag" ? ", a bag" : ""}`;
  const drawing = bars({
    title: `Attention over chance by match length, ${name(one)}`,
    labels: one.spectrum.map((_, length) => `ℓ = ${length}`),
    series: [{ name: "attention over chance", colour: hex("blue"), values: one.spectrum }],
    line: 1,
  });
  const errors = one.spectrum.map((value, length) => [
    `ℓ = ${length}`,
    `${number(value)} ± ${number(one.spectrum_error[length])}`,
  ]);
  at("spectrum").replaceChildren(parsed(drawing), list(errors));
  const scores = Object.entries(one.scores).map(([key, value]) => [LABELS[key] ?? key.replaceAll("_", " "), number(value)]);
  at("scores").replaceChildren(list([["mass on the first key", number(one.sink_mass)], ...scores]));
  drawMap(one);
}

function drawMap(one) {
  const kept = shown.maps?.heads.find((map) => map.layer === one.layer && map.head === one.head);
  if (!kept) {
    at("map").replaceChildren(element("p", { class: "hint" }, "Maps are kept for heads that have an order."));
    at("readout").textContent = "";
    return;
  }
  const rows = kept.thousandths.length,
    values = new Float32Array(rows * rows),
    names = new Map();
  kept.thousandths.forEach((row, n) => row.forEach((value, i) => (values[n * rows + i] = value / 1000)));
  for (const token of shown.maps.tokens) if (!names.has(token)) names.set(token, names.size);
  const labels = shown.maps.tokens.map((token) => String.fromCharCode(97 + (names.get(token) % 26)));
  const say = (row, column) => {
    const value = row === null || column > row ? null : values[row * rows + column];
    at("readout").textContent = value === null ? "" : `query ${row}, key ${column}: ${number(value)}`;
  };
  const map = new HeatMap(`Attention of ${name(one)}`, { point: say, choose: () => {} });
  at("map").replaceChildren(map.canvas);
  map.show(new Matrix({ rows, columns: rows, values }), labels, 0);
}

async function open(path) {
  shown = await json("POST", "api/probe", { path });
  const found = shown.heads.filter((one) => one.order !== null),
    placebo = shown.controls.no_repeat;
  at("summary").textContent =
    `${shown.model}: ${found.length} of ${shown.heads.length} heads have an order. ` +
    (placebo ? `No-repeat control: ${placebo.heads_above} of ${placebo.heads} heads above their threshold.` : "");
  grid(shown);
  const best = (one) => one.scores.held_out_contrast ?? 0;
  choose([...(found.length ? found : shown.heads)].sort((left, right) => best(right) - best(left))[0]);
}

guarded(async () => {
  const results = await json("GET", "api/probes");
  if (!results.length)
    throw new Error("no probe.json in the folders of this explorer; write one with anyorder probe MODEL --out DIR");
  const select = at("result");
  select.replaceChildren(...results.map(({ path, title }) => element("option", { value: path }, title)));
  select.addEventListener("change", () => guarded(() => open(select.value)));
  await open(results[0].path);
});
