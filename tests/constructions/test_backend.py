"""Assumptions of certificates about the backend."""

from anyorder.constructions import backend, plan
from anyorder.constructions.verify import verify


def test_what_is_assumed_of_the_backend_is_named_and_checked(monkeypatch):
    asked = {"order": 3, "alphabet_size": 2, "length": 32, "sequences": 4}
    found = verify("unrolled", **asked)
    assert found.passed
    assert tuple(found.assumptions) == plan("unrolled", order=3, alphabet_size=2, length=32).certificate.assumes
    assert len(found.assumptions) == 2
    monkeypatch.setitem(backend.ASSUMPTIONS, next(iter(found.assumptions)), lambda model, request: False)
    assert not verify("unrolled", **asked).passed
