"""Progress without a terminal: occasional lines, and one at the end."""

from anyorder.training import progress
from anyorder.training.progress import Progress, shown


def test_a_line_comes_when_time_has_passed_and_at_the_end(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0, 8.0, 8.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with shown(3, True) as watch:
        watch(Progress(100, 400, 0.5, 0.1, 0.2, 50.0))  # one second in: nothing is said
        watch(Progress(200, 400, 0.25, None, 0.2, 50.0))
        watch(Progress(300, 400, 0.2, 0.1, 0.2, 50.0))
        watch(Progress(400, 400, 0.125, -0.01, 0.2, 50.0))
    assert capsys.readouterr().err.splitlines() == [
        "step 200/400  loss 0.2500  excess 0.2000  150 steps/s  4 s left",
        "step 400/400  loss 0.1250  gap -0.0100  150 steps/s  0 s left",
    ]
