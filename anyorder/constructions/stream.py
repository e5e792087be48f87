"""The residual stream as named blocks, which constructions read and write.

A weight is a list of routes `(read, write, scale)`: "read `token`, write `window`, times C". Between blocks
of one width the scale multiplies the identity; from or to a block of width one it multiplies ones (a sum, or
a copy into every coordinate); a matrix is used unchanged. All weights are NumPy's float64 here: a
complete model is cast to its dtype and passed to JAX once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

Scale = float | Float[np.ndarray, "write read"]
Route = tuple[str, str, Scale]
Value = float | Float[np.ndarray, "..."]


class Stream:
    """Blocks in order, with their widths; also the space in which queries meet keys.

    >>> stream = Stream(token=2, window=2)
    >>> stream.map(("token", "window", 3.0)).astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0], [0, 3, 0, 0]]
    """

    def __init__(self, **widths: int) -> None:
        self.blocks = tuple(widths.items())

    @property
    def dimension(self) -> int:
        """The sum of the widths."""
        return sum(width for _, width in self.blocks)

    def place(self, name: str) -> slice:
        """The slice of a block.

        >>> Stream(token=2, window=3).place("window")
        slice(2, 5, None)
        """
        names = [block for block, _ in self.blocks]
        start = sum(width for _, width in self.blocks[: names.index(name)])
        return slice(start, start + dict(self.blocks)[name])

    def vector(self, **values: Value) -> Float[np.ndarray, "d"]:
        """A vector of the stream with some blocks filled.

        >>> Stream(token=2, gate=1).vector(gate=5.0).tolist()
        [0.0, 0.0, 5.0]
        """
        return self.rows(1, **values)[0]

    def rows(self, count: int, **values: Value) -> Float[np.ndarray, "count d"]:
        """Several vectors at once: a block gets one number, or one row for each vector.

        >>> Stream(token=2, gate=1).rows(2, token=np.eye(2), gate=5.0).tolist()
        [[1.0, 0.0, 5.0], [0.0, 1.0, 5.0]]
        """
        rows = np.zeros((count, self.dimension))
        for name, value in values.items():
            rows[:, self.place(name)] = value
        return rows

    def table(self, entries: Mapping[int, Mapping[str, Value]]) -> Float[np.ndarray, "offsets d"]:
        """Position vectors by offset, zero by default.

        The number of rows is a multiple of 32, so that models of different orders share a compiled program.

        >>> Stream(score=1).table({2: {"score": 7.0}})[:3].tolist()
        [[0.0], [0.0], [7.0]]
        """
        table = np.zeros((32 * (1 + max(entries) // 32), self.dimension))
        for offset, values in entries.items():
            table[offset] = self.rows(1, **values)[0]
        return table

    def map(self, *routes: Route, to: Stream | None = None) -> Float[np.ndarray, "to d"]:
        """The matrix of all routes, from this stream to itself or to another space.

        >>> Stream(token=2).map(("token", "score", 1.0), to=Stream(score=1)).tolist()
        [[1.0, 1.0]]
        """
        target = self if to is None else to
        matrix = np.zeros((target.dimension, self.dimension))
        for read, write, scale in routes:
            matrix[target.place(write), self.place(read)] += self._spread(read, target, write, scale)
        return matrix

    def embedding(self, **constants: Value) -> Float[np.ndarray, "symbols d"]:
        """One row for each symbol: its one-hot vector in the block `token`, and constants in other blocks.

        >>> Stream(gate=1, token=2).embedding(gate=5.0).tolist()
        [[5.0, 1.0, 0.0], [5.0, 0.0, 1.0]]
        """
        symbols = dict(self.blocks)["token"]
        return self.rows(symbols, token=np.eye(symbols), **constants)

    def readout(self, name: str) -> Float[np.ndarray, "symbols d"]:
        """W_o that reads one block.

        >>> Stream(token=2, output=2).readout("output").tolist()
        [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
        """
        return self.map((name, "symbol", 1.0), to=Stream(symbol=dict(self.blocks)[name]))

    def _spread(self, read: str, target: Stream, write: str, scale: Scale) -> Float[np.ndarray, "write read"]:
        if isinstance(scale, np.ndarray):
            return scale
        inputs, outputs = dict(self.blocks)[read], dict(target.blocks)[write]
        assert inputs == outputs or 1 in (inputs, outputs), f"{read} has width {inputs}, {write} has {outputs}"
        return scale * (np.eye(inputs) if inputs == outputs else np.ones((outputs, inputs)))
