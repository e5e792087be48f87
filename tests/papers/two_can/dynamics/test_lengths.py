"""Power laws, and a sweep over lengths."""

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from anyorder import chains
from anyorder.cli.dynamics import sweep_table
from anyorder.io.trees import as_json
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.dynamics.lengths import over_lengths, over_steps
from anyorder.papers.two_can.dynamics.reduced import EXCLUDED
from anyorder.report.figures import draw
from anyorder.report.style import write_figure
from tests.web import exploring


@pytest.mark.slow
def test_a_sweep_is_fitted_tabulated_and_drawn(tmp_path):
    prior = chains.PointMass(chains.Kernel([[0.2, 0.8], [0.7, 0.3]]))
    settings = dynamics.TwoStage(steps=50, steps_2=50, batch=16)
    found = dynamics.sweep_lengths(prior, settings, (8, 16, 32))
    report = as_json(found)
    assert [point["length"] for point in report["points"]] == [8, 16, 32]
    excess = [point["learned"]["excess"] for point in report["points"]]
    assert report["excess"]["exponent"] == pytest.approx(np.polyfit(np.log([9, 17, 33]), np.log(excess), 1)[0])
    assert report["excess"]["exponent"] < -0.1
    assert report["generalisation"]["exponent"] < -0.1
    assert report["floor"] is None  # the kernel is known: there is nothing to learn, and no power law
    console = Console(file=io.StringIO(), width=80)
    console.print(sweep_table(found))
    assert f"{excess[2]:.4f}" in console.file.getvalue()
    write_figure(draw(over_lengths("", found)), tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


def test_power_law_agrees_with_polyfit():
    x, y = np.array([8.0, 16, 32, 64]), np.array([0.9, 0.5, 0.24, 0.13])
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = dynamics.power_law(x.tolist(), y)
    assert law.exponent == pytest.approx(coefficients[0])
    assert law.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_a_run_is_drawn_with_a_2_where_it_is_learned_and_without_excluded_offsets():
    run = exploring.trajectory(4)
    p = run.p.copy()
    p[:, 0] = EXCLUDED
    plain = dataclasses.replace(run, p=p)
    learned = dataclasses.replace(plain, a_2=np.linspace(0, 1, len(p)))
    assert [chart.y for chart in over_steps("", plain).charts] == ["positional scalars", "loss (nats)"]
    scalars, a_2, losses = over_steps("", learned).charts
    assert a_2.series[0].y.tolist() == learned.a_2.tolist()
    assert {chart.mark for chart in (scalars, a_2, losses)} == {run.stage_one_steps}
    others = scalars.series[0]
    rest = p[:, run.order + 1 :]
    np.testing.assert_allclose([others.y - others.error, others.y + others.error], [rest.min(axis=1), rest.max(axis=1)])
    assert losses.series[0].y.tolist() == run.loss.tolist()
    drawn = draw(over_steps("", learned)).axes
    assert [panel.get_xlabel() for panel in drawn] == ["", "", "step (the line divides the stages)"]
