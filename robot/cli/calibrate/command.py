"""``cubist calibrate``: adjust a robot while its daemon runs; every change is tried, then kept."""

from __future__ import annotations

import click

from robot.cli.calibrate.camera import camera
from robot.cli.calibrate.interactive import Placing, interactively, position_options, set_or_ask
from robot.cli.calibrate.measures import colours, gripper, timing, travel
from robot.cli.calibrate.steppers import stepper
from robot.cli.calibrate.wizard import wizard
from robot.cli.output import Listing, emit, json_option, note
from robot.cli.positions import maintenance
from robot.outcomes import ExitCode


@click.group(cls=Listing, invoke_without_command=True)
@click.pass_context
def calibrate(ctx: click.Context) -> int:
    """Adjust the robot: the daemon enters maintenance and leaves it with this command.

    Without a command it asks, in a terminal, what to calibrate.
    """
    return ExitCode.DONE if ctx.invoked_subcommand else interactively(None, None, as_json=False)


@calibrate.command()
@click.option(
    "--as-profile",
    is_flag=True,
    help="Trust the profile's positions and directions, which nobody has confirmed.",
)
@json_option
def home(as_profile: bool, as_json: bool) -> int:
    """Bring all actuators to their start positions, once positions and directions are kept."""
    with maintenance() as client:
        client.call("POST", "/maintenance/home", {"as_profile": as_profile})
    if as_json:
        emit({"homed": True})
    else:
        note("homed")
    return ExitCode.DONE


@calibrate.command()
@click.argument("actuator", required=False)
@click.argument("position", required=False)
@position_options
def servo(actuator: str | None, position: str | None, placing: Placing) -> int:
    """Set the named POSITION of servo ACTUATOR, in us of pulse; asks what is not given."""
    if actuator is None or position is None:
        return interactively("servo", placing.profile, placing.as_json)
    return set_or_ask(f"actuators.{actuator}.positions_us.{position}", placing)


for _command in (stepper, camera, colours, timing, travel, gripper, wizard):
    calibrate.add_command(_command)
