"""Simulated steppers: a rotor that follows its steps if it can, a load with play, an end stop."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from robot.settings.profile import SimulatedActuator
from robot.settings.stepper import Stepper
from robot.twin.misadjustment import StepperTruth
from robot.twin.registry import (
    MOTORS,
    Build,
    EdgeHandler,
    EndStop,
    MotorKind,
    Scale,
    SimulatedMotor,
    WiredMotor,
)
from robot.twin.tmc2209 import Tmc2209
from robot.twin.violations import Reporter

WINDOW_STEPS = 8
"""Number of steps over which the rotor's inertia averages."""
PAUSE_US = 5_000.0
"""Time without a step after which the rotor is at rest, if also 3 times the last interval."""
ONE_PLACE_STEPS = 160
"""Width of a sensor with one place, times sixteen."""
SLIP_FULL_STEPS = 2
"""Lag beyond which the field draws a rotor to the next place where it looks the same."""
NOTICED_FULL_STEPS = 1.4
"""Full steps by which the field is ahead of a rotor when its stall is detected."""
FULL_STEPS_PER_TURN = 200
"""Full steps per turn of a motor that drives a layer or the cube directly."""
STALL_MARGIN = 1.5
"""Ratio of stall limits to the profile's limits, for a stepper of unknown torque."""


class Rotor:
    """A rotor that follows steps with limited torque.

    Its speed is the average over the last few steps, since single intervals are never even. Its
    energy (speed squared, in steps^2/s^2) can change by twice the stall acceleration with each
    step. If the commanded energy differs by more than three steps' worth plus 15 % of it, the rotor
    slips. If a turn has ``microsteps`` times the profile's steps, the average is over that many
    times as many, and the three steps are the profile's. ``slip``: steps after which the field
    looks the same; a slipping rotor stays in place for these.
    """

    def __init__(
        self,
        stall_speed: float,
        stall_acceleration: float,
        microsteps: float = 1.0,
        slip: int = 1,
    ) -> None:
        self.slip = slip
        self._pause_us = pause_us(microsteps)
        self._finer = max(1.0, microsteps)
        window = round(WINDOW_STEPS * self._finer)
        # Speed averages over the window: at full deceleration it is half a window behind.
        self._stopping_steps = window / 2 + 1
        self._stall_speed = stall_speed
        self._gain = 2 * stall_acceleration
        self._times: deque[float] = deque(maxlen=window + 1)
        self._energy = 0.0

    @property
    def turning(self) -> bool:
        """True if it has received steps recently."""
        return bool(self._times)

    def can_start(self, interval_us: float) -> bool:
        """Return true if a rotor at rest follows a step ``interval_us`` after a missed one."""
        return (1e6 / max(interval_us, 0.5)) ** 2 <= 3 * self._gain

    def step(self, time_us: float) -> str | None:
        """Make a step; return None, or the reason why the rotor slips instead."""
        fault = self.wait(time_us)
        self._times.append(time_us)
        if fault is not None or len(self._times) < 2:
            return fault
        elapsed = max(time_us - self._times[0], 0.5)
        speed = 1e6 * (len(self._times) - 1) / elapsed
        if speed > self._stall_speed:
            self.forget()
            return f"{speed:.0f} steps/s is more than it can do"
        return self._accelerate(speed)

    def wait(self, time_us: float) -> str | None:
        """Handle the lack of steps until now; return None, or the reason why the rotor runs on."""
        if not self._times or time_us - self._times[-1] <= self._longest_pause():
            return None
        return self.stop()

    def stop(self) -> str | None:
        """End or reverse the steps; return None, or the reason why the rotor runs on."""
        speed = self._energy**0.5
        too_fast = self._energy > self._stopping_steps * self._gain
        self.forget()
        return f"stopped dead from {speed:.0f} steps/s" if too_fast else None

    def forget(self) -> None:
        """Set the rotor at rest."""
        self._times.clear()
        self._energy = 0.0

    def _accelerate(self, speed: float) -> str | None:
        wanted = speed**2
        ahead = wanted - self._energy
        self._energy += max(-self._gain, min(self._gain, ahead))
        if abs(ahead) <= 3 * self._finer * self._gain + 0.15 * wanted:
            return None
        self._energy = wanted
        change = "accelerated" if ahead > 0 else "slowed down"
        return f"{change} too suddenly at {speed:.0f} steps/s"

    def _longest_pause(self) -> float:
        if len(self._times) < 2:
            return self._pause_us
        return max(3 * (self._times[-1] - self._times[-2]), self._pause_us)


