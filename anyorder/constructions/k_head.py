"""`k-head`: heads instead of bits. Head j of layer one copies the token at offset j into a block of its own.

It is `unrolled` with one head for each offset: a number of one digit is that digit, so that there is nothing to read
and no MLP. d = (k + 2) S + 1; every dtype holds every order.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from anyorder.constructions import unrolled as family
from anyorder.constructions.construction import BETA, Construction
from anyorder.constructions.unrolled_proof import proof, proof_bayes

K_HEAD = Construction(
    name="k-head",
    title="head j copies the token at offset j",
    source="after Nichani et al.",
    advice="Use it for any order in any dtype, if you can afford k heads: nothing is packed or rounded.",
    heads="k, 1",
    dimension="(k + 2)S + 1",
    parameters="d(4(k + 1)(S + 1) - 2) + T(kS + k + 1)",
    state="T(2k(S + 1) + S + 1)",
    margin="1",
    build=partial(family.unrolled, heads=None),
    analyse=partial(family.analyse, heads=None),
    steps=partial(proof, heads=None),
    last_order=16,
    instead=(),
)

K_HEAD_BAYES = dataclasses.replace(
    K_HEAD,
    name="k-head-bayes",
    title="k-head with a beginning token as sink: add-β in every dtype",
    source="ours",
    advice="Use it for the Bayes predictor at any order in any dtype, if you can afford k heads.",
    parameters="d(4(k + 1)(S + 1) - 1) + T(kS + k + 1)",
    build=partial(family.unrolled_bayes, heads=None),
    analyse=partial(family.analyse_bayes, heads=None),
    steps=partial(proof_bayes, heads=None),
    options=(BETA,),
)
