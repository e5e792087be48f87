"""Names that users guess after `import anyorder` exist, and type-check from outside."""

import ast
import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure

import anyorder
from anyorder.papers.own.floor import compare

OUTSIDE = """
import anyorder
import numpy as np

chains = anyorder.sample(order=2, alphabet_size=3, length=16, count=2, seed=0)
estimate = anyorder.kgram(chains.tokens[0], order=2, alphabet_size=3)
smoothed = anyorder.bayes(chains.tokens[0], order=2, alphabet_size=3)
model = anyorder.construct("dyadic", order=2, alphabet_size=3, length=16)
found = anyorder.verify("dyadic", order=2, alphabet_size=3, length=16)
anyorder.save(model, "model.safetensors")
again = anyorder.load("model.safetensors")
result = anyorder.train(anyorder.Config(seeds=1))
prior = anyorder.chains.Dirichlet(1, 2)
drawn = anyorder.sample(seed=np.int64(1)), anyorder.chains.Source(prior, 4).sample(np.int64(1), 2)
held_out = anyorder.training.evaluation_set(anyorder.training.Data(), 16, np.int64(1))
figure = anyorder.plot.attention(again, chains.tokens[0])
reveal_type(estimate.probabilities.shape)
reveal_type(found.passed)
reveal_type(result.finished)
reveal_type(figure)
"""


