"""What the kernel notes of its own work: each value of a line, each byte to a chip."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/sys/kernel/tracing")
KILOBYTES = 16384
NOTE = re.compile(r"\s+(\d+\.\d+): (\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class Note:
    """One event: when, in seconds, what, and its particulars."""

    time_s: float
    event: str
    text: str


def notes_in(text: str) -> list[Note]:
    """The events in what the kernel tells."""
    found = (NOTE.search(line) for line in text.splitlines())
    return [Note(float(note[1]), note[2], note[3]) for note in found if note is not None]


@contextmanager
def noting(*events: str) -> Iterator[Callable[[], str]]:
    """Note events such as ``gpio/gpio_value``; what is returned tells those noted so far, for
    :func:`notes_in`."""
    _begin(events)
    try:
        yield (FOLDER / "trace").read_text
    finally:
        _end(events)


@contextmanager
def following(hear: Callable[[Note], None], *events: str) -> Iterator[None]:
    """ProgressListener of each event while it is new."""
    _begin(events)
    ended = threading.Event()

    def listen() -> None:
        with (FOLDER / "trace_pipe").open() as pipe:
            for line in pipe:
                for note in notes_in(line):
                    hear(note)
                if ended.is_set():
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        ended.set()
        (FOLDER / "trace_marker").write_text("the end")
        listener.join()
        _end(events)


def _begin(events: tuple[str, ...]) -> None:
    (FOLDER / "trace_clock").write_text("mono")
    (FOLDER / "buffer_size_kb").write_text(str(KILOBYTES))
    (FOLDER / "trace").write_text("")
    for event in events:
        (FOLDER / "events" / event / "enable").write_text("1")


def _end(events: tuple[str, ...]) -> None:
    for event in events:
        (FOLDER / "events" / event / "enable").write_text("0")
