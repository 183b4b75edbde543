"""``cubist``: the program for the command line. It imports a command only when it is used."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys

import click

from robot import DISTRIBUTION
from robot.cli.output import (
    BY_KEY,
    complain,
    emit,
    ending_once,
    interrupted_by,
    prepare_streams,
)
from robot.text.faults import exit_code_of
from robot.text.outcomes import Outcome
from solver.errors import CubistError, ExitCode

COMMANDS = {
    "acknowledge": ("control", "Acknowledge an emergency stop, without moving the robot."),
    "calibrate": ("calibrate", "Adjust the robot while its daemon runs."),
    "calibration": ("calibration", "Show, compare, restore, export and import the calibration."),
    "config": ("profiles", "Check, show and describe robot profiles."),
    "demo": ("simulate", "Solve a cube with a simulated robot, from button to solved."),
    "doctor": ("doctor", "Check whether this machine is ready to run a robot."),
    "firmware": ("firmware", "Build, flash and inspect the firmware."),
    "home": ("control", "Move the robot to its start position."),
    "logs": ("status", "Show the daemon's journal."),
    "pattern": ("control", "Turn the cube in the robot to a pattern."),
    "pi-card": ("pi_card", "Prepare a card with Raspberry Pi OS that sets itself up."),
    "profile": ("profile", "Show, edit, check and keep your own robot's profile."),
    "read": ("read", "Read a cube from photographs or measured colours."),
    "restart": ("control", "Restart the daemon."),
    "robot": ("profiles", "Show a robot profile's abilities and times."),
    "runs": ("runs", "List the robot's runs, newest first."),
    "scramble": ("control", "Scramble the cube in the robot."),
    "show": ("show", "Play a programme of jobs again and again."),
    "shutdown": ("control", "Switch the robot's Raspberry Pi off cleanly."),
    "simulate": ("simulate", "Run a simulated robot for all other commands."),
    "solve": ("solve", "Find moves, or a robot's motion, that solve a cube."),
    "start": ("control", "Solve the cube in the robot."),
    "status": ("status", "Show the robot's state and job."),
    "stop": ("control", "Stop the robot safely."),
    "test": ("control", "Scramble and solve repeatedly, with statistics."),
    "web": ("status", "Print the address of the page on the robot."),
}
"""Name -> (its module in this folder, the line shown by ``cubist --help``)."""


EXIT_CODES = {
    0: "done",
    1: "the answer is no (illegal cube, not solved, unhealthy)",
    2: "bad usage or bad file",
    3: "the robot or its link failed",
    4: "stopped by a person or a deadline",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"robot.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"Exit codes: {', '.join(f'{code} {text}' for code, text in EXIT_CODES.items())}.",
)
@click.version_option(package_name=DISTRIBUTION, prog_name="cubist")
def cubist() -> None:
    """Control a robot that solves twisty cubes."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its exit code; only CUBIST_DEBUG shows tracebacks."""
    prepare_streams()
    with ending_once(), interrupted_by(signal.SIGTERM):
        code = run(arguments)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (:data:`robot.text.outcomes.OUTCOMES`).

    With ``--json``, an error that ends a command is the last object of its output.
    """
    end = _end_in_json if "--json" in (sys.argv if arguments is None else arguments) else _end
    try:
        result = cubist.main(arguments, prog_name="cubist", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return end("usage", error.format_message(), ExitCode.USAGE)
    except (click.exceptions.Abort, KeyboardInterrupt):
        complain("stopped")
        return end(Outcome.STOPPED, BY_KEY, ExitCode.STOPPED)
    except (BrokenPipeError, SystemExit):
        # rich turns the first into the second; our code never raises it.
        return _reader_left()
    except CubistError as error:
        complain(str(error))
        return end(error.code, str(error), exit_code_of(error))
    except Exception as error:
        code, reason, exit_code = _describe_unexpected(error)
        complain(f"{reason}. Run again with CUBIST_DEBUG=1 to see where.")
        return end(code, reason, exit_code)
    return result if isinstance(result, int) else ExitCode.DONE


def _end(code: str, reason: str, exit_code: ExitCode) -> ExitCode:
    """Flush the output, and return the exit code."""
    del code, reason
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return exit_code


def _end_in_json(code: str, reason: str, exit_code: ExitCode) -> ExitCode:
    with contextlib.suppress(OSError):
        emit({"error": code, "reason": reason})
    return _end(code, reason, exit_code)


def _reader_left() -> int:
    """End quietly because the reader of our output has gone (``| head``)."""
    _drop_output()
    return ExitCode.DONE


def _drop_output() -> None:
    """Discard buffered output, since Python would otherwise complain about it again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe_unexpected(error: Exception) -> tuple[str, str, ExitCode]:
    """Return code, reason and exit code of a system error (such as a full disk) or of a bug."""
    if os.environ.get("CUBIST_DEBUG"):
        raise error
    if isinstance(error, OSError):
        return "system", _describe_system_error(error), ExitCode.USAGE
    return "internal", f"internal error: {type(error).__name__}: {error}", ExitCode.FAILED


def _describe_system_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


if __name__ == "__main__":
    main()