#: Every line of this is rejected.
MISSPELT = """\
anyorder.kgram([0, 1], ordr=1, alphabet_size=2)
anyorder.bayes([0, 1], order="1", alphabet_size=2)
anyorder.nonsense
anyorder.training.nonsense
anyorder.estimators.nonsense
anyorder.papers.two_can.experiments.nonsense
anyorder.sweeps.nonsense
anyorder.report.nonsense
anyorder.web.nonsense
"""
#: Likely mistakes, and the error messages.
TRIED = {
    "anyorder.sample(noise=0.1)": "noise is 0.1, must be a TokenNoise or a TransitionNoise",
    "anyorder.sample(order=1, length=8, count=2, seed=np.int64(3))": "Chains(2 sequences of 8 tokens",
    "anyorder.sample(seed='a')": "the seed is 'a', must be an integer or a key of jax.random",
    "anyorder.sample(seed=1.5)": "the seed is 1.5, must be an integer or a key",
    "anyorder.sample(seed=True)": "the seed is True, must be an integer or a key",
    "anyorder.sample(order='2')": "order is '2', must be a whole number",
    "anyorder.sample(length=2.5)": "length is 2.5, must be a whole number",
    "anyorder.sample(count=2.5)": "count is 2.5, must be a whole number",
    "anyorder.sample(3)": "the prior is 3, must be a prior of",
    "anyorder.sample(seed=np.array([0, 1]))": "must be an integer or a key of jax.random",
    "anyorder.chains.Source('dirichlet', 8)": "the prior is 'dirichlet', must be a prior of",
    "anyorder.dynamics.two_stage('floored')": "the prior is 'floored', must be a prior of `anyorder.chains` or",
    "anyorder.dynamics.train_jointly('floored')": "the prior is 'floored', must be a prior of",
    "anyorder.chains.Kernel([[['a']]])": "the kernel is not an array of numbers",
    "anyorder.training.evaluation_set(anyorder.chains.Source(anyorder.chains.Dirichlet(1, 2), 8), 4)": (
        "EvaluationSet(4 sequences of 8 tokens"
    ),
    "anyorder.training.evaluate(anyorder.construct('bigram', order=1, alphabet_size=3, length=8), SET)": (
        "the model has 3 symbols, the evaluation set 2"
    ),
    "anyorder.evaluate(anyorder.estimators.floor(SET.source), SET)": "gap to the floor -0.00000",
    "anyorder.evaluate(len, SET.source, floor='kgram')": "the floor is NaN, or zero for a possible token, at",
    "anyorder.evaluate(len, SET.source, floor=3)": "the floor is a int, must map tokens to rows (T, S)",
    "anyorder.train(model=3)": "the model is a int, must be an Architecture, an Equinox module from tokens to logits",
    "anyorder.probe(len)": "the function returns a int, must return attention by layer, or attention and logits",
    "anyorder.evaluate(len, SET, output='odds')": "output is 'odds', must be 'probabilities' or 'logits'",
    "anyorder.evaluate(3, SET)": "the model is a int, must map tokens to rows (T, S)",
    "anyorder.evaluate(anyorder.construct('bigram', order=1, alphabet_size=2, length=8), 3)": (
        "the prior is 3, must be a prior of"
    ),
    "anyorder.chains.TokenNoise('a')": "token noise probability is 'a', must be a number between 0 and 1",
    "anyorder.kgram([0, 1], order='1', alphabet_size=2)": "order is '1', must be a whole number",
    "anyorder.kgram([0, 1], order=1, alphabet_size=2.5)": "alphabet size is 2.5, must be a whole number",
    "anyorder.kgram([0, 1], order=1)": "pass its size with `alphabet_size=`, or `alphabet=`",
    "anyorder.kgram([[0, 1], [0]], order=1, alphabet_size=2)": "tokens are a list of parts that differ in shape",
    "anyorder.kgram(anyorder.sample(order=1, length=8, count=2), order=1, alphabet_size=2)": "pass `chains.tokens[0]`",
    "anyorder.bayes([0, 1], order=1, alphabet_size=2, gamma=1)": "bayes() got an unexpected keyword argument 'gamma'",
    "anyorder.construct('dyadic', order='2', alphabet_size=2, length=8)": "order is '2', must be a whole number",
    "anyorder.construct('dyadic', order=2, alphabet_size=2, length=8, kappa='x')": "kappa is 'x', must be a number",
    "anyorder.verify('dyadic', order=2, alphabet_size=2, length='x')": "length is 'x', must be a whole number",
    "anyorder.verify(anyorder.Config(), order=2, alphabet_size=2, length=8)": "is a Config, must be a name",
    "anyorder.verify(anyorder.plan('k-head', order=2, alphabet_size=2, length=64), sequences=4).passed": "True",
    "anyorder.verify(anyorder.construct('k-head', order=2, alphabet_size=2, length=64), sequences=4).passed": "True",
    "anyorder.verify(anyorder.plan('k-head', order=2, alphabet_size=2, length=64), order=3)": "drop `order=`",
    "anyorder.verify(anyorder.plan('k-head', order=2, alphabet_size=2, length=64), dtype='float32')": "drop `dtype=`",
    "type(anyorder.training.preset(seeds=np.int64(2), learning_rate=np.float32(0.5)).seeds)": "<class 'int'>",
    "anyorder.verify('dyadic')": "order is None, must be a whole number",
    "anyorder.construct('dyadic', order=2, alphabet_size=2, length=8, kappa=True)": "kappa is True, must be a number",
    "anyorder.construct('dyadic', order=2, alphabet_size=2, length=8, target_error='a')": "target error is 'a'",
    "anyorder.plan('dyadic', order=np.int64(2), alphabet_size=2, length=8, kappa=np.float32(3)).kappa": "3.0",
    "anyorder.plan('unrolled', order=4, alphabet_size=2, length=8, heads=np.int64(2)).options['heads']": "2",
    "anyorder.save('model.safetensors', anyorder.Config())": "must be a text or a Path",
    "anyorder.estimators.StreamingEstimator(1, 2).feed('abab')": "the chunk is a string; number its characters first",
    "anyorder.plot.training(anyorder.Config())": "the run is a Config, must be its folder",
    "anyorder.sample(anyorder.chains.Kernel([[0.9, 0.1], [0.5, 0.5]]), length=8, count=2)": "Chains(2 sequences of 8",
    "anyorder.train(resume=True)": "`resume=True` needs the folder of the run; pass it with `out=`",
    "anyorder.train(ordr=3)": "the unknown field 'ordr'; did you mean order?",
    "anyorder.train(prior=3)": "the prior is 3, must be a prior of",
    "anyorder.train(source='dirichlet')": "the prior is 'dirichlet', must be a prior of",
    "anyorder.train(order=1, steps=0)": "steps is 0",
    "anyorder.training.preset(order=np.int64(3), steps=5).optimisation.steps": "5",
    "anyorder.train('fast')": "the config is 'fast', must be a Config",
    "anyorder.train(anyorder.training.Data())": "must be a Config",
    "anyorder.kgram([0, 1], order=np.array(1), alphabet_size=2)": "order is array(1), must be a whole number",
    "anyorder.kgram([0, 1], order=jax.numpy.int32(1), alphabet_size=2)": "order is Array(1, dtype=int32), must",
    "anyorder.kgram([0, 1], order=1, alphabet_size='2')": "alphabet size is '2', must be a whole number",
    "anyorder.kgram([0, 1], order=1, alphabet_size=2**63)": "must be at most 65536",
    "anyorder.kgram('ab', order=1, alphabet=['a', 'b'])": "alphabet is ['a', 'b'], must be a text",
    "anyorder.bayes([0, 1], order=1, alphabet_size=2, beta='1')": "beta is '1', must be a number",
    "anyorder.bayes([0, 1], order=1, alphabet_size=2, beta=1e308)": "beta is 1e+308, must be at most 1e+09",
    "anyorder.kgram(np.ma.array([0, 1, 1], mask=[0, 1, 0]), order=1, alphabet_size=2)": "tokens are a masked array",
    "anyorder.chains.Kernel(np.ma.array([[0.5, 0.5], [1, 0]]))": "the kernel is a masked array",
    "anyorder.estimators.StreamingEstimator(1, 2).feed(np.ma.array([0, 1]))": "the chunk is a masked array",
    "anyorder.sample(length=None)": "length is None, must be a whole number",
    "anyorder.sample(order=10**30)": "order is about 10^30, must be at most 1e+06",
    "anyorder.sample(order=10**5000)": "order is about 10^5000, must be at most 1e+06",
    "anyorder.train(order=[1])": "must be a whole number",
    "anyorder.estimators.bayes_under_transition_noise([0, 1], order=1, alphabet_size=5000, strength=0.1, "
    "concentration=1.0, nodes=4)": "4 nodes per axis over 5000 symbols are about 10^",
    "anyorder.train(order=1, out=3)": "the path is 3, must be a text or a Path",
    "anyorder.bayes([0, 1], order=1, alphabet_size=2, beta=fractions.Fraction(1, 2))": "beta is Fraction(1, 2), must",
    "anyorder.sample(order=1, length=8, seed=jax.random.split(jax.random.key(0), 2))": "must be an integer or a key",
    "anyorder.chains.Kernel([[0.5 + 0.5j, 0.5], [0.5, 0.5]])": "the kernel is not an array of numbers",
    "anyorder.chains.Kernel([['0.5', '0.5'], ['0.5', '0.5']])": "the kernel is not an array of numbers",
    "anyorder.chains.Reversible(1, 3, iterations=10**12)": "iterations is 1000000000000, must be at most 1e+06",
    "anyorder.chains.Reversible(1, 3, coupling=1e3)": "coupling is 1000.0, must be at most 10",
    "anyorder.chains.Reversible(1, 3, roughness=0)": "roughness is 0, must be at least 0.01",
    "anyorder.sample(prior=anyorder.chains.Floored(1000, 3), length=8)": "a dense kernel of order 1000 over 3 symbols",
    "anyorder.train(order=1, length=99_999_999)": "GiB are free; pass a smaller `seeds=`",
    "anyorder.train(order=1, seeds=10**9)": "GiB are free; pass a smaller `seeds=`",
    "anyorder.train(order=1, dimension=10**6)": "GiB are free; pass a smaller `seeds=`",
    "anyorder.verify('k-head', order=2, alphabet_size=2, length=8, sequences=10**30)": "must be at most 1e+06",
    "anyorder.construct('dyadic', order=2, alphabet_size=2, length=8, force='no')": "force is 'no', must be True",
    "anyorder.load(5)": "the path is 5, must be a text or a Path",
    "anyorder.save(anyorder.construct('bigram', order=1, alphabet_size=2, length=8), '/dev/null')": "is a device",
    "anyorder.estimators.orders([0, 1, 0], max_order=10**9, alphabet_size=2)": "max order is 1000000000, must",
    "anyorder.probing.Settings(length=99_999_999, sequences='a')": "sequences is 'a', must be a whole number",
    "anyorder.probe(anyorder.construct('k-head', order=2, alphabet_size=2, length=64), "
    "anyorder.probing.Settings(length=99_999_999))": "GiB are free; pass a smaller `length=`",
    "anyorder.dynamics.two_stage(anyorder.chains.Floored(1, 2), anyorder.dynamics.TwoStage(batch='a'))": "batch is 'a'",
    "anyorder.chains.OrderMixture('2')": "alphabet size is '2', must be a whole number",
    "anyorder.train(anyorder.Config(seeds=np.int64(3)))": "seeds is np.int64(3), must be of type int",
    "anyorder.train(anyorder.Config(seeds='3'))": "seeds is '3', must be of type int",
    "anyorder.train(anyorder.Config(data=3))": "data is 3, must be of type Data",
    "anyorder.train(anyorder.Config(optimisation=anyorder.training.Optimisation(learning_rate=0.1)))": (
        "learning rate is 0.1, must be a tuple, such as (0.012,)"
    ),
}


