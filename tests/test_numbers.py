"""Numbers in running text and in tables written by hand: each is formatted here from the file that records it."""

import itertools
import json
import pathlib
import re

import numpy as np
import pytest
from scipy import stats

from anyorder.constructions import bounds
from anyorder.estimators import hashing
from anyorder.papers.two_can.claims import LEDGER

ROOT = pathlib.Path(__file__).parent.parent


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def rows(path, table, **which):
    found = read(f"results/{path}.json")["tables"][table]["rows"]
    return [row for row in found if all(row[name] == value for name, value in which.items())]


def said(page):
    text = str(hashing.__doc__) if page == "hashing" else (ROOT / page).read_text(encoding="utf-8")
    return " ".join(text.split())


def claim(id):
    return LEDGER.recorded()[id].numbers


RATIOS, COMMANDS = read("benchmarks/recorded.json"), read("results/own/commands.json")["values"]
STREAM = "streaming k-gram, order 12, alphabet 4, 10,000,000 tokens"
DATA = ("uniform random tokens", "a Markov chain of order 3, rows from Dirichlet(1)")


def speed():
    tests, _, view, *_ = COMMANDS
    yield "CONTRIBUTING.md", f"`make test` takes {tests['seconds']} s on two free cores with an empty cache"
    yield "CONTRIBUTING.md", f"({tests['tests']:,} tests"
    yield "docs/explorer.md", f"drawn {1000 * view['seconds']:.0f} ms after"
    uniform, chain = (RATIOS[f"{STREAM}: {name}: speed-up"] for name in DATA)
    yield "docs/streaming.md", f"takes {uniform} times as long on uniform tokens, and {chain} times as long on a"
    forms = ("sorting the codes of contexts", "numba.typed.Dict")
    simpler = [RATIOS[f"{STREAM}: {name}: CPU time of {form} over ours"] for form in forms for name in DATA]
    assert min(simpler) > 2
    yield "hashing", "takes {} times the CPU time on uniform tokens and {} times on a chain".format(*simpler[:2])
    yield "hashing", "from a code to a row of counts {} and {} times".format(*simpler[2:])
    drawn = "4096 binary sequences of order 3 and length 64, kernels drawn too: speed-up, tokens only, medians"
    yield "docs/chains.md", f"a NumPy loop over time takes {RATIOS[drawn]} times as long"
    dense = "Inference with dyadic, order 4, S = 4, d = 27, float32: dense attention in NumPy over ours, T = 2,048"
    yield "docs/transformer.md", f"takes {RATIOS[dense]} times as long"
    yield "docs/sweeps.md", f"make {RATIOS['12 runs of 300 steps, 2 cores: ratio']} times as many model-steps"
    *_, note = read("results/paper/grid.json")["notes"]
    seconds, hours = note.split(" takes ")[1].split(" s of")[0], note.split("the rest ")[1].removesuffix(".")
    yield "docs/sweeps.md", f"is {seconds} s a run on average, {hours} for all runs"


def steps():
    for preset in ("paper", "floor"):
        name = f"Preset {preset}, T = {{}}, batch 64, one core: products alone over value and gradient"
        shares = [f"{RATIOS[name.format(length)]:.2f}" for length in (32, 64, 256)]
        yield "docs/training.md", f"| `{preset}` | {' | '.join(shares)} |"
    step = "Training step, order 2, batch 32"
    products = f"{step}, d = 64, 2 models at once: T = {{}}: products over anyorder"
    alone = [f"{RATIOS[products.format(length)]:.2f}" for length in (32, 64)]
    yield "docs/training.md", f"| the matrix products alone | {' | '.join(alone)} |"
    for shown, kind in (("PyTorch, eager", "eager"), ("PyTorch, `torch.compile`", "compiled")):
        models = ("d = 64", "one layer of Mamba-2, d = 32")
        names = [f"{step}, {model}, 2 models at once: T = {length}" for model in models for length in (32, 64)]
        ratios = [str(RATIOS[f"{name}: PyTorch, {kind}, over anyorder"]) for name in names]
        yield "docs/training.md", f"| {shown} | {' | '.join(ratios)} |"


