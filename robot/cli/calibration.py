"""``cubist calibration``: show, compare and restore values, and move them between robots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.api.calibrations import FORMAT
from robot.api.endpoints import CALIBRATION, IMPORT_CALIBRATION, RESTORE_CALIBRATION, VERSIONS
from robot.cli.numbers import Whole
from robot.cli.output import (
    Listing,
    answer,
    daemon_client,
    emit,
    json_option,
    note,
    refuse_two_outputs,
)
from robot.cli.texts import calibration_lines, day_of, minute_of, value_text
from robot.text.messages import Note
from solver.errors import ExitCode
from solver.files import BadFile, parse_json, read_text

if TYPE_CHECKING:
    from robot.api.client import ControlClient
    from robot.api.endpoints import CalibrationJson, SourceJson, VersionSummaryJson
    from solver.files import JsonObject

MAX_CALIBRATION_BYTES = 2**20


@click.group(cls=Listing)
def calibration() -> None:
    """Show, compare, restore, export and import the calibration."""


@calibration.command()
@json_option
def show(as_json: bool) -> int:
    """Show all calibrated values and their sources."""
    client = daemon_client()
    found = client.call(CALIBRATION)
    if as_json:
        emit(found)
        return ExitCode.DONE
    for key, value in sorted(found["values"].items()):
        click.echo(f"{key}: {_describe(value)}  # {_source(found['sources'].get(key))}")
    now = client.status()
    for line in calibration_lines(now["calibration"], now["robot"], simulated=now["simulated"]):
        note(line)
    return ExitCode.DONE


def _describe(value: object) -> str:
    """Return a value as text; learned colours are shown with their light and solves."""
    if not isinstance(value, dict) or not value.get("solves"):
        return str(value)
    sites = ", ".join(f"{camera} {' '.join(seen)}" for camera, seen in value["light"].items())
    return (
        f"{value['linear_rgb']}, light of {sites}, from {value['solves']} solves since "
        f"{value['since']}"
    )


def _source(source: SourceJson | None) -> str:
    """Return how a value was found: ``auto, 2026-05-03, within 5``."""
    if source is None:
        return "only tried out"
    words = [Note.of(f"made-{source['how']}"), day_of(source["at"])]
    unsure = source["uncertain"]
    if unsure is not None:
        words.append(unsure if isinstance(unsure, str) else f"within {unsure:g}")
    if source["robot"] is not None:
        words.insert(1, f"of {source['robot']}")
    return ", ".join(words if source["confirmed"] else [*words, "not confirmed"])


@calibration.command()
@click.option("--robot", "profile", help="Profile to compare with (default: the daemon's).")
@json_option
def diff(profile: str | None, as_json: bool) -> int:
    """Show what differs from the robot's profile."""
    from robot.api.calibrations import Calibration
    from robot.calibration.values import differences
    from robot.settings import load_profile
    from robot.settings.profile import for_cube

    found = daemon_client().ask(CALIBRATION, Calibration)
    compared = for_cube(load_profile(profile or found.robot), found.size)
    changed = list(differences(compared, found))
    if not changed:
        note(f"no differences: {found.robot} uses the values of its profile")
    for key, before, after in changed:
        document = {"key": key, "profile": before, "calibrated": after}
        answer(document, as_json, f"{key}: {before} -> {after}")
    return ExitCode.DONE


@calibration.command()
@json_option
def versions(as_json: bool) -> int:
    """List the stored versions, the newest last; * marks the one in force."""
    listed = daemon_client().call(VERSIONS)
    for one in listed["versions"]:
        if as_json:
            emit(one)
        elif one["why"] is not None:
            click.echo(f"{_number(one)}  cannot be read: {one['why']}")
        else:
            differing = one["differing"]
            differs = "" if differing in {None, 0} else f", {differing} differ from now"
            changed = f"{one['values']} values, {one['changed']} changed{differs}"
            at = minute_of(one["at"] or "")
            click.echo(f"{_number(one)}  {at}  {_maker(one):24}  {changed}")
    if not listed["versions"]:
        note(f"nothing has ever been calibrated on {listed['robot']}")
    return ExitCode.DONE


