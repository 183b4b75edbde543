"""``cubist show``: play a programme of jobs from a YAML file, for a shop window."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.api.endpoints import CALIBRATION
from robot.cli.control import POLL_S, perform
from robot.cli.numbers import Whole
from robot.cli.output import answer, daemon_client, json_option, note
from robot.cli.texts import ending_text
from robot.settings.document import BadProfile, parse_document
from robot.text.faults import RobotError
from robot.text.outcomes import exit_code
from solver.cube.centres import CentreTurns, add_turns, count_turns, write_turns
from solver.cube.cube import from_scramble
from solver.cube.notation import parse_moves
from solver.cube.reading import SCRAMBLE, read_state
from solver.errors import CubistError, ExitCode
from solver.files import BadFile, read_text
from solver.goal import read_goal

if TYPE_CHECKING:
    from robot.api.client import ControlClient

MAX_BYTES = 64 * 1024
LONGEST_WAIT_S = 24 * 3600.0
WAIT = "wait"
CENTRES, UPRIGHT = "centres", "upright"
JOBS = {"solve": None, "home": None, "scramble": "moves", "pattern": "to"}
"""Steps that are jobs -> the job's parameter for the value after the colon."""


@dataclass(frozen=True)
class ShowStep:
    """One step: a job with its ``value``, or a wait of ``seconds``."""

    name: str
    value: str | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.name == WAIT:
            return f"wait {self.seconds:g} s"
        return self.name if self.value is None else f"{self.name} {self.value}"


@dataclass(frozen=True)
class Programme:
    """Steps to play. ``turned``: turns of centres that ``solve`` and ``pattern`` set upright."""

    steps: list[ShowStep]
    turned: CentreTurns | None = None


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rounds", type=Whole(1, 1_000_000), help="Rounds to play (default: until stopped).")
@json_option
def show(file: Path, rounds: int | None, as_json: bool) -> int:
    """Play the programme in FILE again and again, for a shop window.

    FILE is YAML: `steps:` with a list of `solve`, `home`, `scramble`, `scramble: R U F`, `pattern:
    checkerboard` and `wait: 30` (seconds). With `centres: upright` beside `steps:`, for a cube with
    a picture whose centres are upright now, `solve` and `pattern` leave them upright. The programme
    ends when somebody stops a job or starts another (also by the robot's button), when a job fails,
    or on Ctrl-C, which stops the robot.
    """
    client = daemon_client()
    programme = read_programme(file, client.call(CALIBRATION)["size"])
    played, turned = 0, programme.turned
    try:
        for number in count(1) if rounds is None else range(1, rounds + 1):
            for step in programme.steps:
                code, turned = _play(client, step, turned, number, as_json)
                if code is not ExitCode.DONE:
                    return code
            played = number
    except KeyboardInterrupt:
        note("stopping the robot")
        client.stop()
        return ExitCode.STOPPED
    finally:
        _report_end(played, as_json)
    return ExitCode.DONE


def read_programme(file: Path, size: int | None) -> Programme:
    """Return the programme in a file, for a robot that turns cubes of ``size`` layers.

    Raises :class:`BadFile` with the line of the error.
    """
    try:
        document = parse_document(read_text(file, MAX_BYTES), str(file))
    except BadProfile as error:
        raise BadFile(str(error)) from None
    listed = document.data.get("steps")
    if not document.data.keys() <= {"steps", CENTRES} or not isinstance(listed, list) or not listed:
        raise BadFile(
            f'{file}: write "steps:" and a list of steps; the only other key is '
            f'"{CENTRES}: {UPRIGHT}"'
        )
    has_centres = CENTRES in document.data
    if has_centres and (document.data[CENTRES] != UPRIGHT or size not in (3, None)):
        line = document.line_of((CENTRES,))
        raise BadFile(f'{file}:{line}: "{CENTRES}" must be "{UPRIGHT}", and only for a 3x3x3')
    steps = []
    for index, found in enumerate(listed):
        try:
            steps.append(_read_step(found, size))
            if has_centres:
                _require_whole_cube(steps[-1])
        except CubistError as error:
            line = document.line_of(("steps", index))
            raise BadFile(f"{file}:{line}: {error}") from None
    if all(step.name == WAIT for step in steps):
        raise BadFile(f"{file}: all steps are waits; add a job, such as solve")
    return Programme(steps, count_turns([]) if has_centres else None)


def _read_step(found: object, size: int | None) -> ShowStep:
    name, value = found, None
    if isinstance(found, dict) and len(found) == 1:
        [(name, value)] = found.items()
    if name == WAIT:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadFile('"wait" needs a number of seconds: "wait: 30"')
        if not 0 < value <= LONGEST_WAIT_S:
            raise BadFile(f"wait: more than 0 and at most {LONGEST_WAIT_S:g} seconds")
        return ShowStep(WAIT, seconds=float(value))
    if not isinstance(name, str) or name not in JOBS:
        raise BadFile(f"no such step; choose from {', '.join([*JOBS, WAIT])}")
    if value is None:
        if name == "pattern":
            raise BadFile('"pattern" needs a name, a state or moves: "pattern: checkerboard"')
        return ShowStep(name)
    if JOBS[name] is None or not isinstance(value, str):
        raise BadFile(f'"{name}" does not take this value')
    if size is not None:
        if name == "pattern":
            read_goal(value, read_state(SCRAMBLE, size))
        else:
            from_scramble(value, size)
    return ShowStep(name, value)


def _require_whole_cube(step: ShowStep) -> None:
    """Raise BadFile for a pattern that leaves pieces free: upright centres need a whole cube."""
    if step.name != "pattern" or step.value is None:
        return
    if read_goal(step.value, read_state(SCRAMBLE, 3)).mask is not None:
        raise BadFile(f'"{CENTRES}: {UPRIGHT}" needs patterns of whole cubes')


def _play(
    client: ControlClient, step: ShowStep, turned: CentreTurns | None, number: int, as_json: bool
) -> tuple[ExitCode, CentreTurns | None]:
    """Play one step; return its exit code, and the turns of the centres after it."""
    if step.name == WAIT:
        _wait(client, step.seconds)
        return ExitCode.DONE, turned
    key = JOBS[step.name]
    more = {} if key is None else {key: step.value}
    kind = "solve" if step.name == "pattern" else step.name
    given: dict[str, str | bool] = {n: value for n, value in more.items() if value is not None}
    if turned is not None and kind == "solve":
        given |= {"centres": True, "centres_turned": write_turns(turned)}
    record = perform(client, kind, f"{number}  {step}: ", **given)
    ended = ending_text(record["outcome"], record["duration_s"])
    document = {"round": number, "step": str(step), "run": record["id"]}
    document |= {"outcome": record["outcome"], "reason": record["reason"]}
    reason = f": {record['reason']}" if record["reason"] else ""
    answer(document, as_json, f"{number}  {step}: {ended}{reason}")
    if turned is not None:
        turned = add_turns(turned, count_turns(parse_moves(record["moves"] or "")))
    return exit_code(record["outcome"]), turned


def _wait(client: ControlClient, seconds: float) -> None:
    """Wait; raise :class:`RobotError` for a fault, or if somebody takes the robot meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        now = client.status()
        if fault := now["fault"]:
            raise RobotError(fault["code"], fault["cause"])
        if now["state"] != "idle":
            raise RobotError("stopped", "somebody else is using the robot")
        time.sleep(min(left, POLL_S))


def _report_end(rounds: int, as_json: bool) -> None:
    answer({"rounds": rounds}, as_json, f"rounds played: {rounds}")
