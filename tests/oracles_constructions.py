"""Independent oracles: Definition 3 and the count estimators as plain loops, in NumPy float64."""

from __future__ import annotations

import itertools

import numpy as np


def as64(array):
    return None if array is None else np.asarray(array).astype(np.float64)


def unit(v):
    length = np.sqrt(np.sum(v * v))
    return v / length if length > 0 else v


def gelu(v):
    return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))


def apply_norm(norm, v):
    if norm is None:
        return v
    if not hasattr(norm, "gain"):
        return unit(v)
    centred = v - v.mean()
    return centred / np.sqrt(np.mean(centred**2) + 1e-5) * as64(norm.gain) + as64(norm.bias)


def turned(v, position, base):
    """Coordinates j and j + half as a complex number, turned by the angle of the position."""
    half = len(v) // 2
    complexes = (v[:half] + 1j * v[half:]) * np.exp(1j * position * base ** (-np.arange(half) / half))
    return np.concatenate([complexes.real, complexes.imag])


def head_output(head, stream):
    """One head of Definition 3, position by position; gives its output and its attention weights."""
    query, key, value = as64(head.query), as64(head.key), as64(head.value)
    key_positions, value_positions = as64(head.key_positions), as64(head.value_positions)
    rows = len(stream)
    weights, outputs = np.zeros((rows, rows)), []
    for n in range(rows):
        q = query @ stream[n]
        scores = []
        for i in range(n + 1):
            k = key @ stream[i]
            if head.normalise:
                k = unit(k)
            if head.rotary is not None:
                k = turned(turned(k, i, head.rotary), -n, head.rotary)  # the query of row n need not turn
            if key_positions is not None and n - i < len(key_positions):
                k = k + key_positions[n - i]
            scores.append(float(head.scale) * k @ (unit(q) if head.normalise else q))
        scores = np.exp(np.array(scores) - max(scores))
        weights[n, : n + 1] = scores / scores.sum()
        mixed = np.zeros(len(value))
        for i in range(n + 1):
            v = value @ stream[i]
            if value_positions is not None and n - i < len(value_positions):
                v = v + value_positions[n - i]
            mixed = mixed + weights[n, i] * v
        outputs.append(mixed if head.projection is None else as64(head.projection) @ mixed)
    return np.array(outputs), weights


def mamba_output(head, stream):
    """One head of Mamba-2 as a recurrence, row by row; weights are the shares of earlier rows in absolute value."""

    def silu(v):
        return v / (1 + np.exp(-v))

    projected = np.concatenate([stream @ as64(weight).T for weight in (head.query, head.key, head.value)], axis=1)
    mixed = silu(convolved(as64(head.taps), projected) + as64(head.taps_bias))
    state, width = len(head.key), len(head.value)
    table, found, outputs = np.zeros((state, width)), [], []
    weights = np.zeros((len(stream), len(stream)))
    for n, row in enumerate(stream):
        query, key, value = mixed[n, :state], mixed[n, state : 2 * state], mixed[n, 2 * state :]
        step = np.log1p(np.exp(as64(head.step) @ row + as64(head.step_bias)))
        decay = 1.0 if head.decay is None else np.exp(-step * np.exp(as64(head.decay)))
        table = decay * table + step * np.outer(key, value)
        found = [decay * earlier for earlier in found] + [step * key]
        sizes = np.abs([query @ earlier for earlier in found])
        weights[n, : n + 1] = sizes / sizes.sum()
        gated = (query @ table + as64(head.skip) * value) * silu(as64(head.gate) @ row)
        normed = gated / np.sqrt(np.mean(gated**2) + 1e-5) * as64(head.gain)
        outputs.append(as64(head.projection) @ normed)
    return np.array(outputs), weights


def recurrence_output(head, stream):
    """One head with a table, row by row; weights are the shares of earlier rows in the readout."""
    query, key, value, bias = as64(head.query), as64(head.key), as64(head.value), as64(head.bias)
    table = np.zeros((len(key), len(value))) if head.initial is None else as64(head.initial).copy()
    weights, outputs, written = np.zeros((len(stream), len(stream))), [], []
    for n, row in enumerate(stream):
        written.append(np.maximum(key @ row + bias, 0))
        table += np.outer(written[n], value @ row)
        asks = np.maximum(query @ row + bias, 0)
        read = asks @ table
        divisor = read.sum() if read.sum() > 0 else 1.0
        weights[n, : n + 1] = [asks @ features / divisor for features in written]
        outputs.append(as64(head.projection) @ (read / divisor))
    return np.array(outputs), weights


def convolved(taps, stream):
    """Every row as the sum of itself and of those before it, coordinate by coordinate."""
    return np.array([sum(tap * stream[n - j] for j, tap in enumerate(taps) if j <= n) for n in range(len(stream))])