def floors():
    for name, row in read("results/own/mixers.json").items():
        assert len(row["gaps"]) == 5
        yield "docs/training.md", f"| {name} | {min(row['gaps']):.4f} to {max(row['gaps']):.4f} | {row['goal']} |"
        sign, goal = row["goal"][0], row["goal"][2:]
        assert sign not in "≤≥" or all(gap <= float(goal) if sign == "≤" else gap >= float(goal) for gap in row["gaps"])
    compiling = []
    for row in read("results/own/floor.json").values():
        assert max(row["gaps"]) <= row["within"]
        assert len(row["gaps"]) == len(row["seeds"]) >= 6
        compiling.append(row["seconds_empty_cache"] - row["seconds"])
        gaps = f"{min(row['gaps']):.5f} to {max(row['gaps']):.5f}"
        times = f"{row['seconds']} s | {row['seconds_empty_cache']} s"
        line = f"| `{row['command']}` | {times} | {gaps} | {len(row['seeds'])} | {row['within']} |"
        yield "docs/training.md", line
    yield "docs/training.md", f"Compilation takes {min(compiling):.1f} to {max(compiling):.1f} s"
    for preset, count, places in (("paper", "30,000", 4), ("published", "30,000", 4), ("floor", "2,000", 5)):
        cells = []
        for row in rows("paper/attention-maps", "attention", preset=preset):
            gaps, digits = np.array(row["excess_seeds"]) - row["floor"], 4 if row["order"] == 3 else places
            mean, least, most = (f"{value:.{digits}f}" for value in (gaps.mean(), gaps.min(), gaps.max()))
            cells.append(f"{mean} ({least} to {most})")
            if (preset, row["order"]) == ("paper", 2):
                yield "docs/new.md", f"{gaps.mean():.4f} nats above the floor after 30,000 steps"
                yield "docs/new.md", f"({gaps.min():.4f} to {gaps.max():.4f} over five seeds)"
            if (preset, row["order"]) == ("floor", 2):
                assert gaps.max() <= 0.0009
                yield "docs/training.md", f"a mass of {row['layer_2_on_matches']:.2f} on the matching positions"
                yield "docs/training.md", f"compared with {row['chance']:.2f} for uniform attention"
        yield "docs/training.md", f"| `{preset}` | {count} | {' | '.join(cells)} |"


def unknown_order():
    for row in rows("paper/unknown-order", "gaps"):
        seeds = row["gap_seeds"]
        if len(seeds) == 1:
            continue
        assert len(seeds) == 8
        reach = stats.t.isf(0.025, 7) * row["gap_std"] / 8**0.5
        places = 5 if "Muon" in row["model"] else 4
        ends = [f"{row['gap_mean'] + side * reach:.{places}f}" for side in (-1, 1)]
        cells = f"{row['floor']:.4f} | {row['best_fixed_order']:.4f} | "
        yield "docs/training.md", f"{cells}{row['gap_mean']:.{places}f} ({ends[0]} to {ends[1]}) |"
        if "Muon" in row["model"]:
            assert max(seeds) <= 0.002
            yield "docs/new.md", f"{row['gap_mean']:.4f} nats above the Bayes mixture over the orders 1 to 3"
            yield "docs/new.md", f"({min(seeds):.4f} to {max(seeds):.4f} over eight seeds)"
            yield "docs/new.md", f"best fixed order is {row['best_fixed_order']:.3f} above it"
    which = {"source": "order-mixture", "K": 3, "T": 64, "seed": 0}
    (graded,) = rows("paper/unknown-order", "heads", model="two layers", **which)
    three, _, _, none = rows("paper/unknown-order", "heads", model="two layers, four heads, Muon", **which)
    first = [f"{value:.1f}" for value in graded["spectrum"]]
    yield "docs/training.md", f"{', '.join(first[:3])} and {first[3]} times that of uniform attention at 0 to 3"
    assert {f"{value:.1f}" for value in three["spectrum"][3:]} <= {"5.2", "5.3"}
    yield "docs/training.md", "one head has order 3 (5.2 times"
    above = [f"{value:.1f}" for value in none["spectrum"][2:]]
    shown = f"({none['spectrum'][1]:.1f} times uniform attention at match length 1, {min(above)} to {max(above)} times"
    yield "docs/training.md", shown


