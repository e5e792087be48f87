// Small drawings as SVG text with plain attributes: what is on the page is what is saved.
import { hex } from "./palette.js";
import { number } from "./format.js";

export const escape = (text) =>
  String(text)
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");

export function tag(name, attributes, ...children) {
  const written = Object.entries(attributes)
    .filter(([, v]) => v !== null && v !== undefined)
    .map(([k, v]) => ` ${k}="${escape(v)}"`)
    .join("");
  return `<${name}${written}>${children.join("")}</${name}>`;
}

export const text = (x, y, content, attributes = {}) =>
  tag(
    "text",
    { x, y, "font-size": 11, fill: hex("text"), "font-family": "system-ui, sans-serif", ...attributes },
    escape(content),
  );

export function sheet(width, height, title, ...children) {
  return tag(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": title,
    },
    tag("title", {}, escape(title)),
    tag("rect", { width, height, fill: hex("surface") }),
    ...children,
  );
}

// A parsed copy for the page: no inline style is needed, so the strict policy of the page holds.
export function parsed(svg) {
  const made = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(made, true);
}

const nice = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((m) => m * power >= value) * power;
};

// Grouped bars: `series` is [{name, colour, values}], one group for each label.
export function bars({
  title,
  labels,
  series,
  line = null,
  marks = [],
  least = 0,
  most = null,
  width = 420,
  height = 150,
}) {
  const left = 34,
    right = 8,
    top = series.length > 1 ? 22 : 14,
    bottom = 24;
  const finite = series.flatMap((one) => one.values).filter((v) => v !== null && Number.isFinite(v));
  const high = most ?? nice(Math.max(...finite, line ?? 0, 1e-12)),
    low = Math.min(least, ...finite, line ?? 0);
  const bottomValue = low < 0 ? -nice(-low) : 0;
  width = Math.max(width, left + right + labels.length * (series.length * 7 + 7));
  const y = (v) =>
    top +
    (height - top - bottom) * (1 - (Math.min(Math.max(v, bottomValue), high) - bottomValue) / (high - bottomValue));
  const step = (width - left - right) / labels.length,
    thick = Math.min(26, (step * 0.78) / series.length);
  const parts = [];
  for (const value of [bottomValue, high])
    parts.push(
      text(left - 4, y(value) + 4, number(value), { "text-anchor": "end", fill: hex("quiet") }),
      tag("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: hex("line") }),
    );
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
        parts.push(text(middle, from - 3, number(value), { "text-anchor": "middle", "font-size": 10 }));
    });
    parts.push(text(middle, height - 8, label, { "text-anchor": "middle", "font-family": "ui-monospace, monospace" }));
  });
  if (line !== null)
    parts.push(
      tag("line", {
        x1: left,
        x2: width - right,
        y1: y(line),
        y2: y(line),
        stroke: hex("vermillion"),
        "stroke-width": 1.5,
        "stroke-dasharray": "5 3",
      }),
      text(width - right, y(line) - 3, number(line), {
        "text-anchor": "end",
        fill: hex("vermillion"),
        "font-size": 10,
      }),
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

// One value for each of many places, such as keys: thin bars over the tokens.
export function keys({ title, labels, values, marks = [], first = 0, width = 460, height = 110 }) {
  const left = 34,
    right = 6,
    top = 12,
    bottom = 26,
    count = labels.length;
  const finite = values.filter((v) => v !== null && Number.isFinite(v));
  let high = Math.max(...finite, 0),
    low = Math.min(...finite, 0);
  if (high > 0 && high <= 1.0001 && low >= 0) high = 1;
  if (high > 20) low = high - 1; // a large common part, such as the paper's gate: what differs is at the top
  if (high === low) high = low + 1;
  const y = (v) => top + (height - top - bottom) * (1 - (Math.max(v, low) - low) / (high - low));
  const step = (width - left - right) / count,
    parts = [];
  for (const value of [low, high])
    parts.push(
      text(left - 4, y(value) + 4, number(value), { "text-anchor": "end", fill: hex("quiet") }),
      tag("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: hex("line") }),
    );
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
          "font-size": Math.min(11, step * 1.1),
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
  const best = marks
    .filter((m) => values[m] !== null)
    .slice(0, 12)
    .map((m) => `${m + first}: ${number(values[m])}`)
    .join(", ");
  return sheet(width, height, `${title}, ${count} keys; marked ${best || "none"}`, ...parts);
}

// Curves over x; `log` draws powers of ten, `cursor` a vertical line, `rules` horizontal ones.
export function curves({
  title,
  xs,
  series,
  rules = [],
  cursor = null,
  log = false,
  xname = "",
  yname = "",
  width = 520,
  height = 190,
  low = null,
  high = null,
}) {
  const left = 46,
    right = 10,
    top = 22,
    bottom = 30;
  const floor = 1e-18,
    map = (v) => (log ? Math.log10(Math.max(v, floor)) : v);
  const all = [...series.flatMap((one) => one.values), ...rules.map((rule) => rule.value)]
    .filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0))
    .map(map);
  let least = low ?? (all.length ? Math.min(...all) : 0),
    most = high ?? (all.length ? Math.max(...all) : 1);
  if (log) {
    least = Math.max(Math.floor(least), -18);
    most = Math.ceil(most);
  }
  if (most <= least) most = least + 1;
  const x = (v) => left + ((width - left - right) * (v - xs[0])) / Math.max(xs[xs.length - 1] - xs[0], 1e-9);
  const y = (v) =>
    top + (height - top - bottom) * (1 - (Math.min(Math.max(map(v), least), most) - least) / (most - least));
  const parts = [
    tag("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, stroke: hex("line") }),
  ];
  const ticks = log
    ? Array.from({ length: most - least + 1 }, (_, i) => least + i).filter(
        (_, i) => i % Math.ceil((most - least + 1) / 6) === 0,
      )
    : [least, (least + most) / 2, most];
  for (const tick of ticks) {
    const value = log ? 10 ** tick : tick;
    parts.push(
      text(left - 5, y(value) + 4, log ? `1e${tick}` : number(value), {
        "text-anchor": "end",
        fill: hex("quiet"),
        "font-size": 10,
      }),
      tag("line", {
        x1: left,
        x2: width - right,
        y1: y(value),
        y2: y(value),
        stroke: hex("line"),
        "stroke-width": 0.5,
      }),
    );
  }
  for (const part of [0, 0.5, 1]) {
    const value = Math.round(xs[0] + part * (xs[xs.length - 1] - xs[0]));
    parts.push(
      text(x(value), height - bottom + 13, value, { "text-anchor": "middle", fill: hex("quiet"), "font-size": 10 }),
    );
  }
  parts.push(
    text((left + width - right) / 2, height - 4, xname, {
      "text-anchor": "middle",
      fill: hex("quiet"),
      "font-size": 10,
    }),
    text(4, 11, yname, { fill: hex("quiet"), "font-size": 10 }),
  );
  for (const one of series) {
    const points = xs.map((at, i) => [at, one.values[i]]).filter(([, v]) => v !== null && Number.isFinite(v));
    if (one.dots)
      for (const [at, v] of points)
        parts.push(
          tag("circle", {
            cx: x(at).toFixed(1),
            cy: y(v).toFixed(1),
            r: xs.length > 150 ? 1.4 : 2.2,
            fill: hex(one.colour),
          }),
        );
    else
      parts.push(
        tag("path", {
          d: points.map(([at, v], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(v).toFixed(1)}`).join(""),
          fill: "none",
          stroke: hex(one.colour),
          "stroke-width": 1.8,
          "stroke-dasharray": one.dash ?? null,
        }),
      );
  }
  for (const rule of rules)
    if (rule.value !== null && (!log || rule.value > 0))
      parts.push(
        tag("line", {
          x1: left,
          x2: width - right,
          y1: y(rule.value),
          y2: y(rule.value),
          stroke: hex(rule.colour),
          "stroke-dasharray": "6 4",
          "stroke-width": 1.5,
        }),
        text(left + 4, y(rule.value) + (y(rule.value) < top + 8 ? 11 : -4), rule.name, {
          fill: hex(rule.colour),
          "font-size": 10,
        }),
      );
  if (cursor !== null)
    parts.push(
      tag("line", {
        x1: x(cursor),
        x2: x(cursor),
        y1: top,
        y2: height - bottom,
        stroke: hex("text"),
        "stroke-width": 1,
      }),
    );
  let at = width - right;
  for (const one of [...series].reverse())
    if (one.name) {
      parts.push(text(at, 11, one.name, { "text-anchor": "end", fill: hex(one.colour), "font-size": 10.5 }));
      at -= one.name.length * 6 + 12;
    }
  return {
    svg: sheet(width, height, title, ...parts),
    place: (fraction) => {
      const px = fraction * width;
      return xs[0] + ((px - left) / (width - left - right)) * (xs[xs.length - 1] - xs[0]);
    },
  };
}
