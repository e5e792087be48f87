"""Files of trajectories."""

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.papers.two_can import dynamics


def test_a_trajectory_is_read_back_as_it_was_and_is_safe_to_open(learned, tmp_path):
    path = tmp_path / "deep" / "t.npz"
    dynamics.write_trajectory(learned, path)
    with np.load(path, allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["attention"], learned.attention)
        assert (str(stored["algorithm"]), stored["order"], stored["floor"]) == ("two-stage", 1, learned.floor)
    again = dynamics.read_trajectory(path)
    np.testing.assert_array_equal(again.p, learned.p)
    np.testing.assert_array_equal(again.gradient, learned.gradient)
    assert (again.algorithm, again.order, again.settings) == ("two-stage", 1, learned.settings)
    assert again.evaluation == learned.evaluation
    assert [entry.name for entry in path.parent.iterdir()] == ["t.npz"]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        InputError, match=r"t\.npz is not a complete \.npz file .*; give a trajectory of anyorder dynamics"
    ):
        dynamics.read_trajectory(path)
