"""A mixer of one's own: attention whose scores fall linearly with the distance (ALiBi, Press et al. 2022).

anyorder train --plugin examples/alibi.py --mixer alibi --heads 4 --out run
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.models.arithmetic import linear
from anyorder.models.hooks import plain
from anyorder.training.mixers import Mixer


class AlibiHead(eqx.Module):
    """One head; its arrays are its weights, and files know them by their names."""

    query: Float[Array, "width d"]
    key: Float[Array, "width d"]
    value: Float[Array, "width d"]
    projection: Float[Array, "d width"]
    slope: float = eqx.field(static=True)

    def __call__(self, x, *, keep_weights, hook=plain):
        """The head's contribution to the stream, and its attention weights if they are to be kept."""
        places = jnp.arange(len(x))
        offsets = places[:, None] - places[None, :]
        scores = linear(x, self.query) @ linear(x, self.key).T / len(self.key) ** 0.5 - self.slope * offsets
        weights = jax.nn.softmax(jnp.where(offsets >= 0, scores, -jnp.inf), axis=-1)
        written = linear(weights @ linear(x, self.value), self.projection)
        return hook("written", written), weights if keep_weights else None


def parts(config, number, draw):
    """The heads of layer `number`, with slopes 2^(-8/h), 2^(-16/h), …"""
    d, heads = config.architecture.dimension, config.heads[number]
    width = d // heads

    def head(slope):
        matrices = [draw("matrix", width, d) for _ in range(3)]
        return AlibiHead(*matrices, draw("projection", d, width), slope=slope)

    return {"heads": tuple(head(2.0 ** (-8 * one / heads)) for one in range(1, heads + 1))}


ALIBI = Mixer(parts)
