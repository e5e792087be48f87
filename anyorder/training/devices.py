"""Settings to make before JAX starts: one core per program call, as many calls as cores, a compilation cache."""

from __future__ import annotations

import os

from anyorder.io.cache import folder

_COUNT = "--xla_force_host_platform_device_count"


def prepare() -> None:
    """Run program calls in parallel, each on one core; settings made by the user are kept.

    Has no effect once JAX has run something.
    """
    os.environ.setdefault("NPROC", "1")  # small products: a second thread costs more than it saves
    flags = os.environ.get("XLA_FLAGS", "")
    if _COUNT not in flags:  # XLA keeps a thread for every device; programs may all run on the first
        os.environ["XLA_FLAGS"] = f"{flags} {_COUNT}={cores()}".strip()
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        import jax

        jax.config.update("jax_compilation_cache_dir", str(folder("xla")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
