"""Puts a simulated robot together from a robot profile: motors on pins, parts on motors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robot.settings import RobotProfile
from robot.settings.actuators import Servo, Stepper
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import CubeBody
from robot.twin.incidents import Reporter
from robot.twin.mechanisms import Mechanism, build_mechanism, scales_of, start_places
from robot.twin.motors import EndStop, ServoMotor, StepMotor
from robot.twin.rotor import Rotor

DEFAULT_SERVO_SPEED_US_PER_S = 5_000.0
STALL_MARGIN = 1.5
"""A stepper of unknown torque stalls this much above what its profile allows."""

Motor = ServoMotor | StepMotor
EdgeHandler = Callable[[float, bool], None]


@dataclass(frozen=True)
class Assembly:
    """Motors by name, what each pin does, end stops by pin, and the mechanism they move."""

    motors: Mapping[str, Motor]
    edges: Mapping[int, tuple[EdgeHandler, ...]]
    end_stops: Mapping[int, tuple[EndStop, StepMotor]]
    scales: Mapping[str, Callable[[float], float]]
    mechanism: Mechanism


def assemble(profile: RobotProfile, body: CubeBody, report: Reporter) -> Assembly:
    """The robot of ``profile`` holding ``body``, at rest where it is switched on."""
    motors: dict[str, Motor] = {}
    edges: dict[int, tuple[EdgeHandler, ...]] = {}
    end_stops: dict[int, tuple[EndStop, StepMotor]] = {}
    starts = start_places(profile)
    for name, settings in profile.actuators.items():
        physics = profile.simulation.actuators.get(name, SimulatedActuator())
        if isinstance(settings, Servo):
            servo = _servo(name, settings, physics, starts.get(name), report)
            motors[name] = servo
            _connect(edges, settings.pins.pulse, servo.pulse_edge)
        elif isinstance(settings, Stepper):
            stepper = _stepper(name, settings, physics, report)
            motors[name] = stepper
            _connect_stepper(edges, settings, stepper)
            if settings.pins.endstop is not None and settings.homing is not None:
                end_stops[settings.pins.endstop] = (_end_stop(settings), stepper)
    mechanism = build_mechanism(profile, body, report)
    return Assembly(motors, edges, end_stops, scales_of(profile), mechanism)


def _servo(
    name: str, settings: Servo, physics: SimulatedActuator, start: str | None, report: Reporter
) -> ServoMotor:
    at = settings.positions_us[start or next(iter(settings.positions_us))]
    speed = physics.max_speed_us_per_s or DEFAULT_SERVO_SPEED_US_PER_S
    return ServoMotor(name, float(at), settings.limits_us, speed, report)


def _stepper(
    name: str, settings: Stepper, physics: SimulatedActuator, report: Reporter
) -> StepMotor:
    speed = physics.stall_speed_steps_per_s or STALL_MARGIN * settings.max_speed_steps_per_s
    acceleration = (
        physics.stall_acceleration_steps_per_s2
        or STALL_MARGIN * settings.max_acceleration_steps_per_s2
    )
    inverted = settings.invert_direction
    rotor = Rotor(speed, acceleration)
    return StepMotor(name, physics.power_on_steps, rotor, report, inverted=inverted)


def _end_stop(settings: Stepper) -> EndStop:
    """The switch stands where homing, done right, makes its offset end at zero."""
    homing = settings.homing
    if homing is None:
        raise ValueError("an end stop without homing settings")
    return EndStop(-homing.offset_steps, homing.direction, homing.endstop_active == "high")


def _connect(edges: dict[int, tuple[EdgeHandler, ...]], pin: int, handler: EdgeHandler) -> None:
    edges[pin] = (*edges.get(pin, ()), handler)


def _connect_stepper(
    edges: dict[int, tuple[EdgeHandler, ...]], settings: Stepper, motor: StepMotor
) -> None:
    _connect(edges, settings.pins.step, motor.step_edge)
    _connect(edges, settings.pins.direction, lambda _, level: motor.direction_edge(level))
    if settings.pins.enable is not None:
        motor.enabled = False
        _connect(edges, settings.pins.enable, lambda _, level: motor.enable_edge(level))
