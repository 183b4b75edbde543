"""``cubist simulate``: a simulated robot that stays, for all other commands to find."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from robot.api.paths import Simulation, running_simulation
from robot.cli.demo import (
    firmware_option,
    robot_option,
    seed_option,
    speed_option,
)
from robot.cli.numbers import Number, misadjust_option, size_option
from robot.cli.output import Listing, emit, interrupted_by, json_option, note, run_async
from robot.settings import load_profile, profile_file
from robot.settings.profile import for_cube
from robot.simulate.fault_injection import INJECTIONS, parse_injected_fault
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.twin.misadjustment import Misadjustment
    from solver.files import JsonObject


@click.group(cls=Listing, invoke_without_command=True)
@robot_option
@size_option
@firmware_option
@speed_option
@seed_option
@click.option("--scramble", "moves", metavar="MOVES", help="The cube after these moves instead.")
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

    In another terminal every other command finds it by itself: cubist status, start, home,
    scramble, test, runs, calibrate. A real robot's daemon on this machine takes precedence. The
    commands below handle the cube like a person at the robot.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.DONE
    from robot.simulate.session import DemoOptions
    from robot.simulate.simulation import cube_after, stay
    from robot.twin.cube import scrambled
    from robot.twin.misadjustment import BUILT_AS_DRAWN

    profile = for_cube(load_profile(profile_name), size)
    layers = profile.cube.size
    options = DemoOptions(
        profile=profile,
        profile_file=profile_file(profile_name).resolve(),
        body=scrambled(layers, seed) if moves is None else cube_after(layers, moves),
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

    # Also when its terminal is closed: robot stopped, processes ended, folder removed.
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
    """Insert another scrambled cube, like a person: MOVES from solved, or a random one."""
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
    return _do({"do": "mend"}, "everything is mended", as_json)


def _do(request: JsonObject, done: str, as_json: bool) -> int:
    """Have it done, and print the line ``done``, or the request with ``"done": true``."""
    from robot.simulate.processes import SimulationError
    from robot.simulate.simulation import ask

    simulation = running_simulation()
    if simulation is None:
        raise SimulationError("no simulated robot runs: start one with `cubist simulate`")
    ask(simulation, request)
    if as_json:
        emit(request | {"done": True})
    else:
        click.echo(done)
    return ExitCode.DONE
