"""The simulated robot: it takes pin changes and reports their effects independently."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from robot.settings import RobotProfile
from robot.settings.board_table import TICKS_PER_US
from robot.settings.profile import FIRST_BOARD, SimulatedActuator
from robot.twin.cube import (
    ALIKE_AFTER,
    NORMALS,
    CubeBody,
    Pose,
    make_alike_faces,
    scrambled,
    turned,
)
from robot.twin.misadjustment import Misadjustment
from robot.twin.pulses import PulseMaker
from robot.twin.registry import (
    MOTORS,
    Build,
    EdgeHandler,
    EndStop,
    Lid,
    Scale,
    SimulatedMechanism,
    SimulatedMotor,
    degree_us,
    parts_of,
    scale_of,
)
from robot.twin.tmc2209 import DriverLine, DriverStatus, Tmc2209
from robot.twin.violations import Incidents, Reporter, Violation
from solver.errors import InvalidRequest


def cube_put_in(size: int, seed: int, misadjusted: Misadjustment | None) -> CubeBody:
    """Return the scrambled cube that is in a robot when switched on."""
    if misadjusted is not None and misadjusted.look.has_alike_faces and size in ALIKE_AFTER:
        return make_alike_faces(size)
    return scrambled(size, seed)


@dataclass(frozen=True)
class Assembly:
    """Motors by name, edge handlers and end stops by board and pin, and the mechanism they move.

    ``carriers``, ``lids``: see :class:`robot.twin.registry.MechanismParts`. ``drivers``: stepper
    drivers on a board's UART, by motor; ``lines``: these UARTs, by board.
    """

    motors: Mapping[str, SimulatedMotor]
    edges: Mapping[str, Mapping[int, tuple[EdgeHandler, ...]]]
    end_stops: Mapping[tuple[str, int], tuple[EndStop, SimulatedMotor]]
    scales: Mapping[str, Scale]
    mechanism: SimulatedMechanism
    carriers: Mapping[str, frozenset[str]]
    drivers: Mapping[str, Tmc2209]
    lines: Mapping[str, DriverLine]
    lids: Mapping[str, Lid]


def assemble(
    profile: RobotProfile, body: CubeBody, report: Reporter, misadjusted: Misadjustment | None
) -> Assembly:
    """Return the robot of ``profile`` with ``body``, as it is when switched on."""
    motors: dict[str, SimulatedMotor] = {}
    edges: dict[str, dict[int, tuple[EdgeHandler, ...]]] = {
        name: {} for name in profile.every_board
    }
    end_stops: dict[tuple[str, int], tuple[EndStop, SimulatedMotor]] = {}
    drivers: dict[str, Tmc2209] = {}
    lines = {name: DriverLine() for name in profile.every_board}
    parts = parts_of(profile, misadjusted)
    per_degree = degree_us(profile, parts.rotations)
    for name, settings in profile.actuators.items():
        if not settings.drivable:
            continue
        physics = profile.simulation.actuators.get(name, SimulatedActuator())
        start = parts.start_places.get(name)
        build = Build(misadjusted, parts.stops.get(name, ()), per_degree)
        wired = MOTORS[settings.kind].wire(name, settings, physics, start, build, report)
        motors[name] = wired.motor
        motors[name].self_locking = settings.self_locking
        board = profile.board_name_of(name)
        for pin, handler in wired.edges.items():
            edges[board][pin] = (*edges[board].get(pin, ()), handler)
        for pin, end_stop in wired.end_stops.items():
            end_stops[board, pin] = (end_stop, wired.motor)
        if wired.driver is not None:
            drivers[name] = wired.driver
            lines[board].drivers.append(wired.driver)
    scales = {name: scale_of(profile, name, angles) for name, angles in parts.rotations.items()}
    around = parts.around(body, report)
    return Assembly(
        motors, edges, end_stops, scales, around, parts.carriers, drivers, lines, parts.lids
    )


STRIDE_US = 4_000.0
"""Maximum time step of the simulation while something moves."""
SAG_US = 10e6
"""Time for which a part without power can carry the cube."""

InputListener = Callable[[str, int, bool], None]
"""Callback for a change of the firmware's inputs by the robot, with board, pin and level."""


