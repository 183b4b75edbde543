"""The terminal under the calibration's screens, which may go away before the person does."""

from __future__ import annotations

import contextlib
import select
from typing import Any, TextIO

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Textual's driver, whose output to a terminal that is gone goes nowhere.

    Textual writes on a thread of its own. If that thread dies of an error, everything that draws
    waits for it for ever, signals or not.
    """

    def __init__(
        self,
        app: App[int],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = _Forgiving(self._file)

    @property
    def hung_up(self) -> bool:
        """Whether nobody can press a key any more."""
        poll = select.poll()
        poll.register(self.fileno, 0)  # errors and hang-ups are always reported
        return bool(poll.poll(0))


class _Forgiving:
    """A stream whose reader may leave."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
