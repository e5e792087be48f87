"""Trees of dataclasses as JSON and named arrays, and back: the format of models, trajectories and results.

A file is safetensors, with the JSON in its header and without pickle. It contains a digest of names, shapes, bytes and
header, so that a truncated or changed file is rejected.

In the JSON every object is a tag: `{"kind": …, "fields": …}` is a dataclass or a named tuple, `{"array": …}` an array
by its path in the tree, `{"tuple": …}` and `{"dict": …}` those types, `{"float": …}` NaN or an infinity.
Other values are themselves. Only classes named by the caller are created: a file cannot choose others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import ArrayLike

from anyorder.errors import InputError, require, shown
from anyorder.io.atomic import whole_file
from anyorder.io.gates import open_regular, read_bytes

Arrays = dict[str, np.ndarray]
#: Largest size of a header in bytes.
MOST_HEADER = 1 << 23
_EXPECTED = "a .safetensors file of anyorder"
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


def described(value: object) -> tuple[object, Arrays]:
    """The structure of a tree as JSON, from which `rebuilt` restores it, and its arrays by path.

    >>> import collections
    >>> Pair = collections.namedtuple("Pair", "one other")
    >>> plain, arrays = described(Pair(1, (np.ones(2), None)))
    >>> plain
    {'kind': 'Pair', 'fields': {'one': 1, 'other': {'tuple': [{'array': 'other.0'}, None]}}}
    >>> rebuilt(plain, arrays, [Pair])
    Pair(one=1, other=(array([1., 1.]), None))
    """
    arrays: Arrays = {}
    return _describe(value, (), arrays), arrays


def _describe(value: object, path: tuple[object, ...], arrays: Arrays) -> object:
    fields = _fields(value)
    if fields is not None:
        described = {part: _describe(inner, (*path, part), arrays) for part, inner in fields.items()}
        return {"kind": type(value).__name__, "fields": described}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, list | tuple):
        entries = [_describe(inner, (*path, place), arrays) for place, inner in enumerate(value)]
        return entries if isinstance(value, list) else {"tuple": entries}
    if isinstance(value, Mapping):
        return {"dict": [[key, _describe(inner, (*path, key), arrays)] for key, inner in value.items()]}
    if hasattr(value, "__array__"):
        name = ".".join(map(str, path)) or "array"
        arrays[name] = np.asarray(value)
        return {"array": name}
    return value


def _fields(value: object) -> dict[str, Any] | None:
    """The fields of a dataclass or a named tuple; None for anything else."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else None


class UnknownKind(KeyError):
    """The name of a class that is not among the allowed ones."""


