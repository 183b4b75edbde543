"""Puts a simulated robot together from a robot profile: motors on pins, parts on motors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robot.settings import RobotProfile
from robot.settings.actuators import Servo, Stepper
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import CubeBody
from robot.twin.motors import EndStop, ServoMotor, StepMotor
from robot.twin.registry import Mechanism, build_mechanism, scales_of, start_places
from robot.twin.rotor import Rotor
from robot.twin.violations import Reporter

DEFAULT_SERVO_SPEED_US_PER_S = 5_000.0
ONE_PLACE_STEPS = 160
"""How wide a sensor with one place is, times sixteen."""
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
            if (end_stop := _end_stop(settings)) and settings.pins.endstop is not None:
                end_stops[settings.pins.endstop] = (end_stop, stepper)
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
    play = settings.backlash_steps if physics.play_steps is None else physics.play_steps
    at = physics.power_on_steps
    return StepMotor(name, at, rotor, report, inverted=inverted, play=play)


def _end_stop(settings: Stepper) -> EndStop | None:
    """The switch stands where homing, done right, makes its offset end at zero.

    A sensor looked at after turns is active around the places where it shall be: as far to either
    side as its edge is, or a sixteenth of the way to the next.
    """
    homing, check, high = settings.homing, settings.turn_check, settings.sensor_active_high
    if check is None:
        return EndStop(-homing.offset_steps, homing.direction, high) if homing else None
    if homing is not None and check.every_steps is None:
        return EndStop(-homing.offset_steps, homing.direction, high)
    reach = (check.every_steps or ONE_PLACE_STEPS) / 16
    direction = 1
    if homing is not None:
        direction = homing.direction
        reach = abs(check.at_steps + homing.offset_steps) or reach
    edge = check.at_steps - direction * reach
    return EndStop(edge, direction, high, 2 * reach, check.every_steps)


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
