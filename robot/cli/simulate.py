"""``cubist demo`` and ``cubist simulate``: a simulated robot, for one cube or until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import click

from robot.api.paths import Simulation, running_simulation
from robot.cli.numbers import SEED, Number, RegisteredName, misadjust_option, size_option
from robot.cli.output import Listing, answer, emit, interrupted_by, json_option, note, run_async
from robot.computer.board_family import simulations
from robot.settings import DEFAULT_PROFILE, RobotProfile, load_profile, profile_file
from robot.settings.profile import for_cube
from robot.simulate.display import display_for, print_outcome
from robot.simulate.fault_injection import INJECTIONS, parse_injected_fault
from robot.simulate.processes import SimulationError
from robot.simulate.progress import STAGES, Display, SilentDisplay
from robot.simulate.session import Beside, Demo, DemoOptions, DemoOutcome, nothing_beside
from robot.simulate.simulation import ask, cube_after, page_served, stay
from robot.text.outcomes import exit_code as outcome_code
from robot.twin.cube import CubeBody, scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from robot.twin.simulated import cube_put_in
from robot.twin.studio import load_photographs
from solver.cube.reading import UPRIGHT, read_state
from solver.errors import ExitCode, IllegalCube
from solver.files import JsonObject

robot_option = click.option(
    "--robot",
    "profile_name",
    default=DEFAULT_PROFILE,
    show_default=True,
    help="A profile: a name from config/ or a path.",
)
seed_option = click.option(
    "--seed", type=SEED, default=1, show_default=True, help="Seed of the random cube."
)
speed_option = click.option(
    "--speed",
    type=Number(0.1, 1000),
    default=1.0,
    show_default=True,
    help="Simulated seconds per second.",
)
firmware_option = click.option(
    "--firmware",
    type=RegisteredName(simulations),
    help=f"Run the firmware as {'; '.join(way.about for way in simulations().values())}.  "
    "[default: the profile's own board]",
)


@click.command()
@robot_option
@size_option
@seed_option
@click.option(
    "--faces",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Show the camera these photographs instead (U.* R.* F.* D.* L.* B.*).",
)
@click.option("--state", help="The true state of the cube in the photographs: 54 or 24 facelets.")
@speed_option
@firmware_option
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME[:ACTUATOR][@STAGE]",
    help=f"Inject a fault: {', '.join(INJECTIONS)}. Stages: "
    f"{', '.join(title for _, title in STAGES)} (default: turn; home for what is in view).",
)
@misadjust_option
@click.option("--web", is_flag=True, help="Serve the robot's page; begin when Enter is pressed.")
@json_option
def demo(  # noqa: PLR0913, PLR0917  # one argument per option
    profile_name: str,
    size: int | None,
    seed: int,
    faces: Path | None,
    state: str | None,
    speed: float,
    firmware: str | None,
    faults: tuple[str, ...],
    misadjusted: Misadjustment | None,
    web: bool,
    as_json: bool,
) -> int:
    """Solve a cube with a simulated robot, from the start button to the robot's own verdict.

    The daemon and the firmware are the real ones; only motors, cube and camera are simulated.
    """
    if (faces is None) != (state is None):
        raise click.UsageError(
            "give --faces and --state together: the photographs and the true state"
        )
    profile = for_cube(load_profile(profile_name), size)
    body = scrambled(profile.cube.size, seed) if state is None else _body_of(state)
    fitting = profile.model_copy(
        update={"cube": profile.cube.model_copy(update={"size": body.size})}
    )
    options = DemoOptions(
        profile=fitting,
        profile_file=profile_file(profile_name).resolve() if fitting == profile else None,
        body=body,
        title=_title(profile, seed, faces, speed),
        speed=speed,
        seed=seed,
        photographs=load_photographs(faces) if faces else {},
        firmware=firmware,
        faults=[parse_injected_fault(fault, profile) for fault in faults],
        misadjusted=misadjusted,
    )
    display = SilentDisplay() if as_json else display_for(sys.stderr)
    outcome = run_demo(options, display, shown_on_a_page if web else nothing_beside)
    answer(outcome.as_dict(), as_json, lambda: print_outcome(outcome, sys.stdout))
    return exit_code(outcome)


def exit_code(outcome: DemoOutcome) -> ExitCode:
    """Return the outcome's exit code; done only if the simulated robot itself confirms it."""
    return outcome_code(outcome.record.outcome, good=outcome.good)


@contextlib.asynccontextmanager
async def shown_on_a_page(folder: Path) -> AsyncIterator[None]:
    """Serve the demo's page from before it begins, so that nothing is missed, until after it ends.

    In a terminal, Enter begins the demo and ends it.
    """
    async with page_served(folder, wanted=True) as url:
        note(f"Its page: {url}")
        await _enter("Open it, then press Enter to start the robot.")
        yield
        await _enter("Press Enter to end the demo and its page.")


async def _enter(text: str) -> None:
    """Wait for Enter; return at once if there is no terminal."""
    if not sys.stdin.isatty():
        return
    note(text)
    loop, pressed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), pressed.set)
    try:
        await pressed.wait()
        sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin.fileno())


def run_demo(options: DemoOptions, display: Display, beside: Beside) -> DemoOutcome:
    """Run a demo to its end and return its outcome."""
    # A closed terminal also stops the robot, ends the processes and removes the folder.
    with interrupted_by(signal.SIGTERM, signal.SIGHUP):
        return run_async(Demo(options, display).run(beside))


