"""The exported explorer: the contents of the folder."""

from __future__ import annotations

import json
import re

from anyorder import zoo


def test_the_folder_is_plain_files_under_the_limit(site):
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 6.5e6
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "module" not in page
    assert "probe.html" not in page
    for name in re.findall(r'(?:src|href)="([\w.]+)"', page):
        assert (site / name).is_file()
    script = (site / "explorer.js").read_text(encoding="utf-8")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert "fetch(" not in script
    data = json.loads((site / "data.js").read_text(encoding="utf-8").split("= ", 1)[1].rstrip(";\n"))
    assert all((site / name).is_file() for name in data["files"].values())
    assert len(data["options"]["tours"]) == 7
    trained = {f"zoo/{name}.safetensors" for name in zoo.names() if name != "mamba"}
    assert {entry["path"] for entry in data["options"]["stored"] if entry["path"].startswith("zoo/")} == trained
    assert trained <= set(data["files"])
    assert len(set(data["files"].values())) == len(data["files"])
    assert set(data["films"]) == {"package/two-stage.npz", "package/preconditioned.npz"}
