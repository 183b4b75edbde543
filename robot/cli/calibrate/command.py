"""``cubist calibrate``: adjust a robot while its daemon runs; every change is tried, then kept.

The commands are those of the steps of :mod:`robot.calibration`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import click

from robot.calibration.step import STEPS, Command, Question, Session, Step
from robot.cli.calibrate.camera import camera
from robot.cli.calibrate.everything import everything
from robot.cli.calibrate.measuring import conduct, finish, on_screen
from robot.cli.numbers import Number, Whole
from robot.cli.output import Listing, json_option
from robot.outcomes import ExitCode


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
        session = _session(profile)
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


def _session(profile: str | None) -> Session:
    from robot.settings import load_profile

    return Session(profile=load_profile(profile) if profile else None)


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
