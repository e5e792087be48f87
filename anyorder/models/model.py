"""The transformer of Definition 3: one class for constructed and for trained weights.

A model handles one sequence; a batch is `jax.vmap(model)(batch)`.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import warnings
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.errors import require
from anyorder.io.gates import check_memory
from anyorder.io.notebook import as_html
from anyorder.io.tokens import Tokens, as_tokens, nan_outside
from anyorder.models.arithmetic import Weights, convolve, linear, stored, total
from anyorder.models.attention import run_heads
from anyorder.models.certificate import Certificate
from anyorder.models.hooks import Hook, plain
from anyorder.models.mlp import MLPLayer, Norm, run_stack

#: Positions that a notebook shows of an attention row.
SHOWN = 4


class Layer(eqx.Module):
    """Heads (each a `Mixer`), whose outputs are added to the stream, then a stack of MLP layers.

    `attention_norm` and `mlp_norm` are the norms of a pre-norm transformer: the heads or the stack read the
    normalised stream and write to the plain one. `convolution` are the taps of a causal depthwise convolution of the
    heads' input, `taps[j]` for the row j before.
    """

    heads: tuple[Any, ...]
    mlp: tuple[MLPLayer, ...] = ()
    attention_norm: Norm | None = None
    mlp_norm: Norm | None = None
    convolution: Float[Weights, "taps d"] | None = None


class AttentionMaps(tuple[Float[Array, "_ rows rows"], ...]):
    """The attention weights of every layer, (heads, rows, rows): a tuple with a short text and a notebook form."""

    def __repr__(self) -> str:
        return f"AttentionMaps({', '.join(f'layer {n}: {maps.shape}' for n, maps in enumerate(self, start=1))})"

    def _repr_html_(self) -> str:
        """For each head, the positions with the most attention from the last row."""
        looks = {}
        for number, maps in enumerate(self, start=1):
            for head, weights in enumerate(np.asarray(maps)[:, -1] if maps.ndim == 3 else (), start=1):
                most = [place for place in np.argsort(-weights, kind="stable")[:SHOWN] if weights[place] > 0]
                looks[f"layer {number}, head {head}"] = {f"at {place}": float(weights[place]) for place in most}
        return as_html("attention from the last row", looks)


jax.tree_util.register_pytree_node(AttentionMaps, lambda maps: ([*maps], None), lambda _, maps: AttentionMaps([*maps]))


class Trace(eqx.Module):
    """All intermediate values of a model on one sequence.

    `attention[l]` has the weights of layer l, (heads, rows, rows): row n is the query, column i the key.
    Rows are positions; with a beginning token there is one more row, and row and column 0 belong to that token.
    `streams` is the residual stream at each of `points`: after the embedding, each attention layer, and each MLP
    layer that writes to the stream; `convolution l` is the convolved input of the heads of layer l.
    `block(name, point)` is one named block of it, minus its anchor: the constant that all embeddings share there.
    """

    probabilities: Float[Array, "length symbols"]
    logits: Float[Array, "length symbols"]
    attention: tuple[Float[Array, "_ rows rows"], ...]
    streams: tuple[Float[Array, "rows d"], ...]
    anchor: Float[Array, "d"] | None
    points: tuple[str, ...] = eqx.field(static=True)
    blocks: tuple[tuple[str, int], ...] | None = eqx.field(static=True)

    def stream(self, point: str) -> Float[Weights, "rows d"]:
        """The residual stream at a point, such as `"attention 1"` or `"mlp 1.3"`."""
        require(point in self.points, f"no point {point!r} in this model; it has {', '.join(self.points)}")
        return self.streams[self.points.index(point)]

    def block(self, name: str, point: str) -> Float[Weights, "rows width"]:
        """One named block of the residual stream at a point, minus its anchor.

        >>> from anyorder.constructions import construct
        >>> trace = construct("dyadic", order=2, alphabet_size=2, length=8).trace([0, 1, 1, 0])
        >>> trace.block("window", "attention 1")[-1].tolist()  # 1·e_1 + 2·e_1
        [0.0, 3.0]
        """
        names = [block for block, _ in self.blocks or ()]
        require(name in names, f"no block {name!r} in this stream; it has {', '.join(names) or 'no names'}")
        start = sum(width for _, width in (self.blocks or ())[: names.index(name)])
        place = slice(start, start + (self.blocks or ())[names.index(name)][1])
        found = self.stream(point)[:, place]
        return found if self.anchor is None else found - self.anchor[place]


class Transformer(eqx.Module):
    """Definition 3, with the options of the constructions and of training.

    `beginning` is the embedding of a token placed before every sequence; `positions` is a table of
    absolute positions, added to the embedding (then no sequence may be longer); `output` is W_o (None: tied
    to the embedding); `blocks` names the parts of the residual stream in order, as (name, width).

    >>> from anyorder.models import Head
    >>> head = Head(*(jnp.zeros((2, 2), jnp.float32),) * 2, value=jnp.eye(2, dtype=jnp.float32))
    >>> model = Transformer(jnp.eye(2, dtype=jnp.float32), (Layer((head,)),), jnp.eye(2, dtype=jnp.float32))
    >>> model([0, 1])[-1].tolist()  # uniform attention: 1/2 (e_0 + e_1), on top of e_1
    [0.5, 1.5]
    """

    embedding: Float[Weights, "symbols d"]
    layers: tuple[Layer, ...]
    output: Float[Weights, "symbols d"] | None = None
    output_bias: Float[Weights, "symbols"] | None = None
    beginning: Float[Weights, "d"] | None = None
    positions: Float[Weights, "places d"] | None = None
    final_norm: Norm | None = None
    output_map: Literal["identity", "relu", "softmax"] = eqx.field(static=True, default="identity")
    blocks: tuple[tuple[str, int], ...] | None = eqx.field(static=True, default=None)
    certificate: Certificate | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        d = self.dimension
        for number, layer in enumerate(self.layers, start=1):
            read = {head.query.shape[-1] for head in layer.heads if hasattr(head, "query")} | {d}
            if layer.convolution is not None:
                read.add(layer.convolution.shape[-1])
            require(len(read) == 1, f"layer {number} reads a stream of {sorted(read)} coordinates, it has {d}")
            if layer.mlp:
                written = layer.mlp[-1].weight.shape[-2]
                require(
                    written == d,
                    f"the MLP of layer {number} writes {written} coordinates, the stream has {d}",
                )
        if self.blocks is not None:
            named = sum(width for _, width in self.blocks)
            require(named == d, f"the named blocks have {named} coordinates, the stream has {d}")

    def __repr__(self) -> str:
        if not eqx.is_array(self.embedding):  # the leaves of a transformed tree may not be weights
            return super().__repr__()
        heads = " + ".join(str(len(layer.heads)) for layer in self.layers)
        promise = "" if self.certificate is None else f", certified {self.certificate.construction}"
        return f"Transformer({heads} heads, dimension {self.dimension}, {self.alphabet_size} symbols{promise})"

    @property
    def alphabet_size(self) -> int:
        """S, the number of symbols."""
        return self.embedding.shape[-2]

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return self.embedding.shape[-1]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the weights, and therefore of activations, scores and softmax."""
        return self.embedding.dtype

    def __call__(
        self, tokens: Tokens, *, alphabet: str | None = None, hook: Hook = plain
    ) -> Float[Array, "length symbols"]:
        """The next-token distribution after every position; a string needs its alphabet, the characters in order.

        A `hook` changes the values inside the forward pass (`anyorder.models.hooks`).
        """
        return self._run(tokens, alphabet, keep=False, hook=hook).probabilities

    def logits(self, tokens: Tokens, *, alphabet: str | None = None) -> Float[Array, "length symbols"]:
        """W_o x + b_o after every position, before the output map."""
        return self._run(tokens, alphabet, keep=False).logits

    def log_probabilities(
        self, tokens: Tokens, *, alphabet: str | None = None, hook: Hook = plain
    ) -> Float[Array, "length symbols"]:
        """Logarithms of the distributions, with a softmax output computed by a log-softmax."""
        trace = self._run(tokens, alphabet, keep=False, hook=hook)
        return _log_softmax(trace.logits) if self.output_map == "softmax" else stored(jnp.log(trace.probabilities))

    def trace(self, tokens: Tokens, *, alphabet: str | None = None, hook: Hook = plain) -> Trace:
        """Predictions together with every attention map and residual stream."""
        return self._run(tokens, alphabet, keep=True, hook=hook)

    def attention(self, tokens: Tokens, *, alphabet: str | None = None) -> AttentionMaps:
        """The attention weights of every layer, (heads, rows, rows): row n is the query, column i the key.

        >>> from anyorder.constructions import construct
        >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
        >>> model.attention([0, 1, 0, 1, 0])[1][0, -1].round(3).tolist()  # 0 was followed by positions 1 and 3
        [0.0, 0.5, 0.0, 0.5, 0.0]
        """
        return AttentionMaps(self.trace(tokens, alphabet=alphabet).attention)

    def _run(self, tokens: Tokens, alphabet: str | None, keep: bool, hook: Hook = plain) -> Trace:
        # Certificates and names are not part of the program: models of one shape share one compilation.
        program = dataclasses.replace(self, certificate=None, blocks=None)
        numbered = as_tokens(tokens, None, self.alphabet_size, alphabet=alphabet)
        if self.certificate is not None and len(numbered) > self.certificate.length:
            _warn_of_length(self.certificate)
        if keep or hook is not plain:
            numbers = sum(len(layer.heads) for layer in self.layers) * len(numbered) ** 2
            check_memory(self.dtype.itemsize * numbers, f"the attention of {len(numbered)} tokens", "pass fewer tokens")
        # A hook may hold traced arrays, and would be compiled anew at every call.
        trace = _compiled(program, numbered, keep) if hook is plain else forward(program, numbered, keep, hook)
        rows = [nan_outside(tokens, rows, self.alphabet_size) for rows in (trace.probabilities, trace.logits)]
        return dataclasses.replace(trace, blocks=self.blocks, probabilities=rows[0], logits=rows[1])


