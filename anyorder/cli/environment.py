"""Environment variables of JAX that make commands fail or change the chains of a seed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from anyorder.errors import InputError

_ON, _OFF = ("1", "true", "t", "yes", "y", "on"), ("0", "false", "f", "no", "n", "off", "")
_COPIES = ("", "_HOST_TO_DEVICE", "_DEVICE_TO_DEVICE", "_DEVICE_TO_HOST")
#: Variable → values that it may have.
ALLOWED: dict[str, tuple[str, ...]] = {
    "JAX_NUMPY_RANK_PROMOTION": ("allow", "warn"),
    **{f"JAX_TRANSFER_GUARD{copies}": ("allow", "log", "log_explicit") for copies in _COPIES},
    "JAX_NO_TRACING": _OFF,
    "JAX_DEFAULT_PRNG_IMPL": ("threefry2x32",),
    "JAX_THREEFRY_PARTITIONABLE": _ON,
    "JAX_RANDOM_SEED_OFFSET": ("0",),
}


def check_environment(variables: Mapping[str, str] = os.environ) -> None:
    """Reject variables that would make commands fail later or change the chains of a seed.

    >>> check_environment({"JAX_NUMPY_RANK_PROMOTION": "raise"})
    Traceback (most recent call last):
    anyorder.errors.InputError: JAX_NUMPY_RANK_PROMOTION is 'raise', must be allow or warn; unset it
    """
    for name, values in ALLOWED.items():
        if name in variables and variables[name].lower() not in values:
            raise InputError(f"{name} is {variables[name]!r}, must be {' or '.join(filter(None, values))}; unset it")


def unusable(variables: Mapping[str, str] = os.environ) -> str | None:
    """The reason why JAX cannot start with the current variables, to explain a failed command; None if it can."""
    given = ", ".join(f"{name}={value}" for name, value in variables.items() if name.startswith("JAX_"))
    if not given:
        return None
    try:
        import jax

        jax.device_put(0)  # fails without the default device
    except Exception as error:
        said = (str(error).splitlines() or ["no such device"])[0]
        return f"JAX cannot start with {given} ({said}); unset the variables that it cannot use"
    return None
