"""``cubist calibrate stepper``: direction, steps, speed, acceleration, backlash, positions."""

from __future__ import annotations

import sys

import click

from robot.calibration.ramp import FIELDS, Ramp, stepper_of
from robot.cli.calibrate.interactive import Placing, interactively, position_options, set_or_ask
from robot.cli.numbers import Number, Whole
from robot.cli.output import Listing, emit, json_option, note
from robot.cli.positions import keep, maintenance
from robot.client import ControlClient
from robot.outcomes import ExitCode
from robot.settings import RobotProfile

PLAY_LIMIT = 1000

save_option = click.option("--save/--try", default=True, help="Keep the value, or only try.")


@click.group(cls=Listing, invoke_without_command=True)
@click.pass_context
def stepper(ctx: click.Context) -> int:
    """Stepper motors: direction, steps, how fast, how much play, positions.

    Without a command it asks, in a terminal. Everything is tried on the motor, with the cube in
    the robot; what it lost is put right again where a sensor or the camera can tell.
    """
    done = ctx.invoked_subcommand is not None
    return ExitCode.DONE if done else interactively("stepper", None, as_json=False)


@stepper.command()
@click.argument("actuator")
@click.argument("position")
@position_options
def position(actuator: str, position: str, placing: Placing) -> int:
    """Set the named POSITION of stepper ACTUATOR, in steps from home."""
    return set_or_ask(f"actuators.{actuator}.positions_steps.{position}", placing)


@stepper.command()
@click.argument("actuator")
@click.option(
    "--went",
    type=click.Choice(["right", "wrong"]),
    help="Which way you saw it go; `wrong` turns it round.",
)
@save_option
@json_option
def direction(actuator: str, went: str | None, save: bool, as_json: bool) -> int:
    """Turn ACTUATOR by a quarter and back: clockwise is right, seen from outside the robot.

    A table turns as the face below the cube does: clockwise seen from below. What only goes to and
    fro goes towards higher steps first.
    """
    with maintenance() as client:
        before = stepper_of(calibrated(client), actuator).invert_direction
        tried = client.call("POST", "/maintenance/turn", {"actuator": actuator, "inverted": before})
        went = went or _ask(f"Did it go the right way first ({_words(tried['steps'])})?")
        if went == "wrong":
            body = {"actuator": actuator, "inverted": not before}
            tried = client.call("POST", "/maintenance/turn", body)
        kept = keep(client, tried["values"] if went else {}, save)
    if as_json:
        emit({"actuator": actuator, "went": went, "inverted": tried["inverted"], "saved": kept})
    elif went is None:
        note(f"{actuator} went {_words(tried['steps'])}, or should have: say --went right or wrong")
    else:
        note(f"{actuator}: {'turned round' if went == 'wrong' else 'right'}{_told(kept, went)}")
    return ExitCode.DONE if went else ExitCode.NO


@stepper.command()
@click.argument("actuator")
@click.option("--turns", type=Whole(1, 20), default=1, show_default=True)
@click.option("--turned", type=Number(1, 36_000), help="Degrees it turned, as you saw.")
@save_option
@json_option
def steps(actuator: str, turns: int, turned: float | None, save: bool, as_json: bool) -> int:
    """Turn ACTUATOR by whole turns and back, and see whether they are whole.

    The camera finds a turn that is twice as long or short; `--turned` tells it to the degree.
    """
    with maintenance() as client:
        tried = client.call("POST", "/maintenance/steps", {"actuator": actuator, "turns": turns})
        found, turn = tried["found_steps"], tried["turn_steps"]
        if turned is not None:
            found = max(1, round(turn * 360 * turns / turned / 4)) * 4
        values = {} if found in (None, turn) else {f"actuators.{actuator}.steps_per_turn": found}
        kept = keep(client, values, save)
    if as_json:
        emit(tried | {"found_steps": found, "values": values, "saved": kept})
    elif found is None:
        note("the camera cannot tell whether these were whole turns: say --turned DEGREES")
    else:
        note(f"{actuator}: {turn} -> {found} steps a turn{_told(kept, values)}")
    return ExitCode.NO if found is None else ExitCode.DONE


