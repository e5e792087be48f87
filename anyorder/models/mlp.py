"""Normalisations and the stack of layers between two attention layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.models.arithmetic import Weights, linear, stored, total, unit
from anyorder.models.hooks import Hook, plain

#: The ε of layer norms, added to the variance.
EPSILON = 1e-5
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "none": lambda x: x,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
}


class UnitNorm(eqx.Module):
    """The paper's layer norm (App. A.1): a row divided by its length; no parameters, zero stays zero.

    >>> UnitNorm()(jnp.asarray([[0.0, 5.0]], jnp.float32)).tolist()
    [[0.0, 1.0]]
    """

    def __call__(self, x: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Every row, divided by its length."""
        return unit(x)


class LayerNorm(eqx.Module):
    """The standard layer norm with gain and bias, for training.

    >>> norm = LayerNorm(jnp.ones(2, jnp.float32), jnp.zeros(2, jnp.float32))
    >>> norm(jnp.asarray([[1.0, 3.0]], jnp.float32)).round(3).tolist()
    [[-1.0, 1.0]]
    """

    gain: Float[Weights, "width"]
    bias: Float[Weights, "width"]

    def __call__(self, x: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Every row with mean zero and variance one, times gain, plus bias."""
        width = x.shape[-1]
        centred = stored(x - stored(total(x) / width))
        variance = stored(total(stored(centred * centred)) / width)
        return stored(stored(centred / stored(jnp.sqrt(stored(variance + EPSILON))) * self.gain) + self.bias)


Norm = UnitNorm | LayerNorm


class MLPLayer(eqx.Module):
    """One layer of a stack: `points[skip] + norm(activation(W x + b))`.

    `skip` names the earlier point of the stack that is added: 0 is the stack's input, j the output of its
    j-th layer, and None adds nothing. App. B.1 is the stack with skips 0, 0, 2; a GPT-2 block has None, 0.
    """

    weight: Float[Weights, "outputs inputs"]
    bias: Float[Weights, "outputs"] | None = None
    activation: Literal["none", "relu", "gelu"] = eqx.field(static=True, default="relu")
    norm: Norm | None = None
    skip: int | None = eqx.field(static=True, default=None)

    def __call__(
        self, x: Float[Array, "rows inputs"], points: tuple[Float[Array, "rows _"], ...]
    ) -> Float[Array, "rows outputs"]:
        """The next point of the stack, from the previous one (as it is read) and all earlier points."""
        x = stored(ACTIVATIONS[self.activation](linear(x, self.weight, self.bias)))
        if self.norm is not None:
            x = self.norm(x)
        return x if self.skip is None else stored(points[self.skip] + x)


def run_stack(
    layers: tuple[MLPLayer, ...], norm: Norm | None, x: Float[Array, "rows d"], hook: Hook = plain
) -> tuple[Float[Array, "rows _"], ...]:
    """Every point of the stack on input `x`: the input itself, then the output of each layer.

    With `norm` (pre-norm) the first layer reads the normalised input; a skip from point 0 adds the plain one.

    >>> identity = MLPLayer(jnp.eye(2, dtype=jnp.float32), skip=0)
    >>> [point.tolist() for point in run_stack((identity,), None, jnp.asarray([[1.0, -1.0]], jnp.float32))]
    [[[1.0, -1.0]], [[2.0, -1.0]]]
    """
    points: tuple[Array, ...] = (x,)
    read = x if norm is None else norm(x)
    for layer in layers:
        read = layer(hook("read", read), points)
        points = (*points, read)
    return points
