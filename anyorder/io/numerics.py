"""Number types: 64-bit arithmetic is switched on, and every array of this package names its dtype.

Ground truth needs float64, which JAX disables by default. Nothing here relies on a default dtype:
models trained in float32 stay in float32.
"""

from __future__ import annotations

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.errors import InputError
from anyorder.io.gates import Dtype

jax.config.update("jax_enable_x64", True)

#: The floating-point types a model can be built in, by the name used in code, files and commands.
DTYPES: dict[str, np.dtype] = {name: jnp.dtype(name) for name in get_args(Dtype)}


def dtype_of(name: str | np.dtype | type) -> np.dtype:
    """The dtype of that name, or an `InputError` that lists the names.

    >>> dtype_of("bfloat16")
    dtype(bfloat16)
    """
    try:
        dtype = jnp.dtype(name)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in DTYPES:
        raise InputError(f"dtype is {name!r}, must be one of {', '.join(DTYPES)}")
    return dtype


def mantissa_bits(dtype: np.dtype) -> int:
    """Bits of precision of a floating-point type, the implicit leading one included.

    >>> [mantissa_bits(dtype) for dtype in DTYPES.values()]
    [8, 11, 24, 53]
    """
    return int(jnp.finfo(dtype).nmant) + 1
