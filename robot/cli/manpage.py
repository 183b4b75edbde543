"""Manual pages, made from the programs' own parsers: ``python -m robot.cli.manpage PROGRAM``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version

import click

from robot import DISTRIBUTION
from robot.cli.main import EXIT_CODES, cubist
from robot.daemon.service import make_parser as make_daemon_parser
from robot.display.main import make_parser as make_display_parser
from robot.mqtt.main import make_parser as make_mqtt_parser
from robot.web.main import make_parser as make_web_parser

SERVICES: dict[str, Callable[[dict[str, str]], argparse.ArgumentParser]] = {
    "cubistd": make_daemon_parser,
    "cubist-web": make_web_parser,
    "cubist-display": make_display_parser,
    "cubist-mqtt": make_mqtt_parser,
}
"""Programs that run as services, with the functions that make their parsers."""


def manual_page(program: str = "cubist") -> str:
    """Return the page of a program in man(7) markup."""
    if program in SERVICES:
        lines = _describe_service(SERVICES[program]({}))
    else:
        lines = _describe_commands()
    title = f'.TH {program.upper()} 1 "" "cubist {version(DISTRIBUTION)}" "Cubist"'
    return "\n".join([title, ".nh\n.ad l", *lines]) + "\n"


def _describe_service(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the page of a program that uses argparse."""
    summary = " ".join((parser.description or "").split())
    name, page = _escape(parser.prog), "\\fBcubist\\fR(1)"
    purpose, _, _ = summary.rstrip(".").partition(". ")
    usage = parser.format_usage().partition(parser.prog)[2]
    options = parser.format_help().partition("\noptions:\n")[2].partition("\n\n")[0]
    yield f".SH NAME\n{name} \\- {_escape(purpose[:1].lower() + purpose[1:])}"
    yield f".SH SYNOPSIS\n.B {name}\n{_escape(' '.join(usage.split()))}"
    yield f".SH DESCRIPTION\n{_escape(summary)}"
    yield f"systemd runs it as the service \\fB{name}.service\\fR. {page} controls the robot."
    yield f".SH OPTIONS\n.nf\n{_escape(options, keep_indentation=True)}\n.fi"
    yield f".SH ENVIRONMENT\n{_escape(' '.join((parser.epilog or '').split()))}"
    yield f".SH SEE ALSO\n{page}, \\fBsystemctl\\fR(1), \\fBjournalctl\\fR(1)"


def _describe_commands() -> Iterator[str]:
    """Yield the page of ``cubist``, which uses click."""
    context = click.Context(cubist, info_name="cubist")
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
    others = ", ".join(f"\\fB{_escape(name)}\\fR(1)" for name in SERVICES)
    yield f".SH SEE ALSO\n{others}"


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


def _escape(text: str, *, keep_indentation: bool = False) -> str:
    """Return text escaped so that roff sees no requests and does not hyphenate options."""
    whole = text.replace("\\", "\\e").splitlines()
    lines = (line.rstrip() if keep_indentation else line.strip() for line in whole)
    safe = (f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
    return "\n".join(line or ".PP" for line in safe).replace("-", "\\-")


if __name__ == "__main__":
    sys.stdout.write(manual_page(*sys.argv[1:2]))
