"""What calibration tries out on one stepper: its direction, its steps, its limits, its play.

Every trial homes first and comes back gently, so that steps lost on the way out are not lost on
the way back as well. Whether the motor is then where it was is told by its sensor, if it has one,
else by the camera. What neither can tell is None, and for a person to judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from robot.calibration.results import (
    Play,
    SpeedRequest,
    SpeedTried,
    StepsRequest,
    StepsTried,
    TurnTried,
)
from robot.calibration.stillness import Stillness
from robot.faults import MotionFault
from robot.link import StepperSetup
from robot.machine.board_configuration import actuator_setups
from robot.machine.first_contact import PARTS_OF_TRAVEL
from robot.machine.interfaces import InvalidRequest, Machine
from robot.motion import MotionError, StepperLimits, stepper_limits, stepper_move
from robot.motion.schedule import Schedule, TimedTurn
from robot.settings import RobotProfile
from robot.settings.actuators import Stepper

LONGEST_TURNS = 40
"""Turns of a trial, at most, to reach the speed that is to be tried."""

PLACES_OF_A_TURN = 32
"""Where a motor that lost its place is looked for."""

FINER = 8
"""Times finer it is then looked for about the nearest of them."""

LONGER_TURNS = (2, 4, 8)
"""Factors by which a turn is longer where microstep switches are not as thought."""

SEARCH_STEPS = 400
"""Parts of a turn that a search for an edge or a change goes by."""

RUN_UP = 32
"""Part of a turn that is more than any play."""

GENTLE_SPEED, GENTLE_ACCELERATION = 0.5, 0.25
"""Parts of the profile's limits at which no motor that works at all loses steps."""