def descent():
    page, ends = "docs/dynamics.md", claim("alg-1")
    after, (before, last) = ends["softmax(p)_1 after stage one"], ends["a_2 before and after stage two"]
    yield page, f"softmax(p)_1 ends at {after:.3f}, and a_2 grows from {before} to {last:.1f}"
    found = claim("thm-grad")
    columns = (found[name] for name in ("T", "excess over L*", "standard error", "excess of Bayes"))
    for length, excess, error, bayes in zip(*columns, strict=True):
        yield page, f"| {length} | {excess:.4f} ± {error:.4f} | {bayes:.4f} |"
    yield page, f"(T + 1)^({found['exponent']:.3f} ± {found['its standard error']:.3f})"
    found = claim("alg-2")
    two, bag = (f"{value:.2f}" for value in found["excess of 2-gram, bag of 2"])
    yield page, f"end at {found['weights at offsets 1 and 2'][0]:.2f} each"
    yield page, f"is {two} for the 2-gram and {bag} for the bag of 2"
    for reading, sign in (("newest", ">"), ("oldest", "<")):
        _, one, two, *_ = (f"{value:.3f}" for value in claim("eq-g-monotone")[f"E[g_0] … E[g_6], {reading} first"])
        yield page, f"E[g_1] = {one} {sign} E[g_2] = {two}"
    found = claim("lem-D2")
    gap, error = (f"{found[name]:.3f}" for name in ("gap, floored Dirichlet prior, S = 3", "its standard error"))
    yield page, f"{gap} ± {error} against {found['γ³/2S']:.4f}"
    shares = [f"kernels and of these falling, {reading} first" for reading in ("newest", "oldest")]
    newest, oldest = (round(100 * falling / kernels) for kernels, falling in map(claim("lem-second-order").get, shares))
    yield page, f"{newest}% of the kernels that meet the hypothesis read newest first and for {oldest}% read oldest"
    found = claim("lem-variance")
    yield page, f"a factor of {found['largest |Cov| / (λ^j Var), reversible of order 1, and of order 2'][1]:.2f}"
    largest = found["largest n(1 - λ)·variance of 320 random kernels"]
    yield page, f"is at most {largest:.2f} over 320 random kernels"
    page, spread = "docs/assumptions.md", claim("bag-scores")
    two, three = (spread[f"largest spread of g_1 … g_k, k = {k}, S = 3"] for k in (2, 3))
    yield page, f"up to {two:.2f} at k = 2, S = 3 and {three:.1f} at k = 3, S = 3"
    errors = [
        f"{claim('bag-consistency')[f'error of the {way}, {prior}, k = 2, S = 2'][-1]:.3f}"
        for prior in ("bag", "Dirichlet")
        for way in ("bag of k", "k-gram")
    ]
    yield page, "at T = 4,096 is {} for the bag of 2 and {} for the 2-gram on bag".format(*errors[:2])
    yield page, "it is {} and {} on Dirichlet chains".format(*errors[2:])
    falling = "of 64 reversible kernels with a falling count, order {}"
    (found,) = (one.numbers for one in LEDGER.recorded().values() if falling.format(1) in one.numbers)
    counts = [found[falling.format(order)] for order in (1, 2, 3)]
    yield page, "decrease for {}, {} and {} of 64 kernels".format(*counts)


