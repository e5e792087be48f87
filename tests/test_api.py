"""The names that people guess, from `import anyorder` alone: they exist, and type-check from outside."""

import importlib.util
import subprocess
import sys

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure

import anyorder

OUTSIDE = """
import anyorder

chains = anyorder.sample(order=2, alphabet_size=3, length=16, count=2, seed=0)
estimate = anyorder.kgram(chains.tokens[0], order=2, alphabet_size=3)
smoothed = anyorder.bayes(chains.tokens[0], order=2, alphabet_size=3)
model = anyorder.construct("dyadic", order=2, alphabet_size=3, length=16)
found = anyorder.verify("dyadic", order=2, alphabet_size=3, length=16)
anyorder.save(model, "model.safetensors")
again = anyorder.load("model.safetensors")
result = anyorder.train(anyorder.Config(seeds=1))
figure = anyorder.plot.attention(again, chains.tokens[0])
reveal_type(estimate.probabilities.shape)
reveal_type(found.passed)
reveal_type(result.finished)
reveal_type(figure)
"""


def test_every_public_name_is_reachable_in_a_fresh_process():
    program = (
        "import anyorder; names = [name for name in dir(anyorder) if name != 'torch']; "
        "[getattr(anyorder, name) for name in names]; print(len(names))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 20


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
def test_what_needs_pytorch_says_how_to_get_it():
    with pytest.raises(ImportError, match=r"anyorder.torch needs torch; pip install 'anyorder\[torch\]'"):
        anyorder.torch  # noqa: B018


def test_public_names_type_check_from_outside(tmp_path):
    (tmp_path / "outside.py").write_text(OUTSIDE, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--config-file", "", "--strict", "outside.py"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert "error" not in result.stdout, result.stdout
    revealed = [line.split("Revealed type is ")[1] for line in result.stdout.splitlines() if "Revealed" in line]
    assert len(revealed) == 4
    assert not any("Any" in kind for kind in revealed), revealed


def test_an_integer_seeds_what_a_key_does():
    drawn = anyorder.sample(order=1, length=8, count=2, seed=3)
    keyed = anyorder.sample(order=1, length=8, count=2, seed=jax.random.key(3))
    other = anyorder.sample(order=1, length=8, count=2, seed=4)
    assert np.array_equal(drawn.tokens, keyed.tokens)
    assert not np.array_equal(drawn.tokens, other.tokens)


def test_bayes_is_add_one_smoothing():
    assert anyorder.bayes([0, 1, 0, 1, 1, 0], order=1, alphabet_size=2).probabilities[-1].tolist() == [0.25, 0.75]


@pytest.fixture(scope="module")
def model():
    return anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)


def test_plots_are_figures_that_show_themselves(model):
    tokens = [0, 1, 1, 0, 1, 1, 0]
    kernel = anyorder.chains.Kernel([[0.9, 0.1], [0.5, 0.5]])
    exact = anyorder.kgram(tokens, order=2, alphabet_size=2)
    for figure in (
        anyorder.plot.attention(model, tokens),
        anyorder.plot.predictions(tokens, model=model, exact=exact),
        anyorder.plot.kernel(kernel),
    ):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_plotting_leaves_the_backend_of_the_user_alone():
    program = (
        "import matplotlib; matplotlib.use('svg'); import anyorder; anyorder.plot; print(matplotlib.get_backend())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "svg", result.stderr
