"""The weights of `k-head` in stock GPT-2.

Block 0 has a head for each offset 1 … k, block 1 has the induction head, and its MLP computes logarithms, because GPT-2
ends in a softmax. The architecture of GPT-2 requires four tricks:

- Positions are absolute: each is known by its residues modulo 3, 4, 5 and 7, as points on four circles. A rotation
  moves position i to i + j, and every other position is at least a margin away.
- Layer norms divide by a scale that depends on the row. Two coordinates ±C make it constant, and the gain cancels it.
- Layer norms subtract the mean. A coordinate that is zero before the norm equals minus the mean after it, and every
  weight matrix subtracts it.
- Position 0 is the beginning token: heads without a match attend to it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from anyorder.constructions.certificate import Request
from anyorder.constructions.stream import Route, Stream

Array = Float[np.ndarray, "..."]
Weights = dict[str, Array]
#: Coprime periods of the positions, and the margin between two of them.
PERIODS = (3, 4, 5, 7)
MARGIN = 1 - np.cos(2 * np.pi / max(PERIODS))
#: C, and the nats by which the beginning token, which represents "no match", scores below a match.
LEVEL, SINK = 2.0**15, 16.0
#: Hidden units for the logarithm of one probability, their width in spacings, and the value for log 0.
KNOTS, WIDTH, LOG_ZERO = 48, 0.7, -16.0
#: Logit of the beginning token, which is never predicted.
NEVER = -40.0


def layout(asked: Request) -> tuple[Stream, int]:
    """The blocks of the residual stream, and the width of a head."""
    order, size = asked.order, asked.alphabet_size
    windows = {f"window_{offset}": size for offset in range(1, order + 1)}
    widths = {"token": size, "beginning": 1, "angles": 2 * len(PERIODS), **windows}
    widths |= {"prediction": size, "logarithm": size, "high": 1, "low": 1}
    used = sum(widths.values())
    width = max(2 * len(PERIODS) + 1, order * size + 1, used // order + 1)
    return Stream(**widths, zero=order * width - used), width


def weights_of(asked: Request, beta: float | None, stream: Stream, width: int) -> Weights:
    """All weights by their Hugging Face names, in float32; `beta` None is the k-gram."""
    order, size, d = asked.order, asked.alphabet_size, stream.dimension
    zero, root = stream.place("zero").start, np.sqrt(width)

    def read(*routes: Route, to: Stream) -> Array:
        matrix = stream.map(*routes, to=to)
        matrix[:, zero] -= matrix.sum(axis=1)  # the mean that a layer norm has subtracted
        return matrix

    def padded(*blocks: tuple[str, int]) -> Stream:
        return Stream(**dict(blocks), spare=width - sum(count for _, count in blocks))

    # Block 0: head j finds the position i with i + j = n, and copies its token to window j.
    sharp = 2 * SINK / MARGIN
    meet, value = padded(("angles", 2 * len(PERIODS)), ("sink", 1)), padded(("value", size))
    queries, keys, values, writes = [], [], [], []
    for offset in range(1, order + 1):
        queries.append(read(("angles", "angles", sharp * root), to=meet))
        moved = ("angles", "angles", _rotation(offset))
        keys.append(read(moved, ("beginning", "sink", sharp * (len(PERIODS) - MARGIN / 2)), to=meet))
        values.append(read(("token", "value", 1.0), to=value))
        writes.append(value.map(("value", f"window_{offset}", 1.0), to=stream))
    one = np.tile(meet.vector(sink=root), order)
    weights = _attention(0, queries, keys, values, writes, one)

    # Block 1: head 0 compares its last k tokens with the k tokens before a key; one mismatch costs 2 SINK nats.
    past = ["token", *(f"window_{offset}" for offset in range(1, order))]
    pairs = [(query, f"window_{offset}") for offset, query in enumerate(past, 1)]
    meet = padded(*((key, size) for _, key in pairs), ("sink", 1))
    match = 2 * SINK
    sink = match * order + (-SINK if beta is None else np.log(size * beta))
    query = read(*((query, key, match * root) for query, key in pairs), to=meet)
    key = read(*((key, key, 1.0) for _, key in pairs), ("beginning", "sink", sink), to=meet)
    copied = read(("token", "value", 1.0), ("beginning", "value", 1 / size), to=value)
    idle = [np.zeros((width, d))] * (order - 1)
    write = [value.map(("value", "prediction", 1.0), to=stream), *(matrix.T for matrix in idle)]
    one = np.concatenate([meet.vector(sink=root), np.zeros(d - width)])
    weights |= _attention(1, [query, *idle], [key, *idle], [copied, *idle], write, one)

    # The MLP of block 1: log p = constant + Σ_u scale_u GELU(slope_u p + bias_u), the same units for every symbol.
    slopes, biases, scales, constant = logarithm(asked.length, size, beta)
    inner = np.kron(read(("prediction", "symbol", 1.0), to=Stream(symbol=size)), slopes[:, None])
    outer = np.kron(stream.readout("logarithm"), scales[:, None])
    ends = np.tile(biases, size), stream.vector(logarithm=constant)
    for block, on in enumerate((0.0, 1.0)):  # block 0 needs no MLP
        mlp = {"c_fc.weight": inner.T, "c_fc.bias": ends[0], "c_proj.weight": outer, "c_proj.bias": ends[1]}
        weights |= {f"h.{block}.mlp.{name}": on * array for name, array in mlp.items()}

    gain = stream.vector(**{block: np.sqrt(2 * LEVEL**2 / d + 1e-5) for block, _ in stream.blocks})
    gain[stream.place("high")] = gain[stream.place("low")] = 0.0
    for norm in ("h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f"):
        weights |= {f"{norm}.weight": gain, f"{norm}.bias": np.zeros(d)}
    weights["ln_f.bias"] = stream.vector(high=1.0)  # a constant, for the logit of the beginning token
    begin = stream.vector(beginning=1.0, high=LEVEL, low=-LEVEL)
    weights["wte.weight"] = np.vstack([stream.embedding(high=LEVEL, low=-LEVEL), begin])
    places = np.arange(asked.length + 1)
    weights["wpe.weight"] = stream.rows(len(places), angles=_angles(places) * (places > 0)[:, None])
    head = np.vstack([read(("logarithm", "symbol", 1.0), to=Stream(symbol=size)), stream.vector(high=NEVER)])
    named = {f"transformer.{name}": array for name, array in weights.items()} | {"lm_head.weight": head}
    return {name: np.ascontiguousarray(array, np.float32) for name, array in named.items()}


def _attention(
    block: int, queries: list[Array], keys: list[Array], values: list[Array], writes: list[Array], one: Array
) -> Weights:
    """The attention of a block; `one` is the bias of the queries, which acts on the key of the beginning token."""
    joined = np.vstack([*queries, *keys, *values]).T
    projection = np.hstack(writes).T
    found = {"c_attn.weight": joined, "c_attn.bias": np.concatenate([one, np.zeros(2 * len(one))])}
    found |= {"c_proj.weight": projection, "c_proj.bias": np.zeros(len(one))}
    return {f"h.{block}.attn.{name}": array for name, array in found.items()}


def _angles(places: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "rows angles"]:
    """Positions as points on a circle for each period."""
    turns = 2 * np.pi * places[:, None] / np.array(PERIODS)
    return np.stack([np.cos(turns), np.sin(turns)], axis=2).reshape(len(places), -1)


def _rotation(offset: int) -> Float[np.ndarray, "angles angles"]:
    """The matrix that maps the angles of position i to those of i + offset."""
    matrix = np.zeros((2 * len(PERIODS), 2 * len(PERIODS)))
    for place, (cosine, sine) in enumerate(_angles(np.array([offset])).reshape(-1, 2)):
        matrix[2 * place : 2 * place + 2, 2 * place : 2 * place + 2] = [[cosine, -sine], [sine, cosine]]
    return matrix


def gelu(x: Array) -> Array:
    """GPT-2's GELU, by the hyperbolic tangent."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def logarithm(length: int, size: int, beta: float | None = None) -> tuple[Array, Array, Array, float]:
    """Slopes, biases and scales of hidden units, and a constant, whose sum is log p for every p that can occur.

    The softmax multiplies an error of log p by p, so knots are evenly spaced in √p. For the k-gram one more unit is
    active only at p = 0, which it maps to `LOG_ZERO`.

    >>> slopes, biases, scales, constant = logarithm(64, 2)
    >>> p = np.array([0.0, 1 / 64, 0.5, 1.0])
    >>> (gelu(p[:, None] * slopes + biases) @ scales + constant).round(2).tolist()
    [-16.0, -4.16, -0.69, 0.0]
    """
    least = min(1 / length, 1 / size) if beta is None else beta / (length + size * beta)
    knots = np.concatenate([[least / 2], np.linspace(np.sqrt(least), 1, KNOTS) ** 2])
    slopes = 1 / (WIDTH * np.gradient(knots))
    biases = -slopes * knots
    p = np.linspace(np.sqrt(least), 1, 40 * KNOTS) ** 2
    features = np.column_stack([gelu(p[:, None] * slopes + biases), np.ones_like(p)])
    weight = p**0.75
    fit = np.linalg.lstsq(features * weight[:, None], np.log(p) * weight, rcond=1e-12)[0]
    scales, constant = fit[:-1], float(fit[-1])
    if beta is not None:
        return slopes, biases, scales, constant
    drop = gelu(biases) @ scales + constant - LOG_ZERO
    # GELU(6), which is 6, at p = 0; GELU(-6), which is 0 in float32, at the least p
    return np.append(slopes, -12 / least), np.append(biases, 6.0), np.append(scales, -drop / 6), constant
