"""Choose the adapter for a model, given as an object or as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from anyorder import zoo
from anyorder.errors import InputError, require
from anyorder.io.gates import gated
from anyorder.probing.adapters import CallableModel, HuggingFaceModel, TransformerLensModel
from anyorder.probing.measurement import Settings
from anyorder.probing.protocol import Model, OwnModel

CONSTRUCTION = "construction:"
#: Suffixes of files with pickled weights: opening such a file can run code.
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_CONVERT = (
    "convert it where you trust it: "
    "AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW, safe_serialization=True), then probe NEW"
)
_KINDS = "a run folder, a .safetensors model of anyorder, a Hugging Face folder, a .gguf or a .npz"


def as_model(given: Any, settings: Settings | None = None) -> Model:
    """The object as a `Model`; classes are recognised by their attributes, so that no framework is imported.

    >>> from anyorder.constructions import construct
    >>> as_model(construct("k-head", order=2, alphabet_size=3, length=8)).heads
    (2, 1)
    """
    if isinstance(given, str | Path):
        return open_model(given, settings)
    if hasattr(given, "run"):
        return cast(Model, given)
    if hasattr(given, "layers") and hasattr(given, "trace"):
        return OwnModel(given, "model")
    if hasattr(given, "run_with_hooks"):
        return TransformerLensModel(given)
    if hasattr(given, "named_modules") and hasattr(given, "config"):
        return HuggingFaceModel(model=given)
    require(
        callable(given),
        f"an object of type {type(given).__name__} cannot be probed; give {_KINDS}, a model, or a function from token "
        "ids to attention",
    )
    return CallableModel(given)


@gated
def open_model(
    word: str | Path,
    settings: Settings | None = None,
    *,
    order: int | None = None,
    alphabet_size: int = 4,
    member: int = 0,
) -> Model:
    """Open a model: `construction:NAME` with an order, `zoo:NAME`, or a path.

    >>> open_model("construction:k-head", order=3).heads
    (3, 1)
    """
    name = str(word)
    if name.startswith(CONSTRUCTION):
        require(order is not None, f"{name} needs an order; pass `order=1` or more")
        from anyorder.constructions import construct

        assert order is not None
        name, length = name.removeprefix(CONSTRUCTION), (settings or Settings()).test_length
        model = construct(name, order=order, alphabet_size=alphabet_size, length=length)
        return OwnModel(model, f"{name}, order {order}", {"construction": name, "order": order})
    if name.startswith(zoo.PREFIX):
        from anyorder.models import load

        return OwnModel(load(name), name, context=zoo.card(name.removeprefix(zoo.PREFIX))["data"]["length"])
    path = Path(word)
    require(path.exists(), f"no file or folder {path}; give {_KINDS}, construction:NAME or zoo:NAME")
    if path.suffix in PICKLED:
        raise InputError(f"{path} has pickled weights, and opening a pickle can run any code; {_CONVERT}")
    if path.is_dir():
        return _folder(path, member)
    if path.suffix == ".gguf":
        from anyorder.probing.adapters.gguf import GGUFModel

        return GGUFModel(path)
    require(path.suffix == ".safetensors", f"{path} is not a model that can be probed; give {_KINDS}")
    from anyorder.models import load

    return OwnModel(load(path), path.name)


def _folder(path: Path, member: int) -> Model:
    from anyorder.training.folder import METRICS, read_config, read_models

    if (path / METRICS).exists():
        step, models = read_models(path)
        require(0 <= member < len(models), f"member is {member}, the run in {path} has 0 to {len(models) - 1}")
        name, context = f"{path.name}, model {member}, step {step}", read_config(path).data.length
        return OwnModel(models[member], name, {"step": step}, context=context)
    require((path / "config.json").exists(), f"{path} contains no config.json; give {_KINDS}")
    weights = [file.name for file in sorted(path.iterdir()) if file.suffix in (".safetensors", *PICKLED)]
    if not any(name.endswith(".safetensors") for name in weights):
        pickled = "only pickled weights, and opening a pickle can run any code"
        raise InputError(f"{path} contains {pickled if weights else 'no weights'}; {_CONVERT}")
    return HuggingFaceModel(path)
