"""Signals to a running command. The handlers are checked first: a signal without them would end the tests."""

import signal

import pytest

from anyorder.cli import signals

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_and_the_first_decides_the_exit_code(number, code):
    before = [signal.getsignal(one) for one in BOTH]
    with signals.interruptible():
        assert signal.getsignal(number) not in before
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signals.exit_code() == code
    assert [signal.getsignal(one) for one in BOTH] == before


def test_the_first_signal_asks_and_the_second_ends():
    with signals.interruptible(), signals.asked_to_stop() as asked:
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert not asked()
        signal.raise_signal(signal.SIGTERM)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signals.exit_code() == 143


def test_an_error_that_a_library_makes_of_the_interruption_is_one(monkeypatch, run):
    def compile_interrupted(self):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("no compiled object yet") from None

    monkeypatch.setattr("anyorder.cli.sample.Sample.run", compile_interrupted)
    code, _, error = run("sample")
    assert (code, error) == (143, "anyorder: interrupted; no file is incomplete\n")
