"""Hugging Face models with eager attention; reads only safetensors and never runs code from the folder."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import safetensors
from jaxtyping import Int

from anyorder.errors import InputError, in_a_line, require, shown
from anyorder.io.gates import check_memory, open_regular, read_bytes
from anyorder.probing.protocol import Look, Place

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

#: Names of the output projection in the attention modules of common models.
PROJECTIONS = ("o_proj", "out_proj", "c_proj", "dense", "wo")
#: Largest context length accepted.
MOST_CONTEXT = 1 << 24
#: Bytes of a config.
_MOST_CONFIG = 1 << 25


class HuggingFaceModel:
    """A causal language model: a folder written by `save_pretrained`, or a loaded model."""

    def __init__(
        self,
        source: str | Path | PreTrainedModel | None = None,
        *,
        model: PreTrainedModel | None = None,
        name: str | None = None,
    ) -> None:
        self._torch, transformers = frameworks("Hugging Face folders")
        path = source if isinstance(source, str | Path) else None
        if path is not None:
            model = _read_folder(transformers, self._torch, Path(path))
        elif model is None:
            require(
                hasattr(source, "config"), f"{type(source).__name__} is neither a folder nor a model of transformers"
            )
            model = cast("PreTrainedModel", source)
        require(
            getattr(model.config, "_attn_implementation", "eager") == "eager",
            'the model does not keep its attention; load it with attn_implementation="eager"',
        )
        self.model, config = model.eval(), model.config
        self.name = name or (Path(path).name if path is not None else type(model).__name__)
        self.heads = (int(config.num_attention_heads),) * int(config.num_hidden_layers)
        require(len(self.heads) > 0, f"{self.name} has no layers, so there are no heads to probe")
        given = [getattr(config, f"{kind}_token_id", None) for kind in ("bos", "eos", "pad", "unk")]
        special = {token for one in given for token in (one if isinstance(one, list) else [one])}  # eos may be several
        size = int(config.vocab_size)
        ids = [token for token in range(size) if token not in special]
        self.ids = np.asarray(ids if len(ids) >= 2 else range(size))
        start = getattr(config, "bos_token_id", None)
        self.start = int(start) if isinstance(start, int) and 0 <= start < size else None
        places = getattr(config, "max_position_embeddings", None)
        self.context = None if places is None else int(places) - (self.start is not None)
        self.about: dict[str, object] = {"architecture": config.model_type}

    def run(
        self,
        tokens: Int[np.ndarray, "rows"],
        *,
        layers: Sequence[int] = (),
        off: Sequence[Place] = (),
        write: Mapping[Place, Tensor] | None = None,
    ) -> Look:
        """Log-probabilities after every token, and the attention of `layers`."""
        instead = dict.fromkeys(off, 0.0) | dict(write or {})
        out = self._run(self.model, tokens, bool(layers), instead)
        logs = out.logits[0].float()
        for rows in logs.split(16):  # one copy of all logits is large enough
            rows.copy_(rows.log_softmax(dim=-1))
        return Look(logs.numpy(), {layer: out.attentions[layer][0].float().numpy() for layer in layers})

    def attend(self, tokens: Int[np.ndarray, "rows"], layers: Sequence[int]) -> Look:
        """The attention of `layers` without logits, which are expensive for a large vocabulary."""
        out = self._run(self.model.base_model, tokens, True, {})
        return Look(None, {layer: out.attentions[layer][0].float().numpy() for layer in layers})

    def written(self, tokens: Int[np.ndarray, "rows"]) -> dict[Place, Tensor]:
        """The output of every head, before the output projection, for `run(…, write=…)`."""
        kept: dict[Place, Tensor] = {}
        self._run(self.model.base_model, tokens, False, {}, kept)
        return kept

    def _run(
        self,
        model: Module,
        tokens: Int[np.ndarray, "rows"],
        attention: bool,
        instead: Mapping[Place, Tensor | float],
        kept: dict[Place, Tensor] | None = None,
    ) -> Any:
        try:
            with self._torch.no_grad(), _changed(self.model, self.heads, instead, kept):
                return model(self._torch.as_tensor(tokens)[None], output_attentions=attention, use_cache=False)
        except InputError:
            raise
        except Exception as error:  # inconsistent sizes fail only here
            raise InputError(f"{self.name} cannot be run on {len(tokens)} tokens ({in_a_line(error)})") from None


def frameworks(needing: str) -> tuple[ModuleType, ModuleType]:
    """PyTorch and transformers, or an error with the installation command."""
    try:
        import torch
        import transformers
    except ImportError:
        raise InputError(
            f"{needing} need PyTorch and transformers, which are not installed; pip install '.[torch]' in a clone"
        ) from None
    return torch, transformers


def _read_folder(transformers: ModuleType, torch: ModuleType, path: Path) -> PreTrainedModel:
    try:  # not `read_json`: configs of others may hold Infinity
        config = json.loads(read_bytes(path / "config.json", "a Hugging Face folder", most=_MOST_CONFIG))
        require(
            isinstance(config, dict),
            f"{path / 'config.json'} is not a JSON object; give a complete Hugging Face folder",
        )
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path / 'config.json'} is not valid JSON; give a complete Hugging Face folder") from None
    require(
        "auto_map" not in config,
        f"{path} contains code, which is never run here; load the model yourself and pass it to HuggingFaceModel",
    )
    _check_sizes(transformers, torch, path, config)
    return load_pretrained(transformers, torch, path, use_safetensors=True)


def _check_sizes(transformers: ModuleType, torch: ModuleType, path: Path, config: Mapping[str, Any]) -> None:
    """Reject files that are not regular, and sizes that no tensor has, because `transformers` would allocate them."""
    shapes: list[list[int]] = []
    for file in sorted(path.iterdir()):
        if file.suffix in (".json", ".safetensors"):
            with open_regular(file, "a complete Hugging Face folder"):
                pass
        if file.suffix == ".safetensors":
            try:
                with safetensors.safe_open(file, "np") as weights:
                    shapes += [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
            except (safetensors.SafetensorError, MemoryError) as error:
                raise InputError(f"{file} is not a complete safetensors file ({in_a_line(error)}); get one") from None
    largest = max((side for shape in shapes for side in shape), default=0)
    for name, number in _whole_numbers(config):
        most = MOST_CONTEXT
        if any(part in name for part in ("size", "embd", "head", "inner", "dim", "expert")):
            most = largest
        elif "layer" in name:
            most = len(shapes)
        fits = number <= most or name.endswith(("theta", "base"))  # of rotations
        said = f"{path} has {name} {shown(number)}, its {len(shapes)} tensors allow at most {most}; get it again"
        require(fits, said)
    held = sum(math.prod(shape) for shape in shapes)
    check_memory(4 * held, f"{path} in float32", "probe a smaller model")
    with contextlib.suppress(Exception), torch.device("meta"):  # the reason is stated when the model is opened
        known = transformers.AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        empty = transformers.AutoModelForCausalLM.from_config(known, trust_remote_code=False)
        held -= -(-sum(weight.numel() for weight in empty.parameters()) // 8)  # quantised files pack up to 8 in one
    require(held >= 0, f"{path} has fewer or smaller tensors than its config states; get it again")


def _whole_numbers(config: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """The integers of a config, including nested ones, with the names of their fields."""
    if isinstance(config, dict):
        for key, value in config.items():
            yield from _whole_numbers(value, key)
    elif isinstance(config, list):
        for value in config:
            yield from _whole_numbers(value, name)
    elif isinstance(config, int):
        yield name, config


def load_pretrained(transformers: ModuleType, torch: ModuleType, path: Path, **how: object) -> PreTrainedModel:
    """A causal language model with eager attention in float32; missing weights are an error."""
    name = how.get("gguf_file", path)
    try:
        model, found = transformers.AutoModelForCausalLM.from_pretrained(
            path,
            attn_implementation="eager",
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **how,
        )
    except Exception as error:  # damaged files raise many kinds of errors
        if "ignore_mismatched_sizes" in str(error):
            raise InputError(f"{name} has tensors whose shapes differ from its config; get it again") from None
        said = f"{name} is not a causal language model that transformers can open ({in_a_line(error)})"
        raise InputError(said) from None
    wrong = sorted(found["missing_keys"]) + sorted(map(str, found["mismatched_keys"]))
    require(not wrong, f"{name} lacks {len(wrong)} weights, such as {wrong[0] if wrong else ''}; get it again")
    return model


@contextlib.contextmanager
def _changed(
    model: PreTrainedModel,
    heads: tuple[int, ...],
    instead: Mapping[Place, Tensor | float],
    kept: dict[Place, Tensor] | None = None,
) -> Iterator[None]:
    """Replace the outputs of some heads before the output projection, and record the outputs of all."""
    if not instead and kept is None:
        yield
        return
    found = [
        module
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in PROJECTIONS and "att" in name.rpartition(".")[0].rpartition(".")[2]
    ]
    require(
        len(found) == len(heads),
        f"heads cannot be switched off or replaced: {len(found)} matrices after attention found for {len(heads)} "
        "layers; probe without ablation and paths",
    )

    def hook(layer: int) -> Callable[[Module, tuple[Tensor, ...]], tuple[Tensor, ...]]:
        def change(_: Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            mixed = inputs[0].clone()
            by_head = mixed.unflatten(-1, (heads[layer], -1))
            for head in range(heads[layer]):
                if (layer, head) in instead:
                    by_head[..., head, :] = instead[layer, head]
                if kept is not None:
                    kept[layer, head] = by_head[..., head, :]
            return (mixed, *inputs[1:])

        return change

    handles = [module.register_forward_pre_hook(hook(layer)) for layer, module in enumerate(found)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
