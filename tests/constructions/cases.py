"""What must hold, as the entries of the registry say it, each with an oracle that knows nothing of them."""

from __future__ import annotations

from anyorder.constructions import CONSTRUCTIONS
from tests import oracles_constructions as oracles

ORACLES = {"kgram": oracles.kgram, "bayes": oracles.add_beta, "biased": oracles.biased}
CASES = [(entry, case) for entry in CONSTRUCTIONS.values() for case in entry.cases]
