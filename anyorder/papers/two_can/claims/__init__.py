"""The ledger of claims: every numbered statement of the paper, a function that measures it, and its verdict."""

from anyorder.papers.check import Checked, check
from anyorder.papers.entry import Claim, Finding, Verdict
from anyorder.papers.two_can.claims.registry import CLAIMS, LEDGER, find

__all__ = ["CLAIMS", "LEDGER", "Checked", "Claim", "Finding", "Verdict", "check", "find"]