@dataclass(frozen=True)
class _Motor:
    """One stepper of a robot that is being tried."""

    machine: Machine
    settings: Stepper
    setup: StepperSetup

    @property
    def name(self) -> str:
        """In the profile."""
        return self.setup.name

    @property
    def start(self) -> int:
        """Where it is after homing."""
        return self.setup.start_steps

    @property
    def turn_steps(self) -> int:
        """Steps of a turn; of its whole way for one that only goes to and fro."""
        places = self.settings.positions_steps.values()
        return self.settings.steps_per_turn or max(places) - min(places)

    @property
    def search_steps(self) -> int:
        """Steps at a time where an edge or a change is looked for."""
        return max(1, self.turn_steps // SEARCH_STEPS)

    @cached_property
    def still(self) -> Stillness | None:
        """The camera's view of it at the start; None where it does not see it move."""
        self.go(self.start)
        still = Stillness(self.machine.scanner)
        self.go(self.start + self.way(self.turn_steps // 16))
        sees = still.disturbed()
        self.go(self.start)
        return still if sees else None

    def way(self, steps: int) -> int:
        """Signed steps from the start: as many as wanted, or as there is room for."""
        up, down = self.setup.maximum_steps - self.start, self.start - self.setup.minimum_steps
        if steps <= up:
            return steps
        return -min(steps, down) if down > up else up

    def go(self, target: int) -> None:
        """Gently to a position, the last of the way forwards, which takes up any play."""
        run_up = self.turn_steps // RUN_UP
        if target - run_up >= self.setup.minimum_steps:
            self.go_straight(target - run_up)
        self.go_straight(target)

    def go_straight(self, target: int) -> None:
        """Gently to a position, from wherever it is."""
        self.machine.motion.jog(self.name, target)

    def rush(self, way: int, limits: StepperLimits) -> None:
        """From the start by so many steps, as fast as ``limits`` say."""
        move = stepper_move(self.name, self.start, way, limits)
        schedule = Schedule((move,), (TimedTurn(0, 0),), move.duration_us)
        self.machine.motion.perform(schedule, lambda _: None)

    def moved_from(self) -> bool | None:
        """Whether it is not at the start where it should be; None where nothing can tell."""
        motion, homing = self.machine.motion, self.setup.homing
        if homing is None and self.setup.check is not None:
            return not motion.is_sensor_active(self.name)
        if homing is None:
            return None if self.still is None else self.still.disturbed()
        margin = self.search_steps + self.settings.backlash_steps
        self.go(homing.edge_position - homing.direction * margin)
        outside = motion.is_sensor_active(self.name)
        self.go(homing.edge_position + homing.direction * margin)
        inside = motion.is_sensor_active(self.name)
        self.go(self.start)
        return outside or not inside

    @property
    def seen_by(self) -> str | None:
        """What tells where it is."""
        if self.setup.homing is not None or self.setup.check is not None:
            return "sensor"
        return None if self.still is None else "camera"

    def put_back(self) -> bool:
        """Turn it, having lost steps, to the start again; whether that can be told."""
        motion = self.machine.motion
        if self.setup.homing is not None:
            motion.home((self.name,))
            return True
        if self.still is None or not self.settings.steps_per_turn:
            return False
        step = max(1, self.turn_steps // PLACES_OF_A_TURN)
        nearest = self._nearest(range(0, self.turn_steps, step))
        while step > 1:
            step, around = max(1, step // FINER), step
            nearest = self._nearest(range(nearest - around, nearest + around, step))
        self.go(self.start + nearest)
        motion.assume_start_positions()
        motion.home()
        return not self.still.disturbed()

    def _nearest(self, places: range) -> int:
        """Of these places, in steps from the start, the one that looks most like it."""

        def strangeness(place: int) -> float:
            self.go_straight(self.start + place)
            return math.inf if self.still is None else self.still.change()

        return min(places, key=strangeness)


def tried_turn(machine: Machine, profile: RobotProfile, name: str, inverted: bool) -> TurnTried:
    """A quarter turn forwards and back with the direction input inverted or not; a part of its way
    for one that only goes to and fro.

    Nothing else moves, and nothing is homed: which way this motor turns is only found out here, and
    one that turns the wrong way does not find its sensor. Raises ``MotionFault``.
    """
    blind = {"homing": None, "turn_check": None, "invert_direction": inverted}
    settings = _stepper(profile, name)
    part = 4 if settings.steps_per_turn else PARTS_OF_TRAVEL
    with _trying(machine, profile, name, blind, alone=True) as motor:
        way = motor.way(motor.turn_steps // part)
        motor.go(motor.start + way)
        motor.go(motor.start)
    values = {f"actuators.{name}.invert_direction": inverted}
    return TurnTried(actuator=name, steps=way, inverted=inverted, values=values)


def tried_steps(machine: Machine, profile: RobotProfile, request: StepsRequest) -> StepsTried:
    """So many whole turns and back; whether the camera says that they were whole.

    If not it looks for a turn among those that a wrong microstep switch makes. Raises
    ``MotionFault``, and ``InvalidRequest`` for a motor that does not turn round.
    """
    name = request.actuator
    kept = _stepper(profile, name).steps_per_turn
    if kept is None:
        raise InvalidRequest(f"actuator: {name} only goes to and fro: set its positions instead")
    otherwise = {"steps_per_turn": request.turn_steps or kept, "turn_check": None}
    with _trying(machine, profile, name, otherwise) as motor:
        turn = motor.turn_steps
        way = motor.way(request.turns * turn)
        motor.go(motor.start + way)
        motor.go(motor.start)
        found = _turn_seen(motor) if way == request.turns * turn else None
    values = {f"actuators.{name}.steps_per_turn": found} if found not in {None, kept} else {}
    return StepsTried(actuator=name, steps=way, turn_steps=turn, found_steps=found, values=values)


def _turn_seen(motor: _Motor) -> int | None:
    """Steps of a true turn by the camera; None where no turn looks like one, or each quarter."""
    if motor.still is None:
        return None
    turn = motor.turn_steps
    if _looks_whole(motor, turn):
        shorter = [steps for steps in (turn // 2, turn // 4) if _looks_whole(motor, steps)]
        return (turn, turn // 2, None)[len(shorter)]
    longer = (turn * factor for factor in LONGER_TURNS)
    return next((steps for steps in longer if _looks_whole(motor, steps)), None)


def _looks_whole(motor: _Motor, steps: int) -> bool:
    assert motor.still is not None
    motor.go(motor.start + steps)
    disturbed = motor.still.disturbed()
    motor.go(motor.start)
    return not disturbed


def tried_speed(machine: Machine, profile: RobotProfile, request: SpeedRequest) -> SpeedTried:
    """As fast as asked for, far enough to be that fast, and gently back; whether steps were lost.

    Raises ``MotionFault`` for what is no lost step, and ``InvalidRequest`` for what no motion can
    be.
    """
    name = request.actuator
    limits = _limits(_stepper(profile, name), request)
    with _trying(machine, profile, name, {}, limits.max_speed) as motor:
        if request.held:
            _hold_cube(motor, profile)
        way = motor.way(_steps_to_reach(limits, motor.turn_steps))
        seen_by = motor.seen_by
        try:
            motor.rush(way, limits)
            motor.go(motor.start)
            lost = motor.moved_from()
        except MotionFault as fault:
            if fault.code != "not-in-place":
                raise
            machine.motion.home()
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


def measured_play(machine: Machine, profile: RobotProfile, name: str) -> Play:
    """How many steps it goes back before what it drives follows, by its sensor or the camera.

    Raises ``MotionFault``.
    """
    with _trying(machine, profile, name, {}) as motor:
        by_sensor = motor.setup.homing is not None
        found = _play_at_the_edge(motor) if by_sensor else _play_in_the_picture(motor)
        within = motor.search_steps
    seen_by = None if found is None else "sensor" if by_sensor else "camera"
    values = {} if found is None else {f"actuators.{name}.backlash_steps": found}
    return Play(
        actuator=name, play_steps=found, within_steps=within, seen_by=seen_by, values=values
    )


def _play_at_the_edge(motor: _Motor) -> int | None:
    """The sensor's edge from one side and from the other; a switch's own hysteresis adds to it."""
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


def _play_in_the_picture(motor: _Motor) -> int | None:
    """Forwards, which takes the play up, then back until the picture begins to change."""
    if motor.still is None:
        return None
    reach = max(1, motor.turn_steps // 8)
    top = motor.start + min(reach, motor.setup.maximum_steps - motor.start)
    motor.go(top)
    still = Stillness(motor.machine.scanner)
    found = _steps_until(motor, top, -motor.search_steps, still.disturbed, reach)
    return None if found is None else found - motor.search_steps


def _steps_until(
    motor: _Motor, start: int, step: int, seen: Callable[[], bool], most: int
) -> int | None:
    """Steps made from ``start``, a few at a time, until ``seen``; None if that does not come."""
    motor.go_straight(start)
    for made in range(abs(step), most + 1, abs(step)):
        motor.go_straight(start + (made if step > 0 else -made))
        if seen():
            return made
    return None


def _limits(settings: Stepper, request: SpeedRequest) -> StepperLimits:
    """What is to be tried; what is not said is as in the profile."""
    usual = stepper_limits(settings, request.held)
    speed = request.speed_steps_per_s or usual.max_speed
    try:
        return StepperLimits(
            start_speed=min(usual.start_speed, speed),
            max_speed=speed,
            acceleration=request.acceleration_steps_per_s2 or usual.acceleration,
            jerk=usual.jerk,
        )
    except MotionError as error:
        raise InvalidRequest(f"{request.actuator}: {error}") from error


def _steps_to_reach(limits: StepperLimits, turn: int) -> int:
    """Whole turns in which the speed is reached and kept for half a turn."""
    wanted = limits.max_speed**2 / limits.acceleration + turn / 2
    return turn * min(LONGEST_TURNS, math.ceil(wanted / turn))


def _hold_cube(motor: _Motor, profile: RobotProfile) -> None:
    """Put down the arm that holds the cube above a table; grippers and faces hold it anyway."""
    for name, position in profile.mechanism.holding:
        actuator = profile.actuators[name]
        if not actuator.turns_freely:
            motor.machine.motion.jog(name, actuator.places[position])
            return


@contextmanager
def _trying(
    machine: Machine,
    profile: RobotProfile,
    name: str,
    otherwise: Mapping[str, object],
    fastest: float = 0.0,
    *,
    alone: bool = False,
) -> Iterator[_Motor]:
    """The motor, homed, gentle, and set up otherwise in some respects; then as in the profile.

    ``alone``: nothing is homed but this motor.
    """
    settings = _stepper(profile, name)
    gentle = settings.model_copy(
        update={
            "max_speed_steps_per_s": settings.max_speed_steps_per_s * GENTLE_SPEED,
            "max_acceleration_steps_per_s2": settings.max_acceleration_steps_per_s2
            * GENTLE_ACCELERATION,
            "start_speed_steps_per_s": min(
                settings.start_speed_steps_per_s, settings.max_speed_steps_per_s * GENTLE_SPEED
            ),
            # An end stop tells more than a look at it after each turn, which has to be at rest.
            **({"turn_check": None} if settings.homing is not None else {}),
            **otherwise,
        }
    )
    trial = profile.model_copy(update={"actuators": {**profile.actuators, name: gentle}})
    setups = (one for one in actuator_setups(trial) if one.name == name)
    setup = next(one for one in setups if isinstance(one, StepperSetup))
    try:
        if not alone:
            machine.motion.home()
        machine.motion.reconfigure(trial, {name: fastest} if fastest else {})
        if alone:
            machine.motion.home_alone(name, setup.start)
        else:
            machine.motion.home()
        yield _Motor(machine, gentle, setup)
        if not alone:
            machine.motion.home()
    finally:
        machine.motion.reconfigure(profile, {})


def _stepper(profile: RobotProfile, name: str) -> Stepper:
    """Raises ``InvalidRequest`` for what is none."""
    found = profile.actuators.get(name)
    if isinstance(found, Stepper):
        return found
    known = ", ".join(key for key, one in profile.actuators.items() if isinstance(one, Stepper))
    raise InvalidRequest(f"actuator: {name!r} is no stepper; there is {known or 'none'}")
