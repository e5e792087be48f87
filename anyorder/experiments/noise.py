"""Token substitution and perturbed transitions (App. H.3), each with two readings of "the true loss"."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from anyorder import estimators
from anyorder.experiments import printed as paper
from anyorder.experiments.experiment import Experiment, Result, Table, Task, published, spread
from anyorder.training.config import Data
from anyorder.training.evaluation import held_out

READING = (
    "The paper subtracts the loss of the true transition probabilities and does not say of which. Reading A, "
    "`excess`: the distribution that each observed token was really drawn from, {inside}. Reading B, `over clean`: "
    "the entropy of the undisturbed chain at the same contexts. {verdict}"
)


def clean_loss(data: Data, count: int) -> float:
    """The entropy of the undisturbed kernel's rows at the contexts that were visited, mean over predictions."""
    drawn = held_out(data, count)

    def one(kernel: jax.Array, clean: jax.Array) -> jax.Array:
        windows = tuple(clean[j : len(clean) - data.order + j] for j in range(data.order))
        rows = kernel[windows]
        return estimators.true_loss(jnp.concatenate([rows[:1], rows])).mean()

    return float(np.asarray(jax.jit(jax.vmap(one))(drawn.kernels, drawn.clean)).mean())


def run(task: Task, data_of: Callable[[float], Data], printed: dict[float, paper.Printed]) -> Result:
    """Train at every level of one kind of noise."""
    rows = []
    levels = sorted(printed) if task.budget != "tiny" else [min(printed), max(printed)]
    for part, level in enumerate(levels):
        data = data_of(level)
        config = published(task, data)
        trained = task.train(config, part, len(levels))
        models, reference = trained.summary.models, trained.summary.reference
        clean = clean_loss(data, config.measurement.evaluation_count)
        mean, deviation = spread([model.excess for model in models])
        over_clean, clean_deviation = spread([model.loss - clean for model in models])
        mass, _ = spread([model.attention[1][0].matching_mass for model in models])
        rows.append(
            {
                "level": level,
                "excess_mean": mean,
                "excess_std": deviation,
                "over_clean_mean": over_clean,
                "over_clean_std": clean_deviation,
                "floor": reference.floor_excess,
                "matching_mass": mass,
                "chance_mass": reference.chance_matching_mass,
                "printed": str(printed[level]),
                "seeds": len(models),
            }
        )
    caption = (
        "Loss over the true loss, in nats per token, mean ± standard deviation over seeds, by both readings; the Bayes "
        "floor where it is known; attention of layer 2 on the matching positions, next to chance."
    )
    return Result({"excess": Table(caption, rows)}, settings={"data": "order 2, T = 32, Dirichlet(1) rows"})


TOKEN_NOISE = Experiment(
    "token-noise",
    "Random token substitution",
    "App. H.3, first table",
    "The loss difference grows with the probability of substitution, from 0.10 without noise to 0.21 at 0.5, and "
    "attention leaves the matching positions.",
    READING.format(
        inside="given the clean past",
        verdict="A token is replaced by a *different* one; over two symbols half of them replaced is a fair coin, so "
        "that reading A must go to zero at 0.5 and reading B to log 2 less the clean entropy, about 0.22: the printed "
        "numbers are of reading B.",
    ),
    {"tiny": 0.5, "quick": 1.6, "paper": 50},
    partial(run, data_of=lambda level: Data(order=2, length=32, token_noise=level), printed=paper.TOKEN_NOISE),
)
TRANSITION_NOISE = Experiment(
    "transition-noise",
    "Perturbed transition probabilities",
    "App. H.3, second table",
    "With (1 - α)·P_d + α·P_r and a fresh P_r at every step, the loss difference grows from 0.100 to 0.181 at α = 0.5; "
    "up to 0.1 hardly anything changes. Models stand this noise better than substituted tokens.",
    READING.format(
        inside="P_r of that step included",
        verdict="The Bayes floor is that of a predictor which knows α and sees only the tokens; it is relative to "
        "reading A. The printed numbers grow as those of reading B do.",
    ),
    {"tiny": 0.5, "quick": 1.6, "paper": 50},
    partial(
        run, data_of=lambda level: Data(order=2, length=32, transition_noise=level), printed=paper.TRANSITION_NOISE
    ),
)
