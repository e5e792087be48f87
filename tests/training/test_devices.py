"""Settings that precede the start of JAX."""

import os

from anyorder.training import devices


def test_the_environment_is_prepared_once_and_what_is_set_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))  # keeps JAX's own settings out of this test
    monkeypatch.setattr(devices, "cores", lambda: 4)
    monkeypatch.delenv("NPROC", raising=False)
    for before, after in (
        ("", "--xla_force_host_platform_device_count=4"),
        ("--xla_a=1", "--xla_a=1 --xla_force_host_platform_device_count=4"),
        ("--xla_force_host_platform_device_count=7", "--xla_force_host_platform_device_count=7"),
    ):
        monkeypatch.setenv("XLA_FLAGS", before)
        devices.prepare()
        assert os.environ["XLA_FLAGS"] == after
    assert os.environ["NPROC"] == "1"
    monkeypatch.setenv("NPROC", "5")
    devices.prepare()
    assert os.environ["NPROC"] == "5"
