// Small drawings as SVG text with plain attributes; the page shows and saves the same text.
import { hex } from "./palette.js";

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

// The width of a drawing; on a phone that of the page, so that text is not scaled down. While presenting, drawings are
// enlarged to half of the screen, and so is their text.
export const fitted = (width) => {
  const page = document.documentElement,
    room = page.classList.contains("present") ? 400 : page.clientWidth - 48;
  return Math.min(width, Math.max(room, 240));
};

// The end of an axis: the value rounded up to 1, 2, 5, 10, …
export const nice = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((m) => m * power >= value) * power;
};

export const across = (x1, x2, y, attributes) => tag("line", { x1, x2, y1: y, y2: y, ...attributes });

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

// A parsed copy for the page, without inline styles, which the page's content security policy forbids.
export function parsed(svg) {
  const made = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(made, true);
}
