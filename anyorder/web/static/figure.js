// A figure with a name and two buttons that save it: SVG, and PNG made from the same SVG.
import { element, math } from "./format.js";

export function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function png(svg, scale = 2) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = image.width * scale;
      canvas.height = image.height * scale;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the figure could not be drawn"))), "image/png");
    };
    image.onerror = () => reject(new Error("the figure could not be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}

// `draw()` gives the SVG as text; `content` is what stands on the page.
export function figure(name, content, draw, extra = null) {
  const file =
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "") || "figure";
  const button = (kind, act) =>
    element(
      "button",
      { type: "button", title: `Save ${name} as ${kind}`, "aria-label": `Save ${name} as ${kind}`, on: { click: act } },
      kind,
    );
  return element(
    "figure",
    {},
    element(
      "figcaption",
      {},
      element("span", { class: "name" }, math(name)),
      extra,
      button("SVG", () => save(new Blob([draw()], { type: "image/svg+xml" }), `${file}.svg`)),
      button("PNG", async () => save(await png(draw()), `${file}.png`)),
    ),
    content,
  );
}