class SimulatedRobot:
    """Motors, mechanism and cube of one profile, driven only by the pins of its boards.

    Time arguments are microseconds of a board's clock, which restarts at zero after a
    :meth:`reset`; the robot's own time goes on. All boards' clocks run alike: see
    :class:`PinStream`. ``misadjusted``: deviations of its build from the profile.
    """

    def __init__(
        self,
        profile: RobotProfile,
        body: CubeBody,
        on_input: InputListener | None = None,
        *,
        misadjusted: Misadjustment | None = None,
    ) -> None:
        self.profile = profile
        self.misadjusted = misadjusted
        self.incidents = Incidents()
        self._parts = assemble(profile, body, self.incidents.report, misadjusted)
        self._degree_us = degree_us(profile, parts_of(profile).rotations)
        self.motors = self._parts.motors
        motors = tuple(self.motors.values())
        self._gliding = tuple(motor for motor in motors if motor.glides)
        self._turning = [self.motors[name] for name in self._parts.scales]
        self._stepping = tuple(motor for motor in motors if not motor.glides)
        self._carriers = tuple(self.motors[name] for name in self._parts.carriers)
        self._offset_us = dict.fromkeys(profile.every_board, 0.0)
        self.on_input = on_input
        self.edges = 0
        self._inputs: dict[tuple[str, int], bool] = {}
        self._touch()

    @property
    def time_us(self) -> float:
        """The simulated time since the start, across firmware resets."""
        return self.incidents.time_us

    @property
    def body(self) -> CubeBody:
        """The cube."""
        return self._parts.mechanism.body

    @property
    def violations(self) -> list[Violation]:
        """The events that must never happen but did."""
        return self.incidents.violations

    @property
    def solved(self) -> bool:
        """True if every side of the cube has one colour and no layer is half turned."""
        return self.body.solved and not self._parts.mechanism.pose().layers_open

    def inputs(self, board: str = FIRST_BOARD) -> dict[int, bool]:
        """Return the levels that the robot drives into a board's pins (end stops)."""
        return {pin: level for (at, pin), level in self._inputs.items() if at == board}

    @property
    def moving(self) -> bool:
        """True if any motor moves."""
        return any(motor.moving for motor in self.motors.values())

    def pose(self) -> Pose:
        """Return the cube's pose, for the camera."""
        return self._parts.mechanism.pose()

    def seen_pose(self) -> Pose:
        """Return the cube's pose in a picture, with the trembling of servos that hold it."""
        pose = self.pose()
        off = sum(motor.tremble_degrees(self.time_us) for motor in self._turning)
        if not off:
            return pose
        return replace(pose, whole=turned(NORMALS["D"], off / 90) @ pose.whole)

    def place(self, actuator: str) -> str | None:
        """Return the calibrated place an actuator is at, None while it is elsewhere."""
        return self._parts.mechanism.place(actuator, self.motors[actuator].position)

    def degrees_beyond(self, actuator: str, places: Collection[str]) -> float:
        """Return the degrees of a part beyond the zone of these places, where it is out of the
        picture: negative inside it, infinite if the part hides the whole cube."""
        lid = self._parts.lids.get(actuator)
        if lid is not None:
            return lid.depth(self.position(actuator), places) / self._degree_us
        return -math.inf if self.place(actuator) in places else math.inf

    def position(self, actuator: str) -> float:
        """Return the position of an actuator's load, in its own units."""
        return self.motors[actuator].position

    def reset(self, board: str = FIRST_BOARD) -> None:
        """Handle the boot of a board: its clock is at zero and all its pins are low."""
        self._offset_us[board] = self.time_us
        for name, motor in self.motors.items():
            if self.profile.board_name_of(name) == board:
                motor.reset()
        self._parts.mechanism.note_reset()

    def pin_changed(self, time_us: float, pin: int, level: bool, board: str = FIRST_BOARD) -> None:
        """Handle a change of a board's output. Pins the robot does not use are ignored."""
        self.advance(time_us, board)
        self.edges += 1
        # Another board may be a moment ahead, but this board's pulses keep their own length.
        at_us = time_us + self._offset_us[board]
        for handler in self._parts.edges[board].get(pin, ()):
            handler(at_us, level)
        for motor in self._stepping:
            if motor.has_stepped():
                self._touch()
                break

    def advance(self, time_us: float, board: str = FIRST_BOARD) -> None:
        """Advance the simulation to ``time_us`` of a board's clock."""
        until = time_us + self._offset_us[board]
        while (left := until - self.time_us) > 0:
            travelling = self._travelling()
            self._stride(min(left, STRIDE_US) if travelling else left, travelling)

    def insert(self, body: CubeBody) -> None:
        """Replace the cube, as a person does while the robot is at rest."""
        self.body.become(body)

    def jam(self, actuator: str, jammed: bool = True) -> None:
        """Block an actuator, or free it."""
        self.motors[actuator].jammed = jammed

    def turn_by_hand(self, actuator: str, degrees: float) -> None:
        """Turn a rotating part by hand; raise :class:`InvalidRequest` if it holds its position."""
        motor, scale = self.motors[actuator], self._parts.scales[actuator]
        quarters = scale(motor.position + 1) - scale(motor.position)
        if not motor.turn_by_hand(degrees / 90 / quarters):
            raise InvalidRequest(f"{actuator} holds its place: no hand can turn it")
        self._touch()

    def drift(self, degrees: float) -> None:
        """Displace the servos that turn the cube by ``degrees``."""
        for name, angles in parts_of(self.profile).rotations.items():
            self.motors[name].drift(degrees * degree_us(self.profile, {name: angles}))

    @property
    def drivers(self) -> Mapping[str, Tmc2209]:
        """Stepper drivers on a board's UART, by motor."""
        return self._parts.drivers

    def ask_drivers(self, time_us: float, datagram: bytes, board: str = FIRST_BOARD) -> bytes:
        """Return the answer of a board's stepper drivers to bytes that it sent."""
        return self._parts.lines[board].answer(time_us + self._offset_us[board], datagram)

    def cut_motor_supply(self) -> None:
        """Drop the supply voltage of all stepper drivers until they switch off."""
        for driver in self.drivers.values():
            driver.undervoltage = True

    def trouble_driver(self, actuator: str, trouble: DriverStatus) -> None:
        """Inject a fault that the driver of a stepper reports."""
        self.drivers[actuator].suffer(trouble)

    def mend(self) -> None:
        """Undo all faults of actuators, end stops and stepper drivers."""
        for driver in self.drivers.values():
            driver.mend()
        for name, motor in self.motors.items():
            motor.jammed = False
            self.stick_end_stop(name, None)

    def lose_steps(self, actuator: str, steps: int = 1) -> None:
        """Make a stepper miss its next steps silently."""
        self.motors[actuator].lose_steps(steps)

    def steps_lost(self, actuator: str) -> int:
        """Return the commanded steps that a stepper did not make; 0 for a servo."""
        return self.motors[actuator].lost_steps

    def slip_cube(self) -> None:
        """Make the cube slip once, the next time a part turns or rolls it."""
        self._parts.mechanism.slips.wanted += 1

    def set_square(self) -> None:
        """Set cube and layers square, as a person does by hand."""
        self._parts.mechanism.set_square()

    def stick_end_stop(self, actuator: str, active: bool | None) -> None:
        """Hold an end stop active or inactive; None repairs it."""
        for stop, motor in self._parts.end_stops.values():
            if motor.name == actuator:
                stop.stuck = active
        self._drive_inputs()

    def bounce_end_stop(self, actuator: str, steps: int) -> None:
        """Make an end stop's contacts chatter within ``steps`` of their edges; 0 repairs it."""
        for stop, motor in self._parts.end_stops.values():
            if motor.name == actuator:
                stop.chatter = steps

    def _travelling(self) -> bool:
        # Called at every edge of every pin: a generator would take as long as the motors.
        for motor in self._gliding:  # noqa: SIM110
            if motor.moving:
                return True
        return False

    def _stride(self, stride_us: float, travelling: bool) -> None:
        """Advance time by ``stride_us``: servos move on, steppers have already made their steps."""
        start = self.incidents.time_us
        self.incidents.time_us = end = start + stride_us
        if travelling:
            others = sum(motor.moving for motor in self._gliding) - 1
            for motor in self._gliding:
                motor.share_supply(others)
        for motor in self.motors.values():
            motor.advance(start, end)
        if travelling:
            self._touch()
        for motor in self._carriers:
            if motor.limp_since_us is not None:
                self._let_sag(motor, motor.limp_since_us)

    def _let_sag(self, motor: SimulatedMotor, since_us: float) -> None:
        """Report a part without power for too long while it carries the cube.

        Report nothing if the whole robot is off: the person who does that removes the cube.
        """
        place = self.place(motor.name)
        carries = place in self._parts.carriers[motor.name] and not motor.self_locking
        is_on = any(other.has_power for other in self.motors.values())
        if carries and is_on and self.time_us - since_us > SAG_US:
            motor.limp_since_us = None  # report it once
            text = f"{motor.name} carries the cube and has no power: the cube sags"
            self.incidents.report("cube-sags", text, motor.name)

    def _touch(self) -> None:
        """Pass the motors' positions to the mechanism."""
        scales = self._parts.scales
        self._parts.mechanism.update(
            {
                name: scales[name](motor.position) if name in scales else motor.position
                for name, motor in self.motors.items()
            }
        )
        self._drive_inputs()

    def _drive_inputs(self) -> None:
        for place, (stop, motor) in self._parts.end_stops.items():
            level = stop.level(motor.position)
            if self._inputs.get(place) != level:
                self._inputs[place] = level
                if self.on_input is not None:
                    self.on_input(*place, level)


