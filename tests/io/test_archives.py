"""Archives that unpack to more than they state."""

import tracemalloc
import zipfile

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io.archives import read_npz
from anyorder.probing.adapters.arrays import probe_recorded
from tests.web import hostile

SIZE = 1 << 22


def test_arrays_are_those_of_numpy(tmp_path):
    held = {"a": np.arange(6.0).reshape(2, 3), "b": np.array("text"), "c": np.asfortranarray(np.eye(3))}
    np.savez(tmp_path / "a.npz", **held)
    found, size = read_npz(tmp_path / "a.npz", "an archive")
    assert found.keys() == held.keys()
    assert all(np.array_equal(found[name], held[name]) for name in held)
    assert size == sum(array.nbytes + 128 for array in held.values())
    assert read_npz(tmp_path / "a.npz", "an archive", names=()) == ({}, size)
    assert list(read_npz(tmp_path / "a.npz", "an archive", names=["c", "absent"])[0]) == ["c"]


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_unpacks_to_too_much_is_not_unpacked(tmp_path, kind):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", kind) as archive:
        archive.writestr("a.npy", hostile.npy(np.zeros(SIZE // 8)))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"unpacks to 4,194,432 bytes, must be at most 1,000,000; give less"):
            read_npz(tmp_path / "a.npz", "less", most=10**6)
        if kind != zipfile.ZIP_DEFLATED:  # these unpack whole blocks, regardless of stated sizes
            with pytest.raises(InputError, match="encrypted or packed as NumPy never does"):
                read_npz(tmp_path / "a.npz", "another")
        assert tracemalloc.get_traced_memory()[1] < SIZE // 8
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [name for name in hostile.ENTRIES if name.startswith("trajectory: ")])
def test_no_archive_is_a_traceback_for_the_probe(tmp_path, name):
    hostile.ENTRIES[name](tmp_path)
    with pytest.raises(InputError) as refused:
        probe_recorded(tmp_path / "trajectory.npz")
    assert "\n" not in str(refused.value)
