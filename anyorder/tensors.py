"""Named arrays and a JSON header in one safetensors file: models and checkpoints. No pickle.

A digest of names, shapes, bytes and header is stored with them, so that a file that was cut short or changed
is refused with one line.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import ArrayLike

from anyorder.errors import InputError, require
from anyorder.files import read_bytes, whole_file

_CODES = {
    "BF16": ml_dtypes.bfloat16,
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "I32": "int32",
    "I64": "int64",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
}


def write_tensors(path: str | Path, tensors: Mapping[str, ArrayLike], header: object) -> None:
    """Write arrays by name, with a header of JSON values, whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.safetensors"
    >>> write_tensors(path, {"w": np.ones(2, ml_dtypes.bfloat16)}, {"step": 3})
    >>> tensors, header = read_tensors(path)
    >>> tensors["w"].dtype, header
    (dtype(bfloat16), {'step': 3})
    """
    arrays = {name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in tensors.items()}
    text = json.dumps(header, allow_nan=False)
    data = safetensors.numpy.save(arrays)
    # The library would write metadata in an order of its own choice, another every time: equal runs, equal bytes.
    (size,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + size])
    about = json.dumps({"__metadata__": {"anyorder": text, "digest": digest(arrays, text)}, **entries}).encode()
    about += b" " * (-len(about) % 8)
    with whole_file(path) as temporary:
        temporary.write_bytes(struct.pack("<Q", len(about)) + about + data[8 + size :])


def read_tensors(path: str | Path) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the header of a file that `write_tensors` wrote."""
    data = read_bytes(path, "a .safetensors file of anyorder")
    try:
        arrays = {
            name: np.frombuffer(entry["data"], np.dtype(_CODES[entry["dtype"]])).reshape(entry["shape"])
            for name, entry in safetensors.deserialize(data)
        }
        (size,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(data[8 : 8 + size])["__metadata__"]
        text, stated = metadata["anyorder"], metadata["digest"]
        header = json.loads(text)
    except Exception:
        raise InputError(
            f"{path} is not a whole safetensors file of anyorder; it may be cut short, write it again"
        ) from None
    require(stated == digest(arrays, text), f"{path} does not match its own digest; it was changed, write it again")
    return arrays, header


def check_finite(arrays: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Refuse arrays of weights with NaN or infinities: no run of ours writes them.

    >>> check_finite({"w": np.array([1.0, np.nan])}, "a.safetensors")
    Traceback (most recent call last):
    anyorder.errors.InputError: a.safetensors has nan in the array w, weights are finite; write it again
    """
    for name, array in arrays.items():
        if array.dtype.kind in "fV" and not np.isfinite(array).all():  # V: bfloat16
            wrong = array[~np.isfinite(array)][0]
            raise InputError(f"{path} has {wrong} in the array {name}, weights are finite; write it again")


def digest(arrays: Mapping[str, ArrayLike], text: str = "") -> str:
    """SHA-256 of arrays by name, with their shapes and types, and of a text.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(2, np.float32)})
    False
    """
    state = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        state.update(f"{name} {array.dtype.name} {array.shape}".encode())
        state.update(array.tobytes())
    return state.hexdigest()
