"""Limits of the explorer's computations."""

import pytest

from anyorder.constructions import CONSTRUCTIONS
from anyorder.web import limits
from anyorder.web.library import plans
from anyorder.web.schema import EXAMPLE, Constructed
from tests.web.exploring import refused

LIMITS = [
    ({"model": {"kind": "construction", "order": 17}}, "order", 16),
    ({"model": {"kind": "construction", "order": 0}}, "order", 1),
    ({"model": {"kind": "construction", "order": -(2**70)}}, "order", 1),
    ({"model": {"kind": "construction", "order": 10**400}}, "order", 16),
    ({"model": {"kind": "construction", "alphabet_size": 65}}, "alphabet_size", 64),
    ({"model": {"kind": "construction", "temperature": 0.0}}, "temperature", limits.COLDEST),
    ({"model": {"kind": "construction", "temperature": 1e308}}, "temperature", limits.WARMEST),
    ({"model": {"kind": "construction", "dimension": 10**9}}, "dimension", limits.MOST_DIMENSION),
    ({"sequence": {"kind": "text", "text": "ab" * 300}}, "text", limits.MOST_TOKENS),
    ({"sequence": {"kind": "text", "text": ""}}, "text", 1),
    ({"sequence": {"kind": "text", "text": "".join(map(chr, range(0x4E00, 0x4E00 + 65)))}}, "symbols", 64),
    ({"sequence": {"kind": "chain", "length": 513}}, "length", limits.MOST_TOKENS),
    ({"sequence": {"kind": "chain", "order": 8, "alphabet_size": 64}}, "transitions", limits.MOST_KERNEL),
    ({"sequence": {"kind": "chain", "token_noise": 1.5}}, "token_noise", 1),
    ({"model": {"kind": "construction", "name": "disentangled", "order": 9},
      "sequence": {"kind": "chain", "length": 256}}, "width", limits.MOST_WIDTH),
]  # fmt: skip


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_every_construction_can_be_chosen_on_the_example(name):
    asked = Constructed(name=name, order=min(2, CONSTRUCTIONS[name].largest_order or 2))
    made, _ = plans(asked, len(set(EXAMPLE)), limits.padded(len(EXAMPLE)))
    assert made.request.length >= len(EXAMPLE)


@pytest.mark.parametrize(("asked", "name", "limit"), LIMITS)
def test_beyond_a_limit_the_limit_is_in_the_body(client, asked, name, limit):
    response = client.post("/api/view", json=asked)
    assert response.status_code == 422
    refused(response)
    told = response.json()["limit"]
    assert (told["name"], told["limit"]) == (name, limit)
