"""The evaluation of the published code: one kernel, sampled losses of model and optimum on different sequences."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.models import Transformer
from anyorder.papers.experiment import Budget, TableRow, Task
from anyorder.papers.two_can.printed import Printed
from anyorder.training.config import Data
from anyorder.training.step import log_probabilities

#: Kernels, and sequences of each kernel for the model and as many others for the optimum.
COUNTS: dict[Budget, tuple[int, int]] = {"tiny": (4, 16), "quick": (64, 512), "paper": (64, 512)}
CAPTION = (
    "The evaluation of the published code: |sampled loss of the model - sampled loss of the true kernel on other "
    "sequences|, over all positions, for one random kernel, as printed by the published runs. Here over many kernels: "
    "the mean, the standard deviation from kernel to kernel, the median over kernels of the standard deviation over "
    "seeds (`seed_spread`), and the share of kernels whose mean over seeds agrees with the printed value."
)


@eqx.filter_jit
def signed_gaps(model: Transformer, data: Data, key: PRNGKeyArray, kernels: int, count: int) -> Float[Array, "kernels"]:
    """Sampled loss of the model minus that of the true kernel on other sequences, for every kernel, with its sign."""
    drawn = data.source_of(data.tokens, per_kernel=2 * count).sample(key, 2 * kernels * count)
    tokens = drawn.tokens.reshape(kernels, 2 * count, -1)
    truth = drawn.truth.reshape(kernels, 2 * count, tokens.shape[2], -1)

    def sampled(logarithms: Array, came: Array) -> Array:
        return -jnp.take_along_axis(logarithms, came[..., None], axis=-1).mean()

    def one(tokens: Array, truth: Array) -> Array:
        model_loss = sampled(log_probabilities(model, tokens[:count, :-1]), tokens[:count, 1:])
        # The first k tokens have probability 1/S: the distribution that they were drawn from.
        return model_loss - sampled(jnp.log(truth[count:, 1:]), tokens[count:, 1:])

    return jax.lax.map(lambda item: one(*item), (tokens, truth))


def row(task: Task, models: Sequence[Transformer], data: Data, printed: Printed) -> TableRow:
    """The columns of the table for the models of one kind, which all see the same kernels."""
    kernels, count = COUNTS[task.budget]
    key = jax.random.key(11)
    found = np.abs([np.asarray(signed_gaps(model, data, key, kernels, count)) for model in models])
    by_kernel = found.mean(axis=0)
    over_seeds = found.std(axis=0, ddof=1) if len(models) > 1 else np.zeros(kernels)
    agreeing = [printed.agrees(*each) for each in zip(by_kernel.tolist(), over_seeds.tolist(), strict=True)]
    return {
        "mean": float(found.mean()),
        "std_over_kernels": float(by_kernel.std(ddof=1)),
        "seed_spread": float(np.median(over_seeds)),
        "smallest": float(by_kernel.min()),
        "largest": float(by_kernel.max()),
        "kernels_that_agree": float(np.mean(agreeing)),
        "printed": str(printed),
        "kernels": kernels,
        "sequences": count,
    }
