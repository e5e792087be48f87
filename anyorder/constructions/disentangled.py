"""`disentangled`: the construction of Nichani et al. as published: one-hot tokens and positions, concatenated streams.

Every head writes to separate coordinates, so outputs are appended, never added: x_n = [e_{x_n}, e_n] has S + T
coordinates, layer one appends k copies, layer two doubles that. The matrix of layer two has ((k + 1)(S + T))²
entries, which limits the size. Agreements are counted as in `k-head`: margin 1 for every k.
"""

from __future__ import annotations

import numpy as np

from anyorder.constructions import steps
from anyorder.constructions.certificate import Request
from anyorder.constructions.construction import Construction
from anyorder.constructions.parts import assemble, vanishing_pull
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Route, Stream
from anyorder.constructions.unrolled import K_HEAD
from anyorder.constructions.unrolled_proof import AGREE
from anyorder.errors import require
from anyorder.models import Head, Layer, Transformer

#: (k + 1)(S + T), the side of the largest matrix: order 3 at length 1,024 still fits.
LARGEST_WIDTH = 4608


def width(request: Request) -> int:
    """(k + 1)(S + T)."""
    return (request.order + 1) * (request.alphabet_size + request.length)


def check_size(request: Request) -> None:
    """Reject matrices that do not fit into memory."""
    require(
        width(request) <= LARGEST_WIDTH,
        f"`disentangled` would have matrices of {width(request)}², at most {LARGEST_WIDTH}² fit; use `k-head`",
    )


def disentangled(request: Request, kappa: float) -> Transformer:
    """The weights, in float64; `request.length` is the number of positions."""
    k, s, t = request.order, request.alphabet_size, request.length
    base = Stream(token=s, place=t)
    # layer one appends the copies of all heads, layer two a copy of its input
    copies = {f"{name}_{j}": width for j in range(1, k + 1) for name, width in base.blocks}
    first = Stream(**dict(base.blocks), **copies)
    stream = Stream(**dict(first.blocks), **{_output(name): width for name, width in first.blocks})

    def copying(j: int) -> Head:
        # A^(1)_j: position n attends to position n - j
        ask = vanishing_pull(request) * np.eye(t, k=j)
        return Head(
            query=stream.map(("place", "place", ask), to=base),
            key=stream.map(("place", "place", 1.0), to=base),
            value=stream.map(("token", "token", 1.0), ("place", "place", 1.0), to=base),
            projection=base.map(("token", f"token_{j}", 1.0), ("place", f"place_{j}", 1.0), to=stream),
        )

    # A^(2): query block j - 1 against key block j; keys at positions below k are masked
    agree: list[Route] = [("token" if j == 1 else f"token_{j - 1}", f"token_{j}", kappa) for j in range(1, k + 1)]
    mask = -kappa * (k + 1) * np.repeat(np.arange(t)[:, None] < k, s, axis=1)
    everything: list[Route] = [(name, name, 1.0) for name, _ in first.blocks]
    match = Head(
        query=stream.map(*agree, ("token", "place", mask), to=first),
        key=stream.map(*everything, to=first),
        value=stream.map(*everything, to=first),
        projection=first.map(*((name, _output(name), 1.0) for name, _ in first.blocks), to=stream),
    )
    return assemble(
        stream,
        Layer(tuple(copying(j) for j in range(1, k + 1))),
        Layer((match,)),
        positions=stream.rows(t, place=np.eye(t)),
    )


def _output(name: str) -> str:
    """The block that layer two writes for a block it reads: `output` for `token`, since W_o reads it."""
    return "output" if name == "token" else f"output_{name}"


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps of Nichani et al."""
    return (
        steps.copies(
            request.order,
            "token",
            "Nichani et al.: A^(1)_j",
            {
                "layers.0.heads.0.query": "position n attends to n - 1; head j to n - j",
                "layers.0.heads.0.projection": "appends token and position as separate blocks",
            },
        ),
        steps.match(
            AGREE + " Keys below position k are masked by their one-hot position.",
            "score(n, i) = kappa · #{j : x_{i-j} = x_{n-j+1}} - kappa (k + 1) · 1[i < k]",
            "Nichani et al.: A^(2)",
            before="attention 1",
            query="matches block j - 1 with block j; masks positions below k",
            key="the whole stream",
        ),
        steps.count("Nichani et al.; Definition 2"),
    )


DISENTANGLED = Construction(
    name="disentangled",
    title="one-hot positions, concatenated streams",
    source="Nichani et al.",
    advice="Use it to study disentangled streams on short sequences; its matrices grow with (k(S + T))².",
    heads="k, 1",
    dimension="2(k + 1)(S + T)",
    parameters="(k + (k + 1)²)(S + T)² + T(S + T)",
    state="2T(S + T)(2k + 1)",
    margin="1",
    build=disentangled,
    analyse=K_HEAD.analyse,
    steps=proof,
    width=width,
    check_size=check_size,
    last_order=4,
    measured_length=64,
)
