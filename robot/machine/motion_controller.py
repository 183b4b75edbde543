"""Motion: the link to the firmware, reconnected when it breaks, faults named."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from robot.faults import FAULTS, Fault, LinkFault, MotionFault, RobotFault, Stopped, described
from robot.link import (
    ActuatorSetup,
    Capabilities,
    LinkThread,
    SerialTransport,
    ServoSetup,
    StepperSetup,
    Whereabouts,
)
from robot.link.position_ledger import Clock, Course, position_lost
from robot.link.protocol import FIRMWARE_VERSION, SILENCE_HOLD_MS
from robot.link.statistics import LinkStatistics
from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.machine.firmware_build import matches
from robot.machine.interfaces import InvalidRequest, RunStopped
from robot.machine.serial_ports import find_board
from robot.mechanism.homing import HomeActuator
from robot.motion import servo_slew, stepper_move
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.records.runs import LinkRecord
from robot.settings.profile import RobotProfile

_AT_ONCE = frozenset({"reset", "brown-out", "hung", "emergency-stop", "overload"})
"""Faults that end a motion in its middle."""

SERVO_JOG_US = 1_000
"""Time for each microsecond of pulse: half a turn takes two seconds."""

LONGEST_SILENCE_HOLD_MS = 2000
"""Most the firmware takes as the host's silence after which motion holds."""


