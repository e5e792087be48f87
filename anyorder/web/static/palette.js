// Colours come from the style sheet, so that drawings follow light and dark mode.

export const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888888";

function resolved(name) {
  let value = colour(name);
  const inner = /^var\(--([a-z]+)\)$/.exec(value);
  return inner ? resolved(inner[1]) : value;
}
export const hex = resolved;

const channels = (text) => [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));

function table(stops) {
  const rgb = stops.map(channels),
    result = new Uint8ClampedArray(256 * 3);
  for (let step = 0; step < 256; step++) {
    const place = (step / 255) * (rgb.length - 1),
      low = Math.min(Math.floor(place), rgb.length - 2),
      part = place - low;
    for (let channel = 0; channel < 3; channel++)
      result[step * 3 + channel] = rgb[low][channel] * (1 - part) + rgb[low + 1][channel] * part;
  }
  return result;
}

// Brightness is monotone from zero to one: readable without colour vision, and in print.
export function sequential() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return table(
    dark ? [hex("low"), hex("blue"), hex("sky"), hex("high")] : [hex("low"), hex("sky"), hex("blue"), hex("high")],
  );
}
export const diverging = () => table([hex("blue"), hex("middle"), hex("vermillion")]);

export function onSchemeChange(handler) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", handler);
}
