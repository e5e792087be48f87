"""A worker process of the local engine: chunks come in on standard input, a line each; results go out as they end."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading

from anyorder.training import devices


def _listen(lines: queue.Queue[str]) -> None:
    """Queue the lines of standard input; exit when it closes, because the parent process has ended."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def main() -> None:
    """Train the chunks from standard input until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not mix with answers
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    devices.prepare()
    import jax

    from anyorder.sweeps import chunk

    def say(value: object) -> None:
        print(json.dumps(value, allow_nan=False), file=answers, flush=True)

    say({"backend": jax.default_backend()})
    for line in iter(lines.get, ""):
        for answer in chunk.answers(line):
            say(answer)


if __name__ == "__main__":
    main()
