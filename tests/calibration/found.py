"""The outcome of a robot's self-calibration, compared with the truth that it could not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robot.calibration.auto.calibration import AutomaticCalibration
from robot.calibration.auto.proof import PROVING
from robot.mechanism.grippers import GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.board_table import PINS
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError, ScanError
from robot.twin.misadjustment import Misadjustment, parse_misadjustment
from robot.twin.registry import degree_us, parts_of, position_errors
from robot.twin.simulated import cube_put_in
from robot.twin.violations import Violation
from tests.rig.profiles import changed
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

LEAST_WIDER, MOST_WIDER = -3.0, 10.0
"""Degrees by which jaws may open further than needed.

If they open less by a tenth of their travel (at least 3.1 degrees), the cube still turns past them,
as calibrating shows. If they open more, it only takes longer.
"""


@dataclass(frozen=True)
class Outcome:
    """The last line of ``cubist calibrate auto --json`` as ``document``, and how good it is.

    ``off_degrees``: error of each servo position; ``uncertain_degrees``: its reported uncertainty.
    ``wrong_motors``: wrong findings about steppers. ``travel_parts``: each time found, as a
    fraction of the true one. ``wider_degrees``: excess opening of the jaws. ``solved``: cubes
    solved afterwards, before the first failure.
    """

    document: Mapping[str, Any]
    off_degrees: Mapping[str, float]
    uncertain_degrees: Mapping[str, float]
    wrong_motors: Mapping[str, Any]
    travel_parts: Sequence[float]
    wider_degrees: Mapping[str, float]
    violations: Sequence[Violation]
    kept_before_the_end: Mapping[str, Any]
    solved: int = 0

    @classmethod
    def of(
        cls,
        profile: RobotProfile,
        truth: Misadjustment,
        document: Mapping[str, Any],
        violations: Sequence[Violation],
        kept: Mapping[str, Any],
    ) -> Outcome:
        """Compare the values found with the truth."""
        values, unsure = document["values"], document.get("uncertain", {})
        per_degree = degree_us(profile, parts_of(profile).rotations)
        off = position_errors(profile, truth, values)
        parts: list[float] = []
        uncertain: dict[str, float] = {}
        for name, settings in profile.actuators_of(Servo).items():
            servo = truth.servo(name, settings, per_degree)
            for position in settings.positions_us:
                key = f"actuators.{name}.positions_us.{position}"
                if key in values:
                    uncertain[key] = unsure.get(key, 0.0) * servo.gain / per_degree
            speed = (profile.simulation.actuators[name].max_speed_us_per_s or 0.0) * servo.speed
            for row in values.get(f"actuators.{name}.travel", ()):
                start, end = (settings.positions_us[position] for position in row["between"])
                parts.append(row["ms"] / (abs(end - start) / speed * 1e3))
        wrong, wider = wrong_motors(profile, truth, values), wider_degrees(profile, off)
        return cls(document, off, uncertain, wrong, parts, wider, violations, kept)

    @property
    def why_not(self) -> str:
        """Reason why the robot could not be calibrated; empty if enough cubes were solved."""
        chance = self.document.get("fault_chance", 1.0)
        return str(self.document.get("because", "" if chance <= 0.05 else f"chance {chance}"))


def wider_degrees(profile: RobotProfile, off: Mapping[str, float]) -> dict[str, float]:
    """Return how much further than needed each jaw opens; negative if less."""
    mechanism = profile.mechanism
    if not isinstance(mechanism, GrippersSettings):
        return {}
    found: dict[str, float] = {}
    for one in mechanism.grippers.values():
        places = profile.actuators[one.jaw].places
        key = f"actuators.{one.jaw}.positions_us.{one.open}"
        if key in off:
            found[one.jaw] = off[key] * (1 if places[one.open] > places[one.closed] else -1)
    return found


def wrong_motors(
    profile: RobotProfile, truth: Misadjustment, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the wrong findings about steppers. Play may be a degree off."""
    wrong: dict[str, Any] = {}
    for name, settings in profile.actuators_of(Stepper).items():
        motor = truth.stepper(name, settings)
        turn = (settings.steps_per_turn or 0) * motor.microsteps
        right = {
            "invert_direction": (settings.invert_direction != motor.is_reversed, 0.0),
            "steps_per_turn": (turn, 0.0),
            "backlash_steps": ((motor.play_steps or 0) * motor.microsteps, max(1.0, turn / 360)),
        }
        for field, (value, tolerance) in right.items():
            key = f"actuators.{name}.{field}"
            if key in values and abs(values[key] - value) > tolerance:
                wrong[key] = (values[key], value)
    return wrong


def at_pins_of_host(profile: RobotProfile) -> RobotProfile:
    """Return the robot with pins that the host's firmware has: it knows no channels of a Maestro.

    Robots whose pins it has stay as they are.
    """
    servos = profile.actuators_of(Servo)
    if all(one.pins.pulse in PINS["host"] for one in servos.values()):
        return profile
    pins = {name: {"pulse": pin} for name, pin in zip(servos, PINS["host"], strict=False)}
    return profile.with_board("host", pins)


def calibrated(name: str, misadjusted: str, *, solves: int = 0, size: int | None = None) -> Outcome:
    """Let a robot of a profile calibrate itself and then solve cubes, in simulated time."""
    # With a full second of search for each plan some would be a little faster.
    changes = {"policy.search_s": 0.1} | ({"cube.size": size} if size else {})
    profile = at_pins_of_host(changed(name, changes))
    truth = parse_misadjustment(misadjusted)
    cube = cube_put_in(profile.cube.size, truth.seed, truth)
    with SimulatedRun(profile, cube, misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        measurement = AutomaticCalibration(session, lambda: run.robot.time_us / 1e6)
        with session.maintenance():
            for _ in measurement.measure():
                pass
            violations, kept = [*run.robot.violations], session.stored.values
            document = measurement.document
            outcome = Outcome.of(profile, truth, document, violations, kept)
            if not solves or outcome.why_not:
                return outcome
            session.try_out(document["values"])
            solved = _solve_cubes(session, solves)
        return replace(outcome, solved=solved, violations=[*run.robot.violations])


def _solve_cubes(session: SimulatedCalibration, solves: int) -> int:
    """Scramble and solve cubes. Return the number solved before the first failure."""
    for number in range(solves):
        try:
            if not session.perform(PROVING, solved=True).solved:
                return number
        except (RobotError, ScanError):
            return number
    return solves
