"""Inject faults into commands at random moments, resume them, and compare every byte with an undisturbed run.

`python -m benchmarks.crashes --count 200` prints the numbers of attempts and of identical results. Commands are real
processes with tiny settings; they are forked from one that has JAX imported, so that they spend most of their time on
writing and not on starting. Half of the faults (`Blow`) come at any moment, half right after a file has changed.

`--also versions` resumes runs whose `config.json` names other versions, `--also races` starts two commands in one
folder at once, `--also locks` lets processes lock one folder repeatedly and counts how often two have it locked.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from anyorder.errors import InputError
from anyorder.io.atomic import locked
from anyorder.papers.experiment import SECONDS

PRELOADED = (
    "anyorder.cli.training",
    "anyorder.training.run",
    "anyorder.papers.two_can.dynamics",
    "anyorder.papers.registry",
    "anyorder.report.demo_page",
    "anyorder.probing",
)
#: Version of Linux's capabilities, and the two that let root read and write regardless of file modes.
_CAPABILITIES, _OVERRIDE = 0x20080522, 0b110
#: Seconds after which a command counts as hanging.
PATIENCE = 300.0
#: Faults per run before it is left to finish.
MOST_BLOWS = 2
#: Attempts to hit a run before its end.
MOST_TURNS = 6
TRAIN = """--order 1 --length 6 --layers 1 --dimension 4 --mlp none --no-beginning --batch 4 --warmup 3 --seeds 1
--evaluation-count 16 --steps 600 --evaluate-every 60 --checkpoint-every 40 --learning-rate 0.01"""
DEMO = "demo --orders 1 --steps 40 --count 64 --length 17"
PROBE = "probe construction:k-head --order 2 --sequences 6 --length 110"
EXPORT = "export k-head --order 2 --alphabet-size 2 --length 16 --sequences 4"
TOML = """preset = "paper"
seeds = 2
[set]
order = 1
length = 6
layers = 1
dimension = 4
mlp = "none"
batch = 4
steps = 100
warmup = 3
evaluation_count = 16
[axes]
learning_rate = [1e-3, 1e-2, 1e-1]
"""


class Job(NamedTuple):
    """A command: its arguments to start and to resume in a folder; `once` if it rejects a finished folder."""

    begin: tuple[str, ...]
    resume: tuple[str, ...] | None = None
    once: bool = False

    def words(self, folder: Path) -> list[str]:
        """The command that starts or resumes, depending on the content of the folder."""
        begun = self.resume is not None and (folder / "config.json").exists()
        return [*(self.resume if begun and self.resume else self.begin), str(folder)]


def jobs(sweep: Path) -> dict[str, Job]:
    sweep.write_text(TOML)
    dynamics = ("dynamics", "two-stage", "--steps", "20", "--steps-2", "20", "--length", "16", "--batch", "8")
    return {
        "train": Job(("train", *TRAIN.split(), "--out"), ("train", "--resume")),
        "sweep": Job(("sweep", str(sweep), "--workers", "1", "--out")),
        "reproduce": Job(("reproduce", "depth", "--budget", "tiny", "--seeds", "1", "--out")),
        "dynamics": Job((*dynamics, "--out")),
        "demo": Job((*DEMO.split(), "--out")),
        "probe": Job((*PROBE.split(), "--out")),
        "export": Job((*EXPORT.split(), "--out"), once=True),
    }


class Blow(NamedTuple):
    """A fault: a signal after some seconds or some changes of files, or a limit on the size of files.

    Other faults make the folder read-only, or make the clock run backwards from a time before that of the files.
    """

    kind: str
    seconds: float | None = None
    changes: int | None = None
    size: int | None = None


#: Kind of fault → allowed exit codes; 0 if the command had ended before.
CODES = {
    "KILL": (-signal.SIGKILL, 0),
    "TERM": (143, 0),
    "INT": (130, 0),
    "FULL": (2, 1, 0),
    "READ-ONLY": (2, 0),
    "CLOCK": (0,),
}


def _command(words: list[str], log: str, blow: Blow | None) -> None:
    """Run a command in its own process, with its output in a file."""
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.stderr = sys.stdout = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    kind = None if blow is None else blow.kind
    if blow is not None and blow.size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (blow.size, blow.size))
    if kind == "CLOCK":
        ticks, now = itertools.count(), time.time()
        time.time = lambda: now - 86_400 - 60 * next(ticks)
    if kind == "READ-ONLY":
        library, held = ctypes.CDLL(None), (ctypes.c_uint32 * 6)()
        library.capget((ctypes.c_uint32 * 2)(_CAPABILITIES, 0), held)
        for place in (0, 1):  # effective and permitted
            held[place] &= ~_OVERRIDE
        library.capset((ctypes.c_uint32 * 2)(_CAPABILITIES, 0), held)
    from anyorder.cli import main

    sys.exit(main(words))


class Ring:
    """The setting of all attempts: a folder for logs, one for every attempt, and the results of undisturbed runs."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.jobs = jobs(folder / "tiny.toml")
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(list(PRELOADED))
        self.expected: dict[str, dict[str, bytes]] = {}
        self.took: dict[str, float] = {}

    def undisturbed(self, name: str) -> None:
        """The undisturbed result of a job, twice: the second time with everything compiled, for its time."""
        for turn in ("compiled", "whole"):
            out = self.folder / f"{name}-{turn}"
            begun = time.monotonic()
            code, said = self.run(name, out, None)
            self.took[name] = time.monotonic() - begun
            assert code == 0, f"{name} fails without a blow: {said}"
            found = contents(out)
            differs = difference(found, self.expected.setdefault(name, found))
            assert not differs, f"two equal runs of {name} differ in {differs}"

    def run(self, name: str, out: Path, blow: Blow | None) -> tuple[int, str]:
        """Start or resume a job, perhaps with a fault; return the exit code and the output."""
        log = self.folder / "said"
        log.unlink(missing_ok=True)
        kind = None if blow is None else blow.kind
        process = self.start(name, out, log, blow)
        if blow is not None and blow.size is None:
            wait(process, out, blow)
            if kind == "READ-ONLY":
                allow(out, write=False)
            elif process.is_alive() and kind != "CLOCK":
                with contextlib.suppress(ProcessLookupError):  # it ended in between
                    os.kill(process.pid, getattr(signal, f"SIG{kind}"))
        code = ended(process)
        if kind == "READ-ONLY":
            allow(out, write=True)
        return code, log.read_text() if log.exists() else ""

    def start(self, name: str, out: Path, log: Path, blow: Blow | None = None) -> multiprocessing.process.BaseProcess:
        """A process that starts or resumes a job."""
        process = self.context.Process(target=_command, args=(self.jobs[name].words(out), str(log), blow))
        process.start()
        return process

    def blow(self, name: str, kind: str) -> Blow:
        """A fault of this kind at a random moment."""
        if kind == "FULL":
            largest = max(map(len, self.expected[name].values()))
            return Blow(kind, size=int(largest * self.random.random() ** 3))
        if kind == "CLOCK":
            return Blow(kind, seconds=0.0)
        if self.random.random() < 0.5:
            return Blow(kind, seconds=self.random.random() * self.took[name])
        return Blow(kind, changes=self.random.randint(1, 3 * len(self.expected[name])))

    def attempt(self, number: int, name: str, kinds: Sequence[str] = ()) -> str:
        """One run with faults; empty if it ends with the bytes of an undisturbed run, otherwise a description."""
        out, story = self.folder / f"{name}-{number}", []
        for kind in kinds or self.random.choices(list(CODES), k=self.random.randint(1, MOST_BLOWS)):
            blow = self.blow(name, kind)
            code, said = self.run(name, out, blow)
            story.append(f"{blow.kind} {blow[1:]} -> {code}")
            if code not in CODES[blow.kind] or "Traceback" in said:
                return f"{name}: {'; '.join(story)}: {said[-400:]}"
            if code == 0 and self.jobs[name].once:
                break
        code, said = self.run(name, out, None)
        done = self.jobs[name].once and "already contains an export" in said
        if code != 0 and not done:
            return f"{name}: {'; '.join(story)}; going on -> {code}: {said[-400:]}"
        differs = difference(contents(out), self.expected[name])
        return f"{name}: {'; '.join(story)}; differs in {differs}" if differs else ""

    def another_version(self, number: int) -> str:
        """Resume a training run of another version, which must be reported and give the bytes of this version."""
        for turn in range(MOST_TURNS):
            out = self.folder / f"versions-{number}-{turn}"
            code, said = self.run("train", out, self.blow("train", "KILL"))
            file = out / "config.json"
            if code != 0 and file.exists():
                break
        else:
            return f"versions: no run was struck after it had begun and before it ended, of {MOST_TURNS}"
        begun = json.loads(file.read_text())
        file.write_text(json.dumps(begun | {"versions": begun["versions"] | {"anyorder": "0.0.1", "jax": "0.0.1"}}))
        code, said = self.run("train", out, None)
        if code != 0 or "was begun with" not in said or said.count("\n") > 40:
            return f"versions: going on -> {code}: {said[-400:]}"
        differs = difference(contents(out) | {"config.json": b""}, self.expected["train"] | {"config.json": b""})
        return f"versions: differs in {differs}" if differs else ""

    def race(self, number: int, name: str) -> str:
        """Start a job twice in one folder: one process does the work, the other is rejected or finds it done."""
        out, logs = self.folder / f"race-{number}", [self.folder / f"race-{number}-{turn}.log" for turn in (1, 2)]
        both = [self.start(name, out, log) for log in logs]
        codes = sorted(map(ended, both))
        said = " | ".join(log.read_text()[-200:] for log in logs)
        if codes not in ([0, 0], [0, 2]) or "Traceback" in said or (codes[1] and not re.search("in use|already", said)):
            return f"race of {name}: {codes}: {said}"
        differs = difference(contents(out), self.expected[name])
        return f"race of {name}: {codes}, differs in {differs}" if differs else ""


