"""Trials of one stepper: its direction, its steps, its limits, its play.

Every trial but that of the direction homes first. A result that cannot be determined is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from pydantic import Field

from robot.calibration.step import Bench, Trial
from robot.calibration.trials.stepper_motor import Motor, Stillness, motor_on, stepper_of
from robot.machine.confirmed_range import PARTS_OF_TRAVEL, direction_key
from robot.motion.schedule import Schedule
from robot.motion.stepper import StepperLimits, stepper_limits, stepper_move
from robot.records.documents import ApiDocument, ApiRequest, WholeNumber
from robot.settings import RobotProfile
from robot.settings.base import MAX_ACCELERATION
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError
from solver.errors import InvalidRequest
from solver.files import JsonObject

LONGEST_TURNS = 40
"""Largest number of turns in which a trial reaches its speed."""

QUICK_QUARTERS = 8
"""Number of quarter turns after these, so that losing a step at each start becomes visible."""

LONGER_TURNS = (2, 4, 8)
"""Factors by which a turn may be longer if the microstep switches are set differently."""

BUSY = "R L U D F B R L U D F B"
"""A scramble with opposite faces in succession, which move as many motors at once as any turns."""


class StepperRequest(ApiRequest):
    """The name of a stepper."""

    actuator: str = Field(min_length=1, max_length=64)


class TurnRequest(StepperRequest):
    """A quarter turn forwards and back, with the direction input inverted or not."""

    inverted: bool = False


class TurnTried(ApiDocument):
    """The trial of a quarter turn: ``steps`` (negative: backwards, for lack of room), and back."""

    actuator: str
    steps: int
    inverted: bool
    values: JsonObject


class StepsRequest(StepperRequest):
    """Turns of ``turn_steps`` each (default: as calibrated), and back."""

    turn_steps: WholeNumber | None = Field(default=None, ge=4, le=1_000_000, multiple_of=4)

    turns: WholeNumber = Field(default=1, ge=1, le=20)


class StepsTried(ApiDocument):
    """The trial of whole turns: ``steps``, and back.

    ``found_steps``: steps per turn by the camera, if it can tell. ``values``: ``found_steps`` as a
    calibrated value, if it differs from the present one.
    """

    actuator: str
    steps: int
    turn_steps: int
    found_steps: int | None
    values: JsonObject


class SpeedRequest(StepperRequest):
    """Limits to try, by default the profile's. ``held``: with a layer as the load."""

    speed_steps_per_s: float | None = Field(default=None, ge=50, le=200_000)
    acceleration_steps_per_s2: float | None = Field(default=None, ge=1, le=MAX_ACCELERATION)
    held: bool = False


class SpeedTried(ApiDocument):
    """The result of a fast motion: whether steps were ``lost``; None if only a person can tell.

    ``reached_steps_per_s``: the speed that the distance allowed. ``square`` is False if only a
    person can set the motor back to where it was.
    """

    actuator: str
    speed_steps_per_s: float
    acceleration_steps_per_s2: float
    reached_steps_per_s: float
    steps: int
    lost: bool | None
    seen_by: str | None
    square: bool


class BoardRequest(ApiRequest):
    """A request without parameters."""


class BoardRate(ApiDocument):
    """The fraction of the motors' speed (``share``) for which the boards can make steps; 1: all."""

    share: float


class Play(ApiDocument):
    """The steps back before the load follows, to ``within_steps``; None if nothing can tell.

    ``values``: calibrated value, if it differs by more than ``within_steps`` from the one in force.
    """

    actuator: str
    play_steps: int | None
    within_steps: int
    seen_by: str | None
    values: JsonObject


