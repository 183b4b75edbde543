"""``cubist config``: is a robot's profile right, what does it say, what may it say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.cli.output import Listing, emit, json_option
from robot.text.faults import exit_code_of
from robot.text.outcomes import worst
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.settings import BadProfile


@click.group(cls=Listing)
def config() -> None:
    """Check, show and describe robot profiles (a name from config/ or a path)."""


@config.command()
@click.argument("profiles", nargs=-1)
@json_option
def check(profiles: tuple[str, ...], as_json: bool) -> int:
    """Check PROFILES (default: all that come with Cubist); exit code 2 for faults."""
    from robot.settings import list_profiles

    codes = [_check_one(name, as_json) for name in profiles or list_profiles()]
    return worst(codes)


@config.command()
@click.argument("profile", required=False)
@json_option
def show(profile: str | None, as_json: bool) -> int:
    """Show a profile with every default filled in."""
    from robot.settings import DEFAULT_PROFILE, load_profile

    document = load_profile(profile or DEFAULT_PROFILE).model_dump(mode="json")
    if as_json:
        emit(document)
    else:
        import yaml

        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)
    return ExitCode.DONE


@config.command()
@json_option
def schema(as_json: bool) -> int:
    """Print the JSON schema of profiles, for editors that complete and check YAML."""
    from robot.settings import RobotProfile

    document = RobotProfile.model_json_schema()
    if as_json:
        emit(document)
    else:
        click.echo(json.dumps(document, indent=2))
    return ExitCode.DONE


@config.command("import-cubotino")
@click.argument("settings", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("calibration", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--robot",
    "name",
    default="cubotino",
    show_default=True,
    help="The robot's profile: cubotino, cubotino-micro, cubotino-pocket or cubotino-uno.",
)
@json_option
def import_settings(settings: Path, calibration: Path, name: str, as_json: bool) -> int:
    """Write CALIBRATION from SETTINGS, the servo settings of CUBOTino's own program.

    Pulses, limits and times are taken over; what has no counterpart is listed. Then run
    `cubist calibration import CALIBRATION`.
    """
    from robot.api.calibrations import Calibration
    from robot.calibration.cubotino import POSITIONS, import_cubotino
    from robot.calibration.values import apply
    from robot.records.storage import write_atomically
    from robot.settings import load_profile

    profile = load_profile(name)
    if not POSITIONS.keys() <= profile.actuators.keys():
        raise click.UsageError(f"{name} is no CUBOTino: it has no lid and holder")
    found = import_cubotino(settings, profile)
    made = Calibration(robot=profile.name, values=found.values)
    apply(profile, made)
    write_atomically(calibration.resolve(), (made.model_dump_json(indent=1) + "\n").encode())
    if as_json:
        emit({"robot": profile.name, "values": found.values, "unused": dict(found.unused)})
        return ExitCode.DONE
    for key, value in found.values.items():
        click.echo(f"{key}: {_plain(value)}")
    for key, reason in found.unused.items():
        click.echo(f"not taken over: {key}: {reason}")
    click.echo(f"Now run: cubist calibration import {calibration}")
    return ExitCode.DONE


def _plain(value: object) -> str:
    """Return a value of a profile in words: ``between open, close, ms 300``."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        nested = any(isinstance(each, Mapping) for each in value)
        return ("; " if nested else " to ").join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def answer_bad_profile(name: str, error: BadProfile, as_json: bool) -> ExitCode:
    """The answer of a check: everything that is wrong with a profile; the exit code for it."""
    if as_json:
        found = [
            {"file": item.file, "line": item.line, "key": item.key, "text": item.text}
            for item in error.complaints
        ] or [{"file": name, "line": 0, "key": "", "text": str(error)}]
        emit({"profile": name, "ok": False, "complaints": found})
    else:
        click.echo(str(error))
    return exit_code_of(error)


def _check_one(name: str, as_json: bool) -> ExitCode:
    """Load a profile and compile its mechanism; say all that is wrong."""
    from robot.planner import build_mechanism
    from robot.settings import BadProfile, load_profile

    try:
        profile = load_profile(name)
        build_mechanism(profile)
    except BadProfile as error:
        return answer_bad_profile(name, error, as_json)
    if as_json:
        emit({"profile": name, "ok": True, "title": profile.title})
    else:
        click.echo(f"{name}: {profile.title}: all right")
    return ExitCode.DONE
