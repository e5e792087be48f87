"""Parts shared by constructions: the head of a window, directions, exact integers in the stream, the frame."""

from __future__ import annotations

import math
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from anyorder.constructions.certificate import Request, unit_roundoff
from anyorder.constructions.stream import Route, Stream, Value
from anyorder.io.gates import SHARE, check_memory, free_memory
from anyorder.io.numerics import DTYPES
from anyorder.models import Head, Layer, MLPLayer, Transformer, UnitNorm


def fitting(request: Request, stream: Stream) -> Stream:
    """The stream of a model whose head compares k tokens, or an `InputError` if its matrices fill the memory.

    Two matrices are nearly square. With their copies they take 40 bytes per entry.
    """
    k, s, width = request.order, request.alphabet_size, stream.dimension
    needed, free = 40 * width**2, free_memory()
    if free is not None and needed > SHARE * free:
        beside = 2 * s + 4  # coordinates that do not depend on k
        fits = int(k * (math.sqrt(SHARE * free / 40) - beside) / (width - beside))
        check_memory(
            needed,
            f"order {k} over {s} symbols has rows of {width:,} numbers, and",
            f"use order ≤ {max(1, fits)} or fewer symbols",
        )
    return stream


def window_head(
    stream: Stream,
    *,
    weights: Mapping[int, float],
    write: str,
    scale: float,
    pull: float,
    positions: Mapping[int, Mapping[str, Value]] | None = None,
    width: int = 1,
) -> Head:
    """Attend to the offsets in `weights`, in proportion to them, and write scale · Σ att · e_x to a block.

    Appendix A and B: W_Q sums the one-hot token, so that every query is 1 in one coordinate of the head;
    p^K_i is log(weight) + pull in that coordinate (the appendices write W_K p^K for it, while Definition 3
    adds positions after W_K). The paper lets `pull` go to infinity. Other offsets have score zero.
    `width` is the width of the head's space; the paper uses d for every head.
    """
    space = Stream(score=1, unused=width - 1)
    return Head(
        query=stream.map(("token", "score", 1.0), to=space),
        key=stream.map(to=space),
        value=stream.map(("token", write, scale)),
        key_positions=space.table({offset: {"score": math.log(w) + pull} for offset, w in weights.items()}),
        value_positions=None if positions is None else stream.table(positions),
    )


def direction(stream: Stream, *routes: Route, skip: int, **bias: Value) -> MLPLayer:
    """x + LN(ReLU(W x + b)): the direction of the routed vector; without routes only the skip connection is used."""
    return MLPLayer(stream.map(*routes), stream.vector(**bias), norm=UnitNorm(), skip=skip)


def vanishing_pull(request: Request) -> float:
    """A pull at which all other offsets together weigh at most u², which has no effect when added to one."""
    return math.log(request.length + 1) - 2 * math.log(unit_roundoff(request.dtype))


def vanishing_score(request: Request, halvings: int = 2) -> float:
    """An integer score whose exponential underflows to zero next to that of the score (2 - halvings)·log 2."""
    smallest = float(jnp.finfo(DTYPES[request.dtype]).smallest_subnormal)
    return float(math.floor(math.log(smallest) - halvings * math.log(2)))


def anchor(request: Request) -> float:
    """M = 3 · 2^(p-3): stored numbers between M and 4M/3 are multiples of 1/2, and 2M + small is still exact.

    Adding an attention output to a window block of value M rounds it to the nearest half, and hence to the integer
    of the code: `stored(M + v) - M` is the nearest integer for every v within 1/4 of one.
    """
    return 0.75 / unit_roundoff(request.dtype) / 2


def rounding_pull(request: Request) -> float:
    """A pull at which all other offsets change an anchored code by less than 1/16, which rounding removes."""
    return math.log(16 * (request.length + 1))


def assemble(
    stream: Stream,
    *layers: Layer,
    constants: Mapping[str, Value] | None = None,
    beginning: Float[np.ndarray, "d"] | None = None,
    positions: Float[np.ndarray, "places d"] | None = None,
) -> Transformer:
    """The frame of every construction: one-hot tokens, W_o reads `output`, b_o = 0, f = ReLU (Sec. 2.2).

    `constants` fill further blocks of every embedding.
    """
    return Transformer(
        embedding=stream.embedding(**(constants or {})),
        layers=layers,
        output=stream.readout("output"),
        output_map="relu",
        blocks=stream.blocks,
        beginning=beginning,
        positions=positions,
    )