@pytest.mark.slow
def test_what_people_try_gets_an_answer_in_one_line():
    """In a new process, where annotations are not checked."""
    program = f"""
import anyorder, fractions, jax, numpy as np

SET = anyorder.training.evaluation_set(anyorder.training.Data(order=1, length=8), 16)
for call in {list(TRIED)}:
    try:
        print(repr(eval(call))[:60])
    except anyorder.InputError as error:
        print(error)
    except Exception as error:
        print(type(error).__name__, error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = result.stdout.splitlines()
    assert len(lines) == len(TRIED), result
    wrong = {call: line for (call, message), line in zip(TRIED.items(), lines, strict=True) if message not in line}
    assert wrong == {}


@pytest.mark.slow
def test_every_public_name_is_reachable_in_a_fresh_process():
    program = (
        "import anyorder; names = [name for name in dir(anyorder) if name != 'torch']; "
        "[getattr(anyorder, name) for name in names]; exec('from anyorder import *'); print(len(names))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 20


def test_completion_shows_what_is_public():
    assert {"Config", "Data", "PRESETS", "evaluate", "preset", "train"} <= set(dir(anyorder.training))
    assert {"OrderReport", "OrderStream", "StreamingEstimator", "kgram", "orders"} <= set(dir(anyorder.estimators))
    assert {"EXPERIMENTS", "Task", "registry", "run_all"} <= set(dir(anyorder.papers))
    assert {"Sweep", "carry_out", "plan_sweep", "read_sweep"} <= set(dir(anyorder.sweeps))
    assert {"draw_probe", "page", "write_report"} <= set(dir(anyorder.report))
    assert {"create_app", "export", "serve"} <= set(dir(anyorder.web))
    assert anyorder.cli.main


LATE = ["", ".chains", ".estimators", ".papers", ".papers.two_can.dynamics", ".report", ".sweeps", ".training", ".web"]


@pytest.mark.parametrize("name", LATE)
def test_what_is_loaded_late_is_what_a_type_checker_sees(name):
    package = importlib.import_module(f"anyorder{name}")
    tree = ast.parse(pathlib.Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    homes = {line: ".".join(filter(None, [package.__name__, line.module])) for line in lines}
    seen = {name.asname: homes[line] for line in lines for name in line.names}
    assert set(seen) == {*dir(package)}
    seen.pop("torch", None)  # an extra
    assert set(seen) == {*package.__all__} - {"__version__"}
    for name, home in seen.items():
        assert getattr(package, name) is getattr(importlib.import_module(home), name)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
def test_what_needs_pytorch_says_how_to_get_it():
    assert not hasattr(anyorder, "torch")
    with pytest.raises(AttributeError, match=r"anyorder.torch needs torch; pip install '.\[torch\]' in a clone"):
        anyorder.torch  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"pip install '.\[torch\]' in a clone"):
        importlib.import_module("anyorder.torch.model")


@pytest.mark.slow
def test_public_names_type_check_from_outside(tmp_path):
    (tmp_path / "outside.py").write_text(OUTSIDE + MISSPELT, encoding="utf-8")
    kept = f"--cache-dir={os.environ['ANYORDER_CACHE']}/mypy"
    words = [sys.executable, "-m", "mypy", kept, "--config-file", "", "--strict", "outside.py"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    errors = [line for line in result.stdout.splitlines() if " error: " in line]
    wrong = range(len(OUTSIDE.splitlines()) + 1, len((OUTSIDE + MISSPELT).splitlines()) + 1)
    assert {int(line.split(":")[1]) for line in errors} == set(wrong), result.stdout
    revealed = [line.split("Revealed type is ")[1] for line in result.stdout.splitlines() if "Revealed" in line]
    assert len(revealed) == 4
    assert not any("Any" in kind for kind in revealed), revealed


def test_an_integer_seeds_what_a_key_does():
    drawn = anyorder.sample(order=1, length=8, count=2, seed=3)
    keyed = anyorder.sample(order=1, length=8, count=2, seed=jax.random.key(3))
    other = anyorder.sample(order=1, length=8, count=2, seed=4)
    assert np.array_equal(drawn.tokens, keyed.tokens)
    assert not np.array_equal(drawn.tokens, other.tokens)


@pytest.mark.slow
def test_an_integer_is_a_key_for_every_public_function():
    """In the shapes of other tests. `Prior.draw`, which others override, takes keys alone."""
    prior = anyorder.chains.Dirichlet(2, 2)
    start = anyorder.dynamics.initial(length=16, a_2=0.1, order=2)
    for call in (
        lambda key: anyorder.chains.Source(prior, length=16).sample(key, 8),
        lambda key: anyorder.chains.conditions(prior, 0.2, key),
        lambda key: anyorder.dynamics.lag_scores_of(prior, key, lags=4, count=64),
        lambda key: anyorder.dynamics.agreement(start, prior, key, count=64).cosine,
        lambda key: anyorder.dynamics.limit(np.asarray(start.p), prior, key, length=16, count=8).to_bag,
        lambda key: anyorder.dynamics.evaluate({"start": start}, prior, key, length=16, epsilon=0.1, count=8).true_loss,
        lambda key: anyorder.training.evaluation_set(anyorder.training.Data(order=1, length=8), 16, key).tokens,
        lambda key: compare(key, order=1, length=9, count=64).true.mean,
    ):
        by_seed, by_key = call(3), call(jax.random.key(3))
        assert jax.tree.all(jax.tree.map(lambda one, other: np.array_equal(one, other), by_seed, by_key))


def test_bayes_is_add_one_smoothing():
    assert anyorder.bayes([0, 1, 0, 1, 1, 0], order=1, alphabet_size=2).probabilities[-1].tolist() == [0.25, 0.75]


@pytest.fixture(scope="module")
def model():
    return anyorder.construct("dyadic", order=2, alphabet_size=2, length=32)


def test_text_with_its_alphabet_goes_wherever_tokens_do(model):
    text, tokens = "abbabba", [0, 1, 1, 0, 1, 1, 0]
    np.testing.assert_array_equal(model(text, alphabet="ab"), model(tokens))
    np.testing.assert_array_equal(model.attention(text, alphabet="ab")[1], model.attention(tokens)[1])
    assert model.trace(text, alphabet="ab").points == model.trace(tokens).points
    floor = anyorder.estimators.floor(anyorder.chains.Source(anyorder.chains.Dirichlet(2, 2), length=7))
    np.testing.assert_array_equal(floor(text, alphabet="ab").probabilities, floor(tokens).probabilities)
    scored = anyorder.estimators.orders(text, max_order=2, alphabet="ab")
    assert scored == anyorder.estimators.orders(tokens, max_order=2, alphabet_size=2)
    for figure in (
        anyorder.plot.attention(model, text, alphabet="ab"),
        anyorder.plot.predictions(text, alphabet="ab", model=model),
    ):
        assert isinstance(figure, Figure)
    with pytest.raises(anyorder.InputError, match="has no alphabet"):
        model(text)


def test_what_is_shown_fits_on_a_line(model):
    losses = anyorder.estimators.summarise(np.full((4, 512), 0.5))
    plan = anyorder.constructions.plan("k-head", order=16, alphabet_size=2, length=64)
    maps = model.attention([0, 1, 1, 0, 1, 1, 0])
    evaluated = anyorder.training.evaluation_set(anyorder.training.Data(order=2, length=8), 16)
    measured, floor = anyorder.training.evaluate(model, evaluated), anyorder.estimators.floor(evaluated.source)
    assert repr(floor) == "Floor(bayes)"
    assert "<th>layer 2, matching mass</th>" in measured._repr_html_()
    assert repr(anyorder.sample(length=8)) == "Chains(1 sequence of 8 tokens, order 2 over 2 symbols)"
    for shown in (model, losses, plan, plan.build(), maps, evaluated, evaluated.reference, measured):
        assert len(repr(shown)) < 120
        assert "\n" not in repr(shown)
    assert "<th>layer 2, head 1</th><td>at 4: 1" in maps._repr_html_()  # where the token stands that followed 10
    batch = np.array([[0, 1, 1, 0, 1, 1, 0]] * 2)
    np.testing.assert_array_equal(jax.vmap(model.attention)(batch)[1][0], maps[1])
