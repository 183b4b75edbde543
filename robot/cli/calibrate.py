"""``cubist calibrate``: adjust a robot while its daemon runs; every change is tried, then kept."""

from __future__ import annotations

import base64
from pathlib import Path

import click

from robot.cli.groups import Listing
from robot.cli.measuring import colours, gripper, timing
from robot.cli.output import ExitCode, emit, json_option, note
from robot.cli.positions import maintenance, set_position, tell
from robot.cli.wizard import wizard


@click.group(cls=Listing)
def calibrate() -> None:
    """Adjust the robot: the daemon enters maintenance and leaves it with this command."""


@calibrate.command()
@json_option
def home(as_json: bool) -> int:
    """Bring all actuators to their start positions, as a first test."""
    with maintenance() as client:
        client.call("POST", "/maintenance/home", {})
    if as_json:
        emit({"homed": True})
    else:
        note("homed")
    return ExitCode.DONE


@calibrate.command()
@click.argument("actuator")
@click.argument("position")
@click.option(
    "--to", "target", type=int, help="Where it should be; asks with arrow keys if absent."
)
@click.option("--save/--try", default=True, help="Keep the value, or only move there.")
@click.option("--robot", "profile", help="The daemon's profile, where it is not the usual one.")
@json_option
def servo(
    actuator: str, position: str, target: int | None, save: bool, profile: str | None, as_json: bool
) -> int:
    """Set the named POSITION of servo ACTUATOR, in microseconds of pulse."""
    key = f"actuators.{actuator}.positions_us.{position}"
    tell(set_position(key, target, save, profile), as_json)
    return ExitCode.DONE


@calibrate.command()
@click.argument("actuator")
@click.argument("position")
@click.option(
    "--to", "target", type=int, help="Where it should be; asks with arrow keys if absent."
)
@click.option("--save/--try", default=True, help="Keep the value, or only move there.")
@click.option("--robot", "profile", help="The daemon's profile, where it is not the usual one.")
@json_option
def stepper(
    actuator: str, position: str, target: int | None, save: bool, profile: str | None, as_json: bool
) -> int:
    """Set the named POSITION of stepper ACTUATOR, in steps from its end stop."""
    key = f"actuators.{actuator}.positions_steps.{position}"
    tell(set_position(key, target, save, profile), as_json)
    return ExitCode.DONE


@calibrate.command()
@click.option("--camera", help="Which camera; the first when not given.")
@click.option("--save-to", type=click.Path(dir_okay=False, path_type=Path), help="A JPEG file.")
@click.option("--width", type=click.IntRange(20, 400), default=80, show_default=True)
@json_option
def camera(camera: str | None, save_to: Path | None, width: int, as_json: bool) -> int:
    """Show what a camera sees, in the terminal, with advice about light and focus."""
    with maintenance() as client:
        path = "/maintenance/picture" + (f"?camera={camera}" if camera else "")
        picture = base64.b64decode(client.call("GET", path)["jpeg"])
    from robot.cli.terminal_picture import advice, decode, half_blocks

    if save_to:
        from robot.storage import write_atomically

        write_atomically(save_to, picture)
    image = decode(picture)
    if as_json:
        emit(advice(image))
        return ExitCode.DONE
    click.echo(half_blocks(image, width))
    for about, text in advice(image).items():
        click.echo(f"{about}: {text}")
    return ExitCode.DONE


for _command in (colours, timing, gripper, wizard):
    calibrate.add_command(_command)
