"""What surrounds a command: streams that take any text, signals that end it in an orderly way."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO


def prepare_streams() -> None:
    """Speak UTF-8 whatever the locale; bytes that are none become U+FFFD, not an error.

    JSON is UTF-8, and a stray byte in a line of input spoils that line, not all. A stream that the
    caller closed is one that nobody reads: `/dev/null` takes its place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  # stays open
            setattr(sys, name, stream)
    for stream, encoding, errors in (
        (sys.stdin, "utf-8-sig", "replace"),
        (sys.stdout, "utf-8", "replace"),
        (sys.stderr, None, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors=errors)


@contextlib.contextmanager
def interrupted_by(*numbers: signal.Signals) -> Iterator[None]:
    """Let signals end what runs inside as Ctrl-C does; those ignored so far (nohup) stay so."""

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # As in a script's background job, where only Ctrl-C itself is to be ignored.
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = {
        number: signal.signal(number, interrupt)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def while_read(stream: TextIO, end: Callable[[], None]) -> Iterator[None]:
    """Call ``end``, on another thread, when nobody reads ``stream`` any more (``| head``).

    Who writes only now and then would not notice before the next line, which may be hours away.
    """
    done, tell = os.pipe()

    def watch() -> None:
        poll = select.poll()
        poll.register(stream.fileno(), 0)  # errors and hang-ups are always reported
        poll.register(done, select.POLLIN)
        if all(descriptor != done for descriptor, _ in poll.poll()):
            end()

    watcher = threading.Thread(target=watch, name="reader", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        os.close(tell)
        watcher.join()
        os.close(done)
