"""Entries of an untrusted models folder, as functions that write them into an empty folder.

None of them can be opened; some look right as long as only their headers are read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import struct
import zipfile

import numpy as np

from anyorder.io.trees import write_tensors
from anyorder.models.storage import FORMAT
from tests.web import exploring

DEEP = 100_000
SUMMARY = {"alphabet_size": 2, "length": None, "construction": None, "order": None, "dtype": None}
PROBE = {"model": "m", "heads": [], "controls": {}}
BOMB = 1 << 25


@contextlib.contextmanager
def little_memory(most):
    """Fail if the peak memory of this process grows by more than this many bytes; needs Linux."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        yield
        return
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak is now
    before = _peak()
    yield
    assert _peak() - before < most


def _peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def _nested(depth, inside="1"):
    return "[" * depth + inside + "]" * depth


def _archive(path, entries, kind=zipfile.ZIP_DEFLATED):
    """A zip of `.npy` files with these bytes."""
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)


def npy(array, **header):
    """An array as bytes, with other words in its header."""
    stream = io.BytesIO()
    if not header:
        np.save(stream, array, allow_pickle=True)
        return stream.getvalue()
    said = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape} | header
    np.lib.format.write_array_header_1_0(stream, said)
    return stream.getvalue() + array.tobytes()


def _trajectory(**entries):
    def make(folder):
        whole = {"algorithm": npy(np.array("two-stage")), "order": npy(np.array(2))}
        _archive(folder / "trajectory.npz", whole | entries)

    return make


def _bytes(name, data):
    def make(folder):
        folder.joinpath(name).parent.mkdir(exist_ok=True)
        folder.joinpath(name).write_bytes(data)

    return make


def _packed(**header):
    """A safetensors file of ours with another header."""

    def make(folder):
        write_tensors(folder / "m.safetensors", {"w": np.ones(2)}, {"format": FORMAT, "summary": SUMMARY} | header)

    return make


def _metadata(text):
    """A safetensors file whose metadata is this text."""

    def make(folder):
        data = json.dumps({"__metadata__": {"anyorder": text}}).encode()
        (folder / "m.safetensors").write_bytes(struct.pack("<Q", len(data)) + data)

    return make


def _run(change, size=None):
    """A run, after a change of the text of its config, and perhaps of its size."""

    def make(folder):
        exploring.begin_run(folder / "run")
        file = folder / "run" / "config.json"
        file.write_bytes(change(file.read_text()))
        if size is not None:
            os.truncate(file, size)

    return make


def _config(**changes):
    def change(text):
        held = json.loads(text)
        for name, value in changes.items():
            place = held["config"] if name in held["config"] else held["config"]["data"]
            place[name] = value
        return json.dumps(held).encode()

    return _run(change)


def _probe(**changes):
    return _bytes("one/probe.json", json.dumps(PROBE | changes).encode())


def _about(said):
    """A model file, in a folder with an odd description of it."""

    def make(folder):
        _packed()(folder)
        (folder / "about.json").write_text(said)

    return make


def _encrypted(folder):
    _trajectory()(folder)
    data = bytearray((folder / "trajectory.npz").read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + place] |= 1
            at = data.find(mark, at + 1)
    (folder / "trajectory.npz").write_bytes(data)


def _overlong(folder):
    """A zip whose directory states a small size for an entry that unpacks to more."""
    _archive(folder / "trajectory.npz", {"algorithm": b"\0" * BOMB, "order": npy(np.array(2))})
    data = (folder / "trajectory.npz").read_bytes()
    (folder / "trajectory.npz").write_bytes(data.replace(struct.pack("<I", BOMB), struct.pack("<I", 200)))


