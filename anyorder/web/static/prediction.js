// The next token: the model next to the estimators, and the error at every position.
import { deviation, element, number, replaced, symbol } from "./format.js";
import { figure } from "./figure.js";
import { bars } from "./charts.js";
import { curves } from "./curves.js";
import { parsed } from "./svg.js";

export function showPrediction({ place, losses }, view, estimator, n, choose) {
  const labels = view.symbols.map(symbol),
    title = `Next token after n = ${n}`;
  const series = [
    ["model", "model", view.predicted],
    ["k-gram", "vermillion", view.kgram],
    [view.bayes_name, "green", view.bayes],
    ...(view.estimated ? [[estimator, "orange", view.estimated]] : []),
    ...(view.truth ? [["true kernel", "purple", view.truth]] : []),
  ].map(([name, colour, matrix]) => ({
    name,
    colour,
    values: matrix.row(n).map((value) => (Number.isNaN(value) ? null : value)),
  }));
  const draw = () => bars({ title, labels, series, most: 1, height: 190, width: 380 }),
    chart = parsed(errors(view, n).svg);
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect(),
      at = Math.round(errors(view, n).place((event.clientX - box.left) / box.width));
    choose(Math.min(Math.max(at, 0), view.tokens.length - 1));
  });
  const outcome = n === view.tokens.length - 1 ? view.outcome : view.tokens[n + 1],
    then = outcome === null || outcome === undefined ? "no token followed" : `then came ${labels[outcome]}`;
  replaced(
    place,
    element(
      "div",
      {},
      figure(title, element("div", { class: "scroll" }, parsed(draw())), draw),
      element("p", {}, `Error here ${deviation(view.errors[n])}; ${then}.`),
    ),
    figure("Error at every position", chart, () => errors(view, n).svg),
  );
  losses.textContent = view.losses === null ? "" : sentence(view.losses, view.bayes_name);
}

function sentence(losses, bayes) {
  const excess = (value) => (value === null ? "infinite or undefined" : number(value));
  return (
    `Mean loss above the true loss of ${number(losses.true_loss)} nats: model ${excess(losses.model_excess)}, ` +
    `${bayes} ${excess(losses.bayes_excess)}, k-gram ${excess(losses.kgram_excess)}.`
  );
}

function errors(view, n) {
  const bound = view.exactness.bound;
  return curves({
    title: "Error at every position",
    xs: view.errors.map((_, at) => at),
    series: [
      {
        name: "",
        colour: "model",
        dots: true,
        values: view.errors.map((value) => (value === null ? null : Math.max(value, 1e-18))),
      },
    ],
    rules: [{ name: `bound ${number(bound)}`, value: bound, colour: "vermillion" }],
    cursor: n,
    log: true,
    xname: "position n",
    yname: "largest error of a probability",
  });
}
