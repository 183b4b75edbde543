"""Output and interruption of every command: JSON Lines on stdout, the rest on stderr."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from robot.api.paths import running_simulation
from robot.records.storage import is_standard_output
from solver.errors import ExitCode, printable

if TYPE_CHECKING:
    from robot.api.client import ControlClient

T = TypeVar("T")

BY_KEY = "stopped by a person: Ctrl-C"

PATIENCE_S = 10.0
"""Seconds that an interrupted command may take to end before another interrupt counts."""


_STATE_COLOURS = {"idle": "green", "fault": "red", "maintenance": "yellow"}


def state_colour(state: str) -> str:
    """Return the terminal's colour for a robot state; all states of work share one."""
    return _STATE_COLOURS.get(state, "cyan")


def prepare_streams() -> None:
    """Use UTF-8 for stdin and stdout whatever the locale; invalid bytes become U+FFFD.

    JSON is UTF-8, and a stray byte in the input spoils only its own line. `/dev/null` replaces a
    stream that the caller has closed.
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


_under_way: list[Callable[[int, object], None]] = []
"""Functions that interrupt :func:`run_async` in an orderly way even if Ctrl-C is ignored."""


@contextlib.contextmanager
def interrupted_by(*numbers: signal.Signals) -> Iterator[None]:
    """Let signals end the body as Ctrl-C does; signals ignored so far (nohup) stay ignored."""

    def interrupt(number: int, frame: object) -> None:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.raise_signal(signal.SIGINT)
        # Ctrl-C is ignored in a script's background job, but other signals are not.
        elif _under_way:
            _under_way[-1](number, frame)
        else:
            raise KeyboardInterrupt

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


class Interrupts:
    """A handler of Ctrl-C: the first one ends the command, those soon after are ignored.

    An orderly end (robot stopped, processes ended, folders removed) takes a moment, and pressing
    again and again would cut it off. If it hangs, an interrupt counts again after
    :data:`PATIENCE_S`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: float | None = None

    def counts(self) -> bool:
        """Record an interrupt, and return whether it counts."""
        now = self._clock()
        if self._last is not None and now - self._last < PATIENCE_S:
            return False
        self._last = now
        return True

    def __call__(self, number: int, frame: object) -> None:
        """Handle SIGINT by ``KeyboardInterrupt``, if it counts."""
        del number, frame
        if self.counts():
            raise KeyboardInterrupt


@contextlib.contextmanager
def ending_once() -> Iterator[None]:
    """Handle Ctrl-C by :class:`Interrupts` in the body; ignore it afterwards.

    If Ctrl-C is already ignored, it stays ignored. After the body, the program only has to exit.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, Interrupts())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_async(work: Awaitable[T]) -> T:
    """Run ``work`` like ``asyncio.run``; an interrupt cancels it once, so that it ends in order.

    Raises ``KeyboardInterrupt`` after ``work`` has ended.
    """
    import asyncio  # most commands do not need it

    before, interrupted = signal.getsignal(signal.SIGINT), threading.Event()
    # One object counts all presses: after the one that ends the work, none disturbs the exit.
    interrupts = before if isinstance(before, Interrupts) else Interrupts()

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def interrupt(number: int, frame: object) -> None:
            del number, frame
            if interrupts.counts():
                interrupted.set()
                loop.call_soon_threadsafe(task.cancel)

        _under_way.append(interrupt)
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        try:
            return await work
        finally:
            signal.signal(signal.SIGINT, before)
            _under_way.remove(interrupt)

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if interrupted.is_set():
            raise KeyboardInterrupt from None
        raise


@contextlib.contextmanager
def while_read(stream: TextIO, end: Callable[[], None]) -> Iterator[None]:
    """Call ``end``, on another thread, when nobody reads ``stream`` any more (``| head``).

    A program that rarely writes would not notice until its next line, perhaps hours later.
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


LONGEST = 200
"""Maximum characters of a command's first sentence: enough for all of it."""


class Listing(click.Group):
    """A group that lists its commands with their whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(LONGEST))
                    for name in self.list_commands(ctx)
                    if (command := self.get_command(ctx, name)) is not None
                ]
            )


Command = TypeVar("Command", bound=Callable[..., object])


def json_option(command: Command) -> Command:
    """Add ``--json`` (argument ``as_json``)."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")(
        command
    )


def refuse_two_outputs(file: Path | None, as_json: bool) -> None:
    """Raise ``UsageError`` if a file given as ``-`` and JSON both need standard output."""
    if as_json and is_standard_output(file):
        raise click.UsageError("- and --json both write to standard output: omit one of them")


def printing_beside(file: Path | None) -> contextlib.AbstractContextManager[object]:
    """Print to standard error in the body if a file given as ``-`` takes standard output."""
    if is_standard_output(file):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def require_terminal(otherwise: str) -> None:
    """Raise ``UsageError`` if there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f"no terminal to ask in: {otherwise}")


def emit(document: Mapping[str, object]) -> None:
    """Print one JSON object on a line of standard output, at once."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, separators=(", ", ": ")) + "\n")
    sys.stdout.flush()


def answer(
    document: Mapping[str, object], as_json: bool, shown: str | Callable[[], object]
) -> ExitCode:
    """Print a document as JSON, or else a text or a function's output; return "done"."""
    if as_json:
        emit(document)
    elif callable(shown):
        shown()
    else:
        click.echo(shown)
    return ExitCode.DONE


def complain(message: str) -> None:
    """Print an error message on standard error."""
    click.secho("cubist: ", fg="red", bold=True, nl=False, err=True)
    click.echo(printable(message), err=True)


def daemon_client() -> ControlClient:
    """Return a client of the daemon; print a note if its robot is simulated."""
    from robot.api.client import ControlClient  # some commands do not need it

    client = ControlClient()
    found = running_simulation()
    if found is not None and client.path == found.control_socket:
        note(f"{found.about} (cubist simulate, process {found.process})")
    return client


def find_daemon() -> ControlClient | None:
    """Return a client of the daemon, or None if none runs.

    Raises DaemonError if one runs and cannot be asked.
    """
    from robot.api.client import Absence, DaemonError

    client = daemon_client()
    try:
        client.status()
    except DaemonError as error:
        if error.why is not Absence.NOT_RUNNING:
            raise
        return None
    return client


def note(message: str) -> None:
    """Print a note on standard error."""
    click.echo(printable(message), err=True)


def shown_colour(linear_rgb: Sequence[float]) -> tuple[int, int, int]:
    """Return linear light as a terminal shows it: sRGB, 0..255."""
    red, green, blue = (round(255 * min(1.0, max(0.0, light)) ** (1 / 2.2)) for light in linear_rgb)
    return red, green, blue
