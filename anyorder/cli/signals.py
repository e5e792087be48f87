"""Ctrl-C and SIGTERM: both end a command in the same order, with exit codes 130 and 143."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Signals received, in order; the first decides the exit code.
_came: list[int] = []


def _interrupt(number: int, _: FrameType | None) -> None:
    _came.append(number)
    raise KeyboardInterrupt


def interrupted() -> bool:
    """Whether a signal has arrived since the command began."""
    return bool(_came)


def exit_code() -> int:
    """The exit code of an interrupted command."""
    return 128 + (_came[0] if _came else signal.SIGINT)


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    try:
        before = [signal.signal(number, handler) for number in _SIGNALS]
    except ValueError:  # not the main thread, which gets no signals
        yield
        return
    try:
        yield
    finally:
        for number, old in zip(_SIGNALS, before, strict=True):
            signal.signal(number, old)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let both signals raise `KeyboardInterrupt`; during a finaliser, where Python cannot raise, shortly afterwards."""
    before = sys.unraisablehook

    def again(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            threading.Timer(0.02, signal.raise_signal, [_came[-1] if _came else signal.SIGINT]).start()
        else:
            before(lost)

    _came.clear()
    sys.unraisablehook = again
    try:
        with _handled(_interrupt):
            yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether a signal has arrived, so that the current round can finish first; a second signal stops at once."""

    def collect(number: int, frame: FrameType | None) -> None:
        if _came:
            _interrupt(number, frame)
        _came.append(number)

    with _handled(collect):
        yield lambda: bool(_came)
