"""Train the models of the zoo and write their files and cards: `python -m benchmarks.zoo RUNS [--write]`.

Each is seed 0 of its recipe, without selection. Runs in RUNS are reused, and resumed if unfinished. With `--write` the
files in `anyorder/zoo` are replaced. It takes about five minutes on one free core.
"""

import json
import pathlib
import shlex
import shutil
import sys

import anyorder
from anyorder import zoo
from anyorder.cli import main
from anyorder.constructions.parameters import count_arrays
from anyorder.io.atomic import read_json, write_json
from anyorder.probing import Settings
from anyorder.training.folder import read_config

#: Flags of `anyorder train`, and the purpose of each model.
RECIPES = {
    "fast": ("--preset fast", "Reaches the floor in the shortest time; the default of anyorder train."),
    "floor": ("--preset floor", "The recipe of the recorded results."),
    "one-layer": ("--preset fast --layers 1", "One attention layer, which cannot reach the floor at this order."),
    "mamba": ("--preset fast --mixer mamba --layers 1", "One layer of Mamba-2 with a convolution of three taps."),
    "pool": (
        "--preset fast --prior pool --chains 8 --order 1",
        "Sequences come from a pool of eight chains, which the model can memorise.",
    ),
    **{
        f"published-order-{order}": (
            f"--preset published --order {order} --steps 12000",
            "The architecture and recipe of the authors' code, at 12,000 of its 30,000 steps.",
        )
        for order in (1, 2, 3)
    },
}
#: Settings of the probe, the same for every model.
SETTINGS = Settings()


def card(name: str, folder: pathlib.Path) -> dict[str, object]:
    """The content of a card: the recipe, and the numbers of the finished run and of the probe."""
    flags, point = RECIPES[name]
    config, summary = read_config(folder), read_json(folder / "summary.json", "a finished run")
    model, found = anyorder.load(folder / "model-0.safetensors"), summary["models"][0]
    data, reference = config.data, summary["reference"]
    probed = anyorder.probe(folder, SETTINGS)
    order = data.order
    kept = ("loss", "true_loss", "excess", "excess_error", "gap", "gap_error")
    nearest = min(found["divergence"], key=lambda name: found["divergence"][name]["mean"])
    return {
        "title": f"{name}: order {order}, gap {found['gap']:+.4f} nats",
        "about": f"{point} Seed 0 of anyorder train {flags} --seeds 1. Gap to the Bayes floor: "
        f"{found['gap']:+.5f} ± {found['gap_error']:.5f} nats on {config.measurement.evaluation_count:,} sequences.",
        "order": order,
        "command": f"anyorder train {flags} --seeds 1 --out RUN",
        "data": {"prior": data.prior, "alphabet_size": data.alphabet_size, "length": data.length}
        | ({"chains": data.chains, "pool_seed": data.pool_seed} if data.prior == "pool" else {}),
        "steps": config.optimisation.steps,
        "seed": config.seed,
        "sequences": config.measurement.evaluation_count,
        "evaluation_seed": config.measurement.evaluation_seed,
        **{name: float(f"{found[name]:.4g}") for name in kept},
        "floor_excess": float(f"{reference['floor_excess']:.4g}"),
        "follows": nearest,
        "heads": [
            {"layer": head.layer, "head": head.head, "kind": head.kind, "order": head.found.order}
            for head in probed.heads
        ],
        "parameters": count_arrays(model),
        "bytes": (folder / "model-0.safetensors").stat().st_size,
    }


def run(runs: pathlib.Path, write: bool) -> None:
    """Train missing models, and print or write every card."""
    for name, (flags, _) in RECIPES.items():
        folder = runs / name
        if not (folder / "summary.json").exists():
            fresh = [*shlex.split(flags), "--seeds", "1", "--out", str(folder)]
            assert main(["train", *(["--resume", str(folder)] if folder.exists() else fresh)]) == 0
        found = card(name, folder)
        print(json.dumps({name: found}))
        if write:
            shutil.copyfile(folder / "model-0.safetensors", zoo.FOLDER / f"{name}.safetensors")
            write_json(zoo.FOLDER / f"{name}.json", found)


if __name__ == "__main__":
    run(pathlib.Path(sys.argv[1]), "--write" in sys.argv)
