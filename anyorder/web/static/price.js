// The price of an order: the bits of certified models, over k and over T, and the lower bounds.
import { curves } from "./curves.js";
import { figure } from "./figure.js";
import { element, replaced } from "./format.js";
import { parsed } from "./svg.js";

const COLOURS = ["blue", "vermillion", "green"];

function drawn(panel) {
  const log = panel.x.startsWith("length"),
    series = panel.lines.flatMap(({ name, pays, least }, at) => [
      { name, values: pays, colour: COLOURS[at] },
      { name: "", values: least, colour: COLOURS[at], dash: "2 3" },
    ]);
  return curves({
    title: `${panel.title}: bits over the ${panel.x}`,
    xs: log ? panel.places.map(Math.log2) : panel.places,
    series,
    log: true,
    xname: log ? `log₂ of the ${panel.x}` : panel.x,
    yname: "bits",
  }).svg;
}

export function showPrice(place, panels) {
  const charts = panels.map((panel) => figure(`Price, ${panel.title}`, parsed(drawn(panel)), () => drawn(panel))),
    units = panels[0].lines.map(({ name, unit }) => `${name}: ${unit}`).join("; ");
  replaced(
    place,
    element("p", {}, `Solid: certified models of two symbols in float64 (${units}). Dotted: lower bounds, under the assumptions in docs/price.md.`),
    element("div", { class: "charts" }, ...charts),
  );
}
