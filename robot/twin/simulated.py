"""The simulated robot: pin changes in, its own account of what happened out."""

from __future__ import annotations

from collections.abc import Callable

from robot.settings import RobotProfile
from robot.twin.assembly import assemble
from robot.twin.cube import CubeBody
from robot.twin.pose import Pose
from robot.twin.violations import Incidents, Violation

STRIDE_US = 4_000.0
"""Longest stretch of time simulated at once while something moves."""

InputListener = Callable[[int, bool], None]
"""Called with pin and level when the robot changes an input of the firmware."""


class SimulatedRobot:
    """Motors, mechanism and cube of one profile, driven by the firmware's pins alone.

    Times given to it are microseconds of the firmware's clock, which starts again at zero after a
    :meth:`reset`; its own time goes on.
    """

    def __init__(
        self, profile: RobotProfile, body: CubeBody, on_input: InputListener | None = None
    ) -> None:
        self.profile = profile
        self.incidents = Incidents()
        self._parts = assemble(profile, body, self.incidents.report)
        motors = tuple(self._parts.motors.values())
        self._gliding = tuple(motor for motor in motors if motor.glides)
        self._stepping = tuple(motor for motor in motors if not motor.glides)
        self._offset_us = 0.0
        self.on_input = on_input
        self.edges = 0
        self._inputs: dict[int, bool] = {}
        self._touch()

    @property
    def time_us(self) -> float:
        """Simulated time since the start, across firmware resets."""
        return self.incidents.time_us

    @property
    def body(self) -> CubeBody:
        """The cube."""
        return self._parts.mechanism.body

    @property
    def violations(self) -> list[Violation]:
        """What must never have happened."""
        return self.incidents.violations

    @property
    def solved(self) -> bool:
        """The robot's own verdict: every side one colour and nothing left half turned."""
        return self.body.solved and not self._parts.mechanism.pose().layers_open

    @property
    def inputs(self) -> dict[int, bool]:
        """Levels the robot drives into the firmware's pins (end stops)."""
        return dict(self._inputs)

    @property
    def moving(self) -> bool:
        """Whether any motor moves."""
        return any(motor.moving for motor in self._parts.motors.values())

    def pose(self) -> Pose:
        """Where the cube is, for the camera."""
        return self._parts.mechanism.pose()

    def place(self, actuator: str) -> str | None:
        """The calibrated place an actuator is at, None while it is elsewhere."""
        return self._parts.mechanism.place(actuator, self._parts.motors[actuator].position)

    def reset(self) -> None:
        """The firmware has booted: its clock is at zero and all its pins are low."""
        self._offset_us = self.time_us
        for motor in self._parts.motors.values():
            motor.reset()
        self._parts.mechanism.interrupted()

    def pin_changed(self, time_us: float, pin: int, level: bool) -> None:
        """The firmware changed an output. Pins the robot does not use are ignored."""
        self.advance(time_us)
        self.edges += 1
        for handler in self._parts.edges.get(pin, ()):
            handler(self.time_us, level)
        if any(motor.has_stepped() for motor in self._stepping):
            self._touch()

    def advance(self, time_us: float) -> None:
        """Let time pass up to ``time_us`` of the firmware's clock."""
        until = time_us + self._offset_us
        while (left := until - self.time_us) > 0:
            travelling = any(motor.moving for motor in self._gliding)
            self._stride(min(left, STRIDE_US) if travelling else left)

    def insert(self, body: CubeBody) -> None:
        """A person takes the cube out of the resting robot and puts another one in."""
        self.body.become(body)

    def jam(self, actuator: str, jammed: bool = True) -> None:
        """Block an actuator, or free it."""
        self._parts.motors[actuator].jammed = jammed

    def lose_steps(self, actuator: str, steps: int = 1) -> None:
        """Make a stepper miss its next steps without anybody noticing."""
        self._parts.motors[actuator].lose_steps(steps)

    def steps_lost(self, actuator: str) -> int:
        """How many steps a stepper was told to make and did not; 0 for a servo."""
        return self._parts.motors[actuator].lost_steps

    def slip_cube(self) -> None:
        """Make the cube slip out of the way the next time it should be moved as a whole."""
        self._parts.mechanism.slips.wanted += 1

    def set_square(self) -> None:
        """A person sets cube and layers square by hand."""
        self._parts.mechanism.set_square()

    def stick_end_stop(self, actuator: str, active: bool | None) -> None:
        """Hold an end stop active or inactive; None repairs it."""
        for stop, motor in self._parts.end_stops.values():
            if motor.name == actuator:
                stop.stuck = active
        self._drive_inputs()

    def bounce_end_stop(self, actuator: str, steps: int) -> None:
        """Let an end stop's contacts chatter so many steps around where they open; 0 repairs it."""
        for stop, motor in self._parts.end_stops.values():
            if motor.name == actuator:
                stop.chatter = steps

    def _stride(self, stride_us: float) -> None:
        """Some motors travel through time; steppers have made their steps at once."""
        start, travelling = self.time_us, any(motor.moving for motor in self._gliding)
        self.incidents.time_us = start + stride_us
        for motor in self._parts.motors.values():
            motor.advance(start, self.time_us)
        if travelling:
            self._touch()

    def _touch(self) -> None:
        """Tell the mechanism where its motors are."""
        scales = self._parts.scales
        self._parts.mechanism.update(
            {
                name: scales[name](motor.position) if name in scales else motor.position
                for name, motor in self._parts.motors.items()
            }
        )
        self._drive_inputs()

    def _drive_inputs(self) -> None:
        for pin, (stop, motor) in self._parts.end_stops.items():
            level = stop.level(motor.position)
            if self._inputs.get(pin) != level:
                self._inputs[pin] = level
                if self.on_input is not None:
                    self.on_input(pin, level)