def _number(one: VersionSummaryJson) -> str:
    return f"{one['version']:4}{'*' if one['in_force'] else ' '}"


def _maker(one: VersionSummaryJson) -> str:
    restored = one["restored"]
    return Note.of(f"made-{one['by']}") + ("" if restored is None else f" of version {restored}")


@calibration.command()
@click.argument("version", type=Whole(0, 999_999_999), required=False)
@json_option
def restore(version: int | None, as_json: bool) -> int:
    """Restore VERSION (default: the previous one); run it again to undo that.

    `cubist calibration versions` lists them; version 0 is a robot without calibration.
    """
    client = daemon_client()
    with client.maintenance():
        found = client.call(RESTORE_CALIBRATION, {"version": version})
    if as_json:
        emit(found)
        return ExitCode.DONE
    for one in found["changes"]:
        click.echo(f"{one['key']}: {value_text(one['before'])} -> {value_text(one['after'])}")
    if not found["changes"]:
        note("no value has changed")
    note(f"version {found['version']} is in force now; `cubist calibration restore` undoes it")
    _report(found, as_json)
    return ExitCode.DONE


@calibration.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def export(file: Path, as_json: bool) -> int:
    """Write the calibration to FILE (- for standard output), to keep it or to move it elsewhere."""
    from robot.records.storage import write_given

    refuse_two_outputs(file, as_json)
    found = daemon_client().call(CALIBRATION)
    write_given(file, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())
    _report(found, as_json)
    return ExitCode.DONE


@calibration.command("import")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--from-another",
    metavar="ROBOT",
    help="Start from the calibration of another robot; without FILE from the one kept here.",
)
@json_option
def import_(file: Path | None, from_another: str | None, as_json: bool) -> int:
    """Replace the calibration with an exported FILE.

    The robot works again once you have confirmed, one by one, the positions and directions that
    nobody has seen on it.
    """
    if file is None and from_another is None:
        raise click.UsageError("give a FILE, or --from-another ROBOT")
    client = daemon_client()
    body = {} if file is None else _read_export(file, client)
    with client.maintenance():
        body["from_another"] = from_another
        found = client.call(IMPORT_CALIBRATION, body)
    _report(found, as_json)
    unseen = [key for key, one in found["sources"].items() if not one["confirmed"]]
    if unseen:
        note(
            f"{len(unseen)} of them are not confirmed on this robot: `cubist status` lists the "
            "positions and directions that have to be, `cubist calibrate` confirms them"
        )
    return ExitCode.DONE


def _read_export(file: Path, client: ControlClient) -> JsonObject:
    """Read an exported file, and return the request that imports it."""
    exported = parse_json(read_text(file, MAX_CALIBRATION_BYTES), str(file))
    values = exported.get("values") if isinstance(exported, dict) else None
    if not isinstance(exported, dict) or not isinstance(values, dict):
        raise BadFile(f'{file}: "values" is missing: export it with `cubist calibration export`.')
    if not isinstance(robot := exported.get("robot"), str):
        raise BadFile(f'{file}: "robot" is missing: the name of the robot it was exported from.')
    written = exported.get("format", FORMAT)
    if not isinstance(written, int) or not 1 <= written <= FORMAT:
        raise BadFile(f"{file}: format {written}: this release of Cubist reads 1 to {FORMAT}")
    present = client.call(CALIBRATION)
    _require_same_cube(exported.get("size"), present["size"], file)
    return {"robot": robot, "values": values}


def _require_same_cube(exported: object, present: object, file: Path) -> None:
    if exported is None or exported == present:  # earlier versions did not write it
        return
    if not isinstance(exported, int):
        raise BadFile(f'{file}: "size" is not a number of layers.')
    raise BadFile(
        f"{file}: calibrated for cubes of {exported} layers, and the robot is set up for "
        f"{present}: start it with --size {exported} (CUBIST_SIZE) first"
    )


def _report(found: CalibrationJson, as_json: bool) -> None:
    size = "x".join([str(found["size"])] * 3)
    text = f"{found['robot']} ({size}): {len(found['values'])} calibrated values"
    answer(found, as_json, lambda: note(text))
