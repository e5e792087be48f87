"""Untrusted `.npz` archives: sizes are checked before unpacking, and pickles are rejected."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from anyorder.errors import InputError, require
from anyorder.io.gates import open_regular

#: Bytes that an archive may unpack to.
MOST_UNPACKED = 1 << 30
#: Compression methods that decompress only the bytes read; bzip2 and LZMA decompress whole blocks.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(
    path: str | Path, expected: str, *, names: Collection[str] | None = None, most: int = MOST_UNPACKED
) -> tuple[dict[str, np.ndarray], int]:
    """The arrays of an archive by name, all or those in `names`, and the unpacked size of the whole archive in bytes.

    expected: the file to suggest in an error message.
    most: limit on the bytes of these arrays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> np.savez_compressed(path, a=np.zeros(1000), b=3)
    >>> read_npz(path, "an archive", names=["b"], most=1000)
    ({'b': array(3)}, 8264)
    >>> read_npz(path, "an archive", most=1000)
    Traceback (most recent call last):
    anyorder.errors.InputError: ... unpacks to 8,264 bytes, must be at most 1,000; give an archive
    """
    with open_regular(path, expected) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
                wanted = {name: entry for name, entry in entries.items() if names is None or name in names}
                size = sum(entry.file_size for entry in wanted.values())
                require(size <= most, f"{path} unpacks to {size:,} bytes, must be at most {most:,}; give {expected}")
                for name, entry in wanted.items():
                    plain = entry.compress_type in _BOUNDED and not entry.flag_bits & 1
                    require(plain, f"{path} has {name!r} encrypted or packed as NumPy never does; give {expected}")
                arrays = {}
                for name, entry in wanted.items():
                    with archive.open(entry) as packed:
                        arrays[name] = np.lib.format.read_array(packed, allow_pickle=False)
                return arrays, sum(entry.file_size for entry in entries.values())
        except InputError:
            raise
        except Exception as error:  # a damaged archive makes the libraries raise anything
            said = f"{path} is not a complete .npz file of plain arrays ({type(error).__name__}); give {expected}"
            raise InputError(said) from None
