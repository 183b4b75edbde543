"""What calibration measures with the whole robot: the cube's colours, the time operations take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from robot.calibration.results import ColoursSeen, TimedOperation, Timings
from robot.machine.interfaces import FaceImage, Machine, MotionController, NotReadable
from robot.machine.scanner import as_values
from robot.mechanism.graph import Deed
from robot.motion.schedule import Schedule
from robot.planner import Mechanism, NoWay, Plan, State, build_mechanism, plan_composites
from robot.planner.plan import make_plan
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from solver.cost import composite_index
from vision.calibrate.places import references_of
from vision.measure.sticker_colours import FaceColours, StickerColours, merge_looks

TOLERANCE = 0.01
"""Share by which an actuator may be slower than planned; a ceramic resonator is off by half."""


def measured_colours(machine: Machine, facelets: str | None) -> ColoursSeen:
    """Home, look at all faces, and take the colours of a cube that is ``facelets``.

    None: whatever cube is read, if that is beyond doubt. Raises ``MotionFault``, ``NotReadable``
    and ``CalibrationFailed``.
    """
    machine.motion.home()
    looks = list(_all_looks(machine))
    if facelets is None:
        facelets = _certain_facelets(machine, looks)
    faces: dict[str, list[FaceColours]] = defaultdict(list)
    for look in looks:
        faces[look.face].append(look.colours)
    scan = StickerColours.of_faces({face: merge_looks(seen) for face, seen in faces.items()})
    return ColoursSeen(facelets=facelets, values=as_values(references_of(scan, facelets)))


def _all_looks(machine: Machine) -> Iterator[FaceImage]:
    for number, view in enumerate(machine.planner.tour(None, None).views):
        if view.schedule is not None:
            machine.motion.perform(view.schedule, lambda _: None)
        if number == 0:
            machine.scanner.settle()
        yield machine.scanner.look(view)


def _certain_facelets(machine: Machine, looks: list[FaceImage]) -> str:
    reading = machine.planner.read(looks)
    if not reading.confident:
        raise NotReadable(
            "the cube cannot be read beyond doubt with the colours as they are: put a solved cube "
            "in and say so (--solved), or give its facelets (--facelets)",
            reading.look_again,
        )
    return reading.facelets


@dataclass(frozen=True)
class _Timed:
    """One operation performed: its name, the only actuator that moved (else None), its times."""

    name: str
    actuator: str | None
    planned_us: int
    measured_us: int


def measured_timing(motion: MotionController, profile: RobotProfile) -> Timings:
    """Home, then turn each layer there and back, one operation at a time, by the firmware's clock.

    Raises ``MotionFault``.
    """
    motion.home()
    timed = [
        _perform(motion, plan) for plan in rehearsal(build_mechanism(profile)) if plan.transitions
    ]
    by_name: dict[str, list[_Timed]] = defaultdict(list)
    for one in timed:
        by_name[one.name].append(one)
    operations = [_average(name, found) for name, found in sorted(by_name.items())]
    return Timings(operations=operations, values=_corrections(profile, timed))


def rehearsal(mechanism: Mechanism) -> Iterator[Plan]:
    """Plans of one operation each that turn every layer the robot can turn there and back."""
    state = mechanism.start
    for axis in range(3):
        for quarters in ((1, 0), (3, 0), (0, 1), (0, 3)):
            for step in _transitions(mechanism, state, composite_index(axis, *quarters)):
                plan = make_plan(mechanism, state, (step,))
                state = plan.end
                yield plan


def _transitions(mechanism: Mechanism, state: State, composite: int) -> tuple[Any, ...]:
    try:
        return plan_composites(mechanism, state, (composite,)).transitions
    except NoWay:
        return ()


def _perform(motion: MotionController, plan: Plan) -> _Timed:
    schedule = plan.schedule()
    measured_us = motion.perform(schedule, lambda _: None)
    name = " + ".join(_words(deed) for step in plan.transitions for deed in step.deeds)
    return _Timed(name, _only_actuator(schedule), schedule.duration_us, measured_us)


def _words(deed: Deed) -> str:
    """What a person calls it: ``turn D``, ``rotate x``, ``lid close``."""
    what = [deed.op, deed.site, deed.axis, *_texts(deed.fields)]
    half = "half" if deed.quarters is not None and abs(deed.quarters) == 2 else None
    return " ".join(dict.fromkeys(word for word in (*what, half) if word))


def _texts(fields: Mapping[str, Any]) -> list[str]:
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


def _corrections(profile: RobotProfile, timed: list[_Timed]) -> dict[str, Any]:
    """Longer travel times for the servos that moved alone and took longer than planned."""
    values: dict[str, Any] = {}
    for name, actuator in profile.actuators.items():
        alone = [one for one in timed if one.actuator == name]
        planned_us = sum(one.planned_us for one in alone)
        measured_us = sum(one.measured_us for one in alone)
        if isinstance(actuator, Servo) and measured_us > planned_us * (1 + TOLERANCE):
            values[f"actuators.{name}.travel"] = _slower(actuator, measured_us / planned_us)
    return values


def _slower(servo: Servo, factor: float) -> list[dict[str, Any]]:
    """The servo's travel rows with all times longer by a factor."""
    rows = [row.model_dump(mode="json") for row in servo.travel]
    for row in rows:
        for key in ("ms", "held_ms"):
            if row[key] is not None:
                row[key] = round(row[key] * factor, 1)
    return rows
