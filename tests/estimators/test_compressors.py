"""Sizes of compressed symbols, against the same bytes compressed at once."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from anyorder.estimators.compressors import Compressors


@pytest.mark.parametrize(("alphabet_size", "width"), [(4, 1), (256, 1), (257, 2)])
def test_chunks_make_the_files_that_the_whole_makes(alphabet_size, width):
    tokens = np.random.default_rng(0).integers(0, alphabet_size, 5000)
    compressors = Compressors(alphabet_size)
    for chunk in np.split(tokens, [1, 1000, 1000, 4999]):
        compressors.feed(chunk)
    data = b"".join(int(token).to_bytes(width, "little") for token in tokens)
    whole = {"gzip": gzip.compress(data, 9), "bzip2": bz2.compress(data, 9), "xz": lzma.compress(data, preset=6)}
    expected = {name: 8 * len(file) / 5000 for name, file in whole.items()}
    assert compressors.bits_per_symbol() == pytest.approx(expected)
    assert compressors.bits_per_symbol() == pytest.approx(expected)  # asked again
