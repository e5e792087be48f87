"""Figures for a notebook: each function returns a matplotlib figure, which shows itself and can be saved.

>>> import anyorder
>>> model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)
>>> figure = anyorder.plot.attention(model, [0, 1, 1, 0, 1, 1, 0])
>>> len(figure.axes)  # two maps and the bar of their colours
3
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from anyorder.chains import Chains, Kernel, Prior, Source, as_source
from anyorder.chains.random import Seed
from anyorder.errors import InputError, require, shown
from anyorder.estimators import Estimate, WeightedEstimate, references
from anyorder.io.gates import gated
from anyorder.io.tokens import Tokens, spelled
from anyorder.models import Transformer
from anyorder.papers.figure_data import AttentionMap
from anyorder.papers.two_can.dynamics.lengths import LengthSweep, over_lengths, over_steps
from anyorder.papers.two_can.dynamics.trajectory import Trajectory
from anyorder.probing.result import Probed
from anyorder.report.figures import ACROSS, draw, draw_maps
from anyorder.report.probe import draw_probe
from anyorder.report.style import Drawing, letters, styled
from anyorder.report.sweeps import draw as draw_grid
from anyorder.report.training import draw_loss
from anyorder.sweeps.table import read_sweep
from anyorder.training.folder import read_metrics
from anyorder.training.run import Trained

__all__ = ["attention", "dynamics", "kernel", "predictions", "probe", "sweep", "training"]


#: Tokens, or a source from which one sequence is drawn with `seed`.
TokensOrSource = Tokens | Source | Prior | Kernel


@gated
def attention(model: Transformer, tokens: TokensOrSource, *, alphabet: str | None = None, seed: Seed = 0) -> Figure:
    """The attention map of every head: row n is the query, column i the key.

    >>> from anyorder.constructions import construct
    >>> model = construct("k-head", order=2, alphabet_size=2, length=8)
    >>> [axes.get_title() for axes in attention(model, [0, 1, 0, 1]).axes[:3]]
    ['layer 1, head 1', 'layer 1, head 2', 'layer 2, head 1']
    """
    row = _row(tokens, alphabet, seed)
    names = list(tokens) if isinstance(tokens, str) else None
    layers = [
        [
            AttentionMap(f"layer {number}, head {place}", np.asarray(values), row, names)
            for place, values in enumerate(maps, start=1)
        ]
        for number, maps in enumerate(model.trace(row).attention, start=1)
    ]
    together = [panel for panels in layers for panel in panels]
    return draw_maps([together] if len(together) <= ACROSS else layers)


def _row(tokens: TokensOrSource, alphabet: str | None, seed: Seed) -> np.ndarray:
    if isinstance(tokens, Source | Prior | Kernel):
        tokens = _one(tokens, seed).tokens[0]
    row = np.asarray(spelled(tokens, alphabet) if isinstance(tokens, str) else tokens)
    integers = row.ndim == 1 and row.size > 0 and row.dtype.kind in "iu"
    require(integers, f"the tokens are {shown(tokens)}, must be one sequence of integers")
    return row


def _one(source: Source | Prior | Kernel, seed: Seed) -> Chains:
    return dataclasses.replace(as_source(source), per_kernel=1).sample(seed, 1)


@gated
@styled
def predictions(
    tokens: TokensOrSource,
    *,
    alphabet: str | None = None,
    seed: Seed = 0,
    **predictors: Transformer | Estimate | WeightedEstimate | ArrayLike | Callable[..., Any],
) -> Figure:
    """The distribution of the next token after every position, a strip for each predictor; blank where undefined.

    A predictor is a model, any callable from tokens to rows, an estimate, or an array with a row for each position. A
    source without predictors is drawn with its reference predictors.

    >>> import anyorder
    >>> tokens = [0, 1, 0, 1, 1]
    >>> kgram = anyorder.kgram(tokens, order=1, alphabet_size=2)
    >>> [axes.get_title() for axes in predictions(tokens, kgram=kgram).axes[:1]]
    ['kgram']
    """
    if isinstance(tokens, Source | Prior | Kernel):
        predictors = predictors or dict(references(tokens))
    require(len(predictors) > 0, "nothing to draw; name a predictor, as in predictions(tokens, kgram=estimate)")
    row = _row(tokens, alphabet, seed)
    figure = Drawing(figsize=(max(4.0, 0.16 * len(row)), 0.6 + 1.1 * len(predictors)))
    strips = figure.subplots(len(predictors), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, predictor) in zip(strips, predictors.items(), strict=True):
        found = predictor(row) if callable(predictor) else predictor
        predicted = np.asarray(getattr(found, "probabilities", found))
        require(
            predicted.dtype.kind in "fiuV" and predicted.ndim == 2 and len(predicted) == len(row),
            f"{name} has shape {predicted.shape}, must be ({len(row)}, symbols): a row for each token",
        )
        image = axes.imshow(predicted.T.astype(np.float64), vmin=0, vmax=1, cmap="viridis", aspect="auto")
        axes.set_title(name)
        axes.set_ylabel("next token")
        symbols = list(alphabet or letters(range(predicted.shape[1])))
        short = f"the alphabet has {len(symbols)} characters, {name} predicts {predicted.shape[1]}; give all"
        require(len(symbols) >= predicted.shape[1], short)
        axes.set_yticks(range(predicted.shape[1]), symbols[: predicted.shape[1]])
    if len(row) <= 64:
        names = list(tokens) if isinstance(tokens, str) else letters(row.tolist())
        strips[-1].set_xticks(range(len(row)), names, fontsize=6)
    strips[-1].set_xlabel("tokens so far")
    figure.colorbar(image, ax=strips, label="probability")
    return figure


@gated
@styled
def kernel(kernel: Kernel | Source | Prior | ArrayLike, *, seed: Seed = 0) -> Figure:
    """The rows of a kernel: for every context, oldest token first, the probability of each next token.

    For a source or a prior: the kernel of the sequence that the other functions draw with the same seed.

    >>> kernel([[0.9, 0.1], [0.5, 0.5]]).axes[0].get_ylabel()
    'context'
    """
    if isinstance(kernel, Source | Prior):
        drawn = _one(kernel, seed).kernels
        if drawn is None:
            raise InputError("the source has no kernels; draw its sequences with `plot.predictions`")
        kernel = drawn[0]
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    symbols = letters(range(kernel.alphabet_size))
    contexts = [
        " ".join(symbols[token] for token in context) for context in np.ndindex(kernel.probabilities.shape[:-1])
    ]
    figure = Drawing(figsize=(1.6 + 0.5 * kernel.alphabet_size, 0.8 + min(0.25 * len(contexts), 8.0)))
    axes = figure.subplots()
    image = axes.imshow(kernel.rows, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    axes.set_xlabel("next token")
    axes.set_xticks(range(kernel.alphabet_size), symbols)
    axes.set_ylabel("context")
    if len(contexts) <= 64:
        axes.set_yticks(range(len(contexts)), contexts)
    figure.colorbar(image, ax=axes, label="probability")
    return figure


@gated
def training(run: Trained | str | Path) -> Figure:
    """The loss of a run over its steps, and its gap to the Bayes floor; `run` is a result of `train`, or its folder."""
    if isinstance(run, Trained):
        return draw_loss(run.metrics)
    require(
        isinstance(run, str | Path), f"the run is a {type(run).__name__}, must be its folder or the result of `train`"
    )
    return draw_loss(read_metrics(_folder(run, "training run")))


@gated
def dynamics(run: Trajectory | LengthSweep) -> Figure:
    """A run of Algorithm 1 or 2 over its steps, or the losses of a sweep of lengths with their power laws."""
    return draw(over_lengths("", run) if isinstance(run, LengthSweep) else over_steps("", run))


@gated
def sweep(folder: str | Path) -> Figure:
    """The metric of a sweep over its axes; `folder` is the `--out` of `anyorder sweep`."""
    found, rows = read_sweep(_folder(folder, "sweep"))
    require(len(rows) > 0, f"{folder} has no finished run yet; let the sweep run")
    return draw_grid(found, rows)


@gated
def probe(found: Probed) -> Figure:
    """The order of every head, the spectra of the best ones, and the controls beside them."""
    return draw_probe(found)


def _folder(path: str | Path, what: str) -> Path:
    require(os.path.isdir(path), f"{path} is not a folder; give the folder of a {what}")
    return Path(path)
