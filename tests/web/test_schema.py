"""The live server against its own description: every answer is one that it promises, whatever it is asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.web import exploring

#: All but `positive_data_acceptance`: a description of values cannot say which of them make a model together.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method"
)


def test_no_answer_violates_the_description(tmp_path, monkeypatch):
    # A fresh run compiles for seconds at every length and order, and `test_api` has one: here any film will do.
    for algorithm in ("two_stage", "preconditioned"):
        monkeypatch.setattr(f"anyorder.web.dynamics.{algorithm}", lambda *_: exploring.trajectory(steps=4))
    pytest.importorskip("schemathesis", reason="pip install 'anyorder[test]'")
    words = [sys.executable, "-m", "schemathesis.cli", "run", "--checks", CHECKS, "--phases", "coverage,fuzzing"]
    bounds = ["--max-examples", "4", "--seed", "1", "--request-timeout", "120", "--suppress-health-check", "all"]
    (tmp_path / "models").mkdir()
    with exploring.explorer([tmp_path / "models"]) as (url, _):
        given = [*words, *bounds, "--generation-database", ":memory:", "--no-color", f"{url}/api/openapi.json"]
        done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
