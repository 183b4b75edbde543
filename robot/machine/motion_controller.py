"""Motion: the link to the firmware, reconnected when it breaks, with named faults.

Every motion of the robot begins here, with :meth:`MotionController.home`, ``perform``, ``jog`` or
``home_alone``. Each of them first asks :class:`robot.machine.confirmed_range.ConfirmedRange` for
permission; only ``bring_back`` does not.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from robot.computer.board_family import family_of, matches
from robot.computer.computer import Computer
from robot.link import (
    ActuatorSetup,
    Capabilities,
    Link,
    LinkGroup,
    LinkThread,
    LostPositions,
    PositionLedger,
    SerialTransport,
    ServoSetup,
    StepperSetup,
    Transport,
)
from robot.link.drivers import DriverState
from robot.link.group import LinkStatistics
from robot.link.ledger import Clock, motors_without_sensor
from robot.link.protocol import FIRMWARE_VERSION, SILENCE_HOLD_MS
from robot.link.session import Draw
from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.machine.confirmed_range import ConfirmedRange
from robot.machine.slow_motion import jog_profile, paths_to_start
from robot.mechanism.registry import HomeActuator, HomingStep
from robot.motion.schedule import Schedule
from robot.records.latency import Stopwatch
from robot.records.run_record import LinkRecord
from robot.settings.profile import FIRST_BOARD, BoardSettings, RobotProfile
from robot.settings.stepper import Stepper
from robot.text.faults import FAULTS, Fault, LinkError, RobotError, Stopped
from solver.errors import InvalidRequest

log = logging.getLogger("cubistd")

T = TypeVar("T")

LONGEST_SILENCE_HOLD_MS = 2000
"""Longest silence of the host that the firmware accepts as its limit before motion holds."""


class MotionController:
    """Moves a profile's robot over the serial ports of its boards.

    All methods block. Call ``stop`` and ``emergency_stop`` from another thread while something
    moves. Motion raises :class:`RobotError` and, between a stop and :meth:`begin`, ``Stopped``.
    ``port`` overrides the first board's port. ``contact``: the confirmed range. Motion beyond it
    raises :class:`robot.machine.confirmed_range.NotConfirmed`.
    """

    def __init__(
        self,
        profile: RobotProfile,
        contact: ConfirmedRange,
        port: str | None = None,
        silence_hold_ms: int = SILENCE_HOLD_MS,
        make_link: Callable[[], LinkThread[LinkGroup]] | None = None,
        clock: Clock = time.monotonic,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self._stopwatch = stopwatch or Stopwatch()
        self._contact = contact
        self._boards = profile.every_board
        if port is not None:
            first = self._boards[FIRST_BOARD].model_copy(update={"port": port})
            self._boards[FIRST_BOARD] = first
        self.setups: tuple[ActuatorSetup, ...] = ()
        self._set_up(profile, {})
        self._silence_hold_ms = silence_hold_ms
        self._make_link = make_link or self._serial_link
        self._thread: LinkThread[LinkGroup] | None = None
        self._clock = clock
        self.ledger = PositionLedger(clock)
        self._ready = self._anew = False
        self._cancel = threading.Event()
        self._emergency = threading.Event()
        self._statistics = LinkStatistics()

    def open(self) -> None:
        """Connect and configure. Raise ``RobotError`` while an emergency stop is not cleared."""
        self._close_broken_link()
        with self._noting_faults():
            self._connect()

    def begin(self, cancel: threading.Event) -> None:
        """Begin a run of motions, all of which end for good once ``cancel`` is set."""
        self._cancel = cancel

    def clear_emergency(self) -> None:
        """Let the robot move again after an emergency stop; nothing moves yet."""
        self._emergency.clear()

    def require_confirmed(self) -> None:
        """Raise ``NotConfirmed`` until the start and all positions of the robot are confirmed."""
        self._contact.require_start(
            self._profile, {setup.name: setup.start for setup in self.setups}
        )

    def home(self, first: Sequence[str] = ()) -> None:
        """Home all actuators, ``first`` before the others, and go to the start positions."""
        self.require_confirmed()
        self.ledger.home_first(*first)
        self._close_broken_link()
        with self._noting_faults():
            self._connect()
        # Not within _noting_faults: a person is asked once, and a stop must not hide that.
        self._require_going_on()
        self.ledger.require_known(self.setups)
        self._check_turns_again()
        with self._noting_faults():
            thread = self._connect()
            places = self._places()
            if any(one.stands_at is not None and one.name not in places for one in self.setups):
                self._stand(places)  # unknown ones are taken to be at their starts
                thread = self._connect()
            try:
                for step in self._homing_steps(thread):
                    if isinstance(step, HomeActuator):
                        self._move(thread, thread.link.home([step.actuator]))
                    else:
                        self._go(thread, step.actuator, step.position)
            except RobotError as fault:
                self.ledger.home_first(fault.detail)
                raise
            self.ledger.note_all_homed()

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        """Upload and execute a schedule. Return the microseconds taken by the firmware's clock."""
        self._contact.require_schedule(self._profile, schedule)
        try:
            with self._noting_faults(), self.ledger.performing(self._silence_hold_ms / 1e3):
                thread = self._connect()
                self._stopwatch.end("start")
                execution = self._move(thread, thread.link.run(schedule, progress))
                self._stopwatch.add("upload", execution.waited_s)
                self._statistics.note_events(execution.events)
                return execution.executed_us
        except RobotError as fault:
            if FAULTS[fault.code].stops_at_once:
                self.ledger.require_nothing_moved(motors_without_sensor(self.setups))
            raise

    def jog(self, actuator: str, target: int) -> int:
        """Move one homed actuator slowly, to a pulse in us or a step; return its position
        afterwards.
        """
        if actuator not in (names := [setup.name for setup in self.setups]):
            known = ", ".join(names)
            raise InvalidRequest(f"actuator: {actuator!r} does not exist; the robot has {known}")
        with self._noting_faults():
            thread = self._connect()
            place, rest_us = self.ledger.position(actuator), 0
            if place is not None:
                settings = self._profile.actuators[actuator]
                rest_us = self._contact.require_step(actuator, settings, place, target)
            self._go(thread, actuator, target, rest_us)
        return target

    def position(self, actuator: str) -> int | None:
        """Return an actuator's resting position in us of pulse or steps; None if not homed."""
        return self.ledger.position(actuator) if self._ready else None

    def home_alone(self, actuator: str, at: int) -> int:
        """Home one actuator, a servo at the pulse ``at``. Return its position afterwards.

        The others stay as they are. Their outputs are off for a moment at most, except those that
        have to find their end stops.
        """
        self._contact.require_first(actuator, self._profile.actuators[actuator], at)
        setup = next(one for one in self.setups if one.name == actuator)
        is_servo = isinstance(setup, ServoSetup)
        self._close_broken_link()
        others = self._move_servo_start(setup, at) if is_servo else self._leave_unchecked(setup)
        with self._noting_faults():
            self._connect()
        self._require_going_on()
        if actuator not in self.ledger.known:
            self.ledger.require_not_lost(motors_without_sensor([setup]))
        with self._noting_faults():
            thread = self._connect()
            if is_servo:
                self._move(thread, thread.link.take_up([*others, actuator]))
            else:
                self._move(thread, thread.link.take_up(others))
                self._move(thread, thread.link.home([actuator]))
            position = self.ledger.position(actuator)
        assert position is not None, "it has just been homed"
        return position

    def _move_servo_start(self, setup: ActuatorSetup, at: int) -> Sequence[str]:
        """Set up a servo to begin at a pulse, which needs a new configuration of its board.

        Return the other actuators, which have to be taken up again at their positions.
        """
        if setup.standing_at(at) == setup:
            return ()
        others = self._places() if self._ready else {}
        others.pop(setup.name, None)
        self._stand({**others, setup.name: at})
        return tuple(others)

    def _leave_unchecked(self, setup: ActuatorSetup) -> Sequence[str]:
        """Disable the check of a motor's end stop after turns, until the robot is homed.

        A motor that moves alone may rest next to the position where its end stop is active. Return
        the other actuators, which have to be taken up again at their positions.
        """
        if not isinstance(setup, StepperSetup) or setup.homing is None or setup.check is None:
            return ()
        others = self._places() if self._ready else {}
        self._unchecked.add(setup.name)
        self._stand(others)
        return tuple(others)

    def _check_turns_again(self) -> None:
        """Enable the checks that :meth:`_leave_unchecked` has disabled."""
        if self._unchecked:
            places = self._places() if self._ready else {}
            self._unchecked.clear()
            self._stand(places)

    def _places(self) -> dict[str, int]:
        """Return the known positions of the actuators that can continue from them."""
        known = self.ledger.known
        return {
            one.name: known[one.name]
            for one in self.setups
            if one.can_be_taken_up and one.name in known
        }

    def _stand(self, places: Mapping[str, int]) -> None:
        """Declare these positions, and others' starts, as those at the next connection."""
        standing = (one.standing_at(places.get(one.name)) for one in self.setups)
        self._use(tuple(self._with_check(one) for one in standing))

    def _with_check(self, setup: ActuatorSetup) -> ActuatorSetup:
        """Return a setup with its check after turns, unless that is disabled now."""
        if not isinstance(setup, StepperSetup):
            return setup
        check = None if setup.name in self._unchecked else self._checks.get(setup.name)
        return replace(setup, check=check)

    def assume_start_positions(self) -> None:
        """Assume that everything is at its start, where a person has set it."""
        self.ledger.assume_start()
        self._ready, self._anew = False, True

    def mark_positions_lost(self, lost: LostPositions) -> None:
        """Mark positions that the board has lost as unknown."""
        self.ledger.mark_lost(lost)

    def pass_losses_on(self, heir: MotionController) -> None:
        """Pass the lost positions on to the controller that moves the robot next."""
        if (lost := self.ledger.lost) is not None:
            heir.mark_positions_lost(lost)

    @property
    def has_lost_positions(self) -> bool:
        """True while positions are lost, and neither homed since nor reported to a person."""
        return self.ledger.lost is not None

    def bring_back(self, guessed: Collection[str]) -> tuple[str, ...]:
        """Turn motors that only count their steps slowly back to their starts.

        Return those that may be elsewhere afterwards: they cannot turn now, or are too far away to
        go straight back past the others. Call it before the values that belong to their counts are
        forgotten. ``guessed``: motors whose steps per turn are not known yet. For these only the
        start itself counts, and no position that looks the same.
        """
        motors = motors_without_sensor(self.setups)
        if self._ready:
            with suppress(RobotError, Stopped), self._noting_faults():
                thread = self._connect()
                for one in motors:
                    at = self.ledger.position(one.name)
                    turn = self._profile.actuators_of(Stepper)[one.name].steps_per_turn
                    for place in paths_to_start(one, at, turn, one.name in guessed):
                        self._go(thread, one.name, place)
        return self.ledger.motors_off_start(motors, guessed)

    def reconfigure(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        """Go on with other values for the same actuators. Home them before anything moves.

        ``fastest``: maximum steps/s of some motors, beyond what the profile allows.
        """
        before = self.setups
        self._set_up(profile, fastest)
        setups, self.setups = self.setups, before
        self._use(setups)

    def is_sensor_active(self, actuator: str) -> bool:
        """Return whether the actuator's end stop or index sensor is active."""
        with self._noting_faults():
            thread = self._connect()
            return actuator in thread.wait(thread.link.active_sensors())

    def rate_share(self, schedules: Sequence[Schedule]) -> float:
        """Return the fraction (up to 1) of the schedules' speed that the boards reach: see
        :func:`robot.link.plans.rate_share`."""
        with self._noting_faults():
            return self._connect().link.rate_share(schedules)

    def stop(self) -> None:
        """Finish the turn in progress and hold; the run under way ends with ``Stopped``."""
        self._cancel.set()
        if (thread := self._thread) is not None:
            # The motion under way, if any, reports what failed here.
            with suppress(RobotError):
                thread.wait(thread.link.stop())

    def emergency_stop(self) -> None:
        """Stop all motion at once and hold it there. The robot is not homed afterwards.

        Nothing moves again until :meth:`clear_emergency`, whether or not the board could be
        reached.
        """
        self._emergency.set()
        self._ready = False
        if (thread := self._thread) is not None:
            with self._noting_faults():
                thread.wait(thread.link.emergency_stop())

    def power_down(self) -> tuple[str, ...]:
        """Switch off the actuators that the policy releases at rest. Return them.

        Home before anything moves. Motors that only count their steps lose their positions
        unless they are self-locking, and a person has to set them to their starts. So they keep
        holding while one of them is away from its start. Do nothing while no board is connected.
        """
        released = self._profile.policy.idle.release
        if not released or self._thread is None:
            return ()
        with self._noting_faults():
            thread = self._connect()
            known = self.ledger.known
            loose = [
                one
                for one in motors_without_sensor(self.setups)
                if one.name in released and one.name in known and not one.keeps_position_unpowered
            ]
            names = [one.name for one in loose]
            if any(one.way_to_start(known[one.name]) for one in loose):
                released = tuple(name for name in released if name not in names)
            elif loose:
                self.ledger.mark_lost(LostPositions.rest_without_power(names))
            thread.wait(thread.link.power_down(released))
        return released

    def drivers(self) -> tuple[DriverState, ...]:
        """Return the stepper drivers' states after the last motion. Callable from any thread."""
        thread = self._thread
        return () if thread is None else thread.link.drivers

    def link_statistics(self) -> LinkRecord:
        """Return the traffic since the start. Callable from any thread."""
        return self._statistics.total

    def close(self) -> None:
        """Make the outputs safe and release the port. Idempotent."""
        self._ready = False
        if (thread := self._thread) is not None:
            with suppress(RobotError):
                thread.wait(thread.link.release())
        self._disconnect()

    def _set_up(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        self._profile = profile
        self._order = homing_order(profile)
        self.setups = tuple(
            setup.allowing(fastest[setup.name]) if setup.name in fastest else setup
            for setup in actuator_setups(profile)
        )
        self._checks = {one.name: one.check for one in self.setups if isinstance(one, StepperSetup)}
        self._unchecked = set[str]()

    def _use(self, setups: tuple[ActuatorSetup, ...]) -> None:
        """Use these setups from the next connection on, if they change anything."""
        if setups != self.setups:
            self.setups, self._ready = setups, False
            if self._thread is not None:
                self._thread.link.adopt(setups)

    def _go(
        self, thread: LinkThread[LinkGroup], actuator: str, target: int, rest_us: int = 0
    ) -> None:
        """Move slowly to a position, and rest there."""
        setup = next(setup for setup in self.setups if setup.name == actuator)
        start = self.ledger.position(actuator)
        if start is None:
            raise RobotError(Fault.NOT_HOMED, detail=actuator)
        move = jog_profile(setup, start, target, rest_us)
        if move is not None:
            self._move(thread, thread.link.run(Schedule.of(move)))

    def _move(self, thread: LinkThread[LinkGroup], motion: Coroutine[object, object, T]) -> T:
        """Let the link perform a motion, unless there was a stop.

        The check runs on the link's own loop, like the stop itself. So a stop comes either before
        the motion, which then does not begin, or while it is under way.
        """

        async def unless_stopped() -> T:
            try:
                self._require_going_on()
            except (RobotError, Stopped):
                motion.close()
                raise
            return await motion

        try:
            return thread.wait(unless_stopped())
        except LinkError:
            motion.close()  # it did not begin if the link was closed before
            raise

    def _require_going_on(self) -> None:
        """Raise ``RobotError`` after an emergency stop, or ``Stopped`` after a stop."""
        if self._emergency.is_set():
            raise RobotError(Fault.EMERGENCY_STOP)
        if self._cancel.is_set():
            raise Stopped("before it began")

    def _homing_steps(self, thread: LinkThread[LinkGroup]) -> list[HomingStep]:
        """Return the steps of homing: actuators that are askew, then the mechanism's order.

        An actuator is askew if its sensor says so, or if a fault caught it in motion. A half-turned
        layer has to be squared while the rest of the cube is still held."""
        active = thread.wait(thread.link.active_sensors())
        askew = [setup.name for setup in self.setups if setup.is_askew(setup.name in active)]
        caught = [name for name in self.ledger.caught_moving if name in self._order]
        order = tuple(dict.fromkeys([*askew, *caught, *self._order]))
        return homing_steps(self._profile, self.setups, order, self.ledger.known, [*askew, *caught])

    def _connect(self) -> LinkThread[LinkGroup]:
        """Return the link, connected and configured again if needed."""
        if self._emergency.is_set():
            raise RobotError(Fault.EMERGENCY_STOP)
        if self._thread is None:
            self._thread = thread = self._make_link()
            boards = thread.wait(thread.link.open())
            for name, board in boards.items():
                require_ours(board, name if len(boards) > 1 else None)
            self._statistics.note_opened(thread.link)
            for name, board in boards.items():
                self.ledger.note_boot(name, board.boot_id)
        if not self._ready:
            self._thread.wait(self._thread.link.configure(anew=self._anew))
            self._ready, self._anew = True, False
        return self._thread

    def _close_broken_link(self) -> None:
        """Close the link if it broke while nothing moved, so that the next connection is a new one.

        Nothing is homed after that, so only something that homes first may go on.
        """
        if (thread := self._thread) is not None and (fault := thread.link.failure) is not None:
            log.warning("connecting again: %s", fault)
            self._ready = False
            self.ledger.keep_last_positions()
            self._disconnect()

    def _serial_link(self) -> LinkThread[LinkGroup]:
        ports = {name: _port_of(board) for name, board in self._boards.items()}

        def transport(name: str) -> SerialTransport:
            return SerialTransport(ports[name], self._boards[name].baud)

        return LinkThread(lambda: self._links(transport))

    def _links(
        self, transport: Callable[[str], Transport], draw: Draw = secrets.randbelow
    ) -> LinkGroup:
        """Return a link to each board, with its own actuators, over its ``transport``."""
        links = {
            name: Link(
                transport(name),
                [one for one in self.setups if self._profile.board_name_of(one.name) == name],
                self._clock,
                self._silence_hold_ms,
                draw,
                self.ledger.board_ledger(name),
            )
            for name in self._boards
        }
        return LinkGroup(links, self._clock)

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        """Note which positions a fault leaves uncertain, for the next start.

        Raise ``Stopped`` instead of a fault that a stop has caused.
        """
        try:
            yield
        except RobotError as fault:
            self._ready = False
            self.ledger.keep_last_positions()
            if isinstance(fault, LinkError):
                self._disconnect()
            if self._cancel.is_set() and fault.code == "not-homed":
                raise Stopped from None
            self.ledger.note_fault(fault)
            raise

    def _disconnect(self) -> None:
        self._statistics.note_closing()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()


def require_ours(capabilities: Capabilities, board: str | None = None) -> None:
    """Raise ``WRONG_FIRMWARE`` unless the board runs the firmware that came with this program.

    ``board``: its name, if there are several.
    """
    if not matches(capabilities):
        where = "the board" if board is None else f"board {board}"
        found = f"{capabilities.firmware_version} on {where}, {FIRMWARE_VERSION} expected"
        raise LinkError(Fault.WRONG_FIRMWARE, detail=found)


def _port_of(board: BoardSettings) -> str:
    """Return the device of a board, searching for it if the profile says ``auto``."""
    if board.port != "auto":
        return board.port
    return str(family_of(board.target).find_port(Computer()))
