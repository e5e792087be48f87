"""Time and memory of the probe against another version: `python -m benchmarks.probe_speed CHECKOUT [MODEL]`.

Run it with a Python that has PyTorch and JAX, on free cores. CHECKOUT is a folder with the code of version 0.2.0, for
example from `git worktree add --detach ../v020 faf0b41`. Both versions probe the same model with their default
settings, each in a new process; times exclude loading. Memory is the peak of the process, including loading, relative
to the float32 weights; the peak while probing is shown beside it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMOLLM2 = ROOT / "models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
#: Parameters of SmolLM2-135M; the output matrix is that of the embeddings.
WEIGHTS = 134_515_008
CHILD = """
import json, sys, time
try:
    from anyorder.probing import Settings, open_model, probe
except ImportError:
    from anyorder.probe import Settings, open_model, probe

def peak():
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

model = open_model(sys.argv[1])
loading = peak()
open("/proc/self/clear_refs", "w").write("5")  # the peak from here on
began, busy = time.perf_counter(), time.process_time()
probe(model, Settings(sequences=int(sys.argv[2])))
seconds, busy, probing = time.perf_counter() - began, time.process_time() - busy, peak()
times = {"seconds": seconds, "processor_seconds": busy}
print(json.dumps({**times, "peak_mb": max(loading, probing), "peak_probing_mb": probing}))
"""


def measured(checkout, model, sequences):
    """Seconds and megabytes of a version, in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "HF_HUB_OFFLINE": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", CHILD, str(model), str(sequences)]
    done = subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path, help="folder with the code of the other version")
    parser.add_argument("model", type=Path, nargs="?", default=SMOLLM2, help="a .gguf file that both read")
    parser.add_argument("--sequences", type=int, default=48)
    parser.add_argument("--weights", type=int, default=WEIGHTS, help="parameters of the model")
    given = parser.parse_args()
    new, old = (measured(folder, given.model.resolve(), given.sequences) for folder in (ROOT, given.checkout.resolve()))
    weights = given.weights * 4 / 2**20
    report = {
        "new": new,
        "old": old,
        "time_ratio": new["seconds"] / old["seconds"],
        "processor_time_ratio": new["processor_seconds"] / old["processor_seconds"],
        "memory_over_weights": new["peak_mb"] / weights,
        "memory_probing_over_weights": new["peak_probing_mb"] / weights,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
