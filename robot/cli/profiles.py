"""``cubist config`` and ``cubist robot``: what a profile says, and what its robot can do."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.cli.numbers import Number, Whole, size_option
from robot.cli.output import Listing, answer, emit, json_option, note
from robot.settings import (
    DEFAULT_PROFILE,
    BadProfile,
    Complaint,
    RobotProfile,
    list_profiles,
    load_profile,
    profile_path,
    require_profiles,
)
from robot.settings.profile import for_cube, sizes_of
from robot.text.faults import exit_code_of
from robot.text.outcomes import worst
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.planner.survey import Survey


@click.group(cls=Listing)
def config() -> None:
    """Check, show and describe robot profiles (a name from config/ or a path)."""


@config.command("check")
@click.argument("profiles", nargs=-1)
@json_option
def check_profiles(profiles: tuple[str, ...], as_json: bool) -> int:
    """Check PROFILES (default: all that come with Cubist); exit code 2 for faults."""
    codes = [_check_one(name, as_json) for name in profiles or require_profiles()]
    return worst(codes)


@config.command()
@click.argument("profile", required=False)
@json_option
def show(profile: str | None, as_json: bool) -> int:
    """Show a profile with every default filled in."""
    document = load_profile(profile or DEFAULT_PROFILE).model_dump(mode="json")
    import yaml

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return answer(document, as_json, text.removesuffix("\n"))


@config.command()
@json_option
def schema(as_json: bool) -> int:
    """Print the JSON schema of profiles, for editors that complete and check YAML."""
    document = RobotProfile.model_json_schema()
    return answer(document, as_json, json.dumps(document, indent=2))


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

    Pulses, limits and times are imported; settings without a counterpart are listed. Then run
    `cubist calibration import CALIBRATION`.
    """
    from robot.api.calibrations import Calibration
    from robot.calibration.cubotino import POSITIONS, import_cubotino
    from robot.calibration.values import apply
    from robot.records.storage import write_atomically

    profile = load_profile(name)
    if not POSITIONS.keys() <= profile.actuators.keys():
        raise click.UsageError(f"{name} is not a CUBOTino: it has no lid and holder")
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
        click.echo(f"not imported: {key}: {reason}")
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


def _answer_bad_profile(name: str, error: BadProfile, as_json: bool) -> ExitCode:
    """Print all faults of a profile; return the exit code."""
    found = [asdict(item) for item in error.complaints or [Complaint(name, 0, "", str(error))]]
    answer({"profile": name, "ok": False, "complaints": found}, as_json, str(error))
    return exit_code_of(error)


def _check_one(name: str, as_json: bool) -> ExitCode:
    """Load a profile and compile its mechanism; print all faults."""
    from robot.planner import build_mechanism

    try:
        profile = load_profile(name)
        build_mechanism(profile)
    except BadProfile as error:
        return _answer_bad_profile(name, error, as_json)
    document = {"profile": name, "ok": True, "title": profile.title}
    return answer(document, as_json, f"{name}: {profile.title}: all right")


_cubes = click.option(
    "--cubes", type=Whole(0, 10_000), default=10, show_default=True, help="Random cubes to solve."
)
_time_limit = click.option(
    "--time-limit",
    "search_s",
    type=Number(0.001, 600),
    default=0.5,
    show_default=True,
    help="Seconds of search for each cube.",
)


@click.group(cls=Listing)
def robot() -> None:
    """Show a robot profile's abilities and times."""


@robot.command("list")
@json_option
def list_(as_json: bool) -> int:
    """List the robots that come with Cubist."""
    names = (*list_profiles(), *list_profiles(reference=True))
    width = max(map(len, names))
    for name in names:
        profile = load_profile(name)
        about = {
            "name": name,
            "title": profile.title,
            "kind": profile.mechanism.kind,
            "size": profile.cube.size,
            "sizes": sizes_of(profile),
            "path": str(profile_path(name)),
        }
        answer(about, as_json, f"{name:{width}}  {profile.title}")
    return ExitCode.DONE


