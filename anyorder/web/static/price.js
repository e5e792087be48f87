// The price of an order: bits that certified models pay, over k and over T, and the least that any model must pay.
import { curves } from "./curves.js";
import { figure } from "./figure.js";
import { element } from "./format.js";
import { onSchemeChange } from "./palette.js";
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

// A folded section after the certificate.
export function showPrice(certificate, panels) {
  const charts = element("div", { class: "charts" }),
    draw = () =>
      charts.replaceChildren(
        ...panels.map((panel) => figure(`Price, ${panel.title}`, parsed(drawn(panel)), () => drawn(panel))),
      );
  draw();
  onSchemeChange(draw);
  const units = panels[0].lines.map(({ name, unit }) => `${name}: ${unit}`).join("; ");
  certificate.after(
    element(
      "details",
      { id: "price" },
      element("summary", {}, "The price of an order"),
      charts,
      element("p", {}, `Solid: certified models of two symbols in float64 (${units}). Dotted: the least that any model of that kind must pay.`),
    ),
  );
}
