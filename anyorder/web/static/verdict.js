// The model's error on this sequence next to the bound of its certificate; both are replaced with the view.
import { deviation, element, list, math, number, replaced } from "./format.js";

const WORDS = { exact: "exact", within: "within its bound", beyond: "beyond its bound", open: "no certificate", none: "nothing to check" };

// Show the verdict on a view, or dots for null, while it is computed.
export function showVerdict(place, view) {
  if (view === null) {
    replaced(place, element("span", { class: "badge open", id: "badge" }, "…"));
    return;
  }
  const { exactness, model } = view,
    level = exactness.positions_checked ? exactness.level : "none";
  replaced(
    place,
    element("span", { class: `badge ${level}`, id: "badge" }, WORDS[level]),
    element("p", { id: "verdict-words" }, words(exactness)),
    list([
      ["error", element("span", { id: "error" }, deviation(exactness.max_error))],
      ["bound", element("span", { id: "bound" }, number(exactness.bound))],
      ["against", exactness.compared_with],
      ["checked", `${exactness.positions_checked} positions`],
      ...(exactness.at === null ? [] : [["worst at", `n = ${exactness.at}`]]),
    ]),
    model.refusal
      ? element("p", { id: "refusal" }, element("small", {}, math(`Built by force: ${model.refusal}`)))
      : null,
  );
}

function words({ level, max_error: error, bound, positions_checked: checked }) {
  if (!checked) return "Nothing is defined on this sequence: no window occurs twice.";
  if (level === "exact") return `The error ${deviation(error)} is rounding; the bound is ${number(bound)}.`;
  if (level === "within") return `The error ${deviation(error)} is below the bound ${number(bound)}, but above rounding.`;
  if (level === "open") return "This model has no certificate: its error is measured, not bounded.";
  return bound >= 1
    ? `The error is ${deviation(error)}, and a bound of 1 is no guarantee.`
    : `The error ${deviation(error)} is above the bound ${number(bound)}.`;
}

// Show the certificate, and a button to verify it if the backend can; verify() returns a sentence.
export function showCertificate(place, view, verify) {
  const { model } = view,
    promise = model.certificate;
  const facts = [
    ["model", model.title],
    ["source", model.source],
    [
      "shape",
      `${model.heads.length} layers, heads ${model.heads.join(", ")}, d = ${model.dimension}, ${model.parameters.toLocaleString("en")} parameters, ${model.dtype}`,
    ],
  ];
  if (promise) facts.push(...promised(view, promise));
  else facts.push(["certificate", "none"]);
  const result = element("p", { id: "verified", "aria-live": "polite" });
  const button = element("button", { type: "button", id: "verify" }, "Verify on hard sequences");
  button.addEventListener("click", async () => {
    const found = await verify();
    if (found) result.textContent = found;
  });
  replaced(place, list(facts), verify ? element("p", {}, button) : null, result);
}

function promised({ model, exactness }, promise) {
  const certified = model.certified_kappa,
    own = !certified || Math.abs(promise.kappa / certified - 1) < 1e-9;
  return [
    ["computes", `${exactness.compared_with}, order ${promise.order}, up to ${promise.length} tokens`],
    ["margin", number(promise.margin)],
    ["kappa", `${number(promise.kappa)}${own ? ", certified" : `, certified ${number(certified)}`}`],
    ["bound", `${number(promise.bound)} for a target of ${number(promise.target_error)}`],
    ["bits", `needs ${promise.bits_needed}, ${model.dtype} has ${promise.mantissa_bits}`],
  ];
}

export function verified(found) {
  const bound =
    found.bound === null ? "no bound" : `bound ${number(found.bound)}: ${found.passed ? "satisfied" : "violated"}`;
  return `Worst error ${deviation(found.max_error)} on ${found.positions_checked} positions of 8 hard sequences; ${bound}.`;
}
