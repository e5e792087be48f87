"""`anyorder train`, `evaluate` and `show` as a user meets them: flags, presets, figures and error lines."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest

from anyorder.cli.main import parse
from anyorder.errors import InputError
from anyorder.io.trees import as_json
from anyorder.models import load
from anyorder.training.config import PRESETS
from anyorder.training.config_text import command

TINY = """--order 1 --length 6 --layers 1 --dimension 4 --mlp none --no-beginning --batch 4 --steps 30 --warmup 3
--evaluation-count 16 --seeds 2 --learning-rate 0.01 0.1"""


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    """Commands that run in this process leave the user's cache of programs alone."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "set, so not ours to set")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a small run with two seeds and two rates, and the JSON that the command printed."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    words = [sys.executable, "-m", "anyorder", "train", "--out", str(folder), "--json", *TINY.split()]
    environment = {**os.environ, "ANYORDER_CACHE": str(folder.parent / "cache")}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stderr.splitlines()[-1].startswith("step 30/30  loss ")
    return folder, json.loads(done.stdout)


@pytest.mark.slow
def test_train_reports_every_rate_and_seed(trained):
    folder, report = trained
    assert [(model["learning_rate"], model["seed"]) for model in report["models"]] == [
        (0.01, 0), (0.01, 1), (0.1, 0), (0.1, 1),
    ]  # fmt: skip
    assert report["finished"]
    assert report["largest_gap"] >= report["mean_gap"] > 0
    summary = json.loads((folder / "summary.json").read_text())
    assert report == {"out": str(folder), "page": str(folder / "index.html"), **summary}
    assert load(folder / "model-3.safetensors").dimension == 4


@pytest.mark.slow
def test_evaluate_measures_the_same_again_and_other_chains(trained, run):
    folder, report = trained
    code, text, _ = run("evaluate", folder, "--json")
    assert code == 0
    again = json.loads(text)
    assert again["models"] == report["models"]
    code, text, _ = run(
        "evaluate", folder, "--order", 2, "--length", 12, "--transition-noise", 0.5, "--count", 8, "--json"
    )
    other = json.loads(text)
    assert code == 0
    assert len(other["reference"]["position"]) == 11
    assert other["data"]["transition_noise"] == 0.5
    assert (other["trained_length"], other["data"]["length"]) == (6, 12)
    code, text, _ = run("evaluate", folder, "--token-noise", 0.1, "--length", 8, "--count", 8)
    assert code == 0
    assert "note: sequences have 8 tokens, the models were trained on 6" in text
    assert "its Bayes predictor has no closed form" in text
    assert run("evaluate", folder, "--length", 1)[2] == (
        "anyorder: length is 1, must be above the order 1; pass --length 2 or more\n"
    )


@pytest.mark.slow
def test_show_draws_three_figures(trained, run, tmp_path):
    folder, _ = trained
    code, text, _ = run("show", folder, "--out", tmp_path, "--model", 2, "--json")
    assert code == 0
    for name in ("loss", "positions", "attention"):
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert json.loads(text)[name] == str(tmp_path / f"{name}.png")
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert page.count("<td>seed ") == 4
    assert re.search(r'<div class="strip".*?<i style="height:100.0%">', page)
    assert f"<code>anyorder explore --models {folder}</code>" in page
    assert run("show", folder, "--model", 4)[2] == "anyorder: --model is 4, the run has 0 to 3\n"
    assert run("show", folder, "--sequence", 16)[2] == "anyorder: --sequence is 16, the run has 0 to 15\n"


def test_resume_takes_the_config_of_the_run(trained, run):
    folder, _ = trained
    command = parse(["train", "--resume", str(folder)])
    assert command.settings.optimisation.learning_rate == (0.01, 0.1)
    code, out, error = run("train", "--resume", folder, "--batch", 5)
    assert (code, out) == (2, "")
    assert (
        error
        == f"anyorder: {folder} contains a run with batch 4, not 5; keep its config, or start again with a new --out\n"
    )