def rebuilt(
    plain: object,
    arrays: Mapping[str, Any],
    kinds: Iterable[type] | Mapping[str, type],
    array: Callable[[Any], object] = np.asarray,
) -> Any:
    """The inverse of `described`; `kinds` are the allowed classes, and `array` converts each array.

    >>> rebuilt({"kind": "Path", "fields": {}}, {}, [])
    Traceback (most recent call last):
    anyorder.io.trees.UnknownKind: 'Path'
    """
    by_name = kinds if isinstance(kinds, Mapping) else {kind.__name__: kind for kind in kinds}

    def build(value: object) -> object:
        if isinstance(value, list):
            return [build(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        if "kind" in value:
            if value["kind"] not in by_name:
                raise UnknownKind(value["kind"])
            return by_name[value["kind"]](**{name: build(inner) for name, inner in value["fields"].items()})
        ((tag, content),) = value.items()
        if tag == "array":
            return array(arrays[content])
        if tag == "dict":
            return {key: build(inner) for key, inner in content}
        return float(content) if tag == "float" else tuple(map(build, content))

    return build(plain)


def write_tensors(path: str | Path, tensors: Mapping[str, ArrayLike], header: Mapping[str, object]) -> None:
    """Write arrays by name, with a header of JSON values, whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.safetensors"
    >>> write_tensors(path, {"w": np.ones(2, ml_dtypes.bfloat16)}, {"step": 3})
    >>> tensors, header = read_tensors(path)
    >>> tensors["w"].dtype, header
    (dtype(bfloat16), {'step': 3})
    """
    arrays = {name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in tensors.items()}
    digest = arrays_digest(arrays, json.dumps(header, allow_nan=False))
    # One key: safetensors writes several in a random order, and equal runs must give equal bytes.
    metadata = {"anyorder": json.dumps({"digest": digest, **header})}
    with whole_file(path) as temporary:
        temporary.write_bytes(safetensors.numpy.save(arrays, metadata))


def read_tensors(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """Read the arrays and the header of a file written by `write_tensors`."""
    data = read_bytes(path, _EXPECTED)
    try:
        arrays = {
            name: np.frombuffer(entry["data"], np.dtype(_CODES[entry["dtype"]])).reshape(entry["shape"])
            for name, entry in safetensors.deserialize(data)
        }
        (size,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(data[8 : 8 + size])["__metadata__"]
        header = json.loads(metadata["anyorder"])
        stated = header.pop("digest", None) or metadata["digest"]  # version 0.2 had a separate key
    except Exception:
        raise _not_whole(path) from None
    sound = stated == arrays_digest(arrays, json.dumps(header))
    require(sound, f"{path} does not match its own digest; it was changed, write it again")
    return arrays, header


def read_header(path: str | Path) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The header alone and the shapes of the arrays, quickly: neither the arrays nor the digest are read."""
    with open_regular(path, _EXPECTED) as stream:
        try:
            (size,) = struct.unpack("<Q", stream.read(8))
            entries = json.loads(stream.read(size if size <= MOST_HEADER else 0))
            header = dict(json.loads(entries.pop("__metadata__")["anyorder"]))
            return header, {name: list(entry["shape"]) for name, entry in entries.items()}
        except Exception:
            raise _not_whole(path) from None


def _not_whole(path: str | Path) -> InputError:
    return InputError(f"{path} is not a complete safetensors file of anyorder; it may be cut short, write it again")


def check_finite(arrays: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Reject arrays of weights with NaN or infinities, which training never writes."""
    for name, array in arrays.items():
        if array.dtype.kind in "fV" and not np.isfinite(array).all():  # V: bfloat16
            wrong = array[~np.isfinite(array)][0]
            raise InputError(f"{path} has {wrong} in the array {name}, weights are finite; write it again")


def arrays_digest(arrays: Mapping[str, ArrayLike], text: str = "") -> str:
    """SHA-256 of arrays by name, with their shapes and types, and of a text.

    >>> arrays_digest({"a": np.zeros(2)}) == arrays_digest({"a": np.zeros(2, np.float32)})
    False
    """
    state = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        state.update(f"{name} {array.dtype.name} {array.shape}".encode())
        state.update(array.tobytes())
    return state.hexdigest()


def write_record(path: str | Path, value: object, form: str, **about: object) -> None:
    """Write a tree as one safetensors file, whole or not at all; `form` names its kind and version.

    about: further entries of the header, to be read without the tree.
    """
    plain, arrays = described(value)
    write_tensors(path, arrays, {"format": form, **about, "value": plain})


def read_record(
    path: str | Path,
    form: str,
    kinds: Iterable[type] | Mapping[str, type],
    array: Callable[[np.ndarray], object] = np.asarray,
) -> Any:
    """Read the tree in a file that `write_record` wrote with the same form.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.safetensors"
    >>> write_record(path, {"loss": [0.5, float("inf")]}, "losses 1")
    >>> read_record(path, "losses 1", [])
    {'loss': [0.5, inf]}
    """
    arrays, header = read_tensors(path)
    found = header.get("format") if isinstance(header, dict) else None
    require(
        found == form, f"{path} contains {found!r}, must be {form!r}; it is of another kind or version, write it again"
    )
    try:
        return rebuilt(header["value"], arrays, kinds, array)
    except UnknownKind as error:
        way_out = "load the plug-in that defines it with --plugin or ANYORDER_PLUGINS, or write it again"
        raise InputError(f"{path} has a part of the unknown kind {shown(error.args[0])}; {way_out}") from None
    except Exception:
        raise InputError(f"{path} does not describe {form!r}; write it again") from None


def as_json(value: object) -> Any:
    """A tree as plain JSON for people and other programs; NaN and infinities become null, so it cannot be read back.

    >>> as_json({"a": (1.0, float("inf")), "b": np.arange(2)})
    {'a': [1.0, None], 'b': [0, 1]}
    """
    fields = _fields(value)
    if fields is not None:
        return as_json(fields)
    if isinstance(value, Mapping):
        return {key: as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in value]
    if hasattr(value, "__array__"):
        return as_json(np.asarray(value).tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
