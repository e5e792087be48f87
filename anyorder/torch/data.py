"""Sources as PyTorch datasets: endless, seeded, and with the same batches for any number of workers."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from anyorder.errors import InputError, require
from anyorder.io.gates import gated

if TYPE_CHECKING:
    from anyorder.chains import Kernel, Prior, Source


class Batch(NamedTuple):
    """Sequences with the distribution that every token was drawn from.

    `tokens` are (batch, length) in int64, `truth` (batch, length, symbols) in float32: `truth[:, 1:]` are the exact
    targets of a model that reads `tokens[:, :-1]`. A single sequence has no axis for the batch.
    """

    tokens: Tensor
    truth: Tensor


class Dataset(IterableDataset[Batch]):
    """Batches of a source; batch number i is a function of the seed and of i alone."""

    def __init__(self, source: Source, batch: int | None, seed: int, batches: int | None, first: int) -> None:
        self.source, self.batch, self.seed, self.batches, self.first = source, batch, seed, batches, first

    def __iter__(self) -> Iterator[Batch]:
        """The batches of this worker, every n-th one, so that n workers together yield those of one process."""
        worker = get_worker_info()
        if worker is not None and "Fork" in type(multiprocessing.current_process()).__name__:
            raise InputError('JAX cannot run in forked workers; pass multiprocessing_context="spawn" to the DataLoader')
        import jax
        import numpy as np

        from anyorder.chains.random import as_key

        key = jax.random.fold_in(as_key(self.seed), 0)  # evaluation sets fold in 2
        end = None if self.batches is None else self.first + self.batches
        numbers = itertools.takewhile(lambda number: end is None or number < end, itertools.count(self.first))
        place, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in itertools.islice(numbers, place, None, workers):
            drawn = self.source.sample(jax.random.fold_in(key, number), self.batch or self.source.per_kernel)
            found = Batch(
                torch.from_numpy(np.array(drawn.tokens, np.int64)), torch.from_numpy(np.array(drawn.truth, np.float32))
            )
            if self.batch is None:
                yield from itertools.starmap(Batch, zip(*found, strict=True))
            else:
                yield found


@gated
def dataset(
    source: Source | Prior | Kernel,
    *,
    batch: int | None = 64,
    seed: int = 0,
    batches: int | None = None,
    first: int = 0,
) -> Dataset:
    """An `IterableDataset` of fresh sequences and the true distribution of every token.

    source: a source, or a prior or a kernel, whose sequences have 33 tokens.
    batch: sequences of a batch, for `DataLoader(…, batch_size=None)`; None gives single sequences.
    batches: number of batches; endless by default.
    first: number of the first batch, to resume.

    With workers, pass `multiprocessing_context="spawn"`: JAX does not survive a fork.

    >>> from anyorder.chains import Dirichlet, Source
    >>> tokens, truth = next(iter(dataset(Source(Dirichlet(order=1, alphabet_size=3), length=9), batch=4)))
    >>> tuple(tokens.shape), tuple(truth.shape)
    ((4, 9), (4, 9, 3))
    """
    from anyorder.chains import as_source

    for name, value, least in (("batch", batch, 1), ("batches", batches, 1), ("first", first, 0)):
        require(value is None or value >= least, f"{name} is {value}, must be at least {least}")
    found = as_source(source)
    require(
        batch is None or batch % found.per_kernel == 0,
        f"batch is {batch}, must be a multiple of {found.per_kernel}, the sequences per kernel",
    )
    return Dataset(found, batch, seed, batches, first)
