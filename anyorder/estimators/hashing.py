"""Compiled loops that count the successors of each context: exact, in memory that grows with the contexts that occur.

An *index* is a table of (key, payload) rows with open addressing and linear probing; payload 0 means free.
The *counts* of a context are a row of 32-bit cells,

    total   count of symbol 0   count of symbol 1 …      small alphabets
    total   newest pair of this context                  large alphabets

where a pair (symbol, count, next pair of the same context) exists only if it occurred. Contexts, pairs and
nodes are numbered from 1; number n is row n - 1 of its array.

A context with an exact key and a small alphabet starts smaller: its payload is positive and contains all counts
in bit fields, so that counting it touches one cache line. When a field is full, the counts move to a row and
the payload becomes minus its number. A key that is only a hash of the context is compared with the stored
tokens: a collision costs time and never changes a count.

Simpler implementations are much slower. At 10^7 tokens over four symbols and order 12, sorting the codes of contexts
with NumPy takes 9.6 times the CPU time on uniform tokens and 14.6 times on a chain of order 3, and `numba.typed.Dict`
from a code to a row of counts 10.2 and 12.1 times (`benchmarks.streaming`).

All compiled code is in this file, because the on-disk cache of numba tracks one file only. Arguments that
are None select code at compile time: `pairs` for small alphabets, `tokens` for exact keys.
"""

from __future__ import annotations

import math
from typing import no_type_check

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

KEY, PAYLOAD = 0, 1
TOTAL, COUNTS = 0, 1
SYMBOL, COUNT, NEXT = 0, 1, 2
DEPTH, WINDOW = 0, 1
#: How much of each store is used, in this order.
INDEX, ROWS, PAIRS, WINDOWS = 0, 1, 2, 3
_AHEAD = 64  # index rows that are fetched together
_MIX = (-0x61C8864680B583EB, -0x40A7B892E31B1A47)  # odd 64-bit multipliers with well spread bits


compiled = njit(cache=True, error_model="numpy")


