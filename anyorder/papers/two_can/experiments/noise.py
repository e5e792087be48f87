"""Token substitution and perturbed transitions (App. H.3): one reading of "the true loss" is judged, two are shown.

The judged one is `over_clean`, the loss over the entropy of the noise-free chain (docs/rules.md).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder import chains, estimators
from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Figure, Plot, series
from anyorder.papers.two_can.experiments import learned_code
from anyorder.papers.two_can.experiments.depth import DATA, of_judged
from anyorder.papers.two_can.printed import SHOWN, TOKEN_NOISE, TRANSITION_NOISE, Printed, judged, printed_series
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Config, Data, changed
from anyorder.training.evaluation import evaluate_each
from anyorder.training.reference import evaluation_set, held_out

READING = (
    "The paper subtracts the loss of the true transition probabilities, and calls P_d the true matrix. Reading B, "
    "`over clean`, takes this literally: the entropy of the noise-free chain at the contexts that occur. It is the "
    "judged reading. Reading A, `excess`, uses the distribution from which each observed token was drawn, {inside}. "
    "Reading C, `on clean`, measures the model, trained with noise, on noise-free sequences. The models use the preset "
    "`published`, and for comparison `paper`. {verdict}"
)
#: Prefix of columns with replacement by any token, the same one included.
ANY = "any_"
OTHER = (
    "The same with replacements drawn from all symbols, the same one included: with two symbols a token changes with "
    "probability p_n/2. "
)
CAPTION = (
    "Loss minus the true loss by readings A (excess), B (over clean) and C (on clean), in nats per token, mean ± "
    "standard deviation over seeds. For reading A, `floor` is the excess of the Bayes predictor, and `kernel_known` "
    "that of the exact filter, which knows the kernel. `clean_less_true` is A minus B. `matching_mass` is the "
    "attention of layer 2 on the matching positions, and `distance` its Frobenius distance to the pseudo-attention "
    "map; `chance_mass` and `uniform_distance` are those of uniform attention."
)
#: Sequences for the references under token noise, and points for each row of the kernel; 17 are exact at T = 32.
REFERENCE: dict[Budget, tuple[int, int]] = {"tiny": (16, 4), "quick": (512, 12), "paper": (2048, 12)}


def clean_loss(data: Data, count: int) -> float:
    """The entropy of the noise-free kernel's rows at the visited contexts, averaged over predictions."""
    found = held_out(data, count)

    def one(kernel: jax.Array, clean: jax.Array) -> jax.Array:
        windows = tuple(clean[j : len(clean) - data.order + j] for j in range(data.order))
        rows = kernel[windows]
        return estimators.true_loss(jnp.concatenate([rows[:1], rows])).mean()

    return float(np.asarray(jax.jit(jax.vmap(one))(found.kernels, found.clean)).mean())


@functools.lru_cache(maxsize=8)
def token_references(data: Data, count: int, points: int) -> dict[str, estimators.LossSummary]:
    """Excess (reading A) of the best predictors from noisy tokens, if the kernel is known and if it is unknown.

    They are measured on the first sequences of the evaluation set.
    """
    found = held_out(data, count)
    noise, nodes = chains.TokenNoise(data.token_noise), estimators.uniform_nodes(data.order, points)

    @eqx.filter_jit
    def each(kernel: Array, tokens: Array, truth: Array) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
        def excess(predicted: Array) -> Float[Array, "n"]:
            return (estimators.exact_loss(predicted, truth) - estimators.true_loss(truth))[data.order - 1 :]

        known = estimators.filtered(tokens, kernel, noise).probabilities
        return excess(known), excess(estimators.bayes_under_token_noise(tokens, noise, nodes))

    both = jax.lax.map(lambda item: each(*item), (found.kernels, found.tokens, found.truth))
    return {name: estimators.summarise(np.asarray(one)) for name, one in zip(("known", "unknown"), both, strict=True)}


def run(task: Task, kind: str, printed: Mapping[float, Printed], any_token: bool = False) -> Result:
    """Train at every level of a kind of noise, a field of `Data`; with `any_token` by a second reading of the level."""
    levels = sorted(printed) if task.budget != "tiny" else [min(printed), max(printed)]
    shares = {"": 1.0} | ({ANY: 0.5} if any_token else {})  # of the level that replaces a token by a different one
    found: dict[str, list[Row]] = {"": [], ANY: []}
    for part, (preset, prefix, level) in task.parts(list(itertools.product(task.among(SHOWN[:2]), shares, levels))):
        config = of_preset(task, preset, DATA, **{kind: shares[prefix] * level})
        found[prefix].append({"preset": preset, "level": level} | noise_row(part, config, prefix, printed[level]))
    tables = {"excess": Table(CAPTION, found[""]), "any_token": Table(OTHER + CAPTION, found[ANY])}
    drawn = charts({"excess": found[""], "any_token": found[ANY]}, printed)
    return of_judged(task, {name: table for name, table in tables.items() if table.rows}, drawn)


