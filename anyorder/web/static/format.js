// Words and numbers for people, and elements.

const NAMES = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "": "∅" };
export const symbol = (name) => NAMES[name] ?? (/^[\p{C}\p{Z}\p{M}]$/u.test(name) ? `U+${name.codePointAt(0).toString(16)}` : name);

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(digits - 2 > 0 ? digits - 2 : 0);
  return String(Number(value.toPrecision(digits + 1)));
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const list = (pairs) => element("dl", {}, ...pairs.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]));