def tried_turn(bench: Bench, asked: TurnRequest) -> TurnTried:
    """Turn a quarter forwards and back, with the direction input inverted or not. A motor that only
    goes to and fro moves by a part of its range.

    Nothing else moves, and nothing is homed: the motor's direction is still unknown, and a motor
    that turns the wrong way does not find its sensor. Raises ``RobotError``.
    """
    name, inverted = asked.actuator, asked.inverted
    blind = {"homing": None, "turn_check": None, "invert_direction": inverted}
    part = 4 if stepper_of(bench.profile, name).steps_per_turn else PARTS_OF_TRAVEL
    with motor_on(bench, name, blind, alone=True) as motor:
        way = motor.way(motor.turn_steps // part)
        motor.go(motor.start + way)
        motor.go(motor.start)
    values = {direction_key(name): inverted}
    return TurnTried(actuator=name, steps=way, inverted=inverted, values=values)


def tried_steps(bench: Bench, asked: StepsRequest) -> StepsTried:
    """Make whole turns and come back; check with the camera whether they were whole.

    If not, search for a turn among the lengths that a wrong microstep switch gives. Raises
    ``RobotError``, and ``InvalidRequest`` for a motor that does not turn round.
    """
    name = asked.actuator
    kept = stepper_of(bench.profile, name).steps_per_turn
    if kept is None:
        raise InvalidRequest(
            f"actuator: {name} only moves back and forth: set its positions instead"
        )
    otherwise = {"steps_per_turn": asked.turn_steps or kept, "turn_check": None}
    with motor_on(bench, name, otherwise) as motor:
        turn = motor.turn_steps
        way = motor.way(asked.turns * turn)
        if way != turn or motor.still is None:  # else the camera's check makes this turn
            motor.go(motor.start + way)
            motor.go(motor.start)
        found = _turn_seen(motor) if way == asked.turns * turn else None
    values = changed_values(name, "steps_per_turn", found, kept)
    return StepsTried(actuator=name, steps=way, turn_steps=turn, found_steps=found, values=values)


def _turn_seen(motor: Motor) -> int | None:
    """Return the steps of a whole turn by the camera; None if no turn, or every quarter, looks like
    one."""
    if motor.still is None:
        return None
    turn = motor.turn_steps
    if _looks_whole(motor, turn):
        shorter = [steps for steps in (turn // 2, turn // 4) if _looks_whole(motor, steps)]
        return (turn, turn // 2, None)[len(shorter)]
    longer = (turn * factor for factor in LONGER_TURNS)
    return next((steps for steps in longer if _looks_whole(motor, steps)), None)


def _looks_whole(motor: Motor, steps: int) -> bool:
    assert motor.still is not None
    motor.go(motor.start + steps)
    disturbed = motor.still.has_changed()
    motor.go(motor.start)
    return not disturbed


def tried_speed(bench: Bench, asked: SpeedRequest) -> SpeedTried:
    """Go at the requested speed, far enough to reach it, then on by quarter turns as solves do, and
    gently back; look for lost steps.

    Raises ``RobotError`` for anything but lost steps, and ``InvalidRequest`` for impossible limits.
    """
    name = asked.actuator
    limits = _limits(stepper_of(bench.profile, name), asked)
    with motor_on(bench, name, {}, limits.max_speed) as motor:
        if asked.held:
            _hold_cube(motor, bench.profile)
        way = motor.way(_steps_to_reach(limits, motor.turn_steps))
        seen_by = motor.seen_by
        try:
            motor.rush(motor.start, way, limits)
            for at, quarter in _quarters_beyond(motor, way):
                motor.rush(at, quarter, limits)
            motor.go(motor.start)
            lost = motor.moved_from()
        except RobotError as fault:
            if fault.code != "not-in-place":
                raise
            bench.machine.motion.home()
            lost = True
        square = not lost or motor.put_back()
    return SpeedTried(
        actuator=name,
        speed_steps_per_s=limits.max_speed,
        acceleration_steps_per_s2=limits.acceleration,
        reached_steps_per_s=min(limits.max_speed, math.sqrt(limits.acceleration * abs(way))),
        steps=way,
        lost=lost,
        seen_by=seen_by,
        square=square,
    )


def _quarters_beyond(motor: Motor, way: int) -> Iterator[tuple[int, int]]:
    """Yield starts and signed steps of further quarter turns after a motion, while there is room.

    Nothing for a motor that only goes to and fro.
    """
    quarter = (motor.settings.steps_per_turn or 0) // 4
    step = quarter if way > 0 else -quarter
    at = motor.start + way
    for _ in range(QUICK_QUARTERS if quarter else 0):
        if not motor.setup.minimum_steps <= at + step <= motor.setup.maximum_steps:
            return
        yield at, step
        at += step


def find_board_rate(bench: Bench, _: BoardRequest) -> BoardRate:
    """Ask the boards whether they can make the steps of a scan, of a solve and of each motor at its
    full speed. Nothing moves. Raises ``RobotError``."""
    planner = bench.machine.planner
    cube = planner.scramble_cube(BUSY)
    schedules = [step.plan.schedule() for step in planner.scan(None, None).steps if step.moves]
    schedules.append(planner.plan(cube, None, bench.cancel, lambda _: None).schedule())
    for name, motor in bench.profile.actuators_of(Stepper).items():
        if motor.steps_per_turn:
            limits = stepper_limits(motor, held=False)
            way = _steps_to_reach(limits, motor.steps_per_turn)
            schedules.append(Schedule.of(stepper_move(name, 0, way, limits)))
    return BoardRate(share=bench.machine.motion.rate_share(schedules))


def measured_play(bench: Bench, asked: StepperRequest) -> Play:
    """Count the steps back before the load follows, by the sensor or the camera.

    Raises ``RobotError``.
    """
    name = asked.actuator
    with motor_on(bench, name, {}) as motor:
        by_sensor = motor.setup.homing is not None
        found = _play_at_the_edge(motor) if by_sensor else _play_in_the_picture(motor)
        motor.go(motor.start)  # homing here would release a layer between two quarter turns
        before, within = motor.settings.backlash_steps, motor.search_steps
    seen_by = None if found is None else "sensor" if by_sensor else "camera"
    is_news = found is not None and abs(found - before) > within
    values = {f"actuators.{name}.backlash_steps": found} if is_news else {}
    return Play(
        actuator=name, play_steps=found, within_steps=within, seen_by=seen_by, values=values
    )


def _play_at_the_edge(motor: Motor) -> int | None:
    """Return the distance between the sensor's edges from both sides, including its hysteresis."""
    homing, motion = motor.setup.homing, motor.machine.motion
    assert homing is not None
    step, reach = motor.search_steps, motor.turn_steps // 8
    start = homing.edge_position - homing.direction * reach
    inwards, outwards = homing.direction * step, -homing.direction * step
    there = _steps_until(
        motor, start, inwards, lambda: motion.is_sensor_active(motor.name), 2 * reach
    )
    if there is None:
        return None
    edge = start + homing.direction * there
    back = _steps_until(
        motor, edge, outwards, lambda: not motion.is_sensor_active(motor.name), 2 * reach
    )
    return None if back is None else max(0, back - step)


def _play_in_the_picture(motor: Motor) -> int | None:
    """Return the steps back until the picture changes, after a move forwards took the play up.

    The camera notices a motion late, which would count as play. So the steps it takes to notice the
    load move forwards are subtracted.
    """
    if motor.still is None:
        return None
    reach, step = max(1, motor.turn_steps // 8), motor.search_steps
    top = motor.start + min(reach, (motor.setup.maximum_steps - motor.start) // 2)
    motor.go(top)
    still = Stillness(motor.machine.scanner)
    room = min(reach, motor.setup.maximum_steps - top)
    seen = _steps_until(motor, top, step, still.has_changed, room)
    if seen is None:
        return None
    motor.go(top)
    found = _steps_until(motor, top, -step, still.has_changed, reach)
    return None if found is None else max(0, found - seen)


def _steps_until(
    motor: Motor, start: int, step: int, seen: Callable[[], bool], most: int
) -> int | None:
    """Return the steps from ``start``, in increments of ``step``, until ``seen``; None if never."""
    motor.go_straight(start)
    for made in range(abs(step), most + 1, abs(step)):
        motor.go_straight(start + (made if step > 0 else -made))
        if seen():
            return made
    return None


def _limits(settings: Stepper, asked: SpeedRequest) -> StepperLimits:
    """Return the limits to try: the profile's where the request gives none."""
    usual = stepper_limits(settings, asked.held)
    speed = asked.speed_steps_per_s or usual.max_speed
    try:
        return StepperLimits(
            start_speed=min(usual.start_speed, speed),
            max_speed=speed,
            acceleration=asked.acceleration_steps_per_s2 or usual.acceleration,
            jerk=usual.jerk,
        )
    except InvalidRequest as error:
        raise InvalidRequest(f"{asked.actuator}: {error}") from error


def _steps_to_reach(limits: StepperLimits, turn: int) -> int:
    """Return the steps of whole turns that reach the speed and keep it for half a turn."""
    wanted = limits.max_speed**2 / limits.acceleration + turn / 2
    return turn * min(LONGEST_TURNS, math.ceil(wanted / turn))


def _hold_cube(motor: Motor, profile: RobotProfile) -> None:
    """Lower the arm that holds the cube above a table. Grippers and faces hold it anyway."""
    for name, position in profile.mechanism.holding:
        actuator = profile.actuators[name]
        if not actuator.turns_freely:
            motor.machine.motion.jog(name, actuator.places[position])
            return


def changed_values(name: str, field: str, found: int | None, before: int | None) -> JsonObject:
    """Return the number found for a motor as a calibrated value; empty if it is unchanged."""
    return {} if found in (None, before) else {f"actuators.{name}.{field}": found}


TURNING = Trial(
    "turn",
    "Turn a stepper by a quarter and back",
    TurnRequest,
    TurnTried,
    tried_turn,
    trusted=lambda _, asked: (asked.actuator,),  # this trial determines its direction
)
STEPPING = Trial(
    "steps", "Turn a stepper by whole turns and back", StepsRequest, StepsTried, tried_steps
)
SPEEDING = Trial(
    "speed", "Try a stepper at a speed and acceleration", SpeedRequest, SpeedTried, tried_speed
)
BOARD_RATE = Trial(
    "rates",
    "Ask the boards whether they can make the steps of motors that turn together",
    BoardRequest,
    BoardRate,
    find_board_rate,
    method="GET",
)
PLAYING = Trial("play", "Measure the play behind a stepper", StepperRequest, Play, measured_play)