def probes():
    page = "docs/probe.md"
    for row in read("results/own/probe-null.json")["values"]:
        heads = 3 * row["heads_of_a_kind"]
        kinds = [row[kind] for kind in ("noise", "places", "tokens")]
        both, either = (sum(kind[name] for kind in kinds) for name in ("on_both_halves", "on_all_sequences"))
        interval = stats.binomtest(both, heads).proportion_ci()
        shown = f"below {100 * 3 / heads:g}%"
        if both:
            shown = f"{100 * both / heads:.2f}% ({100 * interval.low:.4f}% to {100 * interval.high:.2f}%)"
        default = " (the defaults)" * (row["symbols"] == 3)
        line = f"| {row['length']} | {row['symbols']} | {row['max_length']}{default} | {either} | {both}: {shown} |"
        yield page, line
    for row in read("results/own/order-recovery.json")["values"]:
        counts = [row[name].split(" of ")[0] for name in ("ideal", "constructions", "without an order")]
        yield page, f"| {' | '.join(counts)} |"
    found = read("results/probe/smollm2.json")
    for layer, head in ((17, 3), (18, 6), (18, 7), (20, 6)):
        (row,) = (one for one in found["heads"] if (one["layer"], one["head"]) == (layer, head))
        held, error = row["agreement"], row["agreement_error"]["all"]
        values = [*held["flipped"], *held["alone"][:2], held["none"]]
        cells = [f"{row['mean_length']:.1f}", f"{held['all']:.1f} ± {error:.1f}", *(f"{value:.1f}" for value in values)]
        assert row["kind"] == "graded"
        yield page, f"| layer {layer}, head {head} | {' | '.join(cells)} |"
    lost = found["ablation"]
    yield page, f"from {lost['whole']:.1f} to {lost['without']:.1f} nats"
    yield page, f"to between {min(lost['random']):.1f} and {max(lost['random']):.1f}"


def reliability():
    page, found = "docs/reliability.md", read("results/own/reliability.json")
    table = [line.split("|") for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.count("|") == 4]
    for row in found["crashes"]["values"]:
        seeds = [f"--seed {seed}`" for seed in row["seeds"]] if row["seeds"] != [0] else ["--also locks"]
        (counts,) = (cells[2:4] for cells in table if all(seed in cells[1] for seed in seeds))
        assert [int(re.search(r"\d+", cell)[0]) for cell in counts] == [row["tried"], row["identical"]]
    for row in (found["memory"]["values"], found["memory"]["again"]["values"]):
        assert row["server_errors"] == 0
        yield page, f"{row['requests']:,} requests"
        second, last = ("{} to {} MB for the".format(*row[name]) for name in ("second_1000_mb", "last_1000_mb"))
        yield page, f"{second} second 1,000, {last} last"


def price():
    page, tables = "docs/price.md", read("results/own/trained-price.json")["tables"]
    needed = next(length for length in itertools.count(4_000) if bounds.attention_bits(1, 3, length) > 2_112)
    yield page, f"T ≈ {round(needed, -2):,} on"
    kinds = {}
    for row in tables["chains"]["rows"]:
        if row["size"] == "1e4":
            kinds.setdefault(row["unit"], []).append(row)
    bits, state = kinds["bits through the heads"], kinds["bits of state"]
    least, most = sorted(row["trained"] / row["at_least"] for row in bits)[:: len(bits) - 1]
    yield page, f"{bits[0]['trained']:,} bits: {least:.0f} to {most:.0f} times what Theorem A requires"
    counts = {row["order"]: row["certified_parameters"] for row in bits}
    one, three, four = round(counts[1], -3), round(counts[3], -3), counts[4] / 1e6
    yield page, f"{one:,} parameters at (1, 32), {three:,} at (3, 64) and {four:.1f} million at (4, 128)"
    for above, below in (("trained", "certified"), ("certified", "at_least")):
        least, most = sorted(row[above] / row[below] for row in state)[:: len(state) - 1]
        yield page, f"{least:.0f} to {most:.0f} times the"


PARTS = (speed, steps, floors, unknown_order, descent, probes, reliability, price)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_the_docs_say_what_is_on_record(part):
    missing = [(page, words) for page, words in part() if " ".join(words.split()) not in said(page)]
    assert missing == []
