"""``cubist calibration``: what was calibrated; shown, compared, moved between robots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.cli.output import Listing, daemon_client, emit, json_option, note, refuse_two_outputs
from robot.outcomes import ExitCode
from solver.files import BadFile, parse_json, read_text

if TYPE_CHECKING:
    from robot.documents import JsonMapping

MAX_CALIBRATION_BYTES = 2**20


@click.group(cls=Listing)
def calibration() -> None:
    """Show, compare, restore, export and import the calibration."""


@calibration.command()
@json_option
def show(as_json: bool) -> int:
    """Show all calibrated values."""
    found = daemon_client().call("GET", "/calibration")
    if as_json:
        emit(found)
        return ExitCode.DONE
    for key, value in sorted(found["values"].items()):
        click.echo(f"{key}: {value}")
    if not found["values"]:
        note(f"nothing is calibrated: {_robot(found)} uses the values of its profile")
    return ExitCode.DONE


@calibration.command()
@click.option("--robot", "profile", help="Profile to compare with (default: the daemon's).")
@json_option
def diff(profile: str | None, as_json: bool) -> int:
    """Show what differs from the robot's profile."""
    from robot.calibration.store import Calibration, differences
    from robot.settings import load_profile
    from robot.settings.other_cubes import for_cube

    found = daemon_client().ask("GET", "/calibration", Calibration)
    compared = for_cube(load_profile(profile or found.robot), found.size)
    changed = list(differences(compared, found))
    if not changed:
        note(f"no differences: {found.robot} uses the values of its profile")
    for key, before, after in changed:
        if as_json:
            emit({"key": key, "profile": before, "calibrated": after})
        else:
            click.echo(f"{key}: {before} -> {after}")
    return ExitCode.DONE


@calibration.command()
@json_option
def restore(as_json: bool) -> int:
    """Restore the version before the last change; run it again to undo that."""
    client = daemon_client()
    with client.maintenance():
        _tell(client.call("POST", "/calibration/restore", {}), as_json)
    return ExitCode.DONE


@calibration.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def export(file: Path, as_json: bool) -> int:
    """Write the calibration to FILE (- for standard output), to keep it or to move it elsewhere."""
    from robot.records.storage import write_given

    refuse_two_outputs(file, as_json)
    found = daemon_client().call("GET", "/calibration")
    write_given(file, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())
    _tell(found, as_json)
    return ExitCode.DONE


@calibration.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def import_(file: Path, as_json: bool) -> int:
    """Replace the calibration with an exported FILE."""
    from robot.calibration.store import FORMAT

    exported = parse_json(read_text(file, MAX_CALIBRATION_BYTES), str(file))
    values = exported.get("values") if isinstance(exported, dict) else None
    if not isinstance(exported, dict) or not isinstance(values, dict):
        raise BadFile(f"{file}: not an exported calibration: it has no values")
    client = daemon_client()
    with client.maintenance():
        present = client.call("GET", "/calibration")
        _require_same_cube(exported.get("size"), present["size"], file)
        removed = dict.fromkeys(present["values"])
        body = {"format": exported.get("format", FORMAT), "values": removed | values}
        _tell(client.call("PUT", "/calibration", body), as_json)
    return ExitCode.DONE


def _require_same_cube(exported: object, present: object, file: Path) -> None:
    if exported is None or exported == present:  # earlier versions did not name it
        return
    if not isinstance(exported, int):
        raise BadFile(f"{file}: size: not a number of layers")
    raise BadFile(
        f"{file}: calibrated for cubes of {exported} layers, and the robot is set up for "
        f"{present}: start it with --size {exported} (CUBIST_SIZE) first"
    )


def _tell(found: JsonMapping, as_json: bool) -> None:
    if as_json:
        emit(found)
    else:
        note(f"{_robot(found)}: {len(found['values'])} calibrated values")


def _robot(found: JsonMapping) -> str:
    """Its name, and the cube that it is set up for."""
    return f"{found['robot']} ({'x'.join([str(found['size'])] * 3)})"
