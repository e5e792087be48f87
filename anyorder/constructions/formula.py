"""Evaluation of the formulas printed in tables and docs."""

from __future__ import annotations

import re


def evaluated(formula: str, **symbols: int) -> int:
    """The value of a formula of the registry: sums, products without a sign, powers, and rounded quotients.

    >>> evaluated("S^k(2d + 1) + ⌈k/2⌉T", S=2, k=3, d=4, T=10)
    92
    """
    plain = formula.replace("²", "^2").replace("^", "**")
    plain = re.sub(r"⌊(.*?)/(.*?)⌋", r"((\1)//(\2))", plain)
    plain = re.sub(r"⌈(.*?)/(.*?)⌉", r"(-(-(\1)//(\2)))", plain)
    plain = re.sub(r"(?<=[0-9a-zA-Z)])(?=[a-zA-Z(])", "*", plain)
    return eval(plain, {"__builtins__": {}}, dict(symbols))
