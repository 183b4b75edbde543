"""``cubist calibrate``: adjust a robot while its daemon runs; every change is tried, then kept.

The commands are those of the steps of :mod:`robot.calibration`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.calibration.step import (
    STEPS,
    Command,
    Items,
    Measurement,
    Question,
    Row,
    Session,
    Step,
    steps_of,
)
from robot.cli.numbers import Number, Whole, misadjust_option
from robot.cli.output import (
    Listing,
    daemon_client,
    emit,
    json_option,
    note,
    printing_beside,
    refuse_two_outputs,
    require_terminal,
    shown_colour,
)
from robot.client import NoDaemon
from robot.documents import JsonMapping
from robot.outcomes import ExitCode
from robot.settings import RobotProfile, load_profile

if TYPE_CHECKING:
    from robot.calibration.camera import Image
    from robot.cli.guide.screens import StepScreen
    from robot.twin.misadjustment import Misadjustment


def conduct(measurement: Measurement, as_json: bool) -> None:
    """Have the robot measure; show what comes of it, and ask who sits at the terminal."""
    script = measurement.measure()
    answer: bool | None = None
    with contextlib.suppress(StopIteration):
        while True:
            message = script.send(answer)
            answer = None
            if isinstance(message, Row):
                _show(message, measurement, as_json)
            elif sys.stdin.isatty() and sys.stderr.isatty():
                answer = click.confirm(message.question, err=True)


def _show(row: Row, measurement: Measurement, as_json: bool) -> None:
    if as_json:
        if row.document is not None:
            emit(row.document)
        return
    first, *others = row.cells
    colour = None if row.colour is None else shown_colour(row.colour)
    click.secho(first, bg=colour, fg=colour and "black", nl=False)
    named = zip(measurement.columns[1:], others, strict=True)
    click.echo("  " + ", ".join(f"{column} {cell}".strip() for column, cell in named))


def finish(measurement: Measurement, kept: bool, as_json: bool, **more: object) -> ExitCode:
    """Report what was found and whether it was kept; the exit code that says the same."""
    if as_json:
        saved = {"saved": kept} if measurement.keeps else {}
        emit(more | measurement.document | saved)
    elif measurement.text:
        note(measurement.text + ("" if kept or not measurement.values else " (not saved)"))
    return ExitCode.DONE if measurement.is_found else ExitCode.NO


def on_screen(
    session: Session,
    *steps: Step,
    items: Items | None = None,
    measurement: Measurement | None = None,
    as_json: bool = False,
) -> int:
    """Calibrate on the screen, then report what was changed; the command's exit code.

    Shows these steps, with other ``items`` in their list, or one ``measurement``, else the menu.
    Raises ``UsageError`` where there is no terminal.
    """
    require_terminal("say all of it on the command line, see `cubist calibrate --help`")
    from robot.cli.guide.app import CalibrationApp, screen_for, screen_of

    screens: list[Callable[[], StepScreen]] = [
        partial(screen_of, session, step, items) for step in steps
    ]
    if measurement is not None:
        screens = [partial(screen_for, measurement)]
    before = session.calibration.values
    with session.maintenance():
        code = CalibrationApp(session, screens).run()
    if code != 0:
        return ExitCode.STOPPED
    _tell_changes(before, session.calibration.values, as_json)
    return ExitCode.DONE


def _tell_changes(before: JsonMapping, after: JsonMapping, as_json: bool) -> None:
    if before == after and not as_json:
        note("nothing was changed")
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if as_json:
            emit({"key": key, "before": old, "after": new, "saved": True})
        else:
            note(f"{key}: {_text(old)} -> {_text(new)}")


def _text(value: object) -> str:
    return "as in the profile" if value is None else str(value)


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
    """Show what a camera sees, in the terminal, with advice about framing, light and focus."""
    from robot.calibration.camera import CameraView
    from robot.records.storage import write_given

    refuse_two_outputs(save_to, as_json)
    session = Session()
    if live:
        return on_screen(session, STEPS["camera"], as_json=as_json)
    view = CameraView(session, camera, place)
    with session.maintenance(), printing_beside(save_to):
        view.take()
        if save_to:
            write_given(save_to, view.jpeg)
        if not (as_json or place):
            click.echo(half_blocks(view.drawn(), width))
        conduct(view, as_json)
        kept = save and session.keep(view.values)
    with printing_beside(save_to):
        return finish(view, kept, as_json)


def half_blocks(image: Image, width: int) -> str:
    """The picture in 24-bit colour; each character shows an upper and a lower pixel."""
    import cv2

    height = max(2, round(image.shape[0] * width / image.shape[1]) // 2 * 2)
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    lines = []
    for upper, lower in zip(small[0::2], small[1::2], strict=True):
        cells = (_cell(*above, *below) for above, below in zip(upper, lower, strict=True))
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)


def _cell(*rgb: int) -> str:
    r, g, b, r2, g2, b2 = rgb
    return f"\x1b[38;2;{r};{g};{b}m\x1b[48;2;{r2};{g2};{b2}m▀"


@click.command("all")
@click.option("--robot", "profile", required=True, help="The robot's profile: a name or a path.")
@click.option("--yes", is_flag=True, help="Ask nothing: keep what is told and measured.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="ACTUATOR.POSITION=VALUE",
    help="With --yes: set this position.",
)
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(list(STEPS)),
    help="Leave this step out.",
)
@click.option(
    "--simulated/--real",
    default=None,
    help="A simulated robot to practise on; the usual where no cubistd runs.",
)
@misadjust_option
@json_option
def everything(
    profile: str,
    yes: bool,
    settings: tuple[str, ...],
    skip: tuple[str, ...],
    simulated: bool | None,
    misadjusted: Misadjustment | None,
    as_json: bool,
) -> int:
    """Calibrate a new robot from the first step to the last; put a scrambled cube in first."""
    robot = load_profile(profile)
    given = dict(_given(robot, settings))
    steps = [step for step in steps_of(robot) if step.name not in skip]
    if not yes:
        require_terminal("--yes keeps what is measured without asking")
    with _robot_to_calibrate(robot, simulated, misadjusted):
        if not yes:
            return on_screen(Session(profile=robot), *steps, as_json=as_json)
        _perform_all(Session(profile=robot), steps, given, as_json)
    note("all steps are done; `cubist calibration diff` shows what was kept")
    return ExitCode.DONE


def _perform_all(
    session: Session, steps: Sequence[Step], given: dict[str, int], as_json: bool
) -> None:
    """All that nobody has to watch."""
    unasked = [step for step in steps if step.unattended or step.begin]
    for number, step in enumerate(unasked):
        note(f"step {number + 1} of {len(unasked)}: {step.name}")
        with session.maintenance():
            for measurement in step.unasked(session, given):
                conduct(measurement, as_json)
                kept = session.keep(measurement.values)
                finish(measurement, kept, as_json, step=step.name, **measurement.label)


@contextlib.contextmanager
def _robot_to_calibrate(
    robot: RobotProfile, simulated: bool | None, misadjusted: Misadjustment | None
) -> Iterator[None]:
    """The daemon's robot, or one in simulation for as long as this lasts."""
    if simulated is None:
        simulated = not _daemon_runs()
    if misadjusted is not None and not simulated:
        raise click.UsageError("--misadjust is for a simulated robot: add --simulated")
    if not simulated:
        found = Session().calibration.robot
        if found != robot.name:
            raise click.UsageError(f"cubistd controls {found}, not {robot.name}")
        yield
        return
    from robot.simulate.practice import practising

    note(f"practising on a simulated {robot.name}: nothing is kept after the last step")
    with practising(robot, misadjusted=misadjusted):
        yield


