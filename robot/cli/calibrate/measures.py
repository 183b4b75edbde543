"""``cubist calibrate colours``, ``timing`` and ``gripper``."""

from __future__ import annotations

from typing import Any

import click

from robot.cli.calibrate.interactive import Placing, interactively, position_options, set_or_ask
from robot.cli.output import emit, json_option, note, shown_colour
from robot.cli.positions import NoSuchActuator, keep, maintenance
from robot.client import ControlClient
from robot.outcomes import ExitCode
from solver.cube.facelets import FACES


@click.command()
@click.option("--solved", is_flag=True, help="The cube is solved (else it is read).")
@click.option("--facelets", help="What cube it is, as facelets in URFDLB order.")
@click.option("--save/--try", default=True, help="Keep the colours, or only look at them.")
@json_option
def colours(solved: bool, facelets: str | None, save: bool, as_json: bool) -> int:
    """Learn the colours of the cube in the robot, for reading it in any light."""
    if solved and facelets:
        raise click.UsageError("--solved and --facelets say different things: give one of them")
    tell_colours(measure_colours(solved, facelets, save), as_json)
    return ExitCode.DONE


@click.command()
@click.option("--save/--try", default=True, help="Keep longer times, or only show them.")
@json_option
def timing(save: bool, as_json: bool) -> int:
    """Perform every operation and measure how long it really takes."""
    tell_timing(measure_timing(save), as_json)
    return ExitCode.DONE


@click.command()
@click.argument("actuator")
@click.argument("start")
@click.argument("end")
@click.option("--save/--try", default=False, help="Keep the time measured, or only show it.")
@json_option
def travel(actuator: str, start: str, end: str, save: bool, as_json: bool) -> int:
    """Watch with the camera how long servo ACTUATOR takes from position START to END.

    It goes there as fast as it can: keep clear.
    """
    with maintenance() as client:
        body = {"actuator": actuator, "between": [start, end]}
        seen = client.call("POST", "/maintenance/travel", body)
        kept = keep(client, seen["values"], save)
    tell_travel(seen | {"saved": kept}, as_json)
    return ExitCode.DONE if seen["measured_us"] is not None else ExitCode.NO


@click.command()
@click.argument("site", type=click.Choice(list(FACES)), required=False)
@click.argument("position", type=click.Choice(["open", "closed"]), required=False)
@position_options
def gripper(site: str | None, position: str | None, placing: Placing) -> int:
    """Set how far the jaws of the gripper at SITE open or close; asks what is not given."""
    if site is None or position is None:
        return interactively("gripper", placing.profile, placing.as_json)
    return set_or_ask(jaw_key(site, position, placing.profile), placing)


def jaw_key(site: str, position: str, profile_name: str | None) -> str:
    """The calibration's key of a gripper's jaws; raises :class:`NoSuchActuator`."""
    from robot.settings import load_profile

    robot = profile_name or ControlClient().call("GET", "/calibration")["robot"]
    profile = load_profile(robot)
    grippers = profile.mechanism.jaws
    found = next((jaws for at, jaws in grippers.items() if at == site), None)
    if found is None:
        known = f"grippers at {', '.join(grippers)}" if grippers else "no grippers"
        raise NoSuchActuator(f"{robot} has no gripper at {site}: it has {known}")
    named = found.open if position == "open" else found.closed
    return f"actuators.{found.actuator}.{profile.actuators[found.actuator].positions_key}.{named}"


def measure_colours(solved: bool, facelets: str | None, save: bool) -> dict[str, Any]:
    """Have the robot look at its cube; what it saw, and whether that was kept."""
    with maintenance() as client:
        if solved:
            facelets = _solved(client)
        seen = client.call("POST", "/maintenance/colours", {"facelets": facelets})
        kept = keep(client, seen["values"], save)
    return seen | {"saved": kept}


def measure_timing(save: bool) -> dict[str, Any]:
    """Have the robot perform its operations; what they took, and whether corrections were kept."""
    with maintenance() as client:
        found = client.call("POST", "/maintenance/timing", {})
        kept = keep(client, found["values"], save)
    return found | {"saved": kept}


def _solved(client: ControlClient) -> str:
    """A solved cube of the robot's size."""
    from robot.settings import load_profile

    size = load_profile(client.call("GET", "/calibration")["robot"]).cube.size
    return "".join(face * size**2 for face in FACES)


def tell_colours(seen: dict[str, Any], as_json: bool) -> None:
    """Say which colours were seen."""
    if as_json:
        emit(seen)
        return
    for face, rgb in seen["values"]["colours"]["linear_rgb"].items():
        click.secho(f" {face} ", bg=shown_colour(rgb), fg="black", nl=False)
    click.echo()
    note("kept" if seen["saved"] else "not saved")


def tell_travel(seen: dict[str, Any], as_json: bool) -> None:
    """Say how long a servo took."""
    if as_json:
        emit(seen)
        return
    if seen["measured_us"] is None:
        note("the camera does not see this motion from beginning to end: judge it by eye")
        return
    figures = (seen[key] / 1e3 for key in ("measured_us", "within_us", "planned_us"))
    took, within, planned = figures
    click.echo(f"took {took:.0f} ms (within {within:.0f} ms), planned {planned:.0f} ms")
    note("kept" if seen["saved"] else "not saved")


def tell_timing(found: dict[str, Any], as_json: bool) -> None:
    """Say what operations take."""
    if as_json:
        emit(found)
        return
    for row in found["operations"]:
        planned, measured = row["planned_us"] / 1e3, row["measured_us"] / 1e3
        click.echo(f"{row['operation']:32} planned {planned:7.1f} ms, took {measured:7.1f} ms")
    if not found["values"]:
        note("everything takes as long as planned")
        return
    for key in found["values"]:
        note(f"{key}: longer times" + ("" if found["saved"] else " (not saved)"))
