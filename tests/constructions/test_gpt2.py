"""Exported folders, run by a GPT-2 written here from its definition, against counts."""

import json
from collections import Counter
from math import erf, sqrt, tanh

import numpy as np
import pytest
from safetensors.numpy import load_file

import anyorder
from anyorder.constructions import CONSTRUCTIONS
from anyorder.constructions.gpt2 import HELD, LONGEST, REASONS
from anyorder.constructions.gpt2_weights import PERIODS, gelu
from anyorder.errors import InputError


def oracle(folder, tokens):
    """GPT-2 of a folder, head by head and row by row: logits, attention by (block, head), and the streams."""
    config, weights = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    heads, width = config["n_head"], config["n_embd"] // config["n_head"]

    def norm(rows, name):
        gain, bias = weights[f"transformer.{name}.weight"], weights[f"transformer.{name}.bias"]
        return np.stack([(row - row.mean()) / np.sqrt(row.var() + np.float32(1e-5)) * gain + bias for row in rows])

    def affine(rows, name):
        return rows @ weights[f"transformer.{name}.weight"] + weights[f"transformer.{name}.bias"]

    x = np.stack([weights["transformer.wte.weight"][token] for token in tokens])
    x = x + weights["transformer.wpe.weight"][: len(tokens)]
    maps, streams = {}, [x]
    for block in range(config["n_layer"]):
        columns = affine(norm(x, f"h.{block}.ln_1"), f"h.{block}.attn.c_attn")
        query, key, value = np.split(columns, 3, axis=1)
        mixed = np.zeros_like(x)
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            weight = np.zeros((len(tokens), len(tokens)), np.float32)
            for row in range(len(tokens)):
                scores = key[: row + 1, own] @ query[row, own] / np.float32(sqrt(width))
                weight[row, : row + 1] = np.exp(scores - scores.max())
                weight[row] /= weight[row].sum()
                mixed[row, own] = weight[row] @ value[:, own]
            maps[block, head] = weight
        x = x + affine(mixed, f"h.{block}.attn.c_proj")
        inner = affine(norm(x, f"h.{block}.ln_2"), f"h.{block}.mlp.c_fc")
        cube = np.float32(sqrt(2 / np.pi)) * (inner + np.float32(0.044715) * inner * inner * inner)
        x = x + affine(inner * (1 + np.tanh(cube)) / 2, f"h.{block}.mlp.c_proj")
        streams.append(x)
    return norm(x, "ln_f") @ weights["lm_head.weight"].T, maps, streams


def counted(tokens, order, size, beta):
    """The k-gram, or add-β smoothing, after every token, by a dictionary; 1/S for contexts that did not occur."""
    seen, rows = Counter(), []
    for place, token in enumerate(tokens):
        if place >= order:
            seen[tuple(tokens[place - order : place]), token] += 1
        context = tuple(tokens[place + 1 - order : place + 1]) if place + 1 >= order else None
        row = np.array([seen[context, symbol] for symbol in range(size)], float) + beta
        rows.append(row / row.sum() if row.sum() else np.full(size, 1 / size))
    return np.array(rows)


