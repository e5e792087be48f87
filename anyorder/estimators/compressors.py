"""Code lengths of general-purpose compressors for the same symbols: gzip, bzip2 and xz."""

from __future__ import annotations

import bz2
import lzma
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np


class Compressors:
    """Feed symbols in chunks; each is one byte, or two in alphabets of more than 256.

    >>> compressors = Compressors(alphabet_size=2)
    >>> compressors.feed(np.zeros(8000, np.int64))
    >>> sorted(compressors.bits_per_symbol()), compressors.bits_per_symbol()["gzip"] < 0.1
    (['bzip2', 'gzip', 'xz'], True)
    """

    def __init__(self, alphabet_size: int) -> None:
        self._dtype = np.min_scalar_type(alphabet_size - 1)
        self._open: dict[str, Any] = {
            "gzip": zlib.compressobj(level=9, wbits=31),
            "bzip2": bz2.BZ2Compressor(9),
            "xz": lzma.LZMACompressor(preset=6),
        }
        self._bytes = dict.fromkeys(self._open, 0)
        self._symbols = 0

    def feed(self, tokens: np.ndarray) -> None:
        """Compress a chunk with all three compressors in parallel."""
        data = tokens.astype(self._dtype).tobytes()
        self._symbols += tokens.size
        with ThreadPoolExecutor(len(self._open)) as pool:
            written = pool.map(lambda name: len(self._open[name].compress(data)), self._open)
            for name, size in zip(self._open, written, strict=True):
                self._bytes[name] += size

    def bits_per_symbol(self) -> dict[str, float]:
        """The size of each file, including headers, in bits per symbol fed; the first call ends the files."""
        for name, compressor in self._open.items():
            self._bytes[name] += len(compressor.flush())
        self._open = {}
        return {name: 8 * size / self._symbols for name, size in self._bytes.items()}