def test_a_diverging_run_exits_with_1_and_advice(run, tmp_path):
    flags = TINY.replace("--learning-rate 0.01 0.1", "--learning-rate 1e38").split()
    code, text, _ = run("train", "--out", tmp_path / "run", "--json", *flags)
    assert code == 1
    assert json.loads(text)["diverged"]["rate"] == 1e38
    code, text, _ = run("train", "--resume", tmp_path / "run")
    assert code == 1
    assert "diverged at step" in text
    assert "pass a smaller --learning-rate" in text
    assert f"the last good checkpoint is in {tmp_path / 'run'}" in text.replace("\n", "")


def test_presets_are_defaults_that_flags_override():
    assert parse(["train"]).settings == PRESETS["fast"]
    assert parse(["train", "--preset=paper"]).settings == PRESETS["paper"]
    changed = parse(["train", "--order", "3", "--preset", "floor", "--length", "64"]).settings
    data = dataclasses.replace(PRESETS["floor"].data, order=3, length=64)
    assert changed == dataclasses.replace(PRESETS["floor"], data=data)


@pytest.mark.parametrize(
    ("flags", "steps"),
    [
        ("--order 1", 400),
        ("--order=5", 1400),
        ("--order 3 --targets exact", 1600),
        ("--order 3 --steps 7", 7),
        ("--order 4 --order 2", 1000),
    ],
)
def test_the_default_takes_more_steps_for_longer_contexts(flags, steps):
    settings = parse(["train", *flags.split()]).settings
    assert settings.optimisation.steps == steps
    assert parse(["train", *command(settings).split()[2:]]).settings == settings


def test_a_json_file_is_a_config(tmp_path):
    path = tmp_path / "config.json"
    config = dataclasses.replace(PRESETS["paper"], seed=4)
    path.write_text(json.dumps(as_json(config)))
    assert parse(["train", "--config", str(path)]).settings == config
    path.write_text(json.dumps({"config": as_json(config), "versions": {}}))
    assert parse(["train", "--config", str(path), "--seed", "5"]).settings == dataclasses.replace(config, seed=5)


BAD = {
    "--order 0": "order is 0, must be at least 1; pass --order 1 or more",
    "--alphabet-size 1": "alphabet size is 1, must be at least 2; pass --alphabet-size 2 or more",
    "--order 32": "length is 32, must be above the order 32; pass --length 33 or more",
    "--order 30 --length 64": "4096 kernels of 2147483648 numbers are drawn at once, the limit is 268435456 numbers; "
    "pass a smaller --evaluation-count or --order",
    "--concentration 0": "concentration is 0.0, must be at least 1e-06; pass --concentration 1e-06 or more",
    "--prior floored --gamma 1": "gamma is 1.0, must be between 0 and 1; the default is 0.2",
    "--token-noise 1.5": "token noise is 1.5, must be between 0 and 1",
    "--transition-noise -1": "transition noise is -1.0, must be between 0 and 1",
    "--token-noise 0.1 --transition-noise 0.1": "token noise 0.1 and transition noise 0.1 together; choose one kind",
    "--layers 0": "layers is 0, must be at least 1; pass --layers 1 or more",
    "--mixer mambo": "no mixer 'mambo'; did you mean mamba?",
    "--preset paper --mixer mamba": "the preset 'paper' has no recipe for the mixer mamba; take the preset fast",
    "--rotary-positions --dimension 5": "rotary positions turn pairs of coordinates, a head has 5; "
    "pass --heads or --dimension",
    "--mixer mamba attention --layers 3": "mixers are mamba attention for 3 layers; "
    "give one name, or one for each layer",
    "--dimension 0": "dimension is 0, must be at least 1; pass --dimension 1 or more",
    "--heads 3": "3 heads do not divide the dimension 32; pass --heads or --dimension so that they do",
    "--heads 1 2 4": "heads are 1 2 4 for 2 layers; give one number, or one for each layer",
    "--tied --zero-output": "a tied output of zeros is an embedding of zeros; pass --no-tied, or drop --zero-output",
    "--steps 0": "steps is 0, must be at least 1; pass --steps 1 or more",
    "--batch 0": "batch is 0, must be at least 1; pass --batch 1 or more",
    "--learning-rate": "learning rate is empty; give at least one",
    "--learning-rate 0": "learning rate is 0.0, must be above 0; the paper tries 1e-4 to 1e-2",
    "--learning-rate nan": "learning rate is nan, must be a number",
    "--learning-rate 1 1": "learning rates 1.0 1.0 repeat one; give each once",
    "--beta1 1": "beta1 is 1.0, must be at least 0 and below 1",
    "--beta2 -0.1": "beta2 is -0.1, must be at least 0 and below 1",
    "--weight-decay -1": "weight decay is -1.0, must be at least 0; pass --weight-decay 0 or more",
    "--clip -1": "clip is -1.0, must be at least 0; pass --clip 0 or more",
    "--final-rate 2": "final rate is 2.0, must be between 0 and 1",
    "--warmup -1": "warmup is -1, must be at least 0; pass --warmup 0 or more",
    "--seed 9223372036854775807": "3 seeds from 9223372036854775807 on go beyond 9223372036854775807; "
    "pass a smaller --seed",
    "--prior order-mixture --min-order 4": "min order is 4, must be between 0 and the max order 3",
    "--prior tree --depth 40": "length is 32, must be above the order 40; pass --length 41 or more",
    "--seeds 0": "seeds is 0, must be at least 1; pass --seeds 1 or more",
    "--seed -1": "seed is -1, must be 0 to 9223372036854775807; --seed 0 is usual",
    "--evaluate-every 0": "evaluate every is 0, must be at least 1; pass --evaluate-every 1 or more",
    "--evaluation-count 1": "evaluation count is 1, must be at least 2; pass --evaluation-count 2 or more",
    "--evaluation-seed -1": "evaluation seed is -1, must be 0 to 9223372036854775807; --evaluation-seed 0 is usual",
    "--checkpoint-every 0": "checkpoint every is 0, must be at least 1; pass --checkpoint-every 1 or more",
    "--perturbation -1": "perturbation is -1.0, must be at least 0; pass --perturbation 0 or more",
    "--perturbation 1": "perturbation is 1.0 without a model to perturb; start from a model, or drop it",
    "--preset best": "no preset 'best'; choose from floor, fast, paper, published, gpt2",
    "--preset paper --config a.json": "--config and --preset together; each sets the whole config, choose one",
    "--resume other": "pass --out DIR for a new run, or --resume DIR to continue one, not both",
    "--config absent.json": "cannot read absent.json: No such file or directory; give a JSON file",
    "--from absent.safetensors": "cannot read absent.safetensors: No such file or directory; "
    "give a .safetensors file of anyorder",
}