@dataclass(frozen=True)
class HardStop:
    """A mechanical stop of a rotor; ``direction``: direction of motion that it blocks."""

    at: float
    direction: int

    def limit(self, position: float) -> float:
        """Return the position that the rotor reaches."""
        return self.at + self.direction * min(0.0, (position - self.at) * self.direction)


class StepMotor(SimulatedMotor):
    """A stepper with its driver: position in steps, as far as the rotor can follow.

    ``position`` is the load's. The rotor pushes it forwards at once and backwards after the
    ``play``. At the start it has no play to take up forwards. All count in the profile's steps. One
    step of the driver is ``step`` of them.
    """

    def __init__(
        self,
        name: str,
        position: int,
        rotor: Rotor,
        report: Reporter,
        *,
        inverted: bool = False,
        play: int = 0,
        step: float = 1.0,
    ) -> None:
        super().__init__(name, float(position))
        self._driver: Tmc2209 | None = None
        self._microsteps = 1
        self._stop: HardStop | None = None
        self._field = float(position)
        self._rotor_position = float(position)
        self._play = play
        self.enabled = True
        self._to_skip = 0
        self._rotor = rotor
        self._report = report
        self._step = -step if inverted else step
        self._slipping = 0
        self._forward = False
        self._step_level = False
        self._stepped = False
        self._stalled_us = -math.inf

    def attach_driver(self, driver: Tmc2209, microsteps: int, stop: HardStop | None) -> None:
        """Use a driver whose registers set the length of each step.

        The profile counts in ``microsteps``. At a hard ``stop`` the rotor stays while its field
        turns on, until it is two full steps ahead. Then the rotor slips back by four, to where the
        field looks the same.
        """
        self._driver, self._microsteps, self._stop = driver, microsteps, stop

    @property
    def moving(self) -> bool:
        """True if the rotor turns."""
        return self._rotor.turning

    def reset(self) -> None:
        """Handle a reset: inputs are low, and a rotor too fast to stop loses a step unreported."""
        self._count_lost(self._rotor.stop() is not None)
        self._step_level = self._forward = False
        self.enabled, self.limp_since_us = True, None

    def direction_edge(self, level: bool) -> None:
        """Handle a change of the direction input; a running rotor cannot simply reverse."""
        if level != self._forward:
            self._check(self._rotor.stop())
            if self._slipping:
                self._fall_back()
        self._forward = level

    @property
    def has_power(self) -> bool:
        """True while its driver is on."""
        return self.enabled and (self._driver is None or self._driver.is_on)

    def turn_by_hand(self, amount: float) -> bool:
        """See :meth:`SimulatedMotor.turn_by_hand`."""
        turned = super().turn_by_hand(amount)
        self._rotor_position += amount if turned else 0.0
        self._field = self._rotor_position
        return turned

    def enable_edge(self, time_us: float, level: bool) -> None:
        """Handle a change of the enable input, active low as on common drivers."""
        self.enabled = not level
        self.limp_since_us = None if self.enabled else time_us

    def step_edge(self, time_us: float, level: bool) -> None:
        """Handle a change of the step input; drivers step when it rises."""
        rises, self._step_level = level and not self._step_level, level
        if not rises:
            return
        if not self.enabled:
            self._check("a step while its driver was off")
        elif self._driver is not None and not self._driver.is_on:
            self._rotor.forget()
            self._stalled_us = time_us
            self._count_lost(True)
        elif self._driver is not None and self._driver.has_lost_settings:
            # Steps of another size and current: the rotor slips, whatever the board does next.
            self._rotor.forget()
            self._count_lost(True)
            self._turn(self._step if self._forward else -self._step)
            self._note_step(time_us, self._lag)
        elif self._stalls(time_us):
            self._count_lost(True)
            self._note_step(time_us, lag=1.0)
        elif self._to_skip > 0:
            self._to_skip -= 1
            self._count_lost(self._check(self._rotor.step(time_us)))
        elif self._slipping > 0:
            self._slipping -= 1
            self._count_lost(True)
            self._rotor.step(time_us)
        elif self._check(self._rotor.step(time_us)):
            self._stepped = True
            self._turn(self._step if self._forward else -self._step)
            self._note_step(time_us, self._lag)
            self._take_load_along()
        else:
            self._slipping = self._rotor.slip - 1

    def _turn(self, steps: float) -> None:
        """Turn the field by steps of the profile, and the rotor up to its stop."""
        if self._driver is not None:
            steps *= self._microsteps / self._driver.microsteps
        if self._stop is None:
            self._rotor_position += steps
            return
        self._field += steps
        self._rotor_position = self._stop.limit(self._field)
        if abs(self._lag) > SLIP_FULL_STEPS:
            self._field -= math.copysign(2 * SLIP_FULL_STEPS * self._microsteps, self._lag)
            self._rotor_position = self._stop.limit(self._field)
            self.lost_steps += 2 * SLIP_FULL_STEPS * self._microsteps

    @property
    def _lag(self) -> float:
        """The full steps by which the field is ahead of the rotor."""
        if self._stop is None:
            return 0.0
        return (self._field - self._rotor_position) / self._microsteps

    def _note_step(self, time_us: float, lag: float) -> None:
        if self._driver is not None:
            self._stepped = True  # its DIAG may change, even if the rotor does not turn
            self._driver.step(time_us, lag)

    def has_stepped(self) -> bool:
        """Return true if it has made a step since the last call."""
        stepped, self._stepped = self._stepped, False
        return stepped

    def lose_steps(self, steps: int) -> None:
        """Miss the next steps silently."""
        self._to_skip += steps

    def advance(self, start_us: float, end_us: float) -> None:
        """Let time pass, and report a rotor that was left running."""
        del start_us
        fault = self._rotor.wait(end_us)
        if fault is not None:
            self._check(fault)
        if self._slipping and not self._rotor.turning:
            self._fall_back()

    def _fall_back(self) -> None:
        """Go back to the last place where the field looks the same, since no more steps come."""
        self._turn(-self._slipping * (self._step if self._forward else -self._step))
        self.lost_steps += self._slipping
        self._slipping = 0
        self._take_load_along()

    def _take_load_along(self) -> None:
        furthest = self._rotor_position + self._play
        self.position = min(max(self.position, self._rotor_position), furthest)

    def _stalls(self, time_us: float) -> bool:
        """Return true if it is jammed, or stepped too fast to start again after a jam."""
        too_fast = not self._rotor.can_start(time_us - self._stalled_us)
        if self.jammed or too_fast:
            self._rotor.forget()
            self._stalled_us = time_us
            return True
        return False

    def _count_lost(self, lost: bool) -> None:
        """Count a step that was lost because of an injected fault."""
        self.lost_steps += lost

    def _check(self, fault: str | None) -> bool:
        """Return true if there is no fault; a fault costs a step and is reported."""
        if fault is None:
            return True
        self.lost_steps += 1
        self._report("lost-steps", f"{self.name} loses steps: {fault}", self.name)
        return False