class MotionController:
    """:class:`robot.machine.interfaces.MotionController` of a profile, over its serial port."""

    def __init__(
        self,
        profile: RobotProfile,
        port: str | None = None,
        silence_hold_ms: int = SILENCE_HOLD_MS,
        make_link: Callable[[], LinkThread] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._port = port or profile.link.port
        self._baud = profile.firmware.baud
        self._setups: tuple[ActuatorSetup, ...] = ()
        self._set_up(profile, {})
        self._silence_hold_ms = silence_hold_ms
        self._make_link = make_link or self._serial_link
        self._link: LinkThread | None = None
        self._left = Whereabouts({})
        self._broken: MotionFault | None = None
        self._boot_id: int | None = None
        self._ready = self._anew = self._doubtful = False
        self._stopping = threading.Event()
        self._moving: tuple[str, ...] = ()
        self._moving_unheard: tuple[str, ...] = ()
        self._clock = clock
        self._statistics = LinkStatistics()

    def open(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.open`."""
        with self._explained():
            self._connected()

    def home(self, first: Sequence[str] = ()) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.home`."""
        self._stopping.clear()
        self._moving = (*first, *self._moving)
        with self._explained():
            link = self._connected()
            self._require_known_places(link)
            try:
                for step in homing_steps(
                    self._profile, self._setups, self._homing_order(link), link.places
                ):
                    if isinstance(step, HomeActuator):
                        link.home([step.actuator])
                    else:
                        self._go(link, step.actuator, step.position)
            except RobotFault as fault:
                self._moving = (fault.detail, *self._moving)
                raise
            self._moving = ()

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        """See :meth:`robot.machine.interfaces.MotionController.perform`."""
        self._stopping.clear()
        course = Course(schedule, self._clock)

        def note(fraction: float) -> None:
            course.heard(fraction)
            progress(fraction)

        try:
            with self._explained():
                execution = self._connected().run(schedule, note)
                self._statistics.noted(execution.events)
                return execution.executed_us
        except MotionFault as fault:
            cause = fault.__cause__
            self._moving = course.caught() if fault.code in _AT_ONCE else ()
            if isinstance(cause, LinkFault):
                # The firmware finishes its turn, unless it turns out to have been reset.
                self._moving_unheard = course.caught_now(self._silence_hold_ms / 1e3)
            if isinstance(cause, RobotFault) and cause.fault is Fault.NOT_IN_PLACE:
                self._moving = (cause.detail,)
            if fault.code in _AT_ONCE:
                self._require_none_lost(self._unsensed)
            raise

    def _require_known_places(self, link: LinkThread) -> None:
        """The board may have lost what only it knew: it was reset while its cable was out."""
        known = link.places
        unknown = [setup for setup in self._unsensed if setup.name not in known]
        doubtful, self._doubtful = self._doubtful, False
        if doubtful and unknown:
            reset = motion_fault(RobotFault(Fault.RESET))
            raise position_lost(reset, [setup.name for setup in unknown])
        self._require_none_lost(unknown)

    def _require_none_lost(self, unknown: Sequence[StepperSetup]) -> None:
        """Raise what broke the last motion, for a person, if one of these motors without end stop
        was moving then or did not stand at its start. Whoever squares the robot sets everything to
        its start."""
        left, self._left = self._left, Whereabouts({})
        moving = {*left.moving, *self._moving}
        lost = [setup.name for setup in unknown if setup.name in moving or _is_astray(setup, left)]
        if lost and self._broken is not None:
            raise position_lost(self._broken, lost) from self._broken.__cause__

    def jog(self, actuator: str, target: int) -> int:
        """See :meth:`robot.machine.interfaces.MotionController.jog`."""
        if actuator not in (names := [setup.name for setup in self._setups]):
            known = ", ".join(names)
            raise InvalidRequest(f"actuator: there is no {actuator!r}; there is {known}")
        with self._explained():
            self._go(self._connected(), actuator, target)
        return target

    def position(self, actuator: str) -> int | None:
        """See :meth:`robot.machine.interfaces.MotionController.position`."""
        return self._link.position(actuator) if self._link is not None and self._ready else None

    def home_alone(self, actuator: str, at: int) -> int:
        """See :meth:`robot.machine.interfaces.MotionController.wake`."""
        before = self._setups
        self._setups = tuple(
            replace(setup, start_us=at)
            if setup.name == actuator and isinstance(setup, ServoSetup)
            else setup
            for setup in before
        )
        if self._setups != before:
            self._ready = False
            if self._link is not None:
                self._link.adopt(self._setups)
        with self._explained():
            link = self._connected()
            link.home([actuator])
            place = link.position(actuator)
        assert place is not None, "it has just been homed"
        return place

    def assume_start_positions(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.assume_start_positions`."""
        self._left, self._ready, self._anew = Whereabouts({}), False, True
        self._doubtful = False

    def distrust_positions(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.distrust_positions`."""
        self._doubtful = True

    def _go(self, link: LinkThread, actuator: str, target: int) -> None:
        """Slowly to a position."""
        setup = next(setup for setup in self._setups if setup.name == actuator)
        start = link.position(actuator)
        if start is None:
            raise RobotFault(Fault.NOT_HOMED, actuator)
        move = jog_profile(setup, start, target)
        if move is not None:
            link.run(Schedule((move,), (TimedTurn(0, 0),), move.duration_us))

    def reconfigure(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.adopt`."""
        before = self._setups
        self._set_up(profile, fastest)
        if self._setups != before:
            self._ready = False
            if self._link is not None:
                self._link.adopt(self._setups)

    def is_sensor_active(self, actuator: str) -> bool:
        """See :meth:`robot.machine.interfaces.MotionController.sensed`."""
        number = [setup.name for setup in self._setups].index(actuator)
        with self._explained():
            return bool(self._connected().status().sensors >> number & 1)

    def _set_up(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        self._profile = profile
        self._order = homing_order(profile)
        self._setups = tuple(
            replace(setup, fastest=fastest[setup.name])
            if isinstance(setup, StepperSetup) and setup.name in fastest
            else setup
            for setup in actuator_setups(profile)
        )
        self._unsensed = [
            setup
            for setup in self._setups
            if isinstance(setup, StepperSetup) and setup.homing is None
        ]

    def stop(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.stop`."""
        self._stopping.set()
        if self._link is not None:
            # What failed here is reported by the motion under way, if there is one.
            with suppress(RobotFault):
                self._link.stop()

    def emergency_stop(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.emergency_stop`."""
        self._stopping.set()
        self._ready = False
        if self._link is not None:
            with self._explained():
                self._link.emergency_stop()

    def link_statistics(self) -> LinkRecord:
        """See :meth:`robot.machine.interfaces.MotionController.traffic`."""
        return self._statistics.total

    def close(self) -> None:
        """See :meth:`robot.machine.interfaces.MotionController.close`."""
        self._statistics.closing()
        link, self._link = self._link, None
        self._ready = False
        if link is not None:
            with suppress(RobotFault):
                link.release()
            link.close()

    def _homing_order(self, link: LinkThread) -> tuple[str, ...]:
        """What stands askew first, by its sensor or because a fault caught it in motion: a layer
        half turned has to be squared while what holds the others still does; then as the
        mechanism wants it."""
        sensors = link.status().sensors
        askew = [
            setup.name
            for number, setup in enumerate(self._setups)
            if isinstance(setup, StepperSetup) and setup.is_askew(bool(sensors >> number & 1))
        ]
        caught = [name for name in self._moving if name in self._order]
        return tuple(dict.fromkeys([*askew, *caught, *self._order]))

    def _connected(self) -> LinkThread:
        """The link, greeted and configured; made anew after whatever made it doubtful."""
        if self._link is None:
            self._link = self._make_link()
            board = self._link.open()
            require_ours(board)
            self._statistics.opened(self._link)
            self._note_boot(board.boot_id)
        if not self._ready:
            self._link.configure(anew=self._anew)
            self._ready, self._anew = True, False
        return self._link

    def _note_boot(self, boot_id: int) -> None:
        """A board that was reset while nobody heard it has left its turns unfinished."""
        caught, self._moving_unheard = self._moving_unheard, ()
        if self._boot_id not in (None, boot_id):
            self._moving, self._broken = caught, motion_fault(RobotFault(Fault.RESET))
        self._boot_id = boot_id

    def _serial_link(self) -> LinkThread:
        port = self._port if self._port != "auto" else str(find_board())
        return LinkThread(
            lambda: SerialTransport(port, self._baud), self._setups, self._silence_hold_ms
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The link's errors as the daemon's; a motion that a stop ended is no error at all."""
        try:
            yield
        except Stopped:
            raise RunStopped from None
        except RobotFault as fault:
            self._ready = False
            if self._link is not None:
                self._left = self._link.whereabouts or self._left
            if isinstance(fault, LinkFault):
                self._disconnect()
            if self._stopping.is_set() and fault.fault is Fault.NOT_HOMED:
                raise RunStopped from None
            self._broken = motion_fault(fault)
            raise self._broken from fault

    def _disconnect(self) -> None:
        self._statistics.closing()
        link, self._link = self._link, None
        if link is not None:
            link.close()


def require_ours(capabilities: Capabilities) -> None:
    """Raise ``WRONG_FIRMWARE`` unless the board runs what came with this program."""
    if not matches(capabilities):
        found = f"{capabilities.firmware_version} on the board, {FIRMWARE_VERSION} expected"
        raise LinkFault(Fault.WRONG_FIRMWARE, found)


def jog_profile(setup: ActuatorSetup, start: int, target: int) -> MotionProfile | None:
    """Slow motion to ``target``; None when it is there; raises ``InvalidRequest`` beyond limits."""
    if isinstance(setup, ServoSetup):
        require_within(setup.name, target, setup.minimum_us, setup.maximum_us, "us")
        travel_us = abs(target - start) * SERVO_JOG_US
        return servo_slew(setup.name, start, target, travel_us) if travel_us else None
    require_within(setup.name, target, setup.minimum_steps, setup.maximum_steps, "steps")
    steps = target - start
    return stepper_move(setup.name, start, steps, setup.limits) if steps else None


def require_within(name: str, target: int, low: int, high: int, unit: str) -> None:
    """Raise ``InvalidRequest`` for a target beyond limits."""
    if not low <= target <= high:
        raise InvalidRequest(f"to: {name} goes from {low} to {high} {unit}, not to {target}")


def _is_astray(setup: StepperSetup, left: Whereabouts) -> bool:
    place = left.places.get(setup.name)
    return place is not None and setup.way_to_start(place) != 0


def motion_fault(fault: RobotFault) -> MotionFault:
    """The fault as told to people."""
    return MotionFault(fault.code, described(FAULTS[fault.code], fault.detail))
