"""User-defined sources and models: trained, stored, resumed, and rejected if they differ."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anyorder
from anyorder import chains, training
from anyorder.errors import InputError
from anyorder.training.own import fingerprint, source_fields

TINY = {"seeds": 2, "steps": 40, "batch": 8, "length": 8, "evaluation_count": 16, "progress": False}
TINY |= {"optimiser": "adamw", "learning_rate": 0.02, "checkpoint_every": 20, "evaluate_every": 20, "warmup": 4}


class Alike(chains.Prior):
    """Both rows the same, so that the counts of symbols are a sufficient statistic."""

    low: float = 0.1

    def draw(self, key, dtype=jnp.float64):
        one = self.low + (1 - 2 * self.low) * jax.random.uniform(key, (), dtype)
        return jnp.broadcast_to(jnp.stack([1 - one, one]), (2, 2))


class Counts(eqx.Module):
    """Logits from the share of every symbol so far; parts in a list, integers among the arrays."""

    layers: list
    places: jax.Array

    def __init__(self, key, width=4):
        self.layers = [eqx.nn.Linear(2, width, key=key), eqx.nn.Linear(width, 2, key=key)]
        self.places = jnp.arange(1, 65)

    def __call__(self, tokens):
        dtype = self.layers[0].weight.dtype
        seen = jnp.cumsum(jax.nn.one_hot(tokens, 2, dtype=dtype), axis=0) / self.places[: len(tokens), None]
        return jax.vmap(lambda row: self.layers[1](jax.nn.relu(self.layers[0](row.astype(dtype)))))(seen)


class OtherCounts(Counts):
    def __call__(self, tokens):
        return 2 * super().__call__(tokens)


def counting_floor(tokens):
    """A plain NumPy function; the prior is uniform on [0, 1] for low = 0."""
    ones = np.cumsum(np.asarray(tokens)[1:], dtype=float)
    share = (np.concatenate([[0.0], ones]) + 1) / (np.arange(len(tokens)) + 2)
    return np.stack([1 - share, share], axis=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "run"
    return folder, anyorder.train(source=Alike(1, 2, low=0.0), model=Counts, floor=counting_floor, out=folder, **TINY)


def test_a_module_is_trained_on_a_prior_of_ones_own_against_a_floor_of_ones_own(run):
    _, trained = run
    first, last = (
        [line["gap"] for line in trained.metrics if line["kind"] == "evaluation" and line["step"] == step]
        for step in (0, 40)
    )
    assert np.mean(last) < np.mean(first) / 2
    assert trained.summary.models[0].output == "logits"
    assert not eqx.tree_equal(*trained.models)  # a function of a key varies the seeds
    # the floor is add-one smoothing of the symbols after the first
    divergence = trained.summary.models[0].divergence
    assert divergence["floor"].by_position == pytest.approx(divergence["order-0"].by_position, rel=1e-9)


def test_its_folder_is_loaded_and_resumed_with_the_same_code(run, tmp_path):
    folder, trained = run
    step, models = training.read_models(folder, Counts)
    assert step == 40
    assert all(eqx.tree_equal(one, other) for one, other in zip(models, trained.models, strict=True))
    given = {"source": Alike(1, 2, low=0.0), "model": Counts, "floor": counting_floor, "out": tmp_path / "half"} | TINY
    assert anyorder.train(**given, stop=lambda: True).step == 0
    resumed = anyorder.train(**given, resume=True)
    assert all(eqx.tree_equal(one, other) for one, other in zip(resumed.models, trained.models, strict=True))
    assert (tmp_path / "half/metrics.jsonl").read_text() == (folder / "metrics.jsonl").read_text()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": None}, "the run has a model defined in a program, Counts of 5 arrays"),
        ({"model": OtherCounts}, "the run has the model Counts of .*, this is OtherCounts of"),
        ({"model": lambda key: Counts(key, width=5)}, "with 86 numbers .*, this is Counts of 5 arrays with 91 numbers"),
        ({"source": None}, "the run has a source defined in a program, Alike of 1 arrays"),
        ({"source": Alike(1, 2, low=0.25)}, "the run has the source Alike of .*, this is Alike of"),
    ],
)
def test_another_class_tree_shape_or_number_is_refused_in_a_line(run, changed, message):
    given = {"source": Alike(1, 2, low=0.0), "model": Counts, "floor": counting_floor} | TINY | changed
    with pytest.raises(InputError, match=message) as caught:
        anyorder.train(out=run[0], resume=True, **given)
    assert "\n" not in str(caught.value)


def test_changed_code_is_refused(run, monkeypatch):
    monkeypatch.setattr("anyorder.training.own.inspect.getsource", lambda kind: "class Counts: pass")
    with pytest.raises(InputError, match=r"code [0-9a-f]{8}, this is Counts of .* code [0-9a-f]{8}; start again"):
        training.read_models(run[0], Counts)


def test_commands_say_that_only_the_program_knows_the_source(run, capsys):
    from anyorder.cli import main

    assert main(["evaluate", str(run[0])]) == 2
    assert "defined in a program, Counts of 5 arrays" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"Alike of .* is known only to the program that trained on it; call"):
        _ = training.read_config(run[0]).evaluation
    with pytest.raises(InputError, match="contains 'anyorder weights of a module 1', must be"):
        anyorder.load(run[0] / "model-0.safetensors")


def test_a_module_starts_every_seed_from_its_own_weights():
    module = Counts(jax.random.key(3))
    trained = anyorder.train(model=module, order=1, **TINY | {"steps": 1, "learning_rate": 1e-9})
    for one in trained.models:
        np.testing.assert_allclose(one.layers[0].weight, module.layers[0].weight, atol=1e-6)
        assert one.layers[0].weight.dtype == jnp.float32
    with pytest.raises(InputError, match=r"the model returns shape \(8, 2\) for 8 tokens, must be \(8, 3\)"):
        anyorder.train(model=module, order=1, alphabet_size=3, **TINY)
    with pytest.raises(InputError, match="the model is a int, must be an Architecture, an Equinox module"):
        anyorder.train(model=lambda key: 3, order=1, **TINY)
    with pytest.raises(InputError, match=r"the model fails on a key: TypeError: .*; it must be an Architecture"):
        anyorder.train(model=lambda: module, order=1, **TINY)
    with pytest.raises(InputError, match="`layers=` together with `model=`, which has its own; drop it"):
        anyorder.train(model=module, order=1, layers=3, **TINY)


@pytest.mark.slow
def test_our_architecture_and_our_models_are_models_too():
    small = training.Architecture(layers=1, dimension=4, mlp="none")
    one = anyorder.train(model=small, order=1, **TINY | {"steps": 1})
    assert one.models[0].dimension == 4
    again = anyorder.train(model=one.models[0], order=1, **TINY | {"steps": 1})
    assert again.models[0].dimension == 4


@pytest.mark.parametrize(
    "source",
    [
        chains.Source(chains.Tree(alphabet_size=2, depth=2, concentration=0.5), length=9),
        chains.Source(chains.Pool(1, 3, chains=4, pool_seed=2), length=9, per_kernel=2),
        chains.Source(chains.Floored(1, 2, gamma=0.3), length=5, noise=chains.TokenNoise(0.25)),
        chains.Source(chains.Dirichlet(2, 2), length=7, start="stationary", noise=chains.TransitionNoise(0.5)),
    ],
)
def test_sources_that_have_names_become_fields_of_the_config(source):
    config = training.changed(anyorder.Config(), source_fields(source))
    assert config.own_source is None
    assert bool(eqx.tree_equal(config.source, source))


def test_sources_without_names_are_known_by_their_numbers():
    kernel, other = chains.Kernel([[0.9, 0.1], [0.5, 0.5]]), chains.Kernel([[0.8, 0.2], [0.5, 0.5]])
    first, second = (source_fields(chains.as_source(one))["own_source"] for one in (kernel, other))
    assert first.startswith("PointMass of 1 arrays with 4 numbers in float64")
    assert first != second
    with pytest.raises(InputError, match="order is 2, the source has 1; drop `order=`"):
        anyorder.train(source=kernel, order=2)


def test_a_fingerprint_does_not_depend_on_weights_or_memory():
    one, other = Counts(jax.random.key(0)), Counts(jax.random.key(1))
    assert fingerprint(one) == fingerprint(other)
    assert json.dumps(fingerprint(one))
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float16) if leaf.dtype == jnp.float64 else leaf, one)
    assert fingerprint(wide) != fingerprint(one)
    assert dataclasses.is_dataclass(Alike)
