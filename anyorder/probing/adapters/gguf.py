"""Language models in GGUF files, opened by `transformers`.

A header with false lengths can make a reader allocate any amount of memory. Therefore every length in the header is
first compared with the size of the file.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anyorder.errors import InputError, require
from anyorder.probing.adapters.huggingface import MOST_CONTEXT, HuggingFaceModel, frameworks, load_pretrained

#: struct formats of GGUF numbers by type code.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
#: Token type of text tokens; the others are control tokens and bytes.
_NORMAL = 1

Field = bool | int | float | str | np.ndarray


class Header(NamedTuple):
    """The fields of a GGUF file and the shapes of its tensors by name; arrays of strings are skipped."""

    fields: dict[str, Field]
    tensors: dict[str, list[int]]


class _Walk:
    """A read position that never moves beyond the end of the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.place = path, data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.place:
            raise InputError(
                f"{self.path} is not a complete GGUF file: at byte {self.place} its header states {count} bytes, it "
                f"has {len(self.data) - self.place} more; get it again"
            )
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self, kind: int) -> bool | int | float:
        if kind not in _NUMBERS:
            raise InputError(f"{self.path} is not a GGUF file: it has a value of type {kind}; get it again")
        return struct.unpack("<" + _NUMBERS[kind], self.take(struct.calcsize("<" + _NUMBERS[kind])))[0]

    def whole(self, kind: int = 10) -> int:
        return int(self.number(kind))

    def string(self) -> str:
        return self.take(self.whole()).decode("utf-8", "replace")

    def value(self, kind: int) -> Field | None:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(kind)
        inner, count = self.whole(4), self.whole()
        if inner == _STRING:
            for _ in range(count):  # each takes at least the eight bytes of its length
                self.take(self.whole())
            return None
        if inner not in _NUMBERS:
            raise InputError(f"{self.path} is not a GGUF file: it has an array of type {inner}; get it again")
        dtype = np.dtype("<" + _NUMBERS[inner])
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)


def read_header(path: str | Path) -> Header:
    """The header of a GGUF file, with every length checked against the size of the file."""
    path = Path(path)
    require(path.is_file(), f"{path} is not a regular file; give a .gguf file")
    with path.open("rb") as file:
        require(file.read(4) == b"GGUF", f"{path} is not a complete GGUF file: it has another header; get it again")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            walk = _Walk(path, data)
            walk.take(8)  # magic and version
            tensors, count = walk.whole(), walk.whole()
            fields: dict[str, Field] = {}
            for _ in range(count):
                name = walk.string()
                value = walk.value(walk.whole(4))
                if value is not None:
                    fields[name] = value
            shapes: dict[str, list[int]] = {}
            for _ in range(tensors):
                name = walk.string()
                shapes[name] = sizes = [walk.whole() for _ in range(walk.whole(4))]
                kind, offset = walk.whole(4), walk.whole()
                elements = int(np.prod(sizes, dtype=object))
                require(
                    offset < len(data) and elements <= 8 * len(data),  # no type has less than a bit for a number
                    f"{path} is not a complete GGUF file: tensor {name!r} of type {kind} has {elements} numbers from "
                    f"byte {offset} on, the file has {len(data)} bytes; get it again",
                )
    return Header(fields, shapes)


def _check_sizes(path: Path, kind: str, header: Header) -> None:
    """Reject sizes that do not fit the tensors, because `transformers` would allocate them."""
    sides = {side for shape in header.tensors.values() for side in shape}
    bounds = {"block_count": len(header.tensors), "attention.head_count": max(sides, default=0)}
    bounds["context_length"] = MOST_CONTEXT
    needed = ("block_count", "attention.head_count", "embedding_length")
    for name in (*needed, "feed_forward_length", "vocab_size", "expert_count", "context_length"):
        number = header.fields.get(f"{kind}.{name}")
        if isinstance(number, int):
            fits = number <= bounds[name] if name in bounds else number in sides or number == 0
            fits = fits and (number > 0 or name not in needed)
        else:
            fits = name not in needed  # an array may state a number for each layer
        require(
            fits,
            f"{path} has {kind}.{name} {number!r}, which its {len(header.tensors)} tensors do not have; "
            "it is not a complete model, get it again",
        )


class GGUFModel(HuggingFaceModel):
    """A language model in a GGUF file."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        header = read_header(path)
        fields, tensors = header
        kind = " ".join(str(fields.get("general.architecture")).split())
        _check_sizes(path, kind, header)
        heads = int(fields[f"{kind}.attention.head_count"])
        groups = int(fields.get(f"{kind}.attention.head_count_kv", heads))
        require(
            groups > 0 and heads % groups == 0,
            f"{path} has {heads} heads and {groups} key-value heads; the second must divide the first",
        )
        torch, transformers = frameworks("GGUF files")
        model = load_pretrained(transformers, torch, path.parent, gguf_file=path.name)
        super().__init__(model=model, name=" ".join(str(fields.get("general.name", path.stem)).split()))
        kinds, size = fields.get("tokenizer.ggml.token_type"), int(model.config.vocab_size)
        if isinstance(kinds, np.ndarray):
            self.ids = np.flatnonzero(kinds[:size] == _NORMAL)
        start = fields.get("tokenizer.ggml.bos_token_id")
        self.start = int(start) if isinstance(start, int) and 0 <= start < size else self.start
        self.about |= {"architecture": kind, "tensors": len(tensors)}
