"""`anyorder order` against marginal likelihoods in fractions, and its notes on the input."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from tests import oracles

TEXT = "abracadabra, abracadabra; the rain in spain\n" * 4


def exact(sequences, size, max_order, beta):
    """Log-marginals of every order, and of context-tree weighting, over sequences that share their counts."""
    tables = []
    for k in range(max_order + 1):
        table = {}
        for sequence in sequences:
            for i in range(max_order, len(sequence)):
                table.setdefault(tuple(sequence[i - k : i]), oracles.Counter())[sequence[i]] += 1
        tables.append({context: oracles.marginal(counts, size, beta) for context, counts in table.items()})

    def weighted(context):
        depth = len(context)
        own = tables[depth].get(context, Fraction(1))
        if depth == max_order or context not in tables[depth]:
            return own
        return (own + math.prod(weighted((symbol, *context)) for symbol in range(size))) / 2

    def log(value):
        return math.log(value.numerator) - math.log(value.denominator)

    return [log(math.prod(table.values())) for table in tables], log(weighted(()))


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_every_number_is_the_exact_one(run, tmp_path, beta):
    source = tmp_path / "book.txt"
    source.write_text(TEXT, encoding="utf-8")
    words = ["--alphabet", "auto", "--max-order", "3", "--beta", beta, "--json"]
    code, out, _ = run("order", source, *words)
    report = json.loads(out)
    assert code == 0
    letters = report["alphabet"]
    tokens = [letters.index(character) for character in TEXT if character != "\n"]
    marginals, tree = exact([tokens], len(letters), 3, Fraction(beta))
    positions = len(tokens) - 3
    assert (report["beta"], report["max_order"], report["positions"]) == (beta, 3, positions)
    assert [row["log_marginal"] for row in report["orders"]] == pytest.approx(marginals, rel=1e-12)
    bits = [-value / positions / math.log(2) for value in marginals]
    assert [row["bits_per_symbol"] for row in report["orders"]] == pytest.approx(bits, rel=1e-12)
    weights = np.exp(np.array(marginals) - max(marginals))
    assert [row["posterior"] for row in report["orders"]] == pytest.approx(weights / weights.sum(), abs=1e-12)
    contexts = [len({tuple(tokens[i - k : i]) for i in range(3, len(tokens))}) for k in range(4)]
    assert [row["contexts"] for row in report["orders"]] == contexts
    assert report["selected"] == int(np.argmax(marginals))
    total = -(np.log(np.mean(weights)) + max(marginals)) / positions / math.log(2)
    assert report["mixture_bits_per_symbol"] == pytest.approx(total, rel=1e-12)
    assert report["ctw_bits_per_symbol"] == pytest.approx(-tree / positions / math.log(2), rel=1e-12)
    first, second = sorted(marginals)[::-1][:2]
    assert report["next_best_bits"] == pytest.approx((first - second) / math.log(2), rel=1e-9)
    assert report["next_best_odds"] == pytest.approx(math.exp(first - second), rel=1e-9)
    assert {row["beta"] for row in report["sensitivity"]} >= {0.05, 0.5, 2.0}
    assert report["compressors"].keys() == {"gzip", "bzip2", "xz"}
    assert report["notes"] == ["4 line ends were dropped; `line_ends=keep` or `line_ends=space` makes them symbols"]


def test_fasta_records_share_counts_and_no_window_crosses(run, tmp_path):
    source = tmp_path / "reads.fa"
    source.write_text(">one soft-masked\nACGTacgtNNACGGTA\n>empty\n>two\nGATTACA\n", encoding="utf-8")
    code, out, _ = run("order", source, "--max-order", 2, "--no-compressors", "--json")
    report = json.loads(out)
    sequences = [["ACGT".index(base) for base in piece] for piece in ("ACGTACGT", "ACGGTA", "GATTACA")]
    marginals, tree = exact(sequences, 4, 2, Fraction(1, 2))
    assert (code, report["sequences"], report["positions"]) == (0, 3, 6 + 4 + 5)
    assert [row["log_marginal"] for row in report["orders"]] == pytest.approx(marginals, rel=1e-12)
    assert report["ctw_bits_per_symbol"] == pytest.approx(-tree / 15 / math.log(2), rel=1e-12)
    assert report["compressors"] == {}
    code, out, _ = run("order", source, "--max-order", 2)
    assert "2 letters are not in the alphabet 'ACGT' (2 N)" in out
    assert "4 small letters (soft-masked) count as capitals" in out
    assert "1 FASTA records are empty" in out


def test_a_chain_is_told_its_order_and_drawn(run, tmp_path):
    source, figure = tmp_path / "chain.npy", tmp_path / "orders.svg"
    random = np.random.default_rng(5)
    tokens = [0, 1]
    for _ in range(3000):
        tokens.append(int(random.random() < (0.9 if tokens[-1] != tokens[-2] else 0.2)))
    np.save(source, np.reshape(tokens[2:], (3, 1000)))  # rows share counts
    code, out, _ = run("order", source, "--max-order", 4, "--figure", figure)
    assert code == 0
    assert "Order 2 describes 2,988 symbols of 3 sequences over an alphabet of 2 best" in out
    assert figure.read_text(encoding="utf-8").startswith("<?xml")
    assert str(figure) in out


def test_order_zero_alone(run, tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("0 1 1 0", encoding="utf-8")
    code, out, _ = run("order", source, "--max-order", 0, "--json")
    report = json.loads(out)
    assert (code, report["positions"], report["selected"], report["next_best"]) == (0, 4, 0, None)
    assert report["orders"][0]["log_marginal"] == pytest.approx(math.log(3 / 128))
    assert run("order", source, "--max-order", 0)[0] == 0


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("aaaa", ["--alphabet", "auto"], "contains only the character 'a', an alphabet needs at least two"),
        ("abab", ["--alphabet", "auto", "--max-order", "4"], "max_order is 4, must be below the length"),
        ("abab", ["--alphabet", "auto", "--max-order", "-1"], "is -1, must be at least 0; pass --max-order 0"),
        (
            "abab",
            ["--alphabet", "auto", "--max-order", "1", "--beta", "0"],
            "beta is 0.0, must be at least 1e-09; pass",
        ),
        ("abab", [], "must be an integer; for text pass --alphabet auto"),
        ("", [], "is empty"),
        (">a\n>b\n", [], "has no letter of the alphabet 'ACGT'"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, content, words, message):
    source = tmp_path / "t.txt"
    source.write_text(content, encoding="utf-8")
    code, out, err = run("order", source, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
