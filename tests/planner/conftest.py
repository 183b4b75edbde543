"""A second opinion on plans: stickers in space and a rig that reads schedules, sharing no code."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot

NORMALS = {
    "U": (0, 1, 0),
    "R": (1, 0, 0),
    "F": (0, 0, 1),
    "D": (0, -1, 0),
    "L": (-1, 0, 0),
    "B": (0, 0, -1),
}
# Directions of "right" and "down" on each face as Kociemba draws it.
DRAWN = {
    "U": ((1, 0, 0), (0, 0, 1)),
    "R": ((0, 0, -1), (0, -1, 0)),
    "F": ((1, 0, 0), (0, -1, 0)),
    "D": ((1, 0, 0), (0, 0, -1)),
    "L": ((0, 0, 1), (0, -1, 0)),
    "B": ((-1, 0, 0), (0, -1, 0)),
}


def clockwise(normal, quarters):
    """Rotation by quarters clockwise as seen by somebody looking at the face from outside."""
    x, y, z = normal
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    quarter = np.outer(normal, normal) - cross
    return np.linalg.matrix_power(quarter, quarters % 4)


class Stickers:
    """A cube as stickers in the robot's frame: place, direction, colour."""

    def __init__(self, facelets, size, held="UF"):
        self.size = size
        self.places, self.normals = [], []
        for face in "URFDLB":
            right, down = (np.array(v) for v in DRAWN[face])
            for row in range(size):
                for col in range(size):
                    spot = (2 * col - size + 1) * right + (2 * row - size + 1) * down
                    self.places.append(spot + (size - 1) * np.array(NORMALS[face]))
                    self.normals.append(NORMALS[face])
        self.places, self.normals = np.array(self.places), np.array(self.normals)
        self.colours = np.array(list(facelets))
        self._hold(held)

    def _hold(self, held):
        up, front = (np.array(NORMALS[face]) for face in held)
        self._move(np.array([np.cross(up, front), up, front]), slice(None))

    def _move(self, matrix, which):
        self.places[which] = self.places[which] @ matrix.T
        self.normals[which] = self.normals[which] @ matrix.T

    def turn(self, site, quarters, layers=1):
        normal = np.array(NORMALS[site])
        taken = self.places @ normal > self.size - 1 - 2 * layers
        self._move(clockwise(normal, quarters), taken)

    def rotate(self, axis, quarters):
        self._move(clockwise(np.array(NORMALS["URF"["yxz".index(axis)]]), quarters), slice(None))

    def at(self, site):
        """The colours at a site, as drawn."""
        normal, (right, down) = np.array(NORMALS[site]), (np.array(v) for v in DRAWN[site])
        here = np.flatnonzero((self.normals == normal).all(axis=1))
        order = sorted(here, key=lambda i: (self.places[i] @ down, self.places[i] @ right))
        return "".join(self.colours[order])

    @property
    def solved(self):
        return all(len(set(self.at(site))) == 1 for site in "URFDLB")


def replay(plan, facelets, size=3):
    """The cube after a plan's operations, performed in order of their end."""
    cube = Stickers(facelets, size, plan.initial_orientation.name)
    for operation in plan.operations:
        if operation.op == "turn":
            cube.turn(operation.site, operation.quarter_turns, operation.layers)
        elif operation.op == "rotate":
            cube.rotate(operation.axis, operation.quarter_turns)
    return cube


@dataclass
class FlipperRig:
    """CUBOTino's two servos, from pulses alone."""

    profile: object
    cube: Stickers
    pulses: dict = field(default_factory=dict)
    busy_until: int = 0

    def __post_init__(self):
        servos = self.profile.actuators
        self.names = {
            actuator: {pulse: name for name, pulse in servos[actuator].positions_us.items()}
            for actuator in ("holder", "lid")
        }
        at = servos["lid"].positions_us
        # Where the lid is while looking, the cube lies as flat as where it is open.
        arm = self.profile.mechanism.arms[0]
        for part, name in ((arm.clear_part, "open"), (arm.look_part, "look")):
            if part is not None:
                pulse = at["flip"] + round(part * (at["open"] - at["flip"]))
                self.names["lid"].setdefault(pulse, name)
        if not self.pulses:
            self.pulses = {"holder": servos["holder"].positions_us["home"]}
            self.pulses["lid"] = servos["lid"].positions_us["open"]

    def run(self, schedule):
        for turn in schedule.turns:
            motion = schedule.profiles[turn.profile]
            assert turn.start_us >= self.busy_until, "two servos move at once"
            assert motion.start == self.pulses[motion.actuator], "a slew from nowhere"
            assert sum(s.duration_us for s in motion.segments) == motion.duration_us
            self.busy_until = turn.start_us + motion.duration_us
            before = self.names[motion.actuator][motion.start]
            after = self.names[motion.actuator][motion.end]
            self.pulses[motion.actuator] = motion.end
            self._moved(motion.actuator, before, after)
        assert schedule.duration_us == self.busy_until

    def _moved(self, actuator, before, after):
        lid = self.names["lid"][self.pulses["lid"]]
        if actuator == "lid":
            if after == "flip":
                self.cube.rotate("x", 1)
            return
        angles = {"ccw": -1, "home": 0, "cw": 1}
        quarters = angles[after] - angles[before]
        assert lid not in ("flip", "look"), "the table turns under a tilted cube"
        if lid == "close":
            self.cube.turn("D", quarters)
        else:
            self.cube.rotate("y", -quarters)


FRAME_US = 20_000


class PinHand:
    """Performs schedules on the simulated robot's pins, as exact firmware would."""

    def __init__(self, profile, body):
        self.profile, self.time_us = profile, 0.0
        self.robot = SimulatedRobot(profile, body)
        places = parts_of(profile).start_places
        actuators = profile.actuators.items()
        servos = {name: a for name, a in actuators if isinstance(a, Servo)}
        self.pulses = {name: float(a.positions_us[places[name]]) for name, a in servos.items()}
        for name, actuator in actuators:
            if isinstance(actuator, Stepper) and actuator.pins.enable is not None:
                board = profile.board_name_of(name)
                self.robot.pin_changed(0.0, actuator.pins.enable, False, board)

    def play(self, schedule):
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

    def _turns(self, schedule, kind):
        for turn in schedule.turns:
            motion = schedule.profiles[turn.profile]
            if isinstance(self.profile.actuators[motion.actuator], kind):
                yield turn.start_us, motion, self.profile.actuators[motion.actuator].pins

    def _step_edges(self, schedule, begin):
        for start_us, motion, pins in self._turns(schedule, Stepper):
            time_us, board = begin + start_us, self.profile.board_name_of(motion.actuator)
            for run in motion.segments:
                # A motion that goes too far and back ends with steps the other way.
                forwards = (motion.end > motion.start) == (run.count > 0)
                yield time_us, board, pins.direction, forwards
                for number in range(abs(run.count)):
                    time_us += (run.interval_ticks + number * run.add_ticks) / 2
                    yield time_us, board, pins.step, True
                    yield time_us + 2, board, pins.step, False

    def _pulse_edges(self, schedule, begin, end):
        """A pulse every 20 ms: where its motion will be at the end of that frame."""
        paths = {name: [] for name in self.pulses}
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


@pytest.fixture(scope="session")
def stickers():
    return Stickers


@pytest.fixture(scope="session")
def replayed():
    return replay


@pytest.fixture(scope="session")
def flipper_rig():
    return FlipperRig


@pytest.fixture(scope="session")
def pin_hand():
    return PinHand
