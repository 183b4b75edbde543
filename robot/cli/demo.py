"""``cubist demo``: the whole robot in simulation."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import click

from robot.cli.numbers import SEED, Number, RegisteredName, misadjust_option, size_option
from robot.cli.output import emit, interrupted_by, json_option, note, run_async
from robot.computer.board_family import simulations
from robot.settings import DEFAULT_PROFILE, RobotProfile, load_profile, profile_file
from robot.settings.profile import for_cube
from robot.simulate.display import display_for, print_outcome
from robot.simulate.fault_injection import INJECTIONS, parse_injected_fault
from robot.simulate.progress import STAGES, Display, SilentDisplay
from robot.simulate.session import Beside, Demo, DemoOptions, DemoOutcome, nothing_beside
from robot.simulate.simulation import page_served
from robot.text.outcomes import exit_code as outcome_code
from robot.twin.cube import CubeBody, scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.studio import load_photographs
from solver.cube.cube import parse_state
from solver.errors import ExitCode

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
    outcome = _run(options, display, shown_on_a_page if web else nothing_beside)
    if as_json:
        emit(outcome.as_dict())
    else:
        print_outcome(outcome, sys.stdout)
    return exit_code(outcome)


def exit_code(outcome: DemoOutcome) -> ExitCode:
    """That of the daemon's outcome; done only when the simulated robot itself says so as well."""
    return outcome_code(outcome.record.outcome, good=outcome.good)


@contextlib.asynccontextmanager
async def shown_on_a_page(folder: Path) -> AsyncIterator[None]:
    """Serve the demo's page from before its beginning, so that nothing is missed, to after its end.

    Somebody at a terminal says with Enter when to begin and when to end.
    """
    async with page_served(folder, wanted=True) as url:
        note(f"Its page: {url}")
        await _enter("Open it, then press Enter: the robot begins.")
        yield
        await _enter("Enter ends the demo, and its page.")


async def _enter(text: str) -> None:
    """Wait for Enter; where nobody sits at a terminal, for nothing."""
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


def _run(options: DemoOptions, display: Display, beside: Beside) -> DemoOutcome:
    # Also when its terminal is closed: robot stopped, processes ended, folder removed.
    with interrupted_by(signal.SIGTERM, signal.SIGHUP):
        return run_async(Demo(options, display).run(beside))


def _body_of(state: str) -> CubeBody:
    """The cube of ``--state``; its letters stay as they are, for they name the photographs."""
    facelets = "".join(state.split())
    size = 2 if len(facelets) == 24 else 3
    parse_state(facelets, size)
    return CubeBody(facelets)


def _title(profile: RobotProfile, seed: int, faces: Path | None, speed: float) -> str:
    cube = f"cube in {faces.name}" if faces else f"cube {seed}"
    pace = "" if speed == 1 else f" · {speed:g} times as fast"
    return f"{profile.title} · {cube}{pace}"
