"""``cubist solve``: moves, or a robot's motion, for one cube or for a stream of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import click
from click.core import ParameterSource

from robot.cli.numbers import Number, Whole
from robot.cli.output import (
    answer,
    complain,
    emit,
    json_option,
    note,
    printing_beside,
    refuse_two_outputs,
)
from robot.cli.search_job import SearchJob, Wanted, find_goal, find_turned_centres, make_job
from robot.computer.memory import keep_small
from robot.text.faults import exit_code_of
from robot.text.outcomes import Outcome, worst
from solver.errors import BadNotation, CubistError, ExitCode, IllegalCube, SearchError
from solver.files import read_lines
from solver.processors import spare_processors

if TYPE_CHECKING:
    from solver.files import JsonObject

METRICS = ("htm", "qtm", "axial", "axial-qtm", "obtm")

LARGEST_SIZE = 100
"""Maximum number of layers; same as solver.reduction.search.LARGEST, imported only if needed."""

LONGEST_LINE = 500_000
"""Maximum characters of a state on standard input; we read no longer facelets or moves."""

CUT_BY_CLOCK = (
    "the computer was too busy: the search ended by the clock before it had its processor time. "
    "A longer --time-limit may give a better answer."
)


class SolveCommand(click.Command):
    """A command whose help ends with the list of algorithms."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the algorithms; imported here, as only the help needs them."""
        from solver.search import ALGORITHMS

        with formatter.section("Algorithms"):
            formatter.write_dl([(name, entry.about) for name, entry in ALGORITHMS.items()])


@click.command(cls=SolveCommand)
@click.argument("state", required=False)
@click.option("--scramble", help="Moves from the solved cube, instead of STATE; - for lines.")
@click.option(
    "--size", type=Whole(1, LARGEST_SIZE), help="Layers (default: from the length of STATE)."
)
@click.option("--algorithm", help="Search algorithm; see the list below.")
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="Metric of turns (default: htm, from 4 layers on obtm).",
)
@click.option(
    "--robot", "profile", help="Find this robot's fastest motion: a name from config/ or a path."
)
@click.option(
    "--to",
    metavar="PATTERN|STATE|MOVES",
    help="Bring the cube to this instead of solving it. It may be a part such as cross, or "
    "facelets with gaps. list shows the names.",
)
@click.option(
    "--centres",
    is_flag=True,
    help="Leave the centres of a 3x3x3 upright, for cubes with a picture or a logo.",
)
@click.option(
    "--centres-turned",
    metavar="MOVES",
    help='Centres that are turned now, as "U2 R" (with a STATE, all others are upright).',
)
@click.option(
    "--time-limit",
    type=Number(0, 1e6, above=True),
    help="Seconds to search (default: two-phase 1, heuristic-db 30, reduction by size; the others "
    "run to completion).",
)
@click.option(
    "--threads",
    type=Whole(1, 64),
    default=spare_processors,
    show_default="all processors but one",
    help="Search threads.",
)
@click.option(
    "--solutions", type=Whole(1, 1000), default=1, show_default=True, help="Number of solutions."
)
@click.option(
    "--target", type=Whole(0, 1000), help="Stop at a solution of at most this many moves."
)
@click.option(
    "--tables",
    type=click.Choice(["default", "medium", "large"]),
    default="default",
    show_default=True,
    help="Medium (227 MB) and large (895 MB) tables make optimal faster.",
)
@click.option("--depth", type=Whole(1, 40), help="Depth of the tables of heuristic-db.")
@click.option(
    "--notation",
    type=click.Choice(["wca", "sign"]),
    default="wca",
    show_default=True,
    help="Notation of wide turns in the answer: 3Rw or 3r.",
)
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --robot: draw the plan into this SVG file; - for standard output.",
)
@click.option("--execute", is_flag=True, help="Make the robot solve this cube, which it must hold.")
@json_option
@click.pass_context
def solve(
    ctx: click.Context,
    state: str | None,
    scramble: str | None,
    execute: bool,
    profile: str | None,
    timeline: Path | None,
    as_json: bool,
    **wanted: Unpack[Wanted],
) -> int:
    """Solve STATE: facelets, colours, 20 Singmaster words, or - for one state per line.

    The cube may be held in any way; moves refer to the way in which it is given.

    A state that no turns can reach is rejected with the reason and exit code 1.
    """
    if wanted["to"] == "list":
        return _list_patterns(wanted["size"], as_json)
    if (state is None) == (scramble is None):
        raise click.UsageError("give a STATE, - for states on standard input, or --scramble MOVES")
    if execute:
        _check_for_execution(ctx)
        return _execute(next(_texts(state, scramble)).text, wanted, as_json)
    if profile:
        _check_for_robot(wanted)
    if wanted["centres"] and wanted["algorithm"] not in (None, "two-phase"):
        raise click.UsageError("--centres needs --algorithm two-phase")
    if timeline and not profile:
        raise click.UsageError("--timeline draws the plan of a robot: add --robot NAME")
    refuse_two_outputs(timeline, as_json)
    if state == "-":
        keep_small()
    job = make_job(profile, wanted)
    codes = [_solve_one(given, job, timeline, as_json) for given in _texts(state, scramble)]
    return worst(codes)


