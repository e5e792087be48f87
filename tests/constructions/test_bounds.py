"""Lower bounds: the exact k-gram distinguishes all inputs of one party; certified models pass, cut ones fail."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from anyorder.constructions import bounds, construct, plan
from anyorder.errors import InputError
from tests import oracles
from tests.oracles_constructions import kept


def following(tokens, order, symbols):
    return oracles.kgram(tokens, len(tokens) - 1, order, symbols)


def hidden(order, symbols, values, asked):
    """The sequence of Theorem A with its values, and a question for one of them."""
    return placed(order, symbols, values, asked)[0]


def placed(order, symbols, values, asked):
    """The sequence of Theorem A, and the places of its values."""
    marker = symbols - 1
    if symbols > 2:
        tokens, before, block = [0] * (order - 1), 1, lambda chosen, value: [marker if chosen else 0, value]
    elif order > 1:
        tokens, before, block = [0] * (order - 2), 2, lambda chosen, value: [int(chosen), int(chosen), value, 0]
    else:
        tokens, before, block = [], 0, lambda chosen, value: [value, int(chosen), 0]
    places, window = [], [1]
    for place, value in enumerate(values):
        places.append(len(tokens) + before)
        tokens = tokens + block(place == asked, value)
        if place == asked and before:
            window = tokens[places[-1] - order : places[-1]]
    return tokens + window, places


def overwritten(order, symbols, values, asked):
    """The sequence of Theorems B and C: a token for each value, the one before the value in question overwritten."""
    tokens = [0] * order + list(values)
    place = order + asked
    tokens[place - 1] = symbols - 1
    return tokens + tokens[place - order : place]


HIDDEN = [
    (1, 3, 4), (2, 3, 4), (3, 3, 4), (5, 3, 3), (1, 4, 4), (2, 4, 3), (3, 4, 3),
    (1, 2, 5), (2, 2, 5), (3, 2, 5), (6, 2, 5),
]  # fmt: skip


@pytest.mark.parametrize(("order", "symbols", "count"), HIDDEN)
def test_every_two_lists_of_values_are_told_apart(order, symbols, count):
    lists = list(itertools.product(range(max(2, symbols - 1)), repeat=count))
    for first, second in itertools.combinations(lists, 2):
        asked = next(place for place in range(count) if first[place] != second[place])
        one, places = placed(order, symbols, first, asked)
        other = hidden(order, symbols, second, asked)
        # The party with the question knows the earlier values, and writes the same tokens in both.
        assert {place for place in range(len(one)) if one[place] != other[place]} <= set(places)
        apart = max(abs(a - b) for a, b in zip(*(following(x, order, symbols) for x in (one, other)), strict=True))
        if symbols > 2 or order > 2:
            assert apart == 1
        else:
            assert apart >= (Fraction(1, 2) if order == 2 else Fraction(1, count + 1))
    assert bounds.attention_bits(order, symbols, len(one)) == pytest.approx(math.log2(len(lists)))


@pytest.mark.parametrize(("order", "symbols", "count"), [(1, 3, 5), (2, 3, 5), (3, 4, 3), (4, 3, 5)])
def test_overwriting_one_token_is_enough(order, symbols, count):
    for values in itertools.product(range(symbols - 1), repeat=count):
        for asked in range(count):
            tokens = overwritten(order, symbols, values, asked)
            assert len(tokens) == count + 2 * order
            assert following(tokens, order, symbols) == [int(s == values[asked]) for s in range(symbols)]


def test_theorems_b_and_c_are_the_least_that_satisfy_them():
    order, symbols, value = 2, 4, 1
    for many in range(1, 1000, 7):
        length, bits = len(overwritten(order, symbols, [0] * many, 0)), many * math.log2(symbols - 1)
        message = (value + 1) * (1 + math.log2(math.e * many) + order * math.log2(symbols - 1))
        found = bounds.attention_heads_exact_sums(order, symbols, length, value=value, word=1)
        assert found * message >= bits > (found - 1) * message
        message = (value + 1) * 2 * math.log2(4 * math.e * 5 * many * (symbols - 1) ** order)
        found = bounds.attention_heads_real(order, symbols, length, value=value, depth=1, width=5)
        assert found * message >= bits > (found - 1) * message


def test_half_spaces_have_as_few_sign_patterns_as_theorem_b_says():
    """Lines in the plane, in exact numbers: a point of every cell lies near a crossing, or far out."""
    rng = np.random.default_rng(0)
    lines = [tuple(map(int, row)) for row in rng.integers(-50, 50, (9, 3)) if row[0] and row[1]]
    points = [(Fraction(x), Fraction(y)) for x in (-(10**6), 10**6) for y in range(-(10**8), 10**8, 10**6)]
    for (a, b, c), (d, e, f) in itertools.combinations(lines, 2):
        if a * e != b * d:
            x, y = Fraction(b * f - c * e, a * e - b * d), Fraction(c * d - a * f, a * e - b * d)
            shift = Fraction(1, 10**9)
            steps = [(i * shift, j * shift) for i in (-7, -1, 1, 7) for j in (-7, -1, 1, 7)]
            points += [(x + i, y + j) for i, j in steps] + [(x + j, y + i * 50) for i, j in steps]
    patterns = {tuple(a * x + b * y + c >= 0 for a, b, c in lines) for x, y in points}
    cells = 1 + len(lines) + math.comb(len(lines), 2)
    assert len(lines) < len(patterns) <= cells <= (math.e * len(lines) / 2) ** 2


def test_fewer_answers_need_fewer_bits():
    full = bounds.attention_bits(1, 5, 201)
    assert full == 100 * 2
    # A quarter of the answers wrong, each of the three other values as likely: 2 - H(1/4, 1/4·3 others) bits are left.
    chances = [0.75, *[0.25 / 3] * 3]
    assert bounds.attention_bits(1, 5, 201, wrong=0.25) == pytest.approx(
        100 * (2 + sum(chance * math.log2(chance) for chance in chances))
    )
    with pytest.raises(InputError, match=r"wrong is 0\.75, must be at least 0 and below 0\.75"):
        bounds.attention_bits(1, 5, 201, wrong=0.75)


@pytest.mark.slow
def test_one_layer_pays_the_price_and_fails_below_it():
    order, symbols, length = 1, 3, 165
    model = construct("one-layer", order=order, alphabet_size=symbols, length=length, heads=28, dtype="bfloat16")
    needed = bounds.attention_heads(order, symbols, length, value=symbols, word=16)
    assert needed == 2
    hidden_layers = [layer for layer in model.layers[0].mlp if layer.activation == "relu"]
    own = {"depth": len(hidden_layers), "width": max(len(layer.weight) for layer in hidden_layers)}
    asked = {"order": order, "alphabet_size": symbols, "length": length, "value": symbols}
    assert bounds.attention_heads_exact_sums(**asked, word=16) == needed  # Theorem B
    assert bounds.attention_heads_real(**asked, depth=1, width=symbols) == needed  # Theorem C, a small MLP
    assert max(needed, bounds.attention_heads_real(**asked, **own)) <= len(model.layers[0].heads) == 28
    # Theorem G with one tap: both heads are needed too. A head that is left passes on 80 bits.
    assert (symbols + 2) * 16 == 80 < bounds.short_convolution_bits(order, symbols, length, 1) == 82
    (kept_head, *rest), layer = model.layers[0].heads, model.layers[0]
    silent = [dataclasses.replace(head, projection=0 * head.projection) for head in rest]
    cut = dataclasses.replace(model, layers=(dataclasses.replace(layer, heads=(kept_head, *silent)),))
    for sequence, count in ((hidden, 82), (overwritten, 163)):  # Theorems A and G; Theorems B and C
        lists = [0] * count, [0] * (count - 1) + [1]
        inputs = [np.array(sequence(order, symbols, values, count - 1)) for values in lists]
        assert [len(tokens) for tokens in inputs] == [length] * 2
        assert [model(tokens)[-1].argmax() for tokens in inputs] == [0, 1]
        one, other = (cut.trace(tokens) for tokens in inputs)
        assert one.probabilities[-1].tolist() == other.probabilities[-1].tolist()
        # The MLP reads the same row, so that no other MLP could tell them apart.
        rows = [np.asarray(trace.stream("attention 1"))[-1].tolist() for trace in (one, other)]
        assert rows[0] == rows[1]


@pytest.mark.parametrize(("symbols", "factor"), [(3, 14.5), (4, 11.0)])
def test_packed_positions_are_within_a_constant_of_theorem_a(symbols, factor):
    """2(S + 2)W / ((p - 2) log₂(S - 1)) in float32, for long sequences."""
    for order, length in ((1, 1 << 14), (3, 1 << 16)):
        asked = {"order": order, "alphabet_size": symbols, "length": length}
        heads = -(-length // 22)
        assert plan("one-layer", **asked, dtype="float32", heads=heads).shortcoming is None
        bits = (heads + order - 1) * (symbols + 2) * 32
        assert bits / bounds.attention_bits(**asked) == pytest.approx(factor, rel=0.01)


def listed(order, symbols, chosen):
    """Theorem D: `# c b_c` for all contexts of the other symbols; the separator # is the last symbol."""
    contexts = itertools.product(range(symbols - 1), repeat=order)
    return [x for context, b in zip(contexts, chosen, strict=True) for x in (symbols - 1, *context, b)]


