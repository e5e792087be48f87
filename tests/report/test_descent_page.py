"""The page of a run: its frames and its rows."""

import numpy as np
import pytest

from anyorder.report.descent_page import FRAMES, SHOWN, page_data, write_run
from tests.web.exploring import trajectory


@pytest.mark.parametrize("steps", [40, 1000])
def test_frames_go_from_the_first_state_to_the_last(steps):
    data = page_data(trajectory(steps))
    shown = [frame["step"] for frame in data["frames"]]
    assert shown == sorted(set(shown))
    assert (shown[0], shown[-1]) == (0, steps)
    assert len(shown) == min(steps + 1, FRAMES) or steps > FRAMES >= len(shown) > FRAMES / 2


def test_a_row_is_the_softmax_of_its_scalars_with_the_rest_in_one_bar():
    run = trajectory(40)
    for frame in page_data(run)["frames"]:
        weights = np.exp(run.p[frame["step"]])
        expected = weights / weights.sum()
        assert len(expected) == 9 < SHOWN
        np.testing.assert_allclose(frame["row"], expected, atol=1e-6)


def test_the_page_has_the_figures_the_symbols_and_the_next_step(tmp_path):
    files = write_run(tmp_path, trajectory(40), None, "anyorder explore --models run")
    assert {*files.values()} == {path.name for path in tmp_path.iterdir()} == {"index.html", "run.png"}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 1
    for said in ("<dt>a₂</dt>", "<dt>L*</dt>", "<code>anyorder explore --models run</code>", "show(+slider.value)"):
        assert said in page
