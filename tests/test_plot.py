"""Figures for notebooks."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import anyorder


def test_plots_are_figures_that_show_themselves():
    model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)
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


def test_what_is_drawn_may_be_a_mixture_or_an_array_and_fits_the_tokens():
    tokens = [0, 1, 1, 0, 1, 1, 0]
    mixed = anyorder.estimators.mixture(tokens, max_order=1, alphabet_size=2)
    figure = anyorder.plot.predictions(tokens, mixed=mixed, array=np.asarray(mixed.probabilities))
    assert [axes.get_title() for axes in figure.axes[:2]] == ["mixed", "array"]
    with pytest.raises(anyorder.InputError, match=r"short has shape \(3, 2\), must be \(7, symbols\)"):
        anyorder.plot.predictions(tokens, short=np.full((3, 2), 0.5))
    with pytest.raises(anyorder.InputError, match="absent is not a folder"):
        anyorder.plot.training("absent")


def test_plotting_leaves_the_backend_of_the_user_alone():
    program = (
        "import matplotlib; matplotlib.use('svg'); import anyorder; anyorder.plot; print(matplotlib.get_backend())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "svg", result.stderr