@pytest.mark.parametrize(("order", "symbols"), [(1, 3), (2, 3), (1, 4)])
def test_the_state_knows_a_symbol_for_every_context(order, symbols):
    separator = symbols - 1
    contexts = list(itertools.product(range(separator), repeat=order))
    for chosen in itertools.product(range(symbols), repeat=len(contexts)):
        told = listed(order, symbols, chosen)
        for context, b in zip(contexts, chosen, strict=True):
            row = following([*told, separator, *context], order, symbols)
            others = [s for s in range(separator) if row[s] >= Fraction(1, symbols)]
            assert others == ([] if b == separator else [b])
            assert sum(row[s] > 0 for s in range(separator)) == len(others)
            smoothed = oracles.add_beta([*told, separator, *context], len(told) + order, order, symbols)
            assert all((smoothed[s] >= Fraction(1, symbols)) == (s == b) for s in range(separator))
    for length in range(order + 2, len(told) + order + 2):
        blocks = (length - order - 1) * len(contexts) // len(told)
        cycles, walks = symbols**order * (symbols - 1), max((length - order) // (2 * order + 1) - 1, 0)
        least = max(blocks * math.log2(symbols), math.log2(math.comb(cycles + walks, walks)))  # Theorems D and E
        assert bounds.state_bits(order, symbols, length) == pytest.approx(least)


def stationary(rows):
    """The stationary distribution of a positive matrix of fractions, by elimination."""
    size = len(rows)
    system = [[rows[j][i] - (i == j) for j in range(size)] + [Fraction(0)] for i in range(size - 1)]
    system.append([Fraction(1)] * (size + 1))
    for column in range(size):
        pivot = next(row for row in range(column, size) if system[row][column])
        system[column], system[pivot] = system[pivot], system[column]
        system[column] = [x / system[column][column] for x in system[column]]
        for row in range(size):
            if row != column:
                factor = system[row][column]
                system[row] = [x - factor * y for x, y in zip(system[row], system[column], strict=True)]
    return [row[-1] for row in system]


def circuit(edges, start):
    """The symbols of an Euler circuit of the de Bruijn graph with these multiplicities of edges (context, symbol)."""
    left, path, found = dict(edges), [(start, None)], []
    while path:
        context, _ = path[-1]
        step = next((symbol for (c, symbol), count in left.items() if c == context and count), None)
        if step is None:
            found.append(path.pop()[1])
        else:
            left[context, step] -= 1
            path.append(((*context[1:], step), step))
    return found[::-1][1:]


def circled(order, symbols, chosen, length):
    """Theorem D′: zeros, and an Euler circuit for this choice of symbols, gone around as often as the length allows."""
    contexts, rare = list(itertools.product(range(symbols), repeat=order)), Fraction(1, 3)
    law = {
        (c, s): 1 - rare if s == f else rare / (symbols - 1)
        for c, f in zip(contexts, chosen, strict=True)
        for s in range(symbols)
    }
    rows = [[sum(law[c, s] for s in range(symbols) if (*c[1:], s) == d) for d in contexts] for c in contexts]
    flow = {(c, s): stationary(rows)[contexts.index(c)] * p for (c, s), p in law.items()}
    whole = math.lcm(*(part.denominator for part in flow.values()))
    edges = {edge: int(part * whole) for edge, part in flow.items()}
    around = circuit(edges, (0,) * order)
    assert len(around) == sum(edges.values()) <= length - order
    told = around * ((length - order) // len(around))
    return [0] * (length - len(told)) + told


@pytest.mark.parametrize(("order", "symbols", "length"), [(1, 2, 600), (2, 2, 1900), (1, 3, 4400)])
def test_the_state_knows_a_symbol_for_every_context_without_a_separator(order, symbols, length):
    contexts = list(itertools.product(range(symbols), repeat=order))
    for chosen in itertools.product(range(symbols), repeat=len(contexts)):
        told = circled(order, symbols, chosen, length)
        assert told[:order] == told[-order:] == [0] * order
        for context, f in zip(contexts, chosen, strict=True):
            assert following([*told, *context], order, symbols)[f] > Fraction(11, 20)


@pytest.mark.parametrize("separated", [True, False])
def test_a_table_without_one_context_confuses_two_inputs(separated):
    """Theorems D and D′: inputs that differ in the symbol of context 0, and a table of S^k - 1 rows."""
    order, symbols, first, second = (1, 3, (0, 1), (2, 1)) if separated else (1, 2, (0, 1), (1, 1))
    told = [
        listed(order, symbols, chosen) if separated else circled(order, symbols, chosen, 160)
        for chosen in (first, second)
    ]
    inputs = [[*tokens, *([symbols - 1] if separated else []), 0] for tokens in told]
    expected = [following(tokens, order, symbols) for tokens in inputs]
    assert abs(expected[0][0] - expected[1][0]) >= (Fraction(1, symbols) if separated else Fraction(1, 4))
    length = len(inputs[0])
    model = construct("recurrent", order=order, alphabet_size=symbols, length=length)
    least = bounds.state_bits(order, symbols, length) if separated else symbols**order * math.log2(symbols)
    assert least < (kept(model, length) - order * model.dimension) * math.log2(length - order + 1)
    answers = [model(np.array(tokens))[-1].tolist() for tokens in inputs]
    assert answers == [pytest.approx([float(x) for x in row]) for row in expected]
    head = model.layers[0].heads[0]
    cut = dataclasses.replace(head, key=head.key.at[0].set(-1.0))  # nothing is written under context 0
    less = dataclasses.replace(model, layers=(dataclasses.replace(model.layers[0], heads=(cut,)),))
    assert less(np.array(inputs[0]))[-1].tolist() == less(np.array(inputs[1]))[-1].tolist()


def table(tokens, order):
    """The sufficient state of a recurrence: counts of all words of k + 1 tokens, and the last k tokens."""
    words = Counter(tuple(tokens[i - order : i + 1]) for i in range(order, len(tokens)))
    return tuple(sorted(words.items())), tuple(tokens[len(tokens) - order :])


@pytest.mark.parametrize(
    ("order", "symbols", "length", "further"), [(1, 2, 6, 4), (2, 2, 6, 7), (1, 3, 4, 5), (3, 2, 5, 9), (1, 2, 9, 4)]
)
def test_states_are_tables_of_counts(order, symbols, length, further):
    """Sequences with different tables are separated by continuations, so that each table needs its own state."""
    classes = {}
    for tokens in itertools.product(range(symbols), repeat=length):
        classes.setdefault(table(tokens, order), tokens)
    after = [w for more in range(further + 1) for w in itertools.product(range(symbols), repeat=more)]
    rows = [[following((*tokens, *w), order, symbols) for w in after] for tokens in classes.values()]
    question = 2 * order + 1
    asked = sum(symbols**more for more in range(question + 1))  # number of continuations
    for (one, first), (other, second) in itertools.combinations(zip(rows, classes.values(), strict=True), 2):
        alike = first[length - order :] == second[length - order :]
        pairs = itertools.islice(zip(one, other, strict=True), asked if alike else None)
        assert any(a != b for a, b in pairs if a is not None and b is not None)
    assert 0 < bounds.state_bits(order, symbols, length + question) <= math.log2(len(classes))


@pytest.mark.parametrize(("order", "symbols"), [(1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (1, 4)])
def test_walks_from_zeros_to_zeros_are_independent(order, symbols):
    """0^k c s 0^k for every word c s: their counts, with that of the loop at 0^k, span S^k(S - 1) + 1 dimensions."""
    words = {word: place for place, word in enumerate(itertools.product(range(symbols), repeat=order + 1))}
    zeros, rows = (0,) * order, [np.eye(len(words))[0]]
    for word in words:
        walk, row = (*zeros, *word, *zeros), np.zeros(len(words))
        for i in range(order, len(walk)):
            row[words[walk[i - order : i + 1]]] += 1
        assert row.sum() == 2 * order + 1
        rows.append(row)
    assert np.linalg.matrix_rank(np.array(rows)) == symbols**order * (symbols - 1) + 1


def test_a_table_pays_the_price_and_fails_below_it():
    order, symbols, length = 1, 2, 1001
    model = construct("recurrent", order=order, alphabet_size=symbols, length=length + 1)
    each = math.log2(length - order + 1)
    needed = bounds.state_bits(order, symbols, length)
    assert each + order < needed <= (kept(model, length) - order * model.dimension) * each + order
    first, second = [0, 1, 1, 1, *[0, 1] * 498, 0, 1], [*[0, 1] * 501]
    assert len(first) == len(second) == length + 1
    assert model(np.array(first))[-1].tolist() == pytest.approx([float(x) for x in following(first, 1, 2)])
    assert model(np.array(second))[-1].tolist() == [1.0, 0.0]
    # Of four counts one is left, that of 00; it is zero in both.
    head = model.layers[0].heads[0]
    less = dataclasses.replace(head, key=head.key.at[1].set(-1.0), value=head.value.at[1].set(0.0))
    cut = dataclasses.replace(model, layers=(dataclasses.replace(model.layers[0], heads=(less,)),))
    assert cut(np.array(first))[-1].tolist() == cut(np.array(second))[-1].tolist()


@pytest.mark.parametrize("order", range(1, 9))
def test_k_taps_see_the_same_windows(order):
    first, second = [0] * order + [1] + [0] * order, [0] * (order - 1) + [1] + [0] * (order + 1)
    assert following(first, order, 2) == [0, 1]
    assert following(second, order, 2) == [1, 0]

    def windows(tokens, width):
        padded = [None] * (width - 1) + tokens
        return [tuple(padded[i : i + width]) for i in range(len(tokens))]

    for width in range(1, bounds.taps(order)):
        assert Counter(windows(first, width)) == Counter(windows(second, width))
        assert windows(first, width)[-1] == windows(second, width)[-1]
    width = bounds.taps(order)
    assert Counter(windows(first, width)) != Counter(windows(second, width))


@pytest.mark.parametrize(("order", "taps"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_windows_of_a_short_convolution_hold_the_marker_or_the_value(order, taps):
    symbols, count = 3, 3
    for values in itertools.product(range(symbols - 1), repeat=count):
        for asked in range(count):
            tokens, places = [], []
            for place, value in enumerate(values):
                tokens += [2 if place == asked else 0] + [0] * (order - 1)
                places.append(len(tokens))
                tokens += [value] + [0] * (taps - 1)
            marker = places[asked] - order
            tokens += [2] + [0] * (order - 1)
            assert following(tokens, order, symbols) == [int(s == values[asked]) for s in range(symbols)]
            assert all(not n - taps < marker <= n or not n - taps < p <= n for p in places for n in range(len(tokens)))
    assert bounds.short_convolution_bits(order, symbols, len(tokens), taps) == count
    assert bounds.short_convolution_bits(order, symbols, len(tokens), taps, gated=True) == count - 2
    with pytest.raises(InputError, match=f"taps is {order + 1}, must be 1 … {order}"):
        bounds.short_convolution_bits(order, symbols, len(tokens), order + 1)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("order", "taps"), [(1, 1), (2, 1), (3, 2)])
def test_a_state_of_fewer_bits_confuses_two_lists(order, taps, gated):
    """Theorems G and G′: one exact number h ← a h + b tells all lists apart, and not with fewer bits."""
    symbols, count, states = 3, 8, {}
    for values in itertools.product(range(symbols - 1), repeat=count):
        state, tokens = Fraction(0), [x for v in values for x in (*[0] * order, v, *[0] * (taps - 1))]
        for end, token in enumerate(tokens):
            gate = Fraction(1, 4 if gated and any(tokens[max(0, end - taps + 1) : end + 1]) else 3)
            state = gate * state + token
        states[values] = state
    assert len(set(states.values())) == (symbols - 1) ** count
    length = count * (order + taps) + order
    bits = math.ceil(bounds.short_convolution_bits(order, symbols, length, taps, gated=gated)) - 1
    shared = {}
    for values, state in states.items():  # Bob may also know how often each value occurs, if the gates depend on it
        cell = math.floor(state / Fraction(3, 2) * 2**bits)
        assert 0 <= cell < 2**bits
        shared.setdefault((cell, sum(values) if gated else None), []).append(values)
    first, second = next(lists for lists in shared.values() if len(lists) > 1)[:2]
    asked = next(place for place in range(count) if first[place] != second[place])
    for values in (first, second):
        tokens = []
        for place, value in enumerate(values):
            tokens += [2 if place == asked else 0, *[0] * (order - 1), value, *[0] * (taps - 1)]
        row = following([*tokens, 2, *[0] * (order - 1)], order, symbols)
        assert row == [int(s == values[asked]) for s in range(symbols)]


@pytest.mark.parametrize(("order", "taps"), [(1, 1), (2, 1), (3, 2)])
def test_gates_that_commute_let_the_one_who_asks_move_the_marker(order, taps):
    """Theorem G′ in fractions: the state with all κ = 0 and the number of each value give that of every question."""
    symbols, values = 4, (1, 0, 2, 2, 1)
    windows = itertools.product(range(-1, symbols), repeat=taps)
    gates = {window: (Fraction(number % 7 + 1, 8), Fraction(number % 11)) for number, window in enumerate(windows)}

    def run(tokens, state=Fraction(0), past=()):
        padded = [*(past or [-1] * (taps - 1)), *tokens]
        for end in range(len(padded) - len(tokens), len(padded)):
            gate, added = gates[tuple(padded[end - taps + 1 : end + 1])]
            state = gate * state + added
        return state

    def block(chosen, value):
        return [3 if chosen else 0, *[0] * (order - 1), value, *[0] * (taps - 1)]

    def told(asked):
        return [token for place, value in enumerate(values) for token in block(place == asked, value)]

    for asked in range(len(values)):
        until = asked * (order + taps) + taps  # after the last window that holds the marker
        before = [told(one)[:until] for one in (asked, None)]
        past = before[1][len(before[1]) - taps + 1 :] if taps > 1 else []
        product = Fraction(1)
        # Any order of the remaining values gives the same product of gates.
        remaining = [0] * (order - taps)
        for place, value in enumerate(sorted(values[asked:])):
            remaining += ([0] * order if place else []) + [value, *[0] * (taps - 1)]
        padded = [*past, *remaining]
        for end in range(len(past), len(padded)):
            window = padded[max(0, end - taps + 1) : end + 1]
            product *= gates[tuple([-1] * (taps - len(window)) + window)][0]
        moved = run(told(None)) + product * (run(before[0]) - run(before[1]))
        assert moved == run(told(asked))


@pytest.mark.parametrize("order", range(1, 5))
def test_every_two_contexts_are_told_apart(order):
    """Theorem 2: in c 2 c′ 3 c and c′ 2 c 3 c the answers are 2 and 3."""
    for one, other in itertools.permutations(itertools.product((0, 1), repeat=order), 2):
        assert following([*one, 2, *other, 3, *one], order, 4) == [0, 0, 1, 0]
        assert following([*other, 2, *one, 3, *one], order, 4) == [0, 0, 0, 1]


def test_a_head_of_too_few_bits_confuses_two_contexts():
    """Theorem 2: in bfloat16 one head carries at most order 11; at order 12 these two contexts have one code."""
    order = 12
    assert bounds.largest_order(1, 8) == order - 1
    one, other = [0] * order, [0] * (order - 1) + [1]
    for dtype, right in (("bfloat16", False), ("float64", True)):
        model = construct("unrolled", order=order, alphabet_size=4, length=40, dtype=dtype, force=True)
        answers = []
        for first, second in ((one, other), (other, one)):
            tokens = [*first, 2, *second, 3, *one]
            answers.append(np.asarray(model(np.array(tokens))[-1], float).argmax())
            assert following(tokens, order, 4) == [0, 0, first == one, second == one]
        assert (answers == [2, 3]) == right


def stored(number, bits):
    """A positive integer, rounded to `bits` significant bits, ties to even."""
    if number == 0:
        return Fraction(0)
    unit = Fraction(2) ** (number.bit_length() - bits)
    return round(Fraction(number) / unit) * unit


def distinct(weights, bits, forced=None):
    """Pairs of stored numbers of all heads, over all windows of two symbols."""
    order, found = len(weights[0]), set()
    for window in itertools.product((0, 1), repeat=order):
        if forced is None or all(window[place] == symbol for place, symbol in forced.items()):
            found.add(
                tuple(
                    stored(sum(w for w, x in zip(head, window, strict=True) if x == symbol), bits)
                    for head in weights
                    for symbol in (0, 1)
                )
            )
    return len(found)


def trials(order, heads):
    rng = np.random.default_rng(order)
    for _ in range(60):
        yield [[int(w) for w in rng.integers(1, 10**6, order)] for _ in range(heads)]
    for ratio in np.linspace(1.05, 3, 40):
        powers = [int(10**6 * ratio**place) for place in range(order)]
        yield [powers, *(list(rng.permutation(powers).astype(object)) for _ in range(heads - 1))]


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "bits"), [(1, 2), (1, 3), (1, 4), (2, 2)])
def test_no_weights_carry_more_than_theorem_2_allows(heads, bits):
    order = bounds.largest_order(heads, bits) + 1
    for weights in list(trials(order, heads))[:: 1 if order < 9 else 19]:
        assert distinct(weights, bits) < 2**order
    assert distinct([[2**place for place in range(bits)]], bits) == 2**bits  # and fewer offsets they do carry


@pytest.mark.parametrize(("order", "bits"), [(6, 2), (7, 3), (8, 2)])
def test_a_head_gives_as_few_codes_as_theorem_2_counts(order, bits):
    most = 2**bits * (math.log2(order - 1) + 0.0861) + 3
    for weights in trials(order, 1):
        heaviest, next_one = sorted(range(order), key=lambda place: -weights[0][place])[:2]
        assert distinct(weights, bits, {heaviest: 0, next_one: 1}) <= most


def test_bits_and_orders_of_theorem_2_are_inverse():
    for heads in (1, 2, 5):
        for order in range(1, 60):
            bits = bounds.code_bits(order, heads)
            assert bounds.largest_order(heads, bits) >= order
            assert bits == 2 or bounds.largest_order(heads, bits - 1) < order
    assert bounds.largest_order(10**9, bounds.code_bits(10**6, 1)) > 10**15  # in no time


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.state_bits(1, 1, 8), "alphabet size is 1, must be at least 2"),
        (lambda: bounds.attention_bits(8, 2, 8), "order is 8, must be smaller than the length 8"),
        (lambda: bounds.attention_heads_exact_sums(3, 2, 9, value=2, word=16), "this bound is for 3 symbols or more"),
        (lambda: bounds.attention_heads_exact_sums(3, 3, 6, value=2, word=16), "length is 6, this bound begins at 7"),
        (lambda: bounds.attention_heads_real(1, 3, 9, value=2, depth=0, width=9), "depth is 0, must be at least 1"),
        (lambda: bounds.attention_heads_real(1, 3, 9, value=2, depth=1, width=2), "width is 2, must be at least the 3"),
        (lambda: bounds.attention_heads(1, 3, 9, value=-2, word=16), "value is -2, must be at least 1"),
        (lambda: bounds.attention_heads_exact_sums(1, 3, 9, value=2, word=0), "word is 0, must be at least 1"),
        (lambda: bounds.attention_heads_real(1, 3, 9, value=2, depth=1, width=10**400), "width is about"),
        (lambda: bounds.short_convolution_bits(3, 3, 1028, 1.5), r"taps is 1\.5, must be a whole number"),
        (lambda: bounds.taps(0), "order is 0, must be at least 1"),
        (lambda: bounds.largest_order(0, 8), "heads is 0, must be at least 1"),
        (lambda: bounds.largest_order(1, 1), "mantissa_bits is 1, must be between 2"),
        (lambda: bounds.largest_order(1, 10**9), "mantissa_bits is 1000000000, must be between 2"),
        (lambda: bounds.code_bits(-5, 1), "order is -5, must be at least 1"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(("few", "many"), [(1, 2**52), (58, 2**52), (120, 2**51), (101, 101), (3000, 512**128)])
def test_binomial_coefficients_of_large_numbers_are_exact(few, many):
    exact = math.log2(math.comb(few + many, few))
    assert exact - 1e-5 <= bounds._log2_choose(few, many) <= exact + 1e-8 * few
    assert bounds.state_bits(52, 2, 262) == 52.0  # one walk of 2^52


def test_states_beyond_the_whole_numbers_of_float64_are_bounded():
    order, symbols, length = 8, 512, 1000
    walks, cycles = (length - order) // (2 * order + 1) - 1, symbols**order * (symbols - 1)
    exact = math.log2(math.comb(walks + cycles, walks))
    assert exact - 1e-3 <= bounds.state_bits(order, symbols, length) <= exact + 1e-9
    assert math.isfinite(bounds.state_bits(128, 512, 1 << 20))