def _bomb(kind):
    def make(folder):
        _archive(folder / "trajectory.npz", {"algorithm": npy(np.zeros(BOMB // 8)), "order": npy(np.array(2))}, kind)

    return make


def _link(name, *, folder_of=None):
    """A link that leads out, to a file that would be fine inside."""

    def make(folder):
        outside = folder.parents[1] / "outside"
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        exploring.write_trajectory(outside / "trajectory.npz", steps=4)
        write_tensors(outside / "m.safetensors", {"w": np.ones(2)}, {"format": FORMAT, "summary": SUMMARY})
        (outside / "probe.json").write_text(json.dumps(PROBE))
        exploring.begin_run(outside / "run")
        if folder_of is not None:
            shutil.copytree(outside / folder_of, folder / folder_of)
            (folder / folder_of / name).unlink(missing_ok=True)
            (folder / folder_of / name).symlink_to(outside / folder_of / name)
        else:
            (folder / name).symlink_to(outside / name)

    return make


def _node(name, make_node):
    def make(folder):
        folder.joinpath(name).parent.mkdir(exist_ok=True)
        make_node(folder / name)

    return make


def _named(name):
    def make(folder):
        write_tensors(folder / "m.safetensors", {"w": np.ones(2)}, {"format": FORMAT, "summary": SUMMARY})
        os.rename(folder / "m.safetensors", os.fsencode(folder) + b"/" + name)

    return make


#: Folders and links to folders, in which nothing is listed.
UNLISTED = ("trajectory: a folder", "probe: a folder", "link: folder")
ENTRIES = {
    "trajectory: empty file": _bytes("trajectory.npz", b""),
    "trajectory: text": _bytes("trajectory.npz", b"not a zip"),
    "trajectory: pickle": _bytes("trajectory.npz", b"\x80\x04K\x01."),
    "trajectory: .npy": _bytes("trajectory.npz", npy(np.arange(3))),
    "trajectory: encrypted": _encrypted,
    "trajectory: bomb, deflate": _bomb(zipfile.ZIP_DEFLATED),
    "trajectory: bomb, bzip2": _bomb(zipfile.ZIP_BZIP2),
    "trajectory: bomb, LZMA": _bomb(zipfile.ZIP_LZMA),
    "trajectory: understated size": _overlong,
    "trajectory: cut zip": lambda folder: (
        _trajectory()(folder),
        os.truncate(folder / "trajectory.npz", 150),
    ),
    "trajectory: no entries": lambda folder: _archive(folder / "trajectory.npz", {}),
    "trajectory: order is text": _trajectory(order=npy(np.array("x"))),
    "trajectory: order is a list": _trajectory(order=npy(np.arange(3))),
    "trajectory: order is NaN": _trajectory(order=npy(np.array(np.nan))),
    "trajectory: order is infinite": _trajectory(order=npy(np.array(np.inf))),
    "trajectory: order is 2^63": _trajectory(order=npy(np.array(2**63, np.uint64))),
    "trajectory: order is an object": _trajectory(order=npy(np.array({}, dtype=object))),
    "trajectory: algorithm is a list": _trajectory(algorithm=npy(np.array(["two-stage"] * 2))),
    "trajectory: algorithm is unheard of": _trajectory(algorithm=npy(np.array("three-stage"))),
    "trajectory: shape of 2^60": _trajectory(algorithm=npy(np.zeros(2), shape=(2**60,))),
    "trajectory: shape below zero": _trajectory(algorithm=npy(np.zeros(2), shape=(-1,))),
    "trajectory: deep header": _trajectory(algorithm=b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000),
    "trajectory: version 9": _trajectory(algorithm=b"\x93NUMPY\x09\x00" + b"\0" * 50),
    "trajectory: a folder": _node("trajectory.npz", os.mkdir),
    "trajectory: a pipe": _node("trajectory.npz", os.mkfifo),
    "model: empty file": _bytes("m.safetensors", b""),
    "model: header of 2^60": _bytes("m.safetensors", struct.pack("<Q", 2**60) + b"{}"),
    "model: deep header": _bytes("m.safetensors", struct.pack("<Q", 2 * DEEP + 1) + _nested(DEEP).encode()),
    "model: deep metadata": _metadata(_nested(DEEP)),
    "model: metadata is a list": _metadata("[1, 2]"),
    "model: metadata is a number": _metadata("1"),
    "model: metadata is no JSON": _metadata("{"),
    "model: number of 400 digits": _packed(summary=SUMMARY | {"order": 10**400}),
    "model: number of 5,000 digits": _metadata('{"format": "anyorder model 2", "summary": ' + "9" * 5000 + "}"),
    "model: summary is text": _packed(summary="x"),
    "model: summary is null": _packed(summary=None),
    "model: unknown field": _packed(summary=SUMMARY | {"colour": 1}),
    "model: alphabet is text": _packed(summary=SUMMARY | {"alphabet_size": "x"}),
    "model: alphabet is NaN": _metadata(
        json.dumps({"format": FORMAT, "summary": SUMMARY | {"alphabet_size": float("nan")}})
    ),
    "model: order below zero": _packed(summary=SUMMARY | {"order": -1, "construction": "dyadic"}),
    "model: format is a list": _packed(format=[1]),
    "model: lone surrogate": _packed(summary=SUMMARY | {"order": 1, "construction": "\ud800", "dtype": "float64"}),
    "model: name is not UTF-8": _named(b"\xff\xfe.safetensors"),
    "model: a pipe": _node("m.safetensors", os.mkfifo),
    "about.json: lone surrogate": _about('{"m.safetensors": {"title": "\\ud800"}}'),
    "about.json: wrong types": _about('{"m.safetensors": {"title": 3, "order": []}}'),
    "about.json: another path": _about('{"m.safetensors": {"path": "/etc/passwd", "kind": "sweep"}}'),
    "about.json: deep": _about('{"m.safetensors": ' + _nested(DEEP) + "}"),
    "about.json: a list": _about("[1]"),
    "run: seeds of 10^12": _config(seeds=10**12),
    "run: seeds of 400 digits": _config(seeds=10**400),
    "run: seeds is text": _config(seeds="3"),
    "run: seeds is null": _config(seeds=None),
    "run: order is a list": _config(order=[1]),
    "run: alphabet is an object": _config(alphabet_size={}),
    "run: number of 5,000 digits": _run(lambda text: text.replace('"seeds": 2', '"seeds": ' + "9" * 5000).encode()),
    "run: deep config": _run(lambda text: b'{"config": ' + _nested(DEEP).encode() + b', "versions": {}}'),
    "run: deep, but JSON": _run(lambda text: b'{"config": ' + _nested(900).encode() + b', "versions": {}}'),
    "run: config is not UTF-8": _run(lambda text: b"\xff" + text.encode()),
    "run: config of 10 GB": _run(lambda text: b"{", size=10**10),
    "run: config is empty": _run(lambda text: b""),
    "run: preset is a lone surrogate": _run(lambda text: text.replace('"paper"', '"\\ud800"').encode()),
    "run: summary.json is deep": lambda folder: (
        exploring.begin_run(folder / "run"),
        (folder / "run" / "summary.json").write_text('{"mean_gap": ' + _nested(DEEP) + "}"),
    ),
    "run: gap of 400 digits": lambda folder: (
        exploring.begin_run(folder / "run"),
        (folder / "run" / "summary.json").write_text('{"mean_gap": ' + "9" * 400 + "}"),
    ),
    "probe: empty file": _bytes("one/probe.json", b""),
    "probe: deep": _bytes("one/probe.json", b'{"model": ' + _nested(DEEP).encode() + b"}"),
    "probe: lone surrogate": _probe(model="\ud800"),
    "probe: number of 5,000 digits": _bytes("one/probe.json", b'{"model": ' + b"9" * 5000 + b"}"),
    "probe: head of 400 digits": _probe(heads=[{"layer": 10**400}]),
    "probe: heads is text": _probe(heads="x"),
    "probe: a folder": _node("one/probe.json", os.mkdir),
    "probe: a pipe": _node("one/probe.json", os.mkfifo),
    "probe: folder is not UTF-8": _bytes(os.fsdecode(b"\xff/probe.json"), json.dumps(PROBE).encode()),
    "link: trajectory": _link("trajectory.npz"),
    "link: model": _link("m.safetensors"),
    "link: result of the probe": _link("probe.json"),
    "link: folder": _link("run"),
    "link: config of a run": _link("config.json", folder_of="run"),
    "link: checkpoint of a run": _link("checkpoint.safetensors", folder_of="run"),
    "link: summary of a run": _link("summary.json", folder_of="run"),
    "link: /dev/zero": _node("m.safetensors", lambda path: path.symlink_to("/dev/zero")),
    "link: itself": _node("m.safetensors", lambda path: path.symlink_to(path)),
}
