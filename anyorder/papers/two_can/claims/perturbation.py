"""App. H.3.2, eq. (23): the perturbed transitions, before any model sees them."""

from __future__ import annotations

import numpy as np

from anyorder import chains
from anyorder.chains import Dirichlet, Kernel, PointMass, TransitionNoise
from anyorder.estimators import mean_and_error
from anyorder.papers.entry import Finding, claim, judge
from anyorder.papers.two_can.claims.measures import drawn


@claim(
    "App. H.3.2, eq. (23)",
    "Every token is drawn from (1 - α)P_d + αP_r, with a random transition matrix P_r for that step alone.",
    see=("tab-transition-noise",),
)
def eq_transition_perturb() -> Finding:
    """P_r solved from the rows of sampled sequences: its moments, its neighbours in time, and the tokens observed."""
    kernel, alpha = drawn(Dirichlet(2, 2), 1)[0], 0.25
    sampled = chains.sample(PointMass(Kernel(kernel)), length=34, count=4096, noise=TransitionNoise(alpha), seed=1)
    tokens, truth = np.asarray(sampled.tokens), np.asarray(sampled.truth)
    undisturbed = kernel[tokens[:, :-2], tokens[:, 1:-1], 0]  # P_d(0 | the two tokens before)
    random = (truth[:, 2:, 0] - (1 - alpha) * undisturbed) / alpha  # P_r(0), uniform on [0, 1]
    expected = (1 - alpha) * undisturbed + alpha / 2
    scores = {
        "mean of P_r(0) - 1/2": (random - 1 / 2),
        "mean of P_r(0)² - 1/3": random**2 - 1 / 3,
        "covariance of P_r(0) at neighbouring steps": (random[:, 1:] - 1 / 2) * (random[:, :-1] - 1 / 2),
        "observed tokens minus (1 - α)P_d + α/S": (tokens[:, 2:] == 0) - expected,
    }
    found = {name: mean_and_error(values.ravel()) for name, values in scores.items()}
    errors = {f"{name}, in standard errors": abs(float(mean / error)) for name, (mean, error) in found.items()}
    inside = bool(random.min() > -1e-9 and random.max() < 1 + 1e-9)
    return judge(
        {"P_r is a distribution": inside, **errors},
        printed=inside and max(errors.values()) < 5,
        note="the distribution of P_r is not stated; here its rows are uniform on the simplex, like the kernels'. "
        "Since P_r is redrawn at every step, the tokens follow the fixed kernel (1 - α)P_d + α/S",
    )
