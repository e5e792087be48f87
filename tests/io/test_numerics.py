"""Number types, by arithmetic in them."""

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io.numerics import DTYPES, dtype_of, mantissa_bits


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_mantissa_bits_are_those_after_which_one_is_added_to_without_effect(dtype):
    one, bits = np.ones((), dtype), 1
    while (one + np.asarray(2.0**-bits, dtype)).astype(dtype) != one:
        bits += 1
    assert mantissa_bits(dtype) == bits


def test_types_that_no_model_has_are_refused():
    assert dtype_of(np.float32) == dtype_of("float32") == np.dtype("float32")
    for name in ("float8", "int32", "complex64"):
        with pytest.raises(InputError, match="must be one of bfloat16, float16, float32, float64"):
            dtype_of(name)