WITH_EXECUTE = frozenset(
    ("execute", "state", "scramble", "size", "to", "centres", "centres_turned", "as_json")
)
"""Parameters that may be given with ``--execute``."""


def _check_for_execution(ctx: click.Context) -> None:
    """Raise UsageError for several cubes, and for options of a search that the daemon makes."""
    if "-" in (ctx.params["state"], ctx.params["scramble"]):
        raise click.UsageError("--execute solves the cube in the robot: give one cube instead of -")
    for parameter in ctx.command.params:
        name = parameter.name or ""
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in WITH_EXECUTE:
            raise click.UsageError(
                "--execute uses the search and the limits of the daemon's profile: "
                f"omit {parameter.opts[0]}"
            )


def _check_for_robot(wanted: Wanted) -> None:
    if wanted["metric"]:
        raise click.UsageError(
            "--metric counts turns and --robot counts time: give only one of them"
        )
    usual = {
        "solutions": 1,
        "target": None,
        "tables": "default",
        "depth": None,
        "notation": "wca",
    }
    for name, value in usual.items():
        if wanted.get(name) != value:
            raise click.UsageError(f"--robot has its own search: omit --{name}")


def _execute(text: str, wanted: Wanted, as_json: bool) -> int:
    """Have the daemon solve a cube without scanning it; the daemon's profile and limits apply."""
    from robot.cli.control import run_job, want_centres
    from solver.cube.centres import write_turns
    from solver.cube.reading import read_state

    given = read_state(text, wanted["size"])
    to, goal = wanted["to"], find_goal(given, wanted)
    if goal is not None and goal.in_colours:
        # Its letters are colours of the given cube, which the daemon does not know.
        to = goal.text
    centres = dict[str, str | bool]()
    if wanted["centres"]:
        turned = find_turned_centres(text, given, wanted) or ()
        centres = want_centres(True, write_turns(turned))
    facelets = given.cube.facelets()
    return run_job("solve", True, as_json, facelets=facelets, to=to, **centres)


def _list_patterns(size: int | None, as_json: bool) -> int:
    """Print the patterns for a cube size, or all, and the parts of a 3x3x3."""
    from solver.mask import PARTS
    from solver.patterns import PATTERNS, patterns_of

    shown = PATTERNS if size is None else patterns_of(size)
    for name, pattern in shown.items():
        document = {"pattern": name, "about": pattern.about, "sizes": pattern.sizes_text}
        answer(document, as_json, f"{name:<20}  {pattern.about} ({pattern.sizes_text})")
    for name, part in PARTS.items() if size in (None, 3) else ():
        usual = f"; usually {part.face}" if part.has_face else ""
        document = {"part": name, "about": part.about, "sizes": "3"}
        answer(document, as_json, f"{name:<20}  {part.about} (3{usual})")
    return ExitCode.DONE


class GivenText(NamedTuple):
    """A state as the parser takes it, ``--scramble`` and moves included, and its line number on
    standard input."""

    text: str
    line: int | None = None


def _texts(state: str | None, scramble: str | None) -> Iterator[GivenText]:
    """Yield the states to solve.

    Raises UsageError if they should come from standard input, which has none.
    """
    prefix, given = ("--scramble ", scramble) if scramble is not None else ("", state or "")
    if given != "-":
        yield GivenText(prefix + given)
        return
    empty = True
    for number, line in enumerate(read_lines(sys.stdin, LONGEST_LINE), start=1):
        if line.strip():
            empty = False
            yield GivenText(prefix + line.strip(), number)
    if empty:
        raise click.UsageError("standard input holds no state: write one state per line")


def _solve_one(given: GivenText, job: SearchJob, timeline: Path | None, as_json: bool) -> ExitCode:
    try:
        answers = job(given.text)
    except IllegalCube as error:
        return _refuse(given, "illegal-cube", error, as_json, detail=error.facts)
    except BadNotation as error:
        return _refuse(given, "bad-notation", error, as_json)
    except SearchError as error:
        if error.cut_by_clock and not as_json:
            note(CUT_BY_CLOCK)
        known = {"cpu_s": error.cpu_s, "cut_by_clock": error.cut_by_clock}
        return _refuse(given, Outcome.NO_SOLUTION, error, as_json, **known)
    with printing_beside(timeline):
        for found in answers:
            _print(found, as_json)
    if answers[0]["cut_by_clock"] and not as_json:
        note(CUT_BY_CLOCK)
    if timeline:
        from robot.records.timeline import write_chart

        write_chart(timeline, answers[0]["operations"], answers[0]["duration_us"])
    return ExitCode.DONE


def _print(found: JsonObject, as_json: bool) -> None:
    if as_json:
        emit(found)
        return
    from robot.cli.solution_text import print_answer

    print_answer(found)


def _refuse(
    given: GivenText, name: str, error: CubistError, as_json: bool, **more: object
) -> ExitCode:
    state = given.text.removeprefix("--scramble ")
    document = {"state": state, "error": name, "reason": str(error)} | more
    place = ""
    if given.line is not None:
        document["line"], place = given.line, f"line {given.line}: "
    answer(document, as_json, lambda: complain(f"{place}{error}"))
    return exit_code_of(error)
