"""The ledger of claims: every numbered statement of the paper, a function that measures it, and its verdict."""

from anyorder.claims.check import Checked, check
from anyorder.claims.entry import Claim, Finding, Verdict
from anyorder.claims.registry import CLAIMS, find

__all__ = ["CLAIMS", "Checked", "Claim", "Finding", "Verdict", "check", "find"]
