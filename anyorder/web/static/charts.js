// Bars, keys and overlays: small drawings of a few numbers.
import { hex } from "./palette.js";
import { number } from "./format.js";
import { across, escape, fitted, nice, sheet, tag, text } from "./svg.js";

// Horizontal lines at some values, labelled on the left.
const ruled = (values, y, left, right) =>
  values.flatMap((value) => [
    text(left - 4, y(value) + 4, number(value), { "text-anchor": "end", fill: hex("quiet") }),
    across(left, right, y(value), { stroke: hex("line") }),
  ]);

// Width of the labels of these values.
const room = (values) => Math.max(34, 8 + 6.5 * Math.max(...values.map((value) => number(value).length)));

// The end of an axis; 1 if all values are rounding errors.
const end = (value) => (value > 1e-12 ? nice(value) : 1);

// Grouped bars: `series` is [{name, colour, values}], one group for each label. The axis reaches at least to `top`, so
// that noise stays small.
export function bars({
  title,
  labels,
  series,
  line = null,
  lineName = null,
  marks = [],
  least = 0,
  top: lowest = 0,
  most = null,
  xname = "",
  width = 420,
  height = 150,
}) {
  const right = 8,
    top = series.length > 1 ? 22 : 14,
    bottom = xname ? 38 : 24;
  const finite = series.flatMap((one) => one.values).filter((v) => v !== null && Number.isFinite(v));
  const high = most ?? end(Math.max(...finite, line ?? 0, lowest)),
    low = Math.min(least, ...finite, line ?? 0);
  const bottomValue = low < 0 ? -nice(-low) : 0,
    left = room([bottomValue, high]);
  width = Math.max(fitted(width), left + right + labels.length * (series.length * 7 + 7));
  const y = (v) =>
    top +
    (height - top - bottom) * (1 - (Math.min(Math.max(v, bottomValue), high) - bottomValue) / (high - bottomValue));
  const step = (width - left - right) / labels.length,
    thick = Math.min(26, (step * 0.78) / series.length),
    clear = (at) => (line !== null && Math.abs(at - 4 - y(line)) < 8 ? y(line) - 4 : at); // not across the line
  const parts = ruled([bottomValue, high], y, left, width - right);
  labels.forEach((label, place) => {
    const middle = left + step * (place + 0.5);
    series.forEach((one, index) => {
      const value = one.values[place],
        x = middle + (index - series.length / 2) * thick;
      if (value === null || Number.isNaN(value)) {
        parts.push(text(x + thick / 2, y(0) - 2, "?", { "text-anchor": "middle", fill: hex("quiet") }));
        return;
      }
      const from = Math.min(y(value), y(0)),
        tall = Math.abs(y(value) - y(0)),
        marked = marks.includes(place);
      parts.push(
        tag(
          "rect",
          {
            x: x + 0.5,
            y: from,
            width: thick - 1,
            height: Math.max(tall, value === 0 ? 0 : 1),
            fill: hex(marked ? "vermillion" : one.colour),
            rx: 1,
          },
          tag("title", {}, escape(`${label}, ${one.name}: ${number(value, 6)}`)),
        ),
      );
      if (series.length === 1 && labels.length <= 16 && Math.abs(value) > 0.005 * (high - bottomValue))
        parts.push(text(middle, clear(from - 3), number(value), { "text-anchor": "middle", "font-size": 10 }));
    });
    parts.push(text(middle, height - bottom + 16, label, { "text-anchor": "middle", "font-family": "ui-monospace, monospace" }));
  });
  if (xname)
    parts.push(text((left + width - right) / 2, height - 5, xname, { "text-anchor": "middle", "font-size": 10, fill: hex("quiet") }));
  if (line !== null)
    parts.push(
      across(left, width - right, y(line), {
        stroke: hex("vermillion"),
        "stroke-width": 1.5,
        "stroke-dasharray": "5 3",
      }),
      text(width - right, y(line) - 3, lineName ?? number(line), { "text-anchor": "end", fill: hex("vermillion"), "font-size": 10 }),
    );
  if (series.length > 1) {
    let at = left;
    for (const one of series) {
      parts.push(
        tag("rect", { x: at, y: 2, width: 8, height: 8, fill: hex(one.colour) }),
        text(at + 12, 10, one.name, { "font-size": 10.5 }),
      );
      at += one.name.length * 6 + 26;
    }
  }
  const told =
    labels.length <= 24
      ? labels
          .map((label, place) => `${label} ${series.map((one) => number(one.values[place])).join(" / ")}`)
          .join(", ")
      : `${labels.length} bars`;
  return sheet(width, height, `${title}: ${told}`, ...parts);
}

