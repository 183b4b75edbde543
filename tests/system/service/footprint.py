"""What a process holds, at rest and at the worst moment."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SAMPLE_EVERY_S = 0.005


@dataclass(frozen=True)
class Footprint:
    """Kilobytes of memory, counts of what else is open."""

    anonymous_kb: int
    resident_kb: int
    proportional_kb: int
    files: int
    threads: int


def footprint(process: int) -> Footprint:
    """What the process holds now."""
    memory, status = _fields(process, "smaps_rollup"), _fields(process, "status")
    return Footprint(
        anonymous_kb=_kb(memory["Anonymous"]),
        resident_kb=_kb(memory["Rss"]),
        proportional_kb=_kb(memory["Pss"]),
        files=len(list(Path(f"/proc/{process}/fd").iterdir())),
        threads=int(status["Threads"]),
    )


def highest_resident_kb(process: int) -> int:
    """The most that the process ever had resident, as the kernel kept it."""
    return _kb(_fields(process, "status")["VmHWM"])


class AnonymousPeak:
    """Watches a process's anonymous memory, of which the kernel keeps no maximum."""

    def __init__(self, process: int) -> None:
        self.kb = 0
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="anonymous-peak")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._ended.wait(SAMPLE_EVERY_S):
                now = _kb(_fields(self._process, "status")["RssAnon"])
                self.kb = max(self.kb, now)
        except (ProcessLookupError, FileNotFoundError, KeyError):
            pass  # it ended; who runs it says so


def _fields(process: int, name: str) -> dict[str, str]:
    lines = Path(f"/proc/{process}/{name}").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _kb(value: str) -> int:
    return int(value.split(maxsplit=1)[0])
