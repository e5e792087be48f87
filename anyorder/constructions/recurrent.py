"""`recurrent`: a linear recurrence with decay one and a table of S^k contexts, followed by a division.

The convolution of `convolution` puts the last k tokens of every position side by side. One ReLU layer turns them into
the one-hot vector φ of the context: the unit of context c counts agreements with c and subtracts k - 1. The table
H ← H + φ(x_{n-k} … x_{n-1}) ⊗ e_{x_n} then contains the counts, and reading it with φ(x_{n-k+1} … x_n) and dividing by
the sum gives the k-gram. `recurrent-bayes` starts from a table of β: add-β smoothing. The state has S^(k+1) counts at
any length; counts are exact integers up to 2^p.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
from jaxtyping import Float

from anyorder.constructions import steps
from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.construction import BETA, Construction
from anyorder.constructions.convolution import blocks, copies, delay_step, delays
from anyorder.constructions.parts import assemble
from anyorder.constructions.steps import Step
from anyorder.constructions.stream import Stream
from anyorder.errors import require
from anyorder.models import Layer, Recurrence, Transformer

#: A layer of more contexts than this fills the memory with its activations.
LARGEST_TABLE = 1 << 14


def analyse(request: Request) -> Analysis:
    """Counts up to T - k are exact integers; one division."""
    return Analysis(
        margin=1.0,
        miss_units=0.0,
        output_units=1.0,
        code_bits=_bits(request.length - request.order),
        tempered=False,
        assumes=(),
    )


def analyse_bayes(request: Request, beta: float = 1.0) -> Analysis:
    """A count plus β is rounded when it passes a power of two and when it is read: three units altogether.

    The sum is rounded once more for each symbol, and the quotient once.
    """
    bits, units = _bits(request.length - request.order + math.ceil(beta)), 6.0 + request.alphabet_size
    return dataclasses.replace(analyse(request), code_bits=bits, output_units=units, estimator="bayes")


def _bits(largest: int) -> int:
    """Mantissa bits that represent every integer up to this one, which may itself be a power of two."""
    return max(1, (largest - 1).bit_length())


def recurrent(request: Request, kappa: float, beta: float = 0.0) -> Transformer:
    """The weights, in float64; `beta` fills the table before the first token."""
    k, s = request.order, request.alphabet_size
    size = f"= {s**k}" if s**k < 10**12 else f"≈ 10^{len(str(s**k)) - 1}"
    require(
        s**k <= LARGEST_TABLE,
        f"the table would have {s}^{k} {size} contexts, at most {LARGEST_TABLE} fit; use order ≤ "
        f"{int(math.log(LARGEST_TABLE, s) + 1e-9)}, or `convolution`",
    )
    stream, symbol = blocks(request), Stream(symbol=s)
    backs = [f"back_{j}" for j in range(1, k + 1)]
    head = Recurrence(
        query=contexts(stream, ["token", *backs[:-1]]),
        key=contexts(stream, backs),
        bias=np.full(s**k, 1.0 - k),
        value=stream.map(("token", "symbol", 1.0), to=symbol),
        projection=symbol.map(("symbol", "output", 1.0), to=stream),
        initial=np.full((s**k, s), beta) if beta else None,
    )
    return assemble(stream, Layer((head,), convolution=delays(request, stream)), constants=copies(request))


def contexts(stream: Stream, recent: list[str]) -> Float[np.ndarray, "contexts d"]:
    """One row for each context, oldest token first: its one-hot tokens as blocks, newest first."""
    size = dict(stream.blocks)["token"]
    rows = np.zeros((size ** len(recent), stream.dimension))
    for number, context in enumerate(itertools.product(range(size), repeat=len(recent))):
        for block, symbol in zip(recent, reversed(context), strict=True):
            rows[number, stream.place(block).start + symbol] = 1.0
    return rows


def proof(request: Request) -> tuple[Step, ...]:
    """The proof steps: contexts, counts, a division."""
    return (delay_step(request.order), _table_step("0"), _division_step("counts"))


def proof_bayes(request: Request, beta: float = 1.0) -> tuple[Step, ...]:
    """The proof steps for a table that starts at β."""
    return (delay_step(request.order), _table_step("β"), _division_step("smoothed"))


def _table_step(start: str) -> Step:
    return Step(
        "Count under the context",
        "One ReLU unit for each of the S^k contexts is 1 where all k tokens agree, and 0 elsewhere. The table adds up "
        "the tokens after each context, without decay; no earlier token is kept. The figure shows the tokens "
        "that the row of this context adds up: those that an induction head would attend to.",
        f"φ_c = ReLU(#agreements with c - k + 1),   H_n = H_(n-1) + φ_n ⊗ e_(x_n),   H_0 = {start}",
        "ours",
        {
            "layers.0.heads.0.key": "agreements of the k tokens before n with every context",
            "layers.0.heads.0.query": "agreements of the last k tokens up to n",
            "layers.0.heads.0.bias": "1 - k",
            "layers.0.heads.0.value": "e_x",
        },
        (steps.Attention("share of every token in the readout", 0), steps.Scores("φ(n) · φ(i)", 0, "convolution 1")),
        "matches",
    )


def _division_step(here: steps.Here) -> Step:
    return Step(
        "Divide by the sum",
        "Reading the table with the current context gives counts. The k-gram is these counts divided by their sum, "
        "which a linear recurrence alone cannot compute.",
        "output = φ(n) H_n / Σ_s (φ(n) H_n)_s",
        "Definition 2",
        {"layers.0.heads.0.projection": "writes the quotient to `output`", "output": "W_o reads `output`"},
        (steps.Block("output", "output", "attention 1"), steps.Prediction()),
        here,
    )


RECURRENT = Construction(
    name="recurrent",
    title="a linear recurrence with a table of contexts, then a division",
    advice="Use it to stream with constant memory: the state has S^(k+1) counts at any length.",
    heads="1",
    dimension="(k + 2)S",
    parameters="S^k(2d + 1) + d(4S + k + 1)",
    state="S^(k + 1) + kd",
    bounded="state",
    margin="1",
    build=recurrent,
    analyse=analyse,
    steps=proof,
    last_order=7,
    instead=("convolution",),
)

RECURRENT_BAYES = dataclasses.replace(
    RECURRENT,
    name="recurrent-bayes",
    title="recurrent with counts initialised to β: add-β smoothing",
    advice="Use it for the Bayes predictor in constant memory.",
    parameters="S^k(2d + S + 1) + d(4S + k + 1)",
    build=lambda request, kappa, beta=1.0: recurrent(request, kappa, beta),
    analyse=analyse_bayes,
    steps=proof_bayes,
    options=(BETA,),
    instead=("k-head-bayes",),
)
