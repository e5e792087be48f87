// Curves over steps or positions.
import { hex } from "./palette.js";
import { number } from "./format.js";
import { across, fitted, nice, sheet, tag, text } from "./svg.js";

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
  width = fitted(width);
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
  } else if (most > 0) most = nice(most);
  if (most <= least) most = least + 1;
  const x = (v) => left + ((width - left - right) * (v - xs[0])) / Math.max(xs[xs.length - 1] - xs[0], 1e-9);
  const y = (v) =>
    top + (height - top - bottom) * (1 - (Math.min(Math.max(map(v), least), most) - least) / (most - least));
  const small = { "font-size": 10 },
    quiet = { fill: hex("quiet"), ...small },
    parts = [across(left, width - right, height - bottom, { stroke: hex("line") })];
  const ticks = log
    ? Array.from({ length: most - least + 1 }, (_, i) => least + i).filter(
        (_, i) => i % Math.ceil((most - least + 1) / 6) === 0,
      )
    : [least, (least + most) / 2, most];
  for (const tick of ticks) {
    const value = log ? 10 ** tick : tick;
    parts.push(
      text(left - 5, y(value) + 4, log && Math.abs(tick) > 3 ? `1e${tick}` : number(value), { "text-anchor": "end", ...quiet }),
      across(left, width - right, y(value), { stroke: hex("line"), "stroke-width": 0.5 }),
    );
  }
  for (const part of [0, 0.5, 1]) {
    const value = Math.round(xs[0] + part * (xs[xs.length - 1] - xs[0]));
    parts.push(text(x(value), height - bottom + 13, value, { "text-anchor": "middle", ...quiet }));
  }
  parts.push(
    text((left + width - right) / 2, height - 4, xname, { "text-anchor": "middle", ...quiet }),
    text(4, 11, yname, quiet),
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
        across(left, width - right, y(rule.value), {
          stroke: hex(rule.colour),
          "stroke-dasharray": "6 4",
          "stroke-width": 1.5,
        }),
        text(left + 4, y(rule.value) + (y(rule.value) < top + 8 ? 11 : -4), rule.name, {
          fill: hex(rule.colour),
          ...small,
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
