"""The step "timing": the time each operation really takes, by the firmware's clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robot.calibration.step import STEPS, Bench, Measurement, Result, Row, Script, Step, Trial
from robot.mechanism.graph import Operation, Transition
from robot.motion.schedule import Schedule
from robot.planner import Mechanism, Plan, PlanningError, State, build_mechanism, plan_composites
from robot.planner.plan import make_plan
from robot.records.documents import ApiDocument, ApiRequest
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from solver.cost import composite_index
from solver.files import JsonMapping, JsonObject

if TYPE_CHECKING:
    from robot.machine.motion_controller import MotionController

TOLERANCE = 0.01
"""Fraction by which an actuator may be slower than planned; a ceramic resonator's error is half."""


class TimedOperation(ApiDocument):
    """The average time of an operation: as planned, and by the firmware's clock."""

    operation: str
    count: int
    planned_us: int
    measured_us: int


class Timings(ApiDocument):
    """The times of all operations, and values for actuators that take longer than planned."""

    operations: list[TimedOperation]
    values: JsonObject


@dataclass(frozen=True)
class _Timed:
    """An operation that was performed: its name, times, and the actuator if only one moved."""

    name: str
    actuator: str | None
    planned_us: int
    measured_us: int


def measured_timing(bench: Bench, _: ApiRequest) -> Timings:
    """Home, then turn each layer there and back, one operation at a time. The cube ends unchanged.

    Raises ``RobotError``.
    """
    motion, profile = bench.machine.motion, bench.profile
    motion.home()
    plans = single_operation_plans(build_mechanism(profile))
    timed = [_perform(motion, plan) for plan in plans if plan.transitions]
    by_name: dict[str, list[_Timed]] = defaultdict(list)
    for one in timed:
        by_name[one.name].append(one)
    operations = [_average(name, found) for name, found in sorted(by_name.items())]
    return Timings(operations=operations, values=_corrections(profile, timed))


def single_operation_plans(mechanism: Mechanism) -> Iterator[Plan]:
    """Yield plans of one operation each, which turn every layer of the robot there and back."""
    state = mechanism.start
    for axis in range(3):
        for quarters in ((1, 0), (3, 0), (0, 1), (0, 3)):
            for step in _transitions(mechanism, state, composite_index(axis, *quarters)):
                plan = make_plan(mechanism, state, (step,))
                state = plan.end
                yield plan


def _transitions(mechanism: Mechanism, state: State, composite: int) -> tuple[Transition, ...]:
    try:
        return plan_composites(mechanism, state, (composite,)).transitions
    except PlanningError:
        return ()


def _perform(motion: MotionController, plan: Plan) -> _Timed:
    schedule = plan.schedule()
    measured_us = motion.perform(schedule, lambda _: None)
    name = " + ".join(
        _words(operation) for step in plan.transitions for operation in step.operations
    )
    return _Timed(name, _only_actuator(schedule), schedule.duration_us, measured_us)


def _words(operation: Operation) -> str:
    """Return an operation's description: ``turn D``, ``rotate x``, ``lid close``."""
    what = [operation.op, operation.site, operation.axis, *_texts(operation.fields)]
    half = (
        "half"
        if operation.quarter_turns is not None and abs(operation.quarter_turns) == 2
        else None
    )
    return " ".join(dict.fromkeys(word for word in (*what, half) if word))


def _texts(fields: JsonMapping) -> list[str]:
    return [value for value in fields.values() if isinstance(value, str)]


def _only_actuator(schedule: Schedule) -> str | None:
    names = {profile.actuator for profile in schedule.profiles}
    return names.pop() if len(names) == 1 else None


def _average(name: str, timed: list[_Timed]) -> TimedOperation:
    count = len(timed)
    return TimedOperation(
        operation=name,
        count=count,
        planned_us=round(sum(one.planned_us for one in timed) / count),
        measured_us=round(sum(one.measured_us for one in timed) / count),
    )


def _corrections(profile: RobotProfile, timed: list[_Timed]) -> JsonObject:
    """Return longer travel times for servos that took longer than planned when moving alone."""
    values: JsonObject = {}
    for name, servo in profile.actuators_of(Servo).items():
        alone = [one for one in timed if one.actuator == name]
        planned_us = sum(one.planned_us for one in alone)
        measured_us = sum(one.measured_us for one in alone)
        if measured_us > planned_us * (1 + TOLERANCE):
            values[f"actuators.{name}.travel"] = _slower(servo, measured_us / planned_us)
    return values


def _slower(servo: Servo, factor: float) -> list[JsonObject]:
    """Return the servo's travel rows with all times multiplied by a factor."""
    rows = [row.model_dump(mode="json") for row in servo.travel]
    for row in rows:
        for key in ("ms", "held_ms"):
            if row[key] is not None:
                row[key] = round(row[key] * factor, 1)
    return rows


TIMING_TRIAL = Trial(
    "timing", "Perform and time every operation", ApiRequest, Timings, measured_timing
)


class OperationTimes(Measurement):
    """The comparison of measured with planned times, which lengthens the times of slow servos."""

    name = "timing"
    guidance = (
        "Choose Measure: the robot performs every operation it knows and measures how long each "
        "takes. The planner then uses this robot's own times."
    )
    columns = ("operation", "times", "planned", "took")

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        found = self.session.perform(TIMING_TRIAL)
        longer = f"longer than planned: {', '.join(found.values)}"
        self.result = Result(
            values=found.values,
            document=found.model_dump(mode="json"),
            text=longer if found.values else "everything takes as long as planned",
        )
        for row in found.operations:
            times = (f"{us / 1e3:.1f} ms" for us in (row.planned_us, row.measured_us))
            yield Row((row.operation, str(row.count), *times))


STEPS["timing"] = Step(
    name="timing",
    title="Timing: how long each operation really takes",
    trials=[TIMING_TRIAL],
    begin=OperationTimes,
    minutes=lambda *_: 3.0,
)