def noise_row(task: Task, config: Config, prefix: str, printed: Printed) -> Row:
    """A row: models trained under this noise, by every reading, next to the printed values and the references."""
    data = config.data
    trained = task.train(config)
    models, reference = trained.summary.models, trained.summary.reference
    clean = clean_loss(data, config.measurement.evaluation_count)
    without = changed(config, {"token_noise": 0.0, "transition_noise": 0.0})
    readings = {
        "excess": [model.excess for model in models],
        "over_clean": [model.loss - clean for model in models],
        "on_clean": [one.excess for one in evaluate_each(trained.models, evaluation_set(*without.evaluation))],
    }
    tokens = held_out(*config.evaluation).tokens[:, :-1]
    known = None if data.transition_noise else 0.0
    floor, error = reference.floor_excess, reference.floor_excess_error
    if data.token_noise:
        task.watch(1.0, "exact references")
        bounds = token_references(data, *REFERENCE[task.budget])
        known, floor, error = bounds["known"].mean, bounds["unknown"].mean, bounds["unknown"].standard_error
    found: Row = {prefix + name: spread(values) for name, values in readings.items()}
    for name in readings:
        found |= printed.beside(prefix + name, found[prefix + name])
    return found | {
        "floor": floor,
        "floor_error": error,
        "kernel_known": known,
        "clean_less_true": clean - reference.true_loss,
        "matching_mass": spread([model.attention[1][0].matching_mass for model in models]),
        "chance_mass": reference.chance_matching_mass,
        "distance": spread([model.attention[1][0].distance for model in models]),
        "uniform_distance": float(learned_code.uniform_distances(tokens, data.order).mean()),
    }


def charts(tables: Tables, printed: Mapping[float, Printed]) -> dict[str, Figure]:
    """All readings of the loss difference, the printed one and the references; attention on the matches."""
    rows, again = judged(tables["excess"]), judged(tables.get("any_token", []))
    ours = judged(tables["excess"], "paper")
    shown = {row["level"]: printed[row["level"]] for row in rows}
    losses = [
        series("B: over the clean truth (judged)", rows, "level", "over_clean", "o-", 2),
        *([series("B, preset paper", ours, "level", "over_clean", "v:", 5)] if ours else []),
        *([series("B, replaced by any token", again, "level", "any_over_clean", "o:", 2)] if again else []),
        series("A: over the noisy truth", rows, "level", "excess", "o-", 0, -0.006),
        series("C: on clean sequences", rows, "level", "on_clean", "o-", 4),
        printed_series(shown.values(), [level + 0.006 for level in shown], "s:"),
        series("Bayes floor, reading A", rows, "level", "floor", "k--"),
    ]
    if any(row["kernel_known"] for row in rows):
        losses.append(series("kernel known, reading A", rows, "level", "kernel_known", "k:"))
    masses = [
        series("attention of layer 2", rows, "level", "matching_mass", "o-", 0),
        series("uniform attention", rows, "level", "chance_mass", ":", "0.5"),
    ]
    caption = "Loss difference by all readings next to the printed one, and attention of layer 2 on the matches."
    panels = [
        Chart("noise level", "loss difference (nats)", losses, from_zero=True),
        Chart("noise level", "attention on matches", masses, from_zero=True, top=1.0),
    ]
    return {"noise": Plot(caption, panels, height=3.6)}


@experiment(
    "Random token substitution",
    "App. H.3, first table",
    {"tiny": 0.6, "quick": 3, "paper": 110},
    paper="The loss difference grows with the probability of substitution, from "
    f"{TOKEN_NOISE[0.0].mean:.2f} without noise to {TOKEN_NOISE[0.5].mean:.2f} at 0.5, and attention "
    "leaves the matching positions.",
    reading=READING.format(
        inside="given the clean past",
        verdict="A token is replaced by a *different* one; with two symbols, replacing half of the tokens gives a fair "
        "coin, so reading A must go to zero at 0.5, and readings B and C to log 2 minus the noise-free entropy, about "
        "0.22. In a second table the replacement is any token. No predictor from the noisy tokens beats the filter "
        "that knows the kernel; the Bayes floor integrates over all kernels.",
    ),
    judged="over_clean",
    on_page=OnPage(figures=("noise",), charts=functools.partial(charts, printed=TOKEN_NOISE)),
)
def token_noise(task: Task) -> Result:
    """Replacement by a different token, and in a second table by any token."""
    return run(task, "token_noise", TOKEN_NOISE, any_token=True)


@experiment(
    "Perturbed transition probabilities",
    "App. H.3, second table",
    {"tiny": 0.5, "quick": 2.1, "paper": 75},
    paper="With (1 - α)·P_d + α·P_r and a fresh P_r at every step, the loss difference grows from "
    f"{TRANSITION_NOISE[0.0].mean:.3f} to {TRANSITION_NOISE[0.5].mean:.3f} at α = 0.5; up to 0.1 hardly anything "
    "changes. Models are more robust to this noise than to substituted tokens.",
    reading=READING.format(
        inside="P_r of that step included",
        verdict="The Bayes floor is that of a predictor which knows α and sees only the tokens; it is relative to "
        "reading A.",
    ),
    judged="over_clean",
    on_page=OnPage(figures=("noise",), charts=functools.partial(charts, printed=TRANSITION_NOISE)),
)
def transition_noise(task: Task) -> Result:
    """Transitions that are perturbed at every step."""
    return run(task, "transition_noise", TRANSITION_NOISE)
