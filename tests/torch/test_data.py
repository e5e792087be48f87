"""Sources as datasets: seeded, the same with workers, and the training script of the documentation."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader

import anyorder.torch
from anyorder.chains import Dirichlet, Kernel, Source
from anyorder.errors import InputError
from tests.test_promises import ROOT, blocks

SOURCE = Source(Dirichlet(order=1, alphabet_size=3), length=9)


def taken(dataset, count):
    return [batch.tokens.numpy() for batch in itertools.islice(dataset, count)]


def test_batches_hold_tokens_and_the_distributions_that_they_came_from():
    (tokens, truth) = next(iter(anyorder.torch.dataset(SOURCE, batch=512, seed=1)))
    assert (tokens.dtype, truth.dtype) == (torch.int64, torch.float32)
    assert (tokens.shape, truth.shape) == ((512, 9), (512, 9, 3))
    np.testing.assert_allclose(truth.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(truth[:, 0], 1 / 3, atol=1e-6)  # the opening is uniform
    # Tokens come from these rows: their mean probability is that of two independent draws.
    chosen, collision = truth.gather(-1, tokens[..., None])[..., 0], truth.square().sum(-1)
    assert abs(float((chosen - collision).mean())) < 5 * float((chosen - collision).std()) / chosen.numel() ** 0.5
    same = tokens[:, :-1] == tokens[:, -2:-1]  # equal contexts of a sequence have equal rows
    np.testing.assert_allclose(truth[:, 1:][same], truth[:, -1:].expand(-1, 8, -1)[same], atol=1e-6)


def test_a_batch_depends_on_the_seed_and_its_number_alone():
    first = taken(anyorder.torch.dataset(SOURCE, batch=4, seed=0), 6)
    assert np.array_equal(first, taken(anyorder.torch.dataset(SOURCE, batch=4, seed=0, batches=6), 9))
    assert np.array_equal(first[4:], taken(anyorder.torch.dataset(SOURCE, batch=4, seed=0, first=4), 2))
    assert not np.array_equal(first, taken(anyorder.torch.dataset(SOURCE, batch=4, seed=1), 6))
    assert len({one.tobytes() for one in first}) == 6


def test_single_sequences_are_those_of_their_source():
    source = Source(Kernel([[0.0, 1.0], [1.0, 0.0]]), length=5)
    (one, other) = itertools.islice(anyorder.torch.dataset(source, batch=None), 2)
    assert one.tokens.shape == (5,)
    assert one.tokens.diff().abs().tolist() == other.tokens.diff().abs().tolist() == [1] * 4


def test_spawned_workers_give_the_batches_of_one_process():
    dataset = anyorder.torch.dataset(SOURCE, batch=4, batches=5)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    assert np.array_equal(taken(loader, 9), taken(dataset, 9))


def test_forked_workers_are_refused():
    loader = DataLoader(
        anyorder.torch.dataset(SOURCE), batch_size=None, num_workers=1, multiprocessing_context="fork", timeout=60
    )
    with pytest.raises(InputError, match='pass multiprocessing_context="spawn" to the DataLoader'):
        next(iter(loader))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "batch is 0, must be at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"first": -1}, "first is -1, must be at least 0"),
        ({"source": Source(Dirichlet(1, 2), length=9, per_kernel=3)}, "batch is 64, must be a multiple of 3"),
    ],
)
def test_bad_input_is_one_line(changes, message):
    with pytest.raises(InputError, match=message):
        anyorder.torch.dataset(**{"source": SOURCE, **changes})


def test_importing_brings_no_jax():
    program = "import sys, anyorder.torch; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_the_training_script_of_the_page_reaches_the_floor():
    script = blocks(ROOT / "docs/pytorch.md", "py")[0]
    assert len(script.splitlines()) <= 40
    names = {"__name__": "script"}
    exec(compile(script, "docs/pytorch.md", "exec"), names)
    result = names["result"]
    assert result.evaluation.note is None
    assert -3 * result.gap_error < result.gap < 0.001
    assert result.follows == "bayes"
