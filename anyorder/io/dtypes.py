"""The names of the floating-point types that a model can be built in; `numerics` has the types, which need JAX."""

from typing import Literal

Dtype = Literal["bfloat16", "float16", "float32", "float64"]