@intrinsic
@no_type_check
def prefetch(typing_context, array, row):
    """Prefetch the cache line of `array[row, 0]`, for which numba has no function."""

    def generate(context, builder, signature, arguments):
        array_type, row_type = signature.args
        array = context.make_array(array_type)(context, builder, arguments[0])
        row = context.cast(builder, arguments[1], row_type, types.intp)
        zero = context.get_constant(types.intp, 0)
        line = cgutils.get_item_pointer(context, builder, array_type, array, [row, zero])
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        function = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")
        for_writing, keep, data = (ir.Constant(integer, value) for value in (1, 3, 1))
        builder.call(function, [builder.bitcast(line, byte), for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(array, row), generate


@compiled
@no_type_check
def home(key, capacity):
    """The first slot of a search: the first of the four in a cache line, so that most searches stay in one line.

    It is monotonic in the mixed key, so that doubling an index is one forward sweep.
    """
    mixed = key * _MIX[0]
    mixed = (mixed ^ (mixed >> 32)) * _MIX[1]
    return ((((mixed >> 32) & 0xFFFFFFFF) * capacity) >> 32) & -4


@compiled
@no_type_check
def seek(index, key, slot):
    """The first slot from this one on that has the key or is free."""
    while index[slot, PAYLOAD] != 0 and index[slot, KEY] != key:
        slot = (slot + 1) & (index.shape[0] - 1)
    return slot


@compiled
@no_type_check
def find(index, key):
    """The slot of an exact key, or the free slot where it belongs."""
    return seek(index, key, home(key, index.shape[0]))


@compiled
@no_type_check
def find_context(index, tokens, key, slot, windows, start):
    """The slot of the context `windows[start:]`, or the free slot where it belongs, from `slot` on."""
    slot = seek(index, key, slot)
    if tokens is not None:
        same = 0
        while index[slot, PAYLOAD] != 0 and same < tokens.shape[1]:
            if tokens[-index[slot, PAYLOAD] - 1, same] == windows[start + same]:
                same += 1
            else:
                same = 0
                slot = seek(index, key, (slot + 1) & (index.shape[0] - 1))
    return slot


@compiled
@no_type_check
def rehash(old, index):
    """Copy every used row to its place in a larger, empty index."""
    for row in range(old.shape[0]):
        if old[row, PAYLOAD] != 0:
            slot = home(old[row, KEY], index.shape[0])
            while index[slot, PAYLOAD] != 0:
                slot = (slot + 1) & (index.shape[0] - 1)
            index[slot, KEY] = old[row, KEY]
            index[slot, PAYLOAD] = old[row, PAYLOAD]


@compiled
@no_type_check
def add(counts, row, symbol, times, symbols, pair_index, pairs, used):
    """Add `times` to the count of `symbol` in a row."""
    counts[row, TOTAL] += times
    if pairs is None:
        counts[row, COUNTS + symbol] += times
    else:
        slot = find(pair_index, row * symbols + symbol)
        if pair_index[slot, PAYLOAD] == 0:
            pairs[used[PAIRS], SYMBOL] = symbol
            pairs[used[PAIRS], NEXT] = counts[row, COUNTS]
            used[PAIRS] += 1
            pair_index[slot, KEY] = row * symbols + symbol
            pair_index[slot, PAYLOAD] = used[PAIRS]
            counts[row, COUNTS] = used[PAIRS]
        pairs[pair_index[slot, PAYLOAD] - 1, COUNT] += times


@compiled
@no_type_check
def count(counts, row, symbol, symbols, pair_index, pairs):
    """The count of `symbol` in a row."""
    number = np.int64(0)
    if pairs is None:
        number = np.int64(counts[row, COUNTS + symbol])
    else:
        pair = pair_index[find(pair_index, row * symbols + symbol), PAYLOAD]
        if pair != 0:
            number = np.int64(pairs[pair - 1, COUNT])
    return number


@compiled
@no_type_check
def write_distribution(counts, row, beta, symbols, pairs, out, place):
    """Write (count + β)/(total + β S) of every symbol into `out[place]`."""
    total = counts[row, TOTAL] + beta * symbols
    if pairs is None:
        for symbol in range(symbols):
            out[place, symbol] = (counts[row, COUNTS + symbol] + beta) / total
    else:
        for symbol in range(symbols):
            out[place, symbol] = beta / total
        pair = counts[row, COUNTS]
        while pair != 0:
            out[place, pairs[pair - 1, SYMBOL]] = (pairs[pair - 1, COUNT] + beta) / total
            pair = pairs[pair - 1, NEXT]


@compiled
@no_type_check
def has_room(used, stop):
    """Whether one more token fits into every store."""
    room = True
    for store in range(4):
        room &= used[store] <= stop[store]
    return room


@compiled
@no_type_check
def field(payload, symbol, bits):
    """The count of a symbol in a payload of bit fields."""
    return (payload >> (symbol * bits)) & ((1 << bits) - 1)


@compiled
@no_type_check
def field_total(payload, symbols, bits):
    """The sum of all counts in a payload of bit fields."""
    total = np.int64(0)
    for symbol in range(symbols):
        total += field(payload, symbol, bits)
    return total


@compiled
@no_type_check
def window_keys(windows, stride, order, base, keys):
    """Key of every window: its tokens as digits of a number in this base, modulo 2^64."""
    top = np.int64(1)
    for _ in range(order - 1):
        top *= base
    key = np.int64(0)
    for w in range(keys.size):
        if w == 0 or stride != 1:
            key = np.int64(0)
            for i in range(order):
                key = key * base + np.int64(windows[w * stride + i])
        else:  # drop the oldest token, append the newest
            key = (key - np.int64(windows[w - 1]) * top) * base + np.int64(windows[w + order - 1])
        keys[w] = key


@compiled
@no_type_check
def count_contexts(
    index, counts, tokens, pair_index, pairs, used, stop, place,
    keys, windows, stride, stream, first, symbols, beta, chances, distributions,
):  # fmt: skip
    """Count each token of `stream[place:]` in the window before it, from position `first` on.

    Window `w` is `windows[w * stride:]` and has key `keys[w]`; it precedes token `w`. Writes the
    probability that each token had, and the distribution after it (either array may be empty). Stops when
    a store has to grow, and returns the position reached.
    """
    bits = 63 // symbols
    slots = np.empty(_AHEAD, np.int64)  # of the next windows; their rows are being prefetched
    for w in range(place, min(place + _AHEAD, stream.size)):
        slots[w % _AHEAD] = home(keys[w], index.shape[0])
        prefetch(index, slots[w % _AHEAD])
    while place < stream.size and has_room(used, stop):
        near = slots[place % _AHEAD]
        if place + _AHEAD < stream.size:
            far = home(keys[place + _AHEAD], index.shape[0])
            slots[place % _AHEAD] = far
            prefetch(index, far)
        if place >= first:
            symbol = np.int64(stream[place])
            slot = find_context(index, tokens, keys[place], near, windows, place * stride)
            payload = index[slot, PAYLOAD]
            row = -payload - 1
            here, total = np.int64(0), np.int64(0)
            if payload < 0:
                here = count(counts, row, symbol, symbols, pair_index, pairs)
                total = np.int64(counts[row, TOTAL])
            elif payload > 0:
                here, total = field(payload, symbol, bits), field_total(payload, symbols, bits)
            else:
                used[INDEX] += 1
                index[slot, KEY] = keys[place]
            if chances.size:
                chances[place] = (here + beta) / (total + beta * symbols)
            if pairs is None and tokens is None and payload >= 0 and here + 1 < 1 << bits:
                index[slot, PAYLOAD] = payload + (1 << (symbol * bits))
            else:
                if payload >= 0:
                    row = used[ROWS]
                    used[ROWS] += 1
                    index[slot, PAYLOAD] = -used[ROWS]
                    if tokens is not None:
                        for i in range(tokens.shape[1]):
                            tokens[row, i] = windows[place * stride + i]
                    elif pairs is None:
                        counts[row, TOTAL] = total
                        for s in range(symbols):
                            counts[row, COUNTS + s] = field(payload, s, bits)
                add(counts, row, symbol, 1, symbols, pair_index, pairs, used)
        place += 1
        if distributions.size and place >= first:
            slot = home(keys[place], index.shape[0])
            slot = find_context(index, tokens, keys[place], slot, windows, place * stride)
            payload = index[slot, PAYLOAD]
            if payload < 0:
                write_distribution(counts, -payload - 1, beta, symbols, pairs, distributions, place - 1)
            else:
                total = field_total(payload, symbols, bits)
                for s in range(symbols):
                    distributions[place - 1, s] = (field(payload, s, bits) + beta) / (total + beta * symbols)
    return place


@compiled
@no_type_check
def descend(index, spans, windows, path, stream, newest, order, symbols):
    """Follow the window that ends at `stream[newest]` down the suffix tree, from its newest token backwards.

    Returns the number of nodes put into `path` and the number of tokens matched. If the match ends inside an
    edge, the last node is the one below, which has the same counts as every place on its edge.
    """
    path[0] = 0
    steps, depth = 1, 0
    matching = True
    while matching and depth < order:
        key = path[steps - 1] * (symbols + 1) + np.int64(stream[newest - depth])
        child = index[find(index, key), PAYLOAD] - 1
        matching = child >= 0
        if matching:
            path[steps] = child
            steps += 1
            window, end = spans[child, WINDOW], spans[child, DEPTH]
            depth += 1
            while depth < end and windows[window, depth] == stream[newest - depth]:
                depth += 1
            matching = depth == end
    return steps, depth


@compiled
@no_type_check
def set_child(index, node, token, symbols, child, used):
    """Make `child` the child of `node` for this token."""
    key = node * (symbols + 1) + np.int64(token)
    slot = find(index, key)
    if index[slot, PAYLOAD] == 0:
        used[INDEX] += 1
        index[slot, KEY] = key
    index[slot, PAYLOAD] = child + 1


@compiled
@no_type_check
def count_suffixes(
    index, counts, spans, pair_index, pairs, windows, used, stop, place,
    path, stream, order, symbols, chances, distributions,
):  # fmt: skip
    """Count token `stream[order + place]` and its successors in every suffix of the window before each.

    The suffixes of all windows are a tree over tokens read backwards, in which a chain without a branch is
    one edge: an inner node spells the first DEPTH tokens of its stored window, a leaf all `order` of them.
    Tokens before the beginning of the stream are the number `symbols`, which matches no token.
    Writes and stops like `count_contexts`.
    """
    length = stream.size - order
    while place < length and has_room(used, stop):
        newest = place + order - 1
        symbol = np.int64(stream[newest + 1])
        steps, depth = descend(index, spans, windows, path, stream, newest, order, symbols)
        last = path[steps - 1]
        if chances.size:
            here = count(counts, last, symbol, symbols, pair_index, pairs)
            chances[place] = here / np.int64(counts[last, TOTAL])
        if spans[last, DEPTH] > depth:  # branch off inside an edge: a new node splits it
            middle = used[ROWS]
            used[ROWS] += 1
            window = spans[last, WINDOW]
            spans[middle, WINDOW], spans[middle, DEPTH] = window, depth
            parent = path[steps - 2]
            set_child(index, parent, windows[window, spans[parent, DEPTH]], symbols, middle, used)
            set_child(index, middle, windows[window, depth], symbols, last, used)
            if pairs is None:
                for cell in range(counts.shape[1]):
                    counts[middle, cell] = counts[last, cell]
            else:
                pair = np.int64(counts[last, COUNTS]) - 1
                while pair >= 0:
                    other, times = np.int64(pairs[pair, SYMBOL]), np.int64(pairs[pair, COUNT])
                    add(counts, middle, other, times, symbols, pair_index, pairs, used)
                    pair = np.int64(pairs[pair, NEXT]) - 1
            path[steps - 1] = middle
        for step in range(steps):
            add(counts, path[step], symbol, 1, symbols, pair_index, pairs, used)
        if depth < order:
            leaf = used[ROWS]
            used[ROWS] += 1
            spans[leaf, WINDOW], spans[leaf, DEPTH] = used[WINDOWS], order
            for i in range(order):
                windows[used[WINDOWS], i] = stream[newest - i]
            used[WINDOWS] += 1
            set_child(index, path[steps - 1], stream[newest - depth], symbols, leaf, used)
            add(counts, leaf, symbol, 1, symbols, pair_index, pairs, used)
        if distributions.size:
            steps, depth = descend(index, spans, windows, path, stream, newest + 1, order, symbols)
            write_distribution(counts, path[steps - 1], 0.0, symbols, pairs, distributions, place)
        place += 1
    return place


@compiled
@no_type_check
def follow(index, counts, path, stream, newest, symbols):
    """Put the nodes of the contexts that end at `stream[newest]` into `path`, empty one first; return their number."""
    path[0] = 0
    for depth in range(1, path.size):
        key = path[depth - 1] * symbols + np.int64(stream[newest + 1 - depth])
        child = index[find(index, key), PAYLOAD] - 1
        if child < 0 or counts[child, TOTAL] == 0:  # created ahead, with no counts yet
            return depth
        path[depth] = child
    return path.size


@compiled
@no_type_check
def extend(index, counts, parents, odds, nodes, used, paths, stream, newest, symbols):
    """Put the nodes of the contexts that end at `stream[newest]` and at the tokens after it into the rows of `paths`.

    Missing nodes are created. All paths descend together, so that the memory of one is fetched during the others.
    """
    slots, keys = np.empty(paths.shape[0], np.int64), np.empty(paths.shape[0], np.int64)
    paths[:, 0] = 0
    for depth in range(1, paths.shape[1]):
        for i in range(paths.shape[0]):
            keys[i] = paths[i, depth - 1] * symbols + np.int64(stream[newest + i + 1 - depth])
            slots[i] = home(keys[i], index.shape[0])
            prefetch(index, slots[i])
        for i in range(paths.shape[0]):
            slot = seek(index, keys[i], slots[i])
            if index[slot, PAYLOAD] == 0:
                parents[used[ROWS], 0] = paths[i, depth - 1]
                nodes[depth] += 1
                used[INDEX] += 1
                used[ROWS] += 1
                index[slot, KEY] = keys[i]
                index[slot, PAYLOAD] = used[ROWS]
            paths[i, depth] = index[slot, PAYLOAD] - 1
            prefetch(counts, paths[i, depth])
            if odds is not None:
                prefetch(odds, paths[i, depth])


@compiled
@no_type_check
def shares(log_odds):
    """The two probabilities with these odds, each to full precision."""
    small = np.exp(-abs(log_odds))
    large = 1 / (1 + small)
    if log_odds > 0:
        return large, small * large
    return small * large, large


@compiled
@no_type_check
def weigh(odds, evidence, path, known, weights):
    """Write the weight of each depth in the prediction after a context of which `known` nodes exist.

    With `odds`, of a leaf against a split at each node, these are depths of leaves of a context tree, and a missing
    node has even odds. Otherwise they are orders, weighted by the log-probability of the data under each.
    """
    if odds is not None:
        left = 1.0
        for depth in range(weights.size - 1):
            leaf, split = shares(odds[path[depth], 0] if depth < known else 0.0)
            weights[depth] = left * leaf
            left *= split
        weights[-1] = left
    else:
        weights[:] = np.exp(evidence - evidence.max())
        weights /= weights.sum()


@compiled
@no_type_check
def count_path(counts, odds, pair_index, pairs, evidence, used, path, own, weights, symbol, symbols, beta):
    """Count a symbol in every node of a path; return its probability before, if there is a prediction."""
    chance = np.nan
    for depth in range(path.size):
        if odds is not None or evidence.size:
            here = count(counts, path[depth], symbol, symbols, pair_index, pairs)
            own[depth] = (here + beta) / (np.int64(counts[path[depth], TOTAL]) + beta * symbols)
        add(counts, path[depth], symbol, 1, symbols, pair_index, pairs, used)
    if odds is not None:
        chance = own[-1]
        for depth in range(path.size - 2, -1, -1):
            leaf, split = shares(odds[path[depth], 0])
            odds[path[depth], 0] += np.log(own[depth] / chance)
            chance = leaf * own[depth] + split * chance
    elif evidence.size:
        weigh(odds, evidence, path, path.size, weights)
        chance = (weights * own).sum()
        evidence += np.log(own)
    return chance


@compiled
@no_type_check
def count_paths(
    index, counts, parents, odds, pair_index, pairs, used, stop, place,
    paths, stream, first, symbols, beta, chances, distributions, evidence, nodes,
):  # fmt: skip
    """Count token `stream[order + place]` and its successors in all their contexts, including the empty one.

    Contexts are the nodes of a tree over tokens read backwards, found by their parent and token. They are counted from
    position `first` on, where the longest exists. Updates `odds` (context-tree weighting) or `evidence` (mixture over
    orders); without either, tokens are only counted. Handles as many tokens at a time as `paths` has rows.
    Writes and stops like `count_contexts`.
    """
    order = paths.shape[1] - 1
    own, weights, path = np.empty(order + 1), np.empty(order + 1), np.empty(order + 1, np.int64)
    row = np.empty((1, distributions.shape[1]))
    while place < stream.size - order and has_room(used, stop):
        together = 1
        if place >= first:
            together = min(paths.shape[0], stream.size - order - place)
            extend(index, counts, parents, odds, nodes, used, paths[:together], stream, place + order - 1, symbols)
        for i in range(together):
            if place >= first:
                symbol = np.int64(stream[place + order])
                chance = count_path(
                    counts, odds, pair_index, pairs, evidence, used, paths[i], own, weights, symbol, symbols, beta
                )
                if chances.size:
                    chances[place] = chance
            place += 1
            if distributions.size and place >= first:
                known = follow(index, counts, path, stream, place + order - 1, symbols)
                weigh(odds, evidence, path, known, weights)
                distributions[place - 1] = weights[known:].sum() / symbols
                for depth in range(known):
                    write_distribution(counts, path[depth], beta, symbols, pairs, row, 0)
                    distributions[place - 1] += weights[depth] * row[0]
    return place


@compiled
@no_type_check
def marginals(counts, parents, pairs, size, order, symbols, beta, evidence, likelihood):
    """Log-probability of all counted tokens, under every order and under context-tree weighting.

    Writes for each order the sum over its contexts of the marginal likelihood with a Dirichlet(β) row, and of the
    largest likelihood; returns that of context-tree weighting. Children come after their parents in the arrays.
    """
    depths, below = np.zeros(size, np.int64), np.zeros(size)
    for node in range(1, size):
        depths[node] = depths[parents[node, 0]] + 1
    weighted = 0.0
    for node in range(size - 1, -1, -1):
        total = np.float64(counts[node, TOTAL])
        own, largest = math.lgamma(symbols * beta) - math.lgamma(total + symbols * beta), 0.0
        if pairs is None:
            for symbol in range(symbols):
                here = np.float64(counts[node, COUNTS + symbol])
                if here > 0:
                    own += math.lgamma(here + beta) - math.lgamma(beta)
                    largest += here * np.log(here / total)
        else:
            pair = np.int64(counts[node, COUNTS]) - 1
            while pair >= 0:
                here = np.float64(pairs[pair, COUNT])
                own += math.lgamma(here + beta) - math.lgamma(beta)
                largest += here * np.log(here / total)
                pair = np.int64(pairs[pair, NEXT]) - 1
        evidence[depths[node]] += own
        likelihood[depths[node]] += largest
        weighted = own
        if depths[node] < order:
            weighted = np.logaddexp(own, below[node]) - np.log(2.0)
        if node > 0:
            below[parents[node, 0]] += weighted
    return weighted
