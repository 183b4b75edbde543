"""A stepper under test: moved gently, and watched by its sensor or by the camera.

It returns gently from every trial, so that only the way out can lose steps. Its sensor, if it has
one, else the camera then shows whether it is back where it was. If neither can tell, the answer is
None, and a person has to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robot.calibration.step import Bench
from robot.link import StepperSetup
from robot.machine.board_configuration import actuator_setups
from robot.machine.confirmed_range import largest_step
from robot.motion.schedule import Schedule
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest

if TYPE_CHECKING:
    from robot.machine.assembly import Machine
    from robot.machine.scanner import Scanner

PLACES_OF_A_TURN = 32
"""Number of places in a turn at which to look for the start after lost steps."""

FINER = 8
"""Factor by which the search around the best of these places is finer, each time."""

SEARCH_STEPS = 400
"""Number of parts of a turn in which to search for an edge or a change."""

HOMED_WITHIN = 4
"""Largest number of steps by which homing finds the edge late. Lost steps are more: at least four
full steps of the motor at once."""

RUN_UP = 32
"""Divisor of a turn that gives a run-up longer than any play."""

STILL_PICTURES = 5
NOISE_FACTOR = 3.0
LEAST_CHANGE = 0.2
"""Smallest mean change of grey levels that is more than noise."""
HUNTING_US = 3_000_000
"""Longest time an autofocus hunts: the picture grows and shrinks, and then is as before."""
MOST_HUNTED = 3.0
"""Largest change that hunting may cause, as a multiple of the threshold for noise."""
MOST_LOOKS = 200

Grey = NDArray[np.float32]


def stepper_of(profile: RobotProfile, name: str) -> Stepper:
    """Return a stepper; raises ``InvalidRequest`` for another name."""
    steppers = profile.actuators_of(Stepper)
    if name in steppers:
        return steppers[name]
    known = ", ".join(steppers) or "none"
    raise InvalidRequest(f"{profile.name} has no stepper {name}; it has {known}")


class Stillness:
    """The picture of a robot at rest, to compare later ones with. Raises ``RobotError``.

    Light flickers, and cameras adapt to it, so pictures are scaled to the same brightness.
    """

    def __init__(self, scanner: Scanner) -> None:
        scanner.settle()
        self._scanner = scanner
        self._level = 0.0
        pictures = np.stack([self._take()[1] for _ in range(STILL_PICTURES)])
        self._first: Grey = pictures.mean(axis=0)
        noise = np.abs(pictures - self._first).mean(axis=(1, 2)).max()
        self._threshold = max(LEAST_CHANGE, NOISE_FACTOR * float(noise))

    def change(self) -> float:
        """Return the mean change of grey levels since the first pictures."""
        return self._look()[1]

    def has_changed(self) -> bool:
        """Return whether the picture has changed by more than noise, and stays changed."""
        began_us, change = self._look()
        for _ in range(MOST_LOOKS):
            if change <= self._threshold:
                return False
            time_us, change = self._look()
            if change > MOST_HUNTED * self._threshold or time_us - began_us > HUNTING_US:
                break
        return True

    def _look(self) -> tuple[int, float]:
        """Return the time and the mean change of grey levels of a new picture."""
        time_us, picture = self._take()
        return time_us, float(np.abs(picture - self._first).mean())

    def _take(self) -> tuple[int, Grey]:
        """Return the time of a new picture, and the picture as bright as the first one."""
        time_us, picture = self._scanner.glance()
        level = float(picture.mean())
        self._level = self._level or level
        return time_us, picture * (self._level / level) if level else picture


@dataclass(frozen=True)
class Motor:
    """A stepper under test."""

    machine: Machine
    settings: Stepper
    setup: StepperSetup
    field_at: int | None = None
    """A position in the active range of its sensor, if that range ends again."""

    @property
    def name(self) -> str:
        """The name in the profile."""
        return self.setup.name

    @property
    def start(self) -> int:
        """The position after homing."""
        return self.setup.start_steps

    @property
    def turn_steps(self) -> int:
        """The steps per turn, or of the whole range for a motor that only goes to and fro."""
        places = self.settings.positions_steps.values()
        return self.settings.steps_per_turn or max(places) - min(places)

    @property
    def search_steps(self) -> int:
        """The step size in a search for an edge or a change."""
        return max(1, self.turn_steps // SEARCH_STEPS)

    @cached_property
    def still(self) -> Stillness | None:
        """The camera's picture of it at the start; None if the camera does not see it move."""
        self.go(self.start)
        still = Stillness(self.machine.scanner)
        self.go(self.start + self.way(self.turn_steps // 16))
        sees = still.has_changed()
        self.go(self.start)
        return still if sees else None

    def way(self, steps: int) -> int:
        """Return signed steps from the start: ``steps``, or as many as there is room for."""
        up, down = self.setup.maximum_steps - self.start, self.start - self.setup.minimum_steps
        if steps <= up:
            return steps
        return -min(steps, down) if down > up else up

    def go(self, target: int) -> None:
        """Go gently to a position, finishing forwards, which takes up any play."""
        run_up = self.turn_steps // RUN_UP
        if target - run_up >= self.setup.minimum_steps:
            self.go_straight(target - run_up)
        self.go_straight(target)

    def go_straight(self, target: int) -> None:
        """Go gently to a position from wherever it is."""
        self.machine.motion.jog(self.name, target)

    def rush(self, start: int, way: int, limits: StepperLimits) -> None:
        """Go ``way`` steps from ``start``, its present position, as fast as ``limits`` allow."""
        move = stepper_move(self.name, start, way, limits)
        self.machine.motion.perform(Schedule.of(move), lambda _: None)

    def moved_from(self) -> bool | None:
        """Return whether it has left the start; None if neither sensor nor camera can tell."""
        motion, homing = self.machine.motion, self.setup.homing
        if homing is None and self.setup.check is not None:
            return not motion.is_sensor_active(self.name)
        if homing is None:
            return None if self.still is None else self.still.has_changed()
        margin = self.search_steps + self.settings.backlash_steps + HOMED_WITHIN
        self.go(homing.edge_position - homing.direction * margin)
        outside = motion.is_sensor_active(self.name)
        within = margin
        if self.field_at is not None:
            within = min(margin, abs(self.field_at - homing.edge_position))
        self.go(homing.edge_position + homing.direction * within)
        inside = motion.is_sensor_active(self.name)
        self.go(self.start)
        return outside or not inside

    @property
    def seen_by(self) -> str | None:
        """Return the observer of its position: ``sensor``, ``camera`` or None."""
        if self.setup.homing is not None or self.setup.check is not None:
            return "sensor"
        return None if self.still is None else "camera"

    def put_back(self) -> bool:
        """Turn it back to the start after lost steps. Return whether that succeeded."""
        motion = self.machine.motion
        if self.settings.homing is not None:
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
        return not self.still.has_changed()

    def _nearest(self, places: range) -> int:
        """Return the place, in steps from the start, that looks most like the start, trying each in
        forward order."""
        self.go(self.start + places[0])

        def face_difference(place: int) -> float:
            self.go_straight(self.start + place)
            return math.inf if self.still is None else self.still.change()

        return min(places, key=face_difference)


def _drop_stop(settings: Stepper) -> Stepper:
    """Return the motor, without homing if it homes by stalling: its driver shows nothing while the
    motor rests, and only homing goes to the stop."""
    return settings.model_copy(update={"homing": None}) if settings.homes_by_stall else settings


def _with(profile: RobotProfile, name: str, settings: Stepper) -> RobotProfile:
    return profile.model_copy(update={"actuators": {**profile.actuators, name: settings}})


def _with_room_at_the_edge(settings: Stepper) -> Stepper:
    """Return the motor with room beyond its positions, to check the edge of an end stop at the end
    of its range from both sides, as homing does."""
    room = largest_step(settings)
    if settings.homing is None or settings.homes_by_stall or room is None:
        return settings
    return settings.model_copy(update={"overshoot_steps": max(room, settings.overshoot_steps)})


@contextmanager
def motor_on(
    bench: Bench,
    name: str,
    otherwise: Mapping[str, object],
    fastest: float = 0.0,
    *,
    alone: bool = False,
) -> Iterator[Motor]:
    """Yield the motor, homed, with the settings of ``otherwise``; then restore the profile's.

    ``alone``: home only this motor.
    """
    machine, profile = bench.machine, bench.profile
    settings = stepper_of(profile, name)
    otherwise = {
        # An end stop shows more than its check after each turn, for which the motor has to rest.
        **({"turn_check": None} if settings.homing is not None else {}),
        **otherwise,
    }
    changed = settings.model_copy(update=otherwise)
    tried = _with(profile, name, _drop_stop(changed))
    setups = (one for one in actuator_setups(tried) if one.name == name)
    setup = next(one for one in setups if isinstance(one, StepperSetup))
    trial = _with(profile, name, _with_room_at_the_edge(changed))
    try:
        if not alone:
            machine.motion.home()
        machine.motion.reconfigure(trial, {name: fastest} if fastest else {})
        if alone:
            machine.motion.home_alone(name, setup.start)
        else:
            machine.motion.home()
        check = settings.turn_check if settings.homing is not None else None
        yield Motor(machine, changed, setup, None if check is None else check.at_steps)
        if not alone:
            machine.motion.home()
    finally:
        machine.motion.reconfigure(profile, {})
