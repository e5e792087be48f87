"""Models side by side and stacked, on one device and on two."""

import subprocess
import sys

import jax
import numpy as np

from anyorder.training.run import train
from tests.training.small import PAIR, ROOT, environment


def test_stacked_models_are_the_same_up_to_rounding(finished):
    stacked = train(PAIR, stacked=True)
    for model, other in zip(stacked.models, finished[0].models, strict=True):
        for one, two in zip(jax.tree.leaves(model), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4)


def test_a_stack_is_spread_over_devices(finished, tmp_path):
    """Two devices hold one model each of the stack."""
    program = (
        "import dataclasses, numpy, jax\n"
        "from anyorder.training.run import train\n"
        "from tests.training.small import PAIR\n"
        "result = train(PAIR, stacked=True)\n"
        f"numpy.save({str(tmp_path / 'e.npy')!r}, numpy.stack([model.embedding for model in result.models]))\n"
        "print(jax.local_device_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path), cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "2\n", done.stderr
    expected = np.stack([model.embedding for model in finished[0].models])
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), expected, atol=1e-4)