def _ramp_command(what: str, unit: str) -> click.Command:
    def ramp(
        actuator: str,
        held: bool,
        begin: float | None,
        end: float | None,
        last_good: float | None,
        save: bool,
        as_json: bool,
    ) -> int:
        with maintenance() as client:
            found = Ramp(calibrated(client), actuator, what, held, begin, end)
            if last_good is not None:
                found.good, found.wanted, found.ended = last_good, None, "as you say"
            while found.wanted is not None:
                _try(client, found, as_json)
            kept = keep(client, found.values(), save)
        return _tell_ramp(found, unit, kept, as_json)

    ramp.__doc__ = (
        f"Raise ACTUATOR's {what} until it loses steps; keep four fifths of the last that was good."
        "\n\nIts sensor tells, or the camera; else you are asked. After a loss that nothing can put"
        " right, set it square by hand."
    )
    options = (
        click.argument("actuator"),
        click.option("--held", is_flag=True, help="With a layer of the held cube as its load."),
        click.option("--from", "begin", type=Number(50, 10_000_000), help=f"First, in {unit}."),
        click.option("--up-to", "end", type=Number(50, 10_000_000), help=f"Last, in {unit}."),
        click.option(
            "--last-good", type=Number(50, 10_000_000), help="What you found: try nothing."
        ),
        save_option,
        json_option,
    )
    for option in reversed(options):
        ramp = option(ramp)
    return click.command(what)(ramp)


stepper.add_command(_ramp_command("speed", "steps/s"))
stepper.add_command(_ramp_command("acceleration", "steps/s^2"))


@stepper.command()
@click.argument("actuator")
@click.option("--to", "target", type=Whole(0, PLAY_LIMIT), help="Steps, as you saw them.")
@save_option
@json_option
def backlash(actuator: str, target: int | None, save: bool, as_json: bool) -> int:
    """Measure how far ACTUATOR goes back before what it drives follows, in steps."""
    with maintenance() as client:
        before = stepper_of(calibrated(client), actuator).backlash_steps
        body = {"actuator": actuator}
        found = {"play_steps": target, "seen_by": "person", "within_steps": 0}
        if target is None:
            found = client.call("POST", "/maintenance/play", body)
        play = found["play_steps"]
        key = f"actuators.{actuator}.backlash_steps"
        kept = keep(client, {} if play in (None, before) else {key: play}, save)
    if as_json:
        emit(body | found | {"before": before, "saved": kept})
    elif play is None:
        note("neither a sensor nor the camera sees what it drives: say --to STEPS")
    else:
        note(f"{actuator}: {before} -> {play} steps of play{_told(kept, play != before)}")
    return ExitCode.NO if play is None else ExitCode.DONE


def calibrated(client: ControlClient) -> RobotProfile:
    """The daemon's robot with what is calibrated by now."""
    from robot.calibration.store import Calibration, apply
    from robot.settings import load_profile

    kept = Calibration.model_validate(client.call("GET", "/calibration"))
    return apply(load_profile(kept.robot), kept)


def _try(client: ControlClient, ramp: Ramp, as_json: bool) -> None:
    """One step of a ramp."""
    tried = client.call("POST", "/maintenance/speed", ramp.body())
    value = tried[FIELDS[ramp.what]]
    lost = tried["lost"]
    if lost is None:
        answer = _ask(f"Is {ramp.motor} exactly where it was, after {value:.0f}?")
        if answer is None:
            raise click.UsageError(
                f"neither a sensor nor the camera sees {ramp.motor}: try it with --from and "
                "--up-to at one value, then say --last-good"
            )
        lost = answer == "wrong"
    if as_json:
        emit({"tried": value, "lost": lost} | {key: tried[key] for key in ("seen_by", "square")})
    else:
        note(f"{value:9.0f}: {'lost steps' if lost else 'good'}")
    if not tried["square"]:
        note(f"set {ramp.motor} and the cube square by hand before you go on")
    ramp.note(tried, lost)


def _tell_ramp(ramp: Ramp, unit: str, kept: bool, as_json: bool) -> int:
    if as_json:
        result = {"actuator": ramp.motor, "held": ramp.held, "before": ramp.present}
        result |= {"last_good": ramp.good, "after": ramp.safe, "why": ramp.ended, "saved": kept}
        emit(result)
    elif ramp.safe is None:
        note(f"{ramp.ended}: begin lower, with --from")
    else:
        change = f"{ramp.present:.0f} -> {ramp.safe} {unit}"
        note(f"{ramp.ended}; {ramp.motor}: {change}{_told(kept, True)}")
    return ExitCode.NO if ramp.safe is None else ExitCode.DONE


def _ask(question: str) -> str | None:
    """``right`` or ``wrong``, from a person at a terminal; None where there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return "right" if click.confirm(question, err=True) else "wrong"


def _words(steps: int) -> str:
    return "clockwise" if steps > 0 else "counterclockwise"


def _told(kept: bool, changed: object) -> str:
    return " (not saved)" if changed and changed != "right" and not kept else ""