@dataclass
class StallSensor:
    """The DIAG output of a driver, which signals a stall of its motor. See :class:`EndStop`."""

    driver: Tmc2209
    stuck: bool | None = None
    chatter: int = 0

    def level(self, position: float) -> bool:
        """Return the level of the input pin."""
        del position
        return self.driver.diagnosis if self.stuck is None else self.stuck


class StepperEndStop:
    """A switch at one end of a stepper's travel, or an index sensor.

    It is active while the position is at or beyond ``edge`` in ``direction``, up to ``width`` steps
    beyond it, and with ``period`` again after every ``period`` steps. ``stuck`` overrides it.
    Within ``chatter`` steps of its edges it is active at every other step only.
    """

    def __init__(
        self,
        edge: float,
        direction: int,
        active_level: bool,
        width: float = math.inf,
        period: float | None = None,
    ) -> None:
        self._edge = edge
        self._direction = direction
        self._active_level = active_level
        self._width = width
        self._period = period
        self.stuck: bool | None = None
        self.chatter = 0

    def level(self, position: float) -> bool:
        """Return the level of the input pin when the motor is at ``position``."""
        beyond = (position - self._edge) * self._direction
        place = beyond % self._period if self._period else beyond
        pressed = 0 <= place <= self._width
        if min(abs(place), abs(place - self._width)) < self.chatter:
            pressed = int(position) % 2 == 0
        active = pressed if self.stuck is None else self.stuck
        return active == self._active_level


def pause_us(microsteps: float) -> float:
    """Return the time without a step after which a rotor is at rest.

    ``microsteps``: steps of a turn as a factor of the profile's. The time is longer for larger
    steps, but not shorter for smaller ones.
    """
    return PAUSE_US / min(1.0, microsteps)