def _locker(
    folder: str, rounds: int, together: multiprocessing.synchronize.Barrier, found: multiprocessing.queues.Queue
) -> None:
    """Lock a folder this many times; count how often another process held it at the same time."""
    held, refused, shared, alone = 0, 0, 0, Path(folder).with_name("alone")
    together.wait(PATIENCE)
    while held < rounds:
        try:
            with locked(folder):
                held += 1
                try:
                    os.close(os.open(alone, os.O_CREAT | os.O_EXCL))
                    time.sleep(0.001)  # the others try meanwhile
                    alone.unlink()
                except FileExistsError:
                    shared += 1
        except InputError:
            refused += 1
    found.put((held, refused, shared))


def locks(folder: Path, processes: int = 4, rounds: int = 500) -> tuple[int, int, int]:
    """Let processes compete for a folder; count successful and rejected locks, and locks held by two at once."""
    context = multiprocessing.get_context("fork")
    found, together = context.Queue(), context.Barrier(processes)
    workers = [context.Process(target=_locker, args=(str(folder), rounds, together, found)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    counts = [found.get(timeout=PATIENCE) for _ in workers]
    for worker in workers:
        ended(worker)
    held, refused, shared = map(sum, zip(*counts, strict=True))
    return held, refused, shared


def ended(process: multiprocessing.process.BaseProcess) -> int:
    """The exit code of a process, or -999 for one that hangs."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
        return -999
    return process.exitcode


def allow(out: Path, *, write: bool) -> None:
    """Make a folder and those in it writable, or not."""
    for path in (out, *out.rglob("*/")):
        with contextlib.suppress(OSError):  # they come and go meanwhile
            path.chmod(0o755 if write else 0o555)


def wait(process: multiprocessing.process.BaseProcess, out: Path, blow: Blow) -> None:
    """Wait for the moment of a fault, or the end of the process."""
    if blow.seconds is not None:
        process.join(blow.seconds)
        return
    seen, changes = stamps(out), 0
    begun = time.monotonic()
    while process.is_alive() and changes < (blow.changes or 0) and time.monotonic() - begun < PATIENCE:
        now = stamps(out)
        changes, seen = changes + (now != seen), now
        time.sleep(0.0005)


def stamps(out: Path) -> list[tuple[str, int]]:
    """Names and sizes in a folder, two levels deep; files come and go meanwhile."""
    found = []
    for path in (*out.glob("*"), *out.glob("*/*")):
        try:
            found.append((str(path), path.stat().st_size))
        except OSError:
            continue
    return sorted(found)


def contents(out: Path) -> dict[str, bytes]:
    """The content of every file of a command, except those that record times."""
    files = (path for path in out.rglob("*") if path.is_file() and not path.name.endswith(SECONDS))
    said = {str(path.relative_to(out)): re.sub(rb'"minutes": [^,\n]*', b"", path.read_bytes()) for path in files}
    return {
        name: data.replace(os.fsencode(out), b"").replace(os.fsencode(out.name), b"") for name, data in said.items()
    }


def difference(found: dict[str, bytes], expected: dict[str, bytes]) -> str:
    """Names of the files that differ."""
    return ", ".join(sorted(path for path in found | expected if found.get(path) != expected.get(path)))


def crash(
    count: int, seed: int = 0, only: str | None = None, also: str | None = None, kind: str | None = None
) -> list[str]:
    """Make this many attempts; return the failures."""
    with tempfile.TemporaryDirectory() as folder:
        # All programs are cached, however small, and not optimised: most of the time is compilation.
        os.environ |= {
            "JAX_COMPILATION_CACHE_DIR": str(Path(folder) / "cache"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        }
        ring, wrong, tried = Ring(Path(folder), seed), [], Counter()
        names = [only] if only else ["train"] if also == "versions" else list(ring.jobs)
        if also == "locks":
            held, refused, shared = locks(Path(folder) / "locked", rounds=count // 4)
            print(f"held {held}, refused {refused}", file=sys.stderr)
            return ["two held the folder at once"] * shared
        for number in range(count):
            name = names[number % len(names)]
            if name not in ring.expected:
                ring.undisturbed(name)
            if also is None:
                fault = ring.attempt(number, name, [kind] if kind else ())
            else:
                fault = ring.another_version(number) if also == "versions" else ring.race(number, name)
            tried[name] += 1
            if fault:
                wrong.append(fault)
                print(f"  {fault}", file=sys.stderr, flush=True)
            if (number + 1) % (10 if count > 20 else 1) == 0 and number + 1 < count:
                print(f"{number + 1} tried, {number + 1 - len(wrong)} identical", file=sys.stderr, flush=True)
        print(", ".join(f"{name} {times}" for name, times in tried.items()), file=sys.stderr)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="runs to disturb")
    parser.add_argument("--seed", type=int, default=0, help="of the blows")
    parser.add_argument("--only", help="one command: train, sweep, reproduce, dynamics, demo, probe or export")
    parser.add_argument("--also", choices=["versions", "races", "locks"], help="other disturbances, instead of blows")
    parser.add_argument("--kind", choices=list(CODES), help="one kind of blow, once to each run")
    asked = parser.parse_args()
    begun = time.monotonic()
    wrong = crash(asked.count, asked.seed, asked.only, asked.also, asked.kind)
    print(f"{asked.count} tried, {asked.count - len(wrong)} identical, in {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