#: Packages whose frames are between the caller and the model.
_INSIDE = ("anyorder", "equinox", "jax", "jaxtyping")


@functools.cache
def _warn_of_length(certificate: Certificate) -> None:
    """Warn once per certificate, at the line of the first caller outside this package and Equinox."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"the certificate of this {certificate.construction} model covers at most {certificate.length} tokens; "
        "longer sequences have no guarantee",
        stacklevel=level,
    )


def embedded(model: Transformer, tokens: Int[Array, "length"]) -> Float[Array, "rows d"]:
    """The stream before the first layer: tokens, their positions, and the beginning token in front of them."""
    x = model.embedding[tokens]
    if model.positions is not None:
        length, places = len(x), len(model.positions)
        require(
            length <= places,
            f"the sequence has {length} tokens, the model has only {places} positions; shorten it",
        )
        x = stored(x + model.positions[:length])
    return x if model.beginning is None else jnp.concatenate([model.beginning[None], x])


def forward(model: Transformer, tokens: Int[Array, "length"], keep: bool, hook: Hook = plain) -> Trace:
    """The whole forward pass on symbols, to be compiled or traced; `keep` returns attention and streams too."""
    x = hook("embedding", embedded(model, tokens))
    points, attention = {"embedding": x}, []
    for number, layer in enumerate(model.layers, start=1):
        read = x if layer.attention_norm is None else layer.attention_norm(x)
        if layer.convolution is not None:
            read = points[f"convolution {number}"] = convolve(layer.convolution, read)
        x, weights = run_heads(layer.heads, read, x, keep_weights=keep, hook=hook)
        attention.append(weights)
        points[f"attention {number}"] = x
        stack = run_stack(layer.mlp, layer.mlp_norm, x, hook)
        if layer.mlp and hook is not plain:
            stack = (*stack[:-1], stored(x + hook("written", stored(stack[-1] - x))))
        for place, point in enumerate(stack[1:], start=1):
            if point.shape == x.shape:
                points[f"mlp {number}.{place}"] = point
        x = stack[-1]
    logits, probabilities = predict(model, x if model.beginning is None else x[1:], hook)
    return Trace(
        probabilities=probabilities,
        logits=logits,
        attention=tuple(weights for weights in attention if weights is not None),
        streams=tuple(points.values()) if keep else (),
        anchor=_anchor(model) if keep else None,
        points=tuple(points) if keep else (),
        blocks=None,
    )


_compiled = eqx.filter_jit(forward)


def predict(
    model: Transformer, x: Float[Array, "rows d"], hook: Hook = plain
) -> tuple[Float[Array, "rows symbols"], Float[Array, "rows symbols"]]:
    """The logits and the next-token distributions, from the stream after the last layer."""
    read = hook("read", x if model.final_norm is None else model.final_norm(x))
    logits = linear(read, model.embedding if model.output is None else model.output, model.output_bias)
    return logits, _output(model.output_map, logits)


def _anchor(model: Transformer) -> Float[Array, "d"]:
    """The coordinates that all embeddings, including the beginning token's, share; zero elsewhere."""
    rows = model.embedding if model.beginning is None else jnp.vstack([model.embedding, model.beginning])
    return jnp.where((rows == rows[0]).all(axis=0), rows[0], 0)


def _output(output_map: str, logits: Float[Array, "length symbols"]) -> Float[Array, "length symbols"]:
    if output_map == "softmax":
        return stored(jnp.exp(_log_softmax(logits)))
    return jax.nn.relu(logits) if output_map == "relu" else logits


def _log_softmax(logits: Float[Array, "length symbols"]) -> Float[Array, "length symbols"]:
    shifted = stored(logits - jax.lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True)))
    return stored(shifted - stored(jnp.log(total(stored(jnp.exp(shifted))))))
