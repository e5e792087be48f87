"""Small random models, and the dtypes of compiled programs."""

import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from anyorder.models import Head, Layer, LayerNorm, Mamba, MLPLayer, Recurrence, Transformer, UnitNorm

SYMBOLS = 3


def random_model(seed, *, dtype="float64", d=8, heads=(1, 1), mlp="paper", **options):
    """A model with random weights; `options` switch the parts on that a case is about."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[-1] if shape else 1), dtype)

    def norm(width):
        return LayerNorm(1 + draw(width), draw(width))

    def mamba(state, taps, value=3):
        matrices = (draw(state, d), draw(state, d), draw(value, d), draw(value, d), draw(d, value))
        convolution = (draw(taps, 2 * state + value), draw(2 * state + value))
        decay = None if options.get("decay") == "one" else draw()
        return Mamba(*matrices, *convolution, draw(d), draw(), draw(), 1 + draw(value), decay)

    def recurrence(features):
        table = abs(draw(features, d // 2)) if options.get("initial") else None
        return Recurrence(draw(features, d), draw(features, d), draw(features), draw(d // 2, d), draw(d, d // 2), table)

    def head():
        if "state" in options:
            return mamba(options["state"], options["mamba_taps"])
        if "features" in options:
            return recurrence(options["features"])
        projected = options.get("projected", False)
        width = d // 2 if projected else d
        return Head(
            query=draw(width, d),
            key=draw(width, d),
            value=draw(width, d),
            projection=draw(d, width) if projected else None,
            key_positions=draw(options["key_offsets"], width) if "key_offsets" in options else None,
            value_positions=draw(options["value_offsets"], width) if "value_offsets" in options else None,
            scale=options.get("scale", 1.0),
            normalise=options.get("normalise", False),
            rotary=options.get("rotary"),
        )

    stacks = {
        "none": lambda: (),
        "paper": lambda: (
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), None, "relu", UnitNorm(), 2),
        ),
        "paper-qk": lambda: (
            MLPLayer(draw(d, d), draw(d), "relu", UnitNorm(), 0),
            MLPLayer(draw(d, d), draw(d), "none", None, None),
        ),
        "gpt": lambda: (
            MLPLayer(draw(4 * d, d), draw(4 * d), "gelu"),
            MLPLayer(draw(d, 4 * d), draw(d), "none", skip=0),
        ),
    }
    pre_norm = options.get("pre_norm", False)
    layers = tuple(
        Layer(
            tuple(head() for _ in range(count)),
            stacks[mlp](),
            attention_norm=norm(d) if pre_norm else None,
            mlp_norm=norm(d) if pre_norm else None,
            convolution=draw(options["taps"], d) if "taps" in options else None,
        )
        for count in heads
    )
    return Transformer(
        embedding=draw(SYMBOLS, d),
        layers=layers,
        output=None if options.get("tied") else draw(SYMBOLS, d),
        output_bias=draw(SYMBOLS) if options.get("output_bias") else None,
        beginning=draw(d) if options.get("beginning") else None,
        positions=draw(options["places"], d) if "places" in options else None,
        final_norm=norm(d) if pre_norm else None,
        output_map=options.get("output_map", "softmax"),
    )


def tokens_of(length, seed=0):
    return np.random.default_rng(seed).integers(0, SYMBOLS, size=length)


def jaxpr_dtypes(jaxpr):
    found = set()
    for equation in jaxpr.eqns:
        found |= {variable.aval.dtype for variable in equation.outvars if hasattr(variable.aval, "dtype")}
        for inner in jaxprs_in_params(equation.params):
            found |= jaxpr_dtypes(inner)
    return found
