"""The reduced model of App. C and D: the learned parameters are the positional scalars p and the attention scalar a_2.

    v_i = Σ_j softmax(p_0 … p_i)_j e_{x_{i-j}}        first layer, the head that is learned
    u   = Σ_l softmax(r_0 … r_{k-1})_l e_{s_l}        first layer, the head that is fixed: uniform 1/k in App. D
    logit(s') = Σ_i softmax_i(a_2 <v_i, u>) 1[x_i = s']   second layer

s_0 is the newest token of the query context. With `normalise` v_i and u are divided by their lengths, as the
norms of the MLP do in stage two. For order one u = e_s and this is the model of App. C.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from anyorder.constructions.parts import assemble
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_head import directions
from anyorder.errors import check_order, require
from anyorder.io.gates import check_memory, gated
from anyorder.models import Head, Layer, Transformer

#: Represents -∞ in a positional scalar: its weight is exactly zero next to any other.
EXCLUDED = -1e9


class Reduced(eqx.Module):
    """θ = (p, a_2) and the fixed r.

    >>> model = initial(length=4, a_2=0.0)
    >>> model(jnp.array([0, 1, 1, 1]), 2).tolist()  # a_2 = 0: the frequencies of the symbols
    [0.25, 0.75]
    """

    p: Float[Array, "offsets"]
    a_2: Scalar
    r: Float[Array, "order"]
    normalise: bool = eqx.field(static=True, default=False)

    @property
    def order(self) -> int:
        """The number of tokens that the query sums."""
        return len(self.r)

    @property
    def attention(self) -> Float[Array, "offsets"]:
        """softmax(p): the learned head's attention by offset from the last position."""
        return jax.nn.softmax(self.p)

    @property
    def query_attention(self) -> Float[Array, "order"]:
        """softmax(r): that of the query's head, by offset."""
        return jax.nn.softmax(self.r)

    @property
    def offsets(self) -> list[int]:
        """The offsets with at least a twentieth of the learned head's attention."""
        return np.flatnonzero(self.attention >= 0.05).tolist()

    def windows(self, tokens: Int[Array, "length"], alphabet_size: int) -> Float[Array, "length symbols"]:
        """v_0 … v_n, of length one if `normalise`."""
        window = first_layer(self.p, len(tokens)) @ jax.nn.one_hot(tokens, alphabet_size, dtype=self.p.dtype)
        return _unit(window) if self.normalise else window

    def queries(self, contexts: Int[Array, "contexts order"], alphabet_size: int) -> Float[Array, "contexts symbols"]:
        """u of each context, given oldest token first; of length one if `normalise`."""
        tokens = jax.nn.one_hot(contexts[:, ::-1], alphabet_size, dtype=self.p.dtype)
        query = jnp.einsum("l,cls->cs", self.query_attention, tokens)
        return _unit(query) if self.normalise else query

    def predict(
        self, tokens: Int[Array, "length"], contexts: Int[Array, "contexts order"], alphabet_size: int
    ) -> Float[Array, "contexts symbols"]:
        """The prediction for each context as the query; the keys are the tokens of the sequence."""
        scores = self.queries(contexts, alphabet_size) @ self.windows(tokens, alphabet_size).T
        attention = jax.nn.softmax(self.a_2 * scores, axis=1)
        return attention @ jax.nn.one_hot(tokens, alphabet_size, dtype=self.p.dtype)

    def __call__(self, tokens: Int[Array, "length"], alphabet_size: int) -> Float[Array, "symbols"]:
        """The distribution of the token that follows the sequence: the context is its own last k tokens."""
        return self.predict(tokens, tokens[None, -self.order :], alphabet_size)[0]


@gated
def initial(*, length: int, a_2: float, order: int = 1, exclude_own: bool = False, normalise: bool = False) -> Reduced:
    """p = 0 at all offsets 0 … length - 1, as both algorithms begin; `exclude_own` sets p_0 = -∞ (App. D).

    >>> jax.nn.softmax(initial(length=4, a_2=0.0, order=2).r).tolist()
    [0.5, 0.5]
    """
    check_order(order, length)
    check_memory(16 * length, f"{length} positions", "pass a smaller `length=`")
    p = jnp.zeros(length, jnp.float64)
    return Reduced(
        p=p.at[0].set(EXCLUDED) if exclude_own else p,
        a_2=jnp.asarray(a_2, jnp.float64),
        r=jnp.zeros(order, jnp.float64),
        normalise=normalise,
    )


@gated
def coded(model: Reduced, base: float) -> Reduced:
    """The same model with the code of the constructions: weights ∝ b^{j-1} at offsets j = 1 … k in p, and in r.

    All other offsets have p = -10, which is small but can still be learned.

    >>> jax.nn.softmax(coded(initial(length=5, a_2=1.0, order=2), 3.0).p).round(3).tolist()
    [0.0, 0.25, 0.75, 0.0, 0.0]
    """
    logs = jnp.arange(model.order, dtype=model.p.dtype) * jnp.log(jnp.asarray(base, model.p.dtype))
    p = jnp.full_like(model.p, -10).at[1 : model.order + 1].set(logs)
    return dataclasses.replace(model, p=p, r=logs)


def first_layer(p: Float[Array, "offsets"], length: int) -> Float[Array, "length length"]:
    """att_{i,i-j} = softmax(p_0 … p_i)_j: the first layer's attention, row i is the query.

    >>> first_layer(jnp.zeros(2), 2).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    require(length <= len(p), f"the sequence has {length} tokens, the model {len(p)} positions; shorten it")
    place = jnp.arange(length, dtype=jnp.int32)
    offset = place[:, None] - place[None, :]
    return jax.nn.softmax(jnp.where(offset >= 0, p[jnp.maximum(offset, 0)], -jnp.inf), axis=1)


@gated
def as_transformer(model: Reduced, alphabet_size: int) -> Transformer:
    """The same function as a two-layer transformer: p and r are key positions, a_2 scales the second query.

    Row n of its output is the reduced model on x_0 … x_n.
    """
    s = alphabet_size
    stream = Stream(token=s, recent=s, window=s, query=s, key=s, output=s)
    space, code = Stream(score=1), Stream(code=s)

    def positional(scalars: Float[Array, "offsets"], write: str) -> Head:
        return Head(
            query=stream.map(("token", "score", 1.0), to=space),  # one-hot tokens sum to 1
            key=stream.map(to=space),
            value=stream.map(("token", write, 1.0)),
            key_positions=scalars[:, None],
        )

    # Offsets beyond r get no attention: -∞ for every other offset of p.
    recent = jnp.full_like(model.p, EXCLUDED).at[: model.order].set(model.r)
    mlp = directions(stream) if model.normalise else ()
    query, key = ("query", "key") if model.normalise else ("recent", "window")
    match = Head(
        query=stream.map((query, "code", 1.0), to=code),
        key=stream.map((key, "code", 1.0), to=code),
        value=stream.map(("token", "output", 1.0)),
        scale=model.a_2,
    )
    heads = (positional(recent, "recent"), positional(model.p, "window"))
    return assemble(stream, Layer(heads, mlp), Layer((match,)))


def _unit(vectors: Float[Array, "rows symbols"]) -> Float[Array, "rows symbols"]:
    return vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)