def wire_stepper(
    name: str,
    settings: Stepper,
    physics: SimulatedActuator,
    start: str | None,
    build: Build,
    report: Reporter,
) -> WiredMotor:
    """Return the stepper with its driver and end stop, at the position where it was left."""
    del start
    speed = physics.stall_speed_steps_per_s or STALL_MARGIN * settings.max_speed_steps_per_s
    acceleration = (
        physics.stall_acceleration_steps_per_s2
        or STALL_MARGIN * settings.max_acceleration_steps_per_s2
    )
    truth = StepperTruth()
    if build.misadjusted is not None:
        truth = build.misadjusted.stepper(name, settings)
    strength = truth.strength * truth.microsteps  # the rotor's speed is independent of step size
    driver = None
    if settings.driver is not None:
        address = settings.driver.address
        driver = Tmc2209(address, physics.friction, seed=address)
    play = settings.backlash_steps if physics.play_steps is None else physics.play_steps
    play = play if truth.play_steps is None else truth.play_steps
    motor = StepMotor(
        name,
        physics.power_on_steps,
        Rotor(
            speed * strength,
            acceleration * strength,
            truth.microsteps,
            _slip_steps((settings.steps_per_turn or 0) * truth.microsteps),
        ),
        report,
        inverted=settings.invert_direction != truth.is_reversed,
        play=play,
        step=1 / truth.microsteps,
    )
    if driver is not None and settings.driver is not None:
        motor.attach_driver(driver, settings.driver.microsteps, _hard_stop(settings, play))
    pins = settings.pins
    end_stop: EndStop | None = _end_stop(settings, truth.end_stop_lower)
    if driver is not None and settings.homes_by_stall:
        end_stop = StallSensor(driver)
    edges: dict[int, EdgeHandler] = {
        pins.step: motor.step_edge,
        pins.direction: lambda _, level: motor.direction_edge(level),
    }
    if pins.enable is not None:
        motor.enabled = False
        edges[pins.enable] = motor.enable_edge
    if end_stop is None or pins.endstop is None:
        return WiredMotor(motor, edges, driver=driver)
    return WiredMotor(motor, edges, {pins.endstop: end_stop}, driver)


def _slip_steps(turn_steps: float) -> int:
    """Return the driver's steps after which its field looks the same; 1 for a motor with unknown
    full steps, such as one that lifts."""
    return max(1, round(2 * SLIP_FULL_STEPS * turn_steps / FULL_STEPS_PER_TURN))


def _hard_stop(settings: Stepper, play: int) -> HardStop | None:
    """Return the stop that a motor homes to, or None.

    It is placed so that correct homing with its offset ends at zero: before the edge, by the lead
    of the field over the rotor when the stall is detected. The load runs against it, and on the way
    backwards the rotor is beyond the load by the play.
    """
    homing, driver = settings.homing, settings.driver
    if homing is None or driver is None or not settings.homes_by_stall:
        return None
    ahead = round(NOTICED_FULL_STEPS * driver.microsteps)
    behind = play if homing.direction < 0 else 0
    edge = -homing.offset_steps - behind
    return HardStop(edge - homing.direction * ahead, homing.direction)


def _end_stop(settings: Stepper, lower: int) -> StepperEndStop | None:
    """Return the switch or sensor of a stepper, or None.

    A switch is placed so that correct homing with its offset ends at zero, or ``lower`` steps
    lower. A sensor that is checked after turns is active around its nominal places: to either side
    by the distance of its edge, or a sixteenth of the distance to the next place.
    """
    homing, check, high = settings.homing, settings.turn_check, settings.sensor_active_high
    if check is None:
        if homing is None:
            return None
        zero = homing.direction * lower - homing.offset_steps
        return StepperEndStop(zero, homing.direction, high)
    if homing is not None and check.every_steps is None:
        return StepperEndStop(-homing.offset_steps, homing.direction, high)
    reach = (check.every_steps or ONE_PLACE_STEPS) / 16
    direction = 1
    if homing is not None:
        direction = homing.direction
        reach = abs(check.at_steps + homing.offset_steps) or reach
    edge = check.at_steps - direction * reach
    return StepperEndStop(edge, direction, high, 2 * reach, check.every_steps)


def stepper_scale(settings: Stepper, angles: Mapping[str, int]) -> Scale:
    """Return the scale given by the steps of a turn."""
    del angles
    if settings.steps_per_turn is None:
        raise ValueError("a stepper without steps_per_turn rotates nothing")
    per_quarter = settings.steps_per_turn / 4
    return lambda position: position / per_quarter


MOTORS["stepper"] = MotorKind(wire_stepper, stepper_scale)