NO_PIN = 0xFFFF
"""Pin number of records that concern no pin."""
RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])
"""Type of a record: half microseconds since the firmware's boot, pin, level, kind."""


class Kind(IntEnum):
    """Kinds of records. Time records advance the robot while nothing changes."""

    LEVEL = 0
    """The firmware changed an output. To the firmware: an input has changed."""
    TIME = 1
    """Time has passed without any other event."""
    RESET = 2
    """The firmware has booted: its clock is at zero and its outputs are low. To a firmware that
    runs on granted time: the reset button is pressed."""
    READ = 3
    """The firmware requests the level of an input and waits for the same record back."""
    GRANT = 5
    """To a firmware that runs on granted time: the number of ticks that may pass. From it: they
    have passed."""
    HANG = 6
    """To a firmware that runs on granted time: its main loop hangs from now on."""
    WRITE = 8
    """The firmware wrote to the chip of a pin's pulses; ``level``: the number of a PWM file."""
    DRIVER = 9
    """A byte on the line to the stepper drivers, in ``level``; from them, a byte of the answer."""
    ANSWER = 10
    """The firmware requests their answer and waits for this record after its bytes."""


class PinStream:
    """A parser that cuts a board's stream into records and executes them.

    ``answer`` sends bytes to the board. ``chips`` make the pulses of a firmware that only states
    their widths. ``drift``: fraction by which the board's clock is faster than the robot's time.
    ``on_granted`` is called when the granted time has passed.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        answer: Callable[[bytes], None],
        chips: PulseMaker | None = None,
        board: str = FIRST_BOARD,
        drift: float = 0.0,
    ) -> None:
        self.on_granted: Callable[[], None] = lambda: None
        self._robot = robot
        self._answer = answer
        self._chips = chips
        self._board = board
        self._ticks_per_us = TICKS_PER_US * (1 + drift)
        self._rest = b""
        self._datagram = b""

    def feed(self, data: bytes) -> None:
        """Execute the received records; an incomplete one waits for its rest."""
        data = self._rest + data
        whole = len(data) - len(data) % RECORD.itemsize
        self._rest = data[whole:]
        records = np.frombuffer(data[:whole], dtype=RECORD)
        columns = (records[name].tolist() for name in ("ticks", "pin", "level", "kind"))
        for ticks, pin, level, kind in zip(*columns, strict=True):
            self._play(ticks, pin, level, kind)

    def restart(self) -> None:
        """Handle a new connection: discard an incomplete record of the old one."""
        self._rest = b""

    def _play(self, ticks: int, pin: int, level: int, kind: int) -> None:
        time_us = ticks / self._ticks_per_us
        if self._chips is not None and kind != Kind.RESET:
            self._chips.advance(time_us)
        if kind == Kind.LEVEL:
            self._robot.pin_changed(time_us, pin, bool(level), self._board)
        elif kind == Kind.TIME:
            self._robot.advance(time_us, self._board)
        elif kind == Kind.GRANT:
            self._robot.advance(time_us, self._board)
            self.on_granted()
        elif kind == Kind.WRITE:
            self._robot.advance(time_us, self._board)
            if self._chips is not None:
                self._write(self._chips, time_us, pin, level)
        elif kind == Kind.DRIVER:
            self._datagram += bytes([level])
        elif kind == Kind.ANSWER:
            self._robot.advance(time_us, self._board)
            datagram, self._datagram = self._datagram, b""
            for byte in self._robot.ask_drivers(time_us, datagram, self._board):
                self._answer(struct.pack("<QHBB", ticks, pin, byte, Kind.DRIVER))
            self._answer(struct.pack("<QHBB", ticks, pin, 0, Kind.ANSWER))
        elif kind == Kind.RESET:
            if self._chips is not None:
                self._chips.restart()
            self._robot.reset(self._board)
        elif kind == Kind.READ:
            self._robot.advance(time_us, self._board)
            reads = self._robot.inputs(self._board).get(pin, True)
            self._answer(struct.pack("<QHBB", ticks, pin, reads, Kind.READ))

    def _write(self, chips: PulseMaker, time_us: float, pin: int, file: int) -> None:
        try:
            chips.write(time_us, pin, file)
        except InvalidRequest as error:
            self._robot.incidents.report("bad-write", str(error), str(pin))


def input_record(pin: int, level: bool) -> bytes:
    """Return the record that reports a changed input to the firmware."""
    return struct.pack("<QHBB", 0, pin, level, Kind.LEVEL)


def order_record(kind: Kind, ticks: int = 0) -> bytes:
    """Return a record of time or of a reset for firmware that runs on granted time."""
    return struct.pack("<QHBB", ticks, NO_PIN, 0, kind)
