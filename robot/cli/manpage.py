"""The manual page cubist(1), made from the commands themselves: ``python -m robot.cli.manpage``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version

import click

from robot import DISTRIBUTION
from robot.cli.main import EXIT_CODES, cubist


def manual_page() -> str:
    """The page in man(7) markup."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    context = click.Context(cubist, info_name="cubist")
    yield f'.TH CUBIST 1 "" "cubist {version(DISTRIBUTION)}" "Cubist"'
    yield ".SH NAME"
    yield "cubist \\- control a robot that solves twisty cubes"
    yield ".SH SYNOPSIS"
    yield ".B cubist\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]..."
    yield ".SH COMMANDS"
    for name in cubist.list_commands(context):
        command = cubist.get_command(context, name)
        if command is not None:
            yield from _command(click.Context(command, context, name), command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield f".TP\n.B {code}\n{meaning}"
    yield ".SH ENVIRONMENT"
    yield ".TP\n.B CUBIST_RUNTIME_DIR\nwhere the daemon's control socket is (/run/cubist)"
    yield ".TP\n.B CUBIST_STATE_DIR\nwhere run records are (/var/lib/cubist)"
    yield ".TP\n.B CUBIST_DEBUG\nshow where an internal error happened"


def _command(context: click.Context, command: click.Command) -> Iterator[str]:
    yield f'.SS "{_escape(context.command_path)}"'
    yield f".B {_escape(' '.join(command.collect_usage_pieces(context)))}".replace(".B \n", "")
    yield ".PP"
    yield _escape(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield f".TP\n.B {_escape(record[0])}\n{_escape(record[1])}"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            if sub is not None:
                yield from _command(click.Context(sub, context, name), sub)


def _escape(text: str) -> str:
    """Text in which roff sees no requests and no hyphenation of options."""
    lines = (line.strip() for line in text.replace("\\", "\\e").splitlines())
    safe = (f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
    return "\n".join(line or ".PP" for line in safe).replace("-", "\\-")


if __name__ == "__main__":
    sys.stdout.write(manual_page())
