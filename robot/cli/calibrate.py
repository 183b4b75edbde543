"""``cubist calibrate``: adjust a robot while its daemon runs; every change is tried, then kept.

Those that make one measurement are in :mod:`robot.cli.calibrate_commands`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.calibration.step import STEPS, Session
from robot.cli.calibrate_commands import COMMANDS, GROUPS, Command, Question
from robot.cli.calibrate_robot import automatic, everything
from robot.cli.measuring import calibrate_on_screen, calibrating, conduct, finish
from robot.cli.numbers import Number, Whole
from robot.cli.output import (
    Listing,
    json_option,
    note,
    printing_beside,
    refuse_two_outputs,
)
from robot.settings import load_profile
from robot.text.terminal import picture_text
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.calibration.steps.camera import Image


@click.command()
@click.option("--camera", help="Which camera; the first when not given.")
@click.option("--live", is_flag=True, help="Show it live, and move the frames of the faces.")
@click.option("--place", metavar="SITE", help="Find the face at SITE, and keep where it is.")
@click.option("--save/--try", default=True, help="Keep the place, or only look for it.")
@click.option(
    "--save-to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A JPEG file; - for standard output.",
)
@click.option("--width", type=Whole(20, 400), default=80, show_default=True)
@json_option
def camera(  # one argument per option
    camera: str | None,
    live: bool,
    place: str | None,
    save: bool,
    save_to: Path | None,
    width: int,
    as_json: bool,
) -> int:
    """Show a camera's picture in the terminal, with advice about framing, light and focus."""
    from robot.calibration.steps.camera import CameraAdvice
    from robot.records.storage import write_given

    refuse_two_outputs(save_to, as_json)
    session = Session()
    if live:
        return calibrate_on_screen(session, STEPS["camera"], as_json=as_json)
    view = CameraAdvice(session, camera, place)
    with calibrating(session), printing_beside(save_to):
        view.take()
        if save_to:
            write_given(save_to, view.jpeg)
        if not (as_json or place):
            _print_picture(view.draw(), width)
        conduct(view, as_json)
        kept = save and view.keep()
    with printing_beside(save_to):
        return finish(view, kept, as_json)


def _print_picture(image: Image, width: int) -> None:
    """Print a picture ``width`` columns wide, or a note if the terminal has no colours."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if console.color_system is None:
        note("a picture needs a terminal with colours; --save-to keeps it as a JPEG file")
        return
    console.print(picture_text(image, width, image.shape[0]))


@click.group(cls=Listing, invoke_without_command=True)
@click.pass_context
def calibrate(ctx: click.Context) -> int:
    """Adjust the robot: the daemon enters maintenance and leaves it with this command.

    Without a command it asks, in a terminal, what to calibrate. Most robots whose camera sees the
    cube find their values themselves: begin with `auto`.
    """
    return ExitCode.DONE if ctx.invoked_subcommand else calibrate_on_screen(Session())


def _group(name: str, text: str, step: str) -> click.Group:
    @click.group(name, cls=Listing, invoke_without_command=True, help=text)
    @click.pass_context
    def group(ctx: click.Context) -> int:
        done = ctx.invoked_subcommand is not None
        return ExitCode.DONE if done else calibrate_on_screen(Session(), STEPS[step])

    return group


def _add_commands() -> None:
    """Add the commands that make one measurement, some in a group of their own."""
    groups: dict[str, click.Group] = {"": calibrate}
    for command in COMMANDS:
        name = command.group
        if name not in groups:
            groups[name] = _group(name, GROUPS[name], command.step)
            calibrate.add_command(groups[name])
        groups[name].add_command(_command(command))


def _command(command: Command) -> click.Command:
    def perform(
        as_json: bool, save: bool = True, profile: str | None = None, **said: object
    ) -> int:
        session = Session(profile=load_profile(profile) if profile else None)
        measurement = command.begin(session, **said)
        if measurement is None or measurement.needs_screen:
            step = STEPS[command.step]
            return calibrate_on_screen(
                session, step, items=command.items, measurement=measurement, as_json=as_json
            )
        with calibrating(session):
            conduct(measurement, as_json)
            kept = save and measurement.keep()
        code = finish(measurement, kept, as_json)
        if command.unknown and not measurement.is_found:
            note(command.unknown)
        return code

    perform = json_option(perform)
    if command.saves is not None:
        text = "Keep what was found, or only try."
        perform = click.option("--save/--try", default=command.saves, help=text)(perform)
    for question in reversed(command.questions):
        perform = _parameter(question)(perform)
    return click.command(command.name, help=command.help)(perform)


def _parameter(question: Question) -> Callable[[Callable[..., int]], Callable[..., int]]:
    kind = question.kind
    if not question.option:
        chosen = click.STRING if isinstance(kind, type) else click.Choice(kind)
        return click.argument(question.name, type=chosen, required=question.required)
    names = (question.option, question.name)
    if kind is bool:
        return click.option(*names, is_flag=True, help=question.help)
    shown = question.default is not None
    return click.option(
        *names,
        type=_type_of(question),
        default=question.default,
        show_default=shown,
        help=question.help,
    )


def _type_of(question: Question) -> click.ParamType[str] | Whole | Number:
    low, high = question.limits
    if question.kind is int:
        return Whole(int(low), int(high))
    if question.kind is float:
        return Number(low, high)
    return click.STRING if isinstance(question.kind, type) else click.Choice(question.kind)


calibrate.add_command(camera)
calibrate.add_command(automatic)
calibrate.add_command(everything)
_add_commands()