// One value per position, such as the scores of keys: thin bars over the tokens.
export function keys({ title, labels, values, marks = [], first = 0, unit = "", width = 460, height = 110 }) {
  const right = 6,
    top = unit ? 24 : 12,
    bottom = 26,
    count = labels.length;
  width = fitted(width);
  const finite = values.filter((v) => v !== null && Number.isFinite(v));
  let high = Math.max(...finite, 0),
    low = Math.min(...finite, 0);
  if (high > 0 && high <= 1.0001 && low >= 0) high = 1;
  if (high > 20) low = high - 1; // values share a large term, such as the paper's gate: show the top, where they differ
  if (high === low) high = low + 1;
  const left = room([low, high]);
  const y = (v) => top + (height - top - bottom) * (1 - (Math.max(v, low) - low) / (high - low));
  const step = (width - left - right) / count,
    parts = unit ? [text(2, 11, `in units of ${unit}`, { fill: hex("quiet"), "font-size": 10.5 })] : [];
  parts.push(...ruled([low, high], y, left, width - right));
  values.forEach((value, place) => {
    const x = left + step * place,
      marked = marks.includes(place),
      zero = Math.min(Math.max(0, low), high);
    if (value !== null)
      parts.push(
        tag(
          "rect",
          {
            x: x + Math.min(0.5, step / 8),
            y: Math.min(y(value), y(zero)),
            width: Math.max(step - 1, step * 0.75),
            height: Math.max(Math.abs(y(value) - y(zero)), 0.5),
            fill: hex(marked ? "vermillion" : "model"),
          },
          tag("title", {}, escape(`position ${place + first}, ${labels[place]}: ${number(value, 6)}`)),
        ),
      );
    if (marked)
      parts.push(
        tag("circle", {
          cx: x + step / 2,
          cy: height - 3,
          r: Math.min(2.5, Math.max(step / 3, 1.2)),
          fill: hex("vermillion"),
        }),
      );
    if (step >= 7)
      parts.push(
        text(x + step / 2, height - 10, labels[place], {
          "text-anchor": "middle",
          "font-size": Math.min(12, step * 1.2),
          "font-family": "ui-monospace, monospace",
        }),
      );
  });
  if (step < 7)
    for (let place = 0; place < count; place += Math.ceil(count / 8))
      parts.push(
        text(left + step * (place + 0.5), height - 10, place + first, {
          "text-anchor": "middle",
          "font-size": 10,
          fill: hex("quiet"),
        }),
      );
  const told = unit ? `in units of ${unit}, ` : "";
  const best = marks
    .filter((m) => values[m] !== null)
    .slice(0, 12)
    .map((m) => `${m + first}: ${number(values[m])}`)
    .join(", ");
  return sheet(width, height, `${title}, ${told}${count} keys; marked ${best || "none"}`, ...parts);
}

// One vector drawn over another: `under` as filled bars, `over` as an outline. Equal ones fill it to the last pixel.
export function overlay({ title, labels, over, under, names, colour, width = 300, height = 150 }) {
  const right = 8,
    top = 24,
    bottom = 24;
  const high = end(Math.max(...over, ...under)),
    least = Math.min(0, ...over, ...under),
    low = least < 0 ? -nice(-least) : 0,
    left = room([low, high]);
  width = Math.max(fitted(width), left + right + labels.length * 11);
  const y = (value) => top + (height - top - bottom) * (1 - (value - low) / (high - low)),
    step = (width - left - right) / labels.length,
    thick = Math.min(26, step * 0.72);
  const parts = ruled([low, high], y, left, width - right);
  labels.forEach((label, place) => {
    const middle = left + step * (place + 0.5);
    const bar = (value, attributes) =>
      tag("rect", {
        x: middle - thick / 2,
        y: Math.min(y(value), y(0)),
        width: thick,
        height: Math.abs(y(value) - y(0)),
        ...attributes,
      });
    parts.push(
      bar(under[place], { fill: hex(colour), "fill-opacity": 0.55 }),
      bar(over[place], { fill: "none", stroke: hex("text"), "stroke-width": 1.6 }),
      text(middle, height - 8, label, { "text-anchor": "middle", "font-family": "ui-monospace, monospace" }),
    );
  });
  parts.push(
    tag("rect", { x: left, y: 4, width: 10, height: 9, fill: "none", stroke: hex("text"), "stroke-width": 1.6 }),
    text(left + 15, 12, names[0], { "font-size": 10.5 }),
    tag("rect", { x: left + 56, y: 4, width: 10, height: 9, fill: hex(colour), "fill-opacity": 0.55 }),
    text(left + 71, 12, names[1], { "font-size": 10.5 }),
  );
  const told = labels.map((label, place) => `${label} ${number(over[place])} and ${number(under[place])}`).join(", ");
  return sheet(width, height, `${title}: ${labels.length <= 24 ? told : `${labels.length} coordinates`}`, ...parts);
}