def stack_output(layer, v):
    points = [v]
    read = apply_norm(layer.mlp_norm, v)
    for mlp in layer.mlp:
        z = as64(mlp.weight) @ read + (0 if mlp.bias is None else as64(mlp.bias))
        z = {"none": lambda z: z, "relu": lambda z: np.maximum(z, 0), "gelu": gelu}[mlp.activation](z)
        read = apply_norm(mlp.norm, z) + (0 if mlp.skip is None else points[mlp.skip])
        points.append(read)
    return points[-1]


def transformer_output(model, tokens):
    """Definition 3 on one sequence: probabilities, attention maps by layer, and the final stream."""
    stream = [as64(model.embedding)[token] for token in tokens]
    if model.positions is not None:
        stream = [row + place for row, place in zip(stream, as64(model.positions), strict=False)]
    if model.beginning is not None:
        stream = [as64(model.beginning), *stream]
    stream, maps = np.array(stream), []
    for layer in model.layers:
        read = np.array([apply_norm(layer.attention_norm, row) for row in stream])
        if layer.convolution is not None:
            read = convolved(as64(layer.convolution), read)
        kinds = {"Mamba": mamba_output, "Recurrence": recurrence_output}
        outputs = [kinds.get(type(head).__name__, head_output)(head, read) for head in layer.heads]
        maps.append(np.array([weights for _, weights in outputs]))
        stream = stream + sum(output for output, _ in outputs)
        stream = np.array([stack_output(layer, row) for row in stream])
    if model.beginning is not None:
        stream = stream[1:]
    stream = np.array([apply_norm(model.final_norm, row) for row in stream])
    logits = stream @ as64(model.embedding if model.output is None else model.output).T
    logits = logits + (0 if model.output_bias is None else as64(model.output_bias))
    if model.output_map == "relu":
        return np.maximum(logits, 0), maps, stream
    if model.output_map == "softmax":
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True), maps, stream
    return logits, maps, stream


def kgram(tokens, order, symbols):
    """Definition 2 by counting in a dictionary: probabilities (NaN rows where 0/0)."""
    seen, rows = {}, np.full((len(tokens), symbols), np.nan)
    for n in range(order - 1, len(tokens)):
        if n >= order:
            seen.setdefault(tuple(tokens[n - order : n]), np.zeros(symbols))[tokens[n]] += 1
        counts = seen.get(tuple(tokens[n - order + 1 : n + 1]))
        if counts is not None:
            rows[n] = counts / counts.sum()
    return rows


def add_beta(tokens, order, symbols, beta=1.0):
    """Counting with beta for every symbol; defined wherever there are k tokens."""
    seen, rows = {}, np.full((len(tokens), symbols), np.nan)
    for n in range(order - 1, len(tokens)):
        if n >= order:
            seen.setdefault(tuple(tokens[n - order : n]), np.zeros(symbols))[tokens[n]] += 1
        counts = seen.get(tuple(tokens[n - order + 1 : n + 1]), np.zeros(symbols)) + beta
        rows[n] = counts / counts.sum()
    return rows


def biased(tokens, order, symbols):
    """k-gram counts, and x_i for every i < k whose word x_0 … x_{i-1} (x_0 for i = 0), repeated, is the window's."""
    seen, rows = {}, np.full((len(tokens), symbols), np.nan)
    for n in range(order - 1, len(tokens)):
        if n >= order:
            seen.setdefault(tuple(tokens[n - order : n]), np.zeros(symbols))[tokens[n]] += 1
        window = tuple(tokens[n - order + 1 : n + 1])
        counts = seen.get(window, np.zeros(symbols)).copy()
        for i in range(min(order, n + 1)):
            word = tuple(tokens[: max(i, 1)])
            if window * len(word) == word * order:
                counts[tokens[i]] += 1
        if counts.sum() > 0:
            rows[n] = counts / counts.sum()
    return rows


def codes(symbols, length, base):
    """All integer codes of words of that length: the newest token first, weights 1, b, b², …"""
    for word in itertools.product(range(symbols), repeat=length):
        code = np.zeros(symbols)
        for place, symbol in enumerate(word):
            code[symbol] += base**place
        yield code


def kept(model, length):
    """Numbers that a model keeps while it reads `length` tokens.

    Attention keeps the key and the value of every token in every head, a recurrence its table, a convolution the rows
    that it still sees.
    """
    state = 0
    for layer in model.layers:
        state += 0 if layer.convolution is None else (len(layer.convolution) - 1) * model.dimension
        for head in layer.heads:
            table = type(head).__name__ == "Recurrence"
            state += len(head.key) * len(head.value) if table else length * (len(head.key) + len(head.value))
    return state