@pytest.mark.parametrize("flags", BAD)
def test_bad_input_gets_one_line_and_touches_nothing(flags, run, tmp_path, monkeypatch, trained):
    monkeypatch.chdir(tmp_path)
    words = flags.replace("other", str(trained[0])).split()
    code, out, error = run("train", "--out", "run", *words)
    assert (code, out, error) == (2, "", f"anyorder: {BAD[flags]}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_a_folder_takes_a_new_one_and_says_which(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "fast-1").mkdir(parents=True)
    code, text, error = run("train", *TINY.split(), "--json")
    assert code == 0
    assert error.splitlines()[0] == "anyorder: writing to runs/fast-2"
    assert json.loads(text)["out"] == "runs/fast-2"
    assert (tmp_path / "runs" / "fast-2" / "summary.json").exists()


def test_no_folder_to_resume_is_one_line(run):
    assert run("train", "--resume", "absent")[2] == (
        "anyorder: absent is not a folder; give the folder of a training run\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "contains [1], must be an object"),
        ('{"data": 3}', "has 3 where an object is expected"),
        ('{"order": 3}', "has the unknown field 'order'; known are seed, seeds, data,"),
        ('{"data": {"order": "3"}}', "has order '3', must be of type int"),
        ('{"data": {"order": true}}', "has order True, must be of type int"),
        ('{"seed": ', "is not valid JSON"),
    ],
)
def test_bad_config_files_are_one_line(text, words, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        parse(["train", "--config", str(path)])
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_help_needs_no_jax():
    program = """import sys
from anyorder.cli import main
try:
    main(["train", "--help"])
finally:
    print("jax" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_a_run_that_cannot_begin_leaves_no_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, error = run("train", "--from", "nope.safetensors")
    assert code == 2
    assert "cannot read nope.safetensors" in error
    assert list(tmp_path.iterdir()) == []
