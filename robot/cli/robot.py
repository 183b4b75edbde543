"""``cubist robot``: what a profile describes, whether it can work, and how soon it solves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from robot.cli.numbers import Number, Whole, size_option
from robot.cli.output import Listing, emit, json_option, note
from robot.cli.search_job import ProgressLine
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.planner.survey import Survey

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
    from robot.settings import list_profiles, load_profile, profile_path
    from robot.settings.profile import sizes_of

    for name in (*list_profiles(), *list_profiles(reference=True)):
        profile = load_profile(name)
        if as_json:
            about = {
                "name": name,
                "title": profile.title,
                "kind": profile.mechanism.kind,
                "size": profile.cube.size,
                "sizes": sizes_of(profile),
                "path": str(profile_path(name)),
            }
            emit(about)
        else:
            click.echo(f"{name:16} {profile.title}")
    return ExitCode.DONE


@robot.command()
@click.argument("profile")
@size_option
@_cubes
@_time_limit
@json_option
def check(profile: str, size: int | None, cubes: int, search_s: float, as_json: bool) -> int:
    """Validate PROFILE (a name or a YAML file) and estimate its solves over random cubes.

    Exit code 2 lists every fault of the file with its line; exit code 1: no camera can see the
    cube.
    """
    from robot.cli.config import answer_bad_profile
    from robot.settings import BadProfile

    try:
        found = _survey(profile, size, cubes, search_s)
    except BadProfile as error:
        return answer_bad_profile(profile, error, as_json)
    if as_json:
        emit(found.as_dict())
    else:
        _print_one(found)
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
    from robot.planner.survey import survey
    from robot.settings import load_profile
    from robot.settings.profile import for_cube

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
