"""A server that ends at once."""

import json
import signal
import subprocess
import sys
import time

import httpx
import pytest

ENDED = "anyorder: terminated; no file is incomplete\n"


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [([signal.SIGINT], 0, ""), ([signal.SIGINT] * 2, 0, ""), ([signal.SIGTERM], 143, ENDED)],
)
@pytest.mark.slow
def test_a_signal_ends_a_busy_server_within_a_second(sent, code, said):
    """In the middle of a computation that cannot be interrupted: the first view is being compiled."""
    words = [sys.executable, "-m", "anyorder", "explore", "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = json.loads(process.stdout.readline())["url"]
        httpx.get(url, timeout=30).raise_for_status()
        begun = time.monotonic()
        for number in sent:
            process.send_signal(number)
            time.sleep(0.1)  # two equal signals that arrive together are one
        _, error = process.communicate(timeout=30)
    assert time.monotonic() - begun < 1.5  # a second, plus delays of a busy machine
    assert (process.returncode, error) == (code, said)