@robot.command("check")
@click.argument("profile")
@size_option
@_cubes
@_time_limit
@json_option
def check_robot(profile: str, size: int | None, cubes: int, search_s: float, as_json: bool) -> int:
    """Validate PROFILE (a name or a YAML file) and estimate its solves over random cubes.

    With exit code 2, every fault of the file is listed with its line. Exit code 1 means that no
    camera can see the cube.
    """
    try:
        found = _survey(profile, size, cubes, search_s)
    except BadProfile as error:
        return _answer_bad_profile(profile, error, as_json)
    answer(found.as_dict(), as_json, lambda: _print_one(found))
    return ExitCode.NO if found.scan is None and found.drivable else ExitCode.DONE


@robot.command()
@click.argument("profiles", nargs=-1, required=True)
@size_option
@_cubes
@_time_limit
@json_option
def compare(
    profiles: tuple[str, ...], size: int | None, cubes: int, search_s: float, as_json: bool
) -> int:
    """Solve the same random cubes on several PROFILES and show the figures side by side."""
    found = [_survey(profile, size, cubes, search_s) for profile in profiles]
    if as_json:
        for one in found:
            emit(one.as_dict())
    else:
        _print_table(found)
    return ExitCode.DONE


def _survey(name: str, size: int | None, cubes: int, search_s: float) -> Survey:
    from robot.cli.search_job import ProgressLine
    from robot.planner.survey import survey

    profile = for_cube(load_profile(name), size)
    with (
        click.progressbar(length=cubes, label=profile.name, file=sys.stderr) as bar,
        ProgressLine() as line,
    ):
        return survey(profile, cubes, search_s, lambda _: bar.update(1), line.report)


def _print_one(found: Survey) -> None:
    graph = found.graph
    note("")
    click.echo(f"{found.title} ({found.kind}, {found.size}x{found.size}x{found.size})")
    click.echo(
        f"  mechanism  {graph.configurations} configurations, {graph.transitions} transitions, "
        f"{graph.states} states after a turn in {graph.classes} classes per axis; "
        f"compiled in {graph.compile_s:.2f} s"
    )
    click.echo(f"  actuators  {'ready to drive' if found.drivable else 'for planning only'}")
    click.echo(f"  tables     {_tables_text(found)}")
    click.echo(f"  scan       {_scan_text(found)}")
    if found.solves is not None:
        solves = found.solves
        click.echo(
            f"  solve      {solves.mean_us / 1e6:.3f} s on average over {solves.cubes} cubes "
            f"({solves.best_us / 1e6:.3f} to {solves.worst_us / 1e6:.3f} s), "
            f"{solves.moves:.1f} turns"
        )


def _tables_text(found: Survey) -> str:
    guide = f", distances counted in {found.tables.metric}" if found.tables.metric else ""
    return f"{found.tables.disk_bytes / 1e6:.0f} MB on disk{guide}"


def _scan_text(found: Survey) -> str:
    if found.scan is None:
        return found.cannot_see
    scan = found.scan
    return f"{scan.looks} looks at {scan.stops} stops in {scan.duration_us / 1e6:.2f} s"


def _print_table(found: list[Survey]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("robot", "kind", "cube", "classes", "tables", "scan", "solve", "turns"):
        left = heading in ("robot", "kind")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for one in found:
        table.add_row(*_cells(one))
    Console().print(table)


def _cells(found: Survey) -> tuple[str, ...]:
    size = str(found.size)
    return (
        found.name,
        found.kind,
        "x".join(size * 3),
        str(found.graph.classes),
        f"{found.tables.disk_bytes / 1e6:.0f} MB",
        "-" if found.scan is None else f"{found.scan.duration_us / 1e6:.2f} s",
        "-" if found.solves is None else f"{found.solves.mean_us / 1e6:.3f} s",
        "-" if found.solves is None else f"{found.solves.moves:.1f}",
    )
