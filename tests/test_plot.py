"""Figures for notebooks."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import anyorder
from anyorder.sweeps import table
from tests.sweeps.small import made
from tests.web import exploring


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


def test_a_run_is_drawn_without_its_folder_and_with_it(tmp_path):
    tiny = {"length": 4, "layers": 1, "dimension": 4, "mlp": "none", "batch": 2, "evaluation_count": 4}
    runs = [anyorder.train(order=1, seeds=1, steps=2, out=out, **tiny) for out in (None, tmp_path / "run")]
    assert runs[0].metrics == runs[1].metrics
    for run in (*runs, tmp_path / "run"):
        assert anyorder.plot.training(run).axes[0].lines[0].get_ydata() == runs[0].metrics[2]["loss"]


def test_runs_of_the_algorithms_sweeps_and_probes_have_figures(tmp_path):
    sweep, rows = made({"learning_rate": [1e-3, 3e-3]})
    kept = table.SweepFolder(tmp_path / "made", sweep)
    kept.rows = {row.run: row for row in rows}
    kept.begin({})
    assert len(anyorder.plot.sweep(tmp_path / "made").axes) == 1
    with pytest.raises(anyorder.InputError, match="absent is not a folder; give the folder of a sweep"):
        anyorder.plot.sweep("absent")
    assert len(anyorder.plot.dynamics(exploring.trajectory(4)).axes) == 2


@pytest.mark.slow
def test_plotting_leaves_the_backend_of_the_user_alone():
    program = (
        "import matplotlib; matplotlib.use('svg'); import anyorder; anyorder.plot; print(matplotlib.get_backend())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "svg", result.stderr


def shown(figure, place=0):
    return figure.axes[place].images[0].get_array()


@pytest.mark.slow
def test_a_source_stands_for_a_sequence_or_a_kernel_of_it():
    pool = anyorder.chains.Pool(1, 2, chains=3)
    source = anyorder.chains.Source(pool, length=12, per_kernel=2)
    drawn = anyorder.chains.Source(pool, length=12).sample(4, 1)
    figure = anyorder.plot.predictions(source, seed=4)
    names = ["retrieval", "order-0", "order-1", "unigram-retrieval"]
    assert [axes.get_title() for axes in figure.axes[:4]] == names
    expected = anyorder.estimators.retrieval(drawn.tokens[0], kernels=pool.kernels).probabilities
    np.testing.assert_array_equal(shown(figure), np.asarray(expected).T)
    again = anyorder.plot.predictions(source, seed=4, mine=lambda tokens: np.eye(2)[tokens])
    np.testing.assert_array_equal(shown(again)[1], drawn.tokens[0])
    np.testing.assert_array_equal(shown(anyorder.plot.kernel(source, seed=4)), drawn.kernels[0])
    model = anyorder.construct("bigram", order=1, alphabet_size=2, length=12)
    maps = (anyorder.plot.attention(model, one, seed=4) for one in (source, drawn.tokens[0]))
    np.testing.assert_array_equal(*(shown(figure, 1) for figure in maps))
    with pytest.raises(anyorder.InputError, match="the source has no kernels"):
        anyorder.plot.kernel(anyorder.chains.Recall(order=1, alphabet_size=4))


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_tokens_have_the_letters_of_the_text_or_a_b_c():
    model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)
    for tokens, alphabet, names in (([0, 1, 1, 0], None, "abba"), ("yxxy", "yx", "yxxy")):
        panel = anyorder.plot.attention(model, tokens, alphabet=alphabet).axes[0]
        assert labels(panel.xaxis) == labels(panel.yaxis) == list(names)
        exact = anyorder.kgram(tokens, order=1, alphabet_size=2, alphabet=alphabet)
        strip = anyorder.plot.predictions(tokens, alphabet=alphabet, exact=exact).axes[0]
        assert (labels(strip.xaxis), labels(strip.yaxis)) == (list(names), list(dict.fromkeys(names)))
    assert labels(anyorder.plot.kernel([[[0.9, 0.1], [0.5, 0.5]]] * 2).axes[0].yaxis) == ["a a", "a b", "b a", "b b"]


def test_noise_of_heads_without_an_order_does_not_fill_the_axis():
    def noisy(tokens):
        rows = np.tril(1 + 1e-4 * np.random.default_rng(0).random((len(tokens), len(tokens))))
        return [(rows / rows.sum(axis=1, keepdims=True))[None]], np.zeros((len(tokens), 5))

    model = anyorder.probing.adapters.CallableModel(noisy)
    found = anyorder.probe(model, anyorder.probing.Settings(sequences=6, length=72, max_length=3))
    _, curves, controls, _ = anyorder.plot.probe(found).axes
    assert curves.get_title() == "no head has an order"
    assert curves.get_ylim()[0] == 0
    assert curves.get_ylim()[1] >= 2
    assert list(controls.get_xticks()) == []
