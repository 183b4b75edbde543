"""The pins of a simulated robot, driven as by exact firmware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robot.machine.tmc2209 import driver_setup
from robot.motion.schedule import Schedule
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.twin.cube import CubeBody
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot

FRAME_US = 20_000
ANY_OHM = 0.11
"""The sense resistors of a board. Nothing here depends on the current."""
Edge = tuple[float, str | None, int, bool]
"""Microseconds, board, pin and level."""


class PinDriver:
    """A simulated robot, driven with the edges that schedules make on its pins."""

    def __init__(self, profile: RobotProfile, body: CubeBody) -> None:
        self.profile, self.time_us = profile, 0.0
        self.robot = SimulatedRobot(profile, body)
        places = parts_of(profile).start_places
        actuators = profile.actuators.items()
        servos = {name: a for name, a in actuators if isinstance(a, Servo)}
        self.pulses = {name: float(a.positions_us[places[name]]) for name, a in servos.items()}
        for name, driver in self.robot.drivers.items():
            stepper = profile.actuators_of(Stepper)[name]
            driver.registers |= driver_setup(stepper, stepper.driver, ANY_OHM).registers
        for name, actuator in actuators:
            if isinstance(actuator, Stepper) and actuator.pins.enable is not None:
                board = profile.board_name_of(name)
                self.robot.pin_changed(0.0, actuator.pins.enable, False, board)

    def play(self, schedule: Schedule) -> None:
        begin, end = self.time_us, self.time_us + schedule.duration_us
        edges = [*self._step_edges(schedule, begin), *self._pulse_edges(schedule, begin, end)]
        self.time_us = begin + -(-schedule.duration_us // FRAME_US) * FRAME_US
        advanced = begin
        for time_us, board, pin, level in sorted(edges, key=lambda edge: edge[0]):
            if time_us - advanced > 4_000:
                self.robot.advance(time_us)
                advanced = time_us
            self.robot.pin_changed(time_us, pin, level, board)
        self.robot.advance(self.time_us)

    def _turns(self, schedule: Schedule, kind: type) -> Iterator[tuple[int, Any, Any]]:
        for turn in schedule.turns:
            motion = schedule.profiles[turn.profile]
            if isinstance(self.profile.actuators[motion.actuator], kind):
                yield turn.start_us, motion, self.profile.actuators[motion.actuator].pins

    def _step_edges(self, schedule: Schedule, begin: float) -> Iterator[Edge]:
        for start_us, motion, pins in self._turns(schedule, Stepper):
            time_us, board = begin + start_us, self.profile.board_name_of(motion.actuator)
            for run in motion.segments:
                # A motion that overshoots and returns ends with steps in the other direction.
                forwards = (motion.end > motion.start) == (run.count > 0)
                yield time_us, board, pins.direction, forwards
                for number in range(abs(run.count)):
                    time_us += (run.interval_ticks + number * run.add_ticks) / 2
                    yield time_us, board, pins.step, True
                    yield time_us + 2, board, pins.step, False

    def _pulse_edges(self, schedule: Schedule, begin: float, end: float) -> Iterator[Edge]:
        """Yield a pulse every 20 ms, with its length at the end of that frame."""
        paths: dict[str, list[Any]] = {name: [] for name in self.pulses}
        for start_us, motion, _ in self._turns(schedule, Servo):
            time_us, pulse = begin + start_us, motion.start
            for segment in motion.segments:
                until = time_us + segment.duration_us
                paths[motion.actuator].append((time_us, until, pulse, segment.pulse_us))
                time_us, pulse = until, segment.pulse_us
        frames = np.arange(begin, end, FRAME_US)
        for number, (name, path) in enumerate(paths.items()):
            pin, board = self.profile.actuators[name].pins.pulse, self.profile.board_name_of(name)
            for frame in frames:
                for start, until, before, after in path:
                    if frame + FRAME_US >= start:
                        part = min(1.0, (frame + FRAME_US - start) / (until - start))
                        self.pulses[name] = before + (after - before) * part
                rise = frame + 2_500 * number
                yield rise, board, pin, True
                yield rise + self.pulses[name], board, pin, False