CASES = [
    ("k-head", 1, 3, 48, None),
    ("k-head", 2, 3, 48, None),
    ("k-head", 3, 4, 48, None),
    ("k-head", 4, 2, LONGEST, None),
    ("bigram", 1, 2, 32, None),
    ("k-head-bayes", 2, 3, 48, None),
    ("k-head-bayes", 3, 2, 64, 0.25),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def exported(request, tmp_path_factory):
    name, order, size, length, beta = request.param
    folder = tmp_path_factory.mktemp("gpt2") / "model"
    anyorder.export(name, folder, order=order, alphabet_size=size, length=length, beta=beta, sequences=2)
    return folder, request.param


def sequence(size, length):
    """Random, then constant, then random: contexts are new, common and rare."""
    tokens = np.random.default_rng(1).integers(size, size=length)
    tokens[length // 3 : length // 2] = 0
    return tokens.tolist()


def test_the_softmax_of_the_logits_is_the_estimator(exported):
    folder, (name, order, size, length, beta) = exported
    tokens = sequence(size, length)
    logits, _, _ = oracle(folder, [size, *tokens])
    assert logits.dtype == np.float32
    assert logits.shape == (length + 1, size + 1)
    exponentials = np.exp(logits.astype(np.float64))
    probabilities = (exponentials / exponentials.sum(axis=1, keepdims=True))[1:]
    exact = counted(tokens, order, size, 0.0 if HELD[name] == "kgram" else beta or 1.0)
    assert probabilities[:, size].max() < 1e-9  # the beginning token
    assert np.abs(probabilities[:, :size] - exact).max() < 1e-4
    assert (np.abs(exact - exact[0]).max(axis=1) > 0.1).mean() > 0.4  # it is not uniform


def test_ground_truth_names_heads_and_coordinates(exported):
    folder, (_, order, size, length, _) = exported
    truth, tokens = json.loads((folder / "ground_truth.json").read_text()), sequence(size, length)
    _, maps, streams = oracle(folder, [size, *tokens])
    assert {(head["layer"], head["head"]) for head in truth["heads"]} == set(maps)
    places = {block: entry["coordinates"] for block, entry in truth["stream"].items()}
    assert [place for block in places.values() for place in block] == list(range(streams[0].shape[1]))
    for head in truth["heads"]:
        weight = maps[head["layer"], head["head"]]
        if head["kind"] == "offset":
            moved = [max(row - head["offset"], 0) for row in range(1, length + 1)]
            assert weight[1:][np.arange(length), moved].min() > 1 - 1e-6
            held = streams[1][1 + head["offset"] :, places[head["writes"]]]
            np.testing.assert_allclose(held, np.eye(size)[tokens[: length - head["offset"]]], atol=1e-6)
        elif head["kind"] == "induction":
            pairs = [(pair["query_offset"], pair["key_offset"]) for pair in head["compares"]]
            assert pairs == [(offset, offset + 1) for offset in range(order)]
            last, window = length, tokens[length - order :]
            follow = [place + 1 for place in range(order, last) if tokens[place - order : place] == window]
            others = sorted(set(range(1, last + 1)) - set(follow))
            assert weight[last, others].max() < 1e-6
            if follow:
                assert np.ptp(weight[last, follow]) < 1e-5
    zero = np.concatenate([stream[:, places["zero"]].ravel() for stream in streams])
    assert np.abs(zero).max() == 0
    assert truth["unseen_context"] == "uniform"
    assert truth["measured"]["prediction_error"] < 1e-4


def test_the_card_repeats_the_measured_errors(exported):
    folder, (name, order, size, length, _) = exported
    card, truth = (folder / "README.md").read_text(), json.loads((folder / "ground_truth.json").read_text())
    for error in ("prediction_error", "unseen_error", "induction_error", "offset_error"):
        assert f"| {truth['measured'][error]:.1e} |" in card
    assert f"anyorder export {name} --order {order} --alphabet-size {size} --length {length}" in card


def test_configs_are_those_of_stock_gpt2(exported):
    folder, (_, _, size, length, _) = exported
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "gpt2"
    assert (config["vocab_size"], config["bos_token_id"], config["n_positions"]) == (size + 1, size, length + 1)
    assert config["n_embd"] % config["n_head"] == 0
    assert not config["tie_word_embeddings"]


def test_the_gelu_is_the_one_of_gpt2():
    for x in (-3.0, -0.1, 0.0, 2.0):
        assert gelu(np.array([x]))[0] == pytest.approx(x * (1 + tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2)
        assert gelu(np.array([x]))[0] == pytest.approx(x * (1 + erf(x / sqrt(2))) / 2, abs=1e-3)


def test_periods_tell_all_positions_apart():
    residues = {tuple(place % period for period in PERIODS) for place in range(LONGEST + 10)}
    assert len(residues) == LONGEST + 10


def test_every_construction_is_held_or_refused_with_a_reason(tmp_path):
    assert set(HELD) | set(REASONS) == set(CONSTRUCTIONS)
    for name in REASONS:
        with pytest.raises(InputError, match=r"^`[a-z-]+` .*; export `k-head`") as refused:
            anyorder.export(name, tmp_path / "out", order=1, alphabet_size=2, length=8)
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 257}, "length is 257, exported models go to 256"),
        ({"order": 9, "length": 64}, "order is 9, exported models go to 8"),
        ({"beta": 1.0}, "`k-head` has no option beta"),
        ({"name": "k-head-bayes", "beta": -1.0}, "beta is -1.0, must be at least 1e-09"),
        ({"name": "k-head-bayes", "beta": 1e-9}, "would be wrong by"),
        ({"sequences": 0}, "sequences is 0, must be 1 to 4096"),
        ({"order": 8, "alphabet_size": 512, "length": 256}, r"a GPT-2 of width \d+ would need about .* GiB of memory"),
    ],
)
def test_bad_requests_write_nothing(tmp_path, changes, message):
    asked = {"name": "k-head", "order": 1, "alphabet_size": 2, "length": 16} | changes
    with pytest.raises(InputError, match=message):
        anyorder.export(asked.pop("name"), tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_left_alone(exported, tmp_path):
    for place in (exported[0], tmp_path):
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(InputError, match=r"already contains .*; choose another folder"):
            anyorder.export("k-head", place, order=1, alphabet_size=2, length=16)


def test_a_lock_file_left_in_a_finished_export_is_removed(tmp_path):
    asked = {"order": 1, "alphabet_size": 2, "length": 8}
    anyorder.export("bigram", tmp_path / "gpt2", **asked)
    files = sorted(tmp_path.rglob("*"))
    (tmp_path / "gpt2" / ".anyorder-lock").touch()
    with pytest.raises(InputError, match="already contains an export"):
        anyorder.export("bigram", tmp_path / "gpt2", **asked)
    assert sorted(tmp_path.rglob("*")) == files


def test_a_killed_export_is_written_again_and_a_model_of_others_is_not(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"somebody's")
    with pytest.raises(InputError, match="already contains other files"):
        anyorder.export("k-head", tmp_path, order=1, alphabet_size=2, length=16)
    (tmp_path / ".anyorder-lock").touch()  # as a killed process leaves it
    anyorder.export(CONSTRUCTIONS["k-head"], tmp_path, order=1, alphabet_size=2, length=16)
    names = {"model.safetensors", "config.json", "README.md", "ground_truth.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