def _daemon_runs() -> bool:
    try:
        daemon_client().status()
    except NoDaemon as error:
        if isinstance(error.__context__, PermissionError):
            raise
        return False
    return True


def _given(robot: RobotProfile, settings: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """``--set`` as calibration keys and values."""
    from robot.calibration.positions import position_keys

    known = position_keys(robot)
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise click.UsageError(f"--set {setting}: there is {', '.join(known)}")
        try:
            yield known[name], int(value)
        except ValueError:
            raise click.UsageError(f"--set {setting}: {value!r} is no whole number") from None


class StepCommands(Listing):
    """The steps' commands; a step is imported when one of its commands may be asked for."""

    @cached_property
    def _steps(self) -> list[str]:
        return [*STEPS][::-1]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them."""
        while self._steps:
            _add(self, STEPS[self._steps.pop()])
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, most likely of the step of the same name."""
        self._steps.sort(key=lambda step: step == cmd_name)
        while cmd_name not in self.commands and self._steps:
            _add(self, STEPS[self._steps.pop()])
        return super().get_command(ctx, cmd_name)


@click.group(cls=StepCommands, invoke_without_command=True)
@click.pass_context
def calibrate(ctx: click.Context) -> int:
    """Adjust the robot: the daemon enters maintenance and leaves it with this command.

    Without a command it asks, in a terminal, what to calibrate.
    """
    return ExitCode.DONE if ctx.invoked_subcommand else on_screen(Session())


def _add(group: click.Group, step: Step) -> None:
    """Add the commands of a step, in a group of its own where it has one."""
    if step.group is not None:
        name, text = step.group
        parent, group = group, _group(name, text, step)
        parent.add_command(group)
    for command in step.commands:
        group.add_command(_command(step, command))


def _group(name: str, text: str, step: Step) -> click.Group:
    @click.group(name, cls=Listing, invoke_without_command=True, help=text)
    @click.pass_context
    def group(ctx: click.Context) -> int:
        done = ctx.invoked_subcommand is not None
        return ExitCode.DONE if done else on_screen(Session(), step)

    return group


def _command(step: Step, command: Command) -> click.Command:
    begin = command.begin or step.begin
    assert begin is not None

    def perform(
        as_json: bool, save: bool = True, profile: str | None = None, **said: object
    ) -> int:
        session = Session(profile=load_profile(profile) if profile else None)
        measurement = begin(session, **said)
        if measurement is None or measurement.needs_screen:
            return on_screen(
                session, step, items=command.items, measurement=measurement, as_json=as_json
            )
        with session.maintenance():
            conduct(measurement, as_json)
            kept = save and session.keep(measurement.values)
        return finish(measurement, kept, as_json)

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
calibrate.add_command(everything)
