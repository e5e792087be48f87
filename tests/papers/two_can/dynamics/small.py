"""Small models, settings and chains that several tests of the dynamics share."""

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.chains import Kernel
from anyorder.papers.two_can import dynamics

KEY = jax.random.key(5)
SMALL = {"length": 32, "steps": 150, "steps_2": 100, "batch": 64}
#: A second-order chain that remembers both tokens, the newer one better, whose scores g_j fall from j = 1 on.
STICKY = Kernel(np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.7, 0.3], [0.1, 0.9]]]))


def random_model(order, normalise, length=12, excluded=False):
    p_key, r_key = jax.random.split(jax.random.key(order))
    p = jax.random.normal(p_key, (length,), jnp.float64)
    return dynamics.Reduced(
        p=p.at[0].set(-1e9) if excluded else p,
        a_2=jnp.float64(2.5),
        r=jax.random.normal(r_key, (order,), jnp.float64),
        normalise=normalise,
    )