def _body_of(state: str) -> CubeBody:
    """Return the cube of ``--state``; it keeps its letters, which name the photographs."""
    given = read_state(state)
    if given.cube.size % 2 and given.held != UPRIGHT:
        raise IllegalCube(
            f"face {given.held.name[0]} is at U and face {given.held.name[1]} at F: the photographs"
            " show every face at its own place",
            {"kind": "centre", "shown": given.held.faces},
        )
    return CubeBody(given.facelets)


def _title(profile: RobotProfile, seed: int, faces: Path | None, speed: float) -> str:
    cube = f"cube in {faces.name}" if faces else f"cube {seed}"
    pace = "" if speed == 1 else f" · {speed:g} times as fast"
    return f"{profile.title} · {cube}{pace}"


@click.group(cls=Listing, invoke_without_command=True)
@robot_option
@size_option
@firmware_option
@speed_option
@seed_option
@click.option(
    "--scramble", "moves", metavar="MOVES", help="Start with a cube after MOVES from solved."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME[:ACTUATOR][@STAGE]",
    help=f"Inject a fault in the first job: {', '.join(INJECTIONS)}.",
)
@misadjust_option
@click.option(
    "--drift",
    type=Number(-5, 5),
    default=0.0,
    metavar="DEGREES",
    help="Make the servos that turn the cube drift by this many degrees per job.",
)
@click.option("--web/--no-web", default=True, help="Serve the robot's page (the default).")
@json_option
@click.pass_context
def simulate(  # noqa: PLR0913, PLR0917  # one argument per option
    context: click.Context,
    profile_name: str,
    size: int | None,
    firmware: str | None,
    speed: float,
    seed: int,
    moves: str | None,
    faults: tuple[str, ...],
    misadjusted: Misadjustment | None,
    drift: float,
    web: bool,
    as_json: bool,
) -> int:
    """Run a simulated robot with its real daemon and firmware until Ctrl-C.

    In another terminal, all other commands find it by themselves: cubist status, start, home,
    scramble, test, runs, calibrate. A real robot's daemon on this machine takes precedence. The
    commands below handle the cube as a person at the robot would.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.DONE
    profile = for_cube(load_profile(profile_name), size)
    layers = profile.cube.size
    options = DemoOptions(
        profile=profile,
        profile_file=profile_file(profile_name).resolve(),
        body=cube_put_in(layers, seed, misadjusted) if moves is None else cube_after(layers, moves),
        title=profile.title,
        speed=speed,
        seed=seed,
        firmware=firmware,
        faults=[parse_injected_fault(fault, profile) for fault in faults],
        misadjusted=misadjusted or BUILT_AS_DRAWN,
        cable=True,
    )

    def ready(simulation: Simulation, page: str | None) -> None:
        if as_json:
            socket = str(simulation.control_socket)
            emit({"socket": socket, "web": page, "robot": simulation.robot})
            return
        click.echo(f"{profile.title}, simulated: its daemon listens at {simulation.control_socket}")
        if page is not None:
            click.echo(f"Its page: {page}")
        click.echo("In another terminal: cubist status, cubist start, cubist scramble, ...")
        click.echo("Ctrl-C ends it.")

    # A closed terminal also stops the robot, ends the processes and removes the folder.
    with interrupted_by(signal.SIGTERM, signal.SIGHUP):
        try:
            run_async(stay(options, ready, web=web, drift=drift))
        except KeyboardInterrupt:
            note("ended")
    return ExitCode.DONE


@simulate.command()
@click.argument("moves", required=False)
@seed_option
@json_option
def scramble(moves: str | None, seed: int, as_json: bool) -> int:
    """Insert another scrambled cube, as a person would: MOVES from solved, or a random one."""
    if moves is None:
        return _do({"do": "scramble", "seed": seed}, f"cube {seed} is in the robot", as_json)
    return _do({"do": "scramble", "moves": moves}, f"a cube after {moves} is in the robot", as_json)


@simulate.command()
@json_option
def remove(as_json: bool) -> int:
    """Take the cube out."""
    return _do({"do": "remove"}, "the cube is out of the robot", as_json)


@simulate.command()
@json_option
def insert(as_json: bool) -> int:
    """Put the cube back."""
    return _do({"do": "insert"}, "the cube is in the robot", as_json)


@simulate.command()
@click.argument("name", metavar="NAME[:ACTUATOR][@STAGE]")
@json_option
def fault(name: str, as_json: bool) -> int:
    """Inject a fault now, or at a stage of the next job: see `cubist demo --help`."""
    what, _, stage = name.partition("@")
    when = f"happens at `{stage}` of the next job" if stage else "has happened"
    return _do({"do": "fault", "fault": name}, f"{what} {when}", as_json)


@simulate.command()
@json_option
def mend(as_json: bool) -> int:
    """Undo what faults have left behind: jams, end stops, cable, light, view."""
    return _do({"do": "mend"}, "all faults are mended", as_json)


def _do(request: JsonObject, done: str, as_json: bool) -> int:
    """Send the request, and print the line ``done``, or the request with ``"done": true``."""
    simulation = running_simulation()
    if simulation is None:
        raise SimulationError("no simulated robot is running: start one with `cubist simulate`")
    ask(simulation, request)
    return answer(request | {"done": True}, as_json, done)
