"""Positions of the actuators: which are known, and which a person has to restore after a fault.

Nothing in the robot measures a position. Servos go where their pulse says. Steppers count steps
from a position that homing found. So a position is *known* because every step since was counted,
and it becomes unknown when that count breaks off: the cable is pulled, the board resets, an end
stop fires in the middle of a turn, the daemon is killed. The ledger decides what happens next. A
motor with an end stop or an index sensor is simply homed again. A motor that only counts its steps
(``counts_only``) cannot find its position by itself. If it may be away from its start, a person
must set it square, because homing would take its position for the start and every later turn would
cut the cube's layers. Asking a person without need is a nuisance, but trusting a wrong count breaks
a cube: in doubt the ledger asks.

Each actuator is in one of five states:

==========  ===========================================================  ========================
state       meaning                                                      kept in
==========  ===========================================================  ========================
homed       known, and the session that homed it goes on                 ``BoardLedger._homed``
reported    known to the board, from before this program or this fault   ``BoardLedger._remembered``
left        known when motion broke off, at rest then                    ``PositionLedger._left``
moving      may have been turning when motion broke off                  ``LastPositions.moving``,
                                                                         ``PositionLedger._caught``
lost        not even the last position counts: nobody watched            ``PositionLedger._lost``
==========  ===========================================================  ========================

Transitions:

* ``note_homed`` makes an actuator homed; the end of a schedule (``end``) moves what is homed.
* Reconnecting asks the board. What the board still knows is reported (``note_reported``): a broken
  cable alone loses nothing, because the firmware finishes its turn and goes on counting.
* A fault ends a schedule (``performing``). Actuators that were turning then, according to its
  progress, are *moving*. If the board reported the fault, its last report gives the progress,
  otherwise the time since that report, at the pace so far.
* If a board fell silent, its turns are *moving* only if it greets with another boot number
  (``note_boot``): it was reset in the middle of them. With the same number it finished them.
* ``note_powered_down`` makes actuators that are switched off at rest reported, or forgets them if
  they may turn without power; the board forgets these, too.
* ``mark_lost`` declares positions lost that nobody tracked: a job or a calibration ended with its
  program, or a motor rested without power. It counts only for actuators that the board does not
  report.
* ``require_known`` runs before homing. It checks the motors without a sensor that the board does
  not report, and raises an error, once, if any are lost, moving, or left off their start. A person
  then squares the robot, which ``assume_start`` notes; ``note_all_homed`` ends every doubt.

A power cut as an example. A robot has a table and a lid, both steppers that only count. The lid is
up, at its start (0); the table turns from 0 to 400 in a schedule of 2 s::

    event                            homed             left                    caught moving
    homed                            table 0, lid 0    -                       -
    schedule begins, 25 % reported   table 0, lid 0    -                       -
    0.4 s later: supply fails        table 0, lid 0    -                       -
    no answer: LinkError             table 0, lid 0    -                       (table)
    keep_last_positions              table 0, lid 0    table moving, lid 0     (table)
    link closed                      -                 table moving, lid 0     (table)
    greeted with a new boot number   -                 table moving, lid 0     table
    board reports no positions       -                 table moving, lid 0     table
    home -> require_known            -                 -                       table

In parentheses: set aside in ``moving_when_silent`` until the board shows that it was reset. At 25 %
plus 0.4 s the schedule was at 45 %, where only the table turned. So ``require_known`` names the
table and not the lid, which rested at its start. If only the cable had failed, the boot number
would be the same, the board would report table 400 and lid 0, and the ledger would ask nobody. If
the daemon had been killed, too, the next one would know neither boot number nor schedule, and its
note on the disk would declare both lost.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from robot.link.actuators import ActuatorSetup
from robot.link.protocol import Positions
from robot.motion.schedule import Schedule
from robot.text.faults import FAULTS, Fault, LinkError, RobotError

STATUS_AGE_US = 100_000
"""Maximum age of a report of the firmware's progress: two heartbeats."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LastPositions:
    """Positions when motion broke off, in steps or microseconds of pulse, as far as known.

    ``moving``: the actuators that may have been moving; theirs are the positions before the motion.
    """

    positions: Mapping[str, int]
    moving: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LostPositions:
    """The cause for which motors without a sensor (``names``, default: all) may be anywhere."""

    cause: RobotError
    names: Collection[str] | None = None

    @classmethod
    def of_job(cls) -> LostPositions:
        """Return the loss after a job that ended with its program."""
        return cls(RobotError(Fault.RESET))

    @classmethod
    def of_calibration(cls, names: Collection[str] | None = None) -> LostPositions:
        """Return the loss after a calibration that broke off, or left these off their starts."""
        return cls(RobotError("not-homed", "calibration was interrupted"), names)

    @classmethod
    def rest_without_power(cls, names: Collection[str]) -> LostPositions:
        """Return the loss of these when their drivers were switched off."""
        return cls(RobotError("not-homed", "its motor was without power"), names)

    def joined_with(self, earlier: LostPositions) -> LostPositions:
        """Return this loss with the motors of an earlier one."""
        if self.names is None or earlier.names is None:
            return LostPositions(self.cause)
        return LostPositions(self.cause, tuple(dict.fromkeys([*earlier.names, *self.names])))

    def names_among(self, setups: Sequence[ActuatorSetup]) -> list[str]:
        """Return the names of these actuators that are lost."""
        return [one.name for one in setups if self.names is None or one.name in self.names]


class BoardLedger:
    """Positions of one board's actuators by name, in steps or microseconds of pulse.

    The board's link notes here what the board reports and performs.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._homed: dict[str, int] = {}
        self._remembered: dict[str, int] = {}
        self.run: ScheduleProgress | None = None
        self.moving_when_silent: tuple[str, ...] = ()
        self._boot_id: int | None = None

    def position(self, name: str) -> int | None:
        """Return an actuator's resting position; None while it is not homed."""
        return self._homed.get(name)

    @property
    def homed(self) -> dict[str, int]:
        """Positions of the actuators that are homed."""
        return dict(self._homed)

    @property
    def known(self) -> dict[str, int]:
        """Positions of actuators that are homed, or were before motion broke off."""
        return self._remembered | self._homed

    @property
    def last_positions(self) -> LastPositions | None:
        """Positions and motion known without asking the board; None if there are none."""
        if not self.known:
            return None
        if self.run is None:
            return LastPositions(self.known)
        return positions_after_break(self.known, self.run.schedule, self.run.executed_us)

    def forget_positions(self) -> None:
        """Forget all positions until the board reports them."""
        self._homed, self._remembered, self.run = {}, {}, None

    def note_reported(self, positions: Mapping[str, int]) -> None:
        """Note the positions that the board reports at rest; none of them counts as homed yet."""
        self._homed, self._remembered, self.run = {}, dict(positions), None

    def note_homed(self, name: str, position: int) -> None:
        """Note that an actuator has been homed and rests at a position."""
        self._homed[name] = position

    def note_powered_down(self, names: Collection[str], lost: Collection[str]) -> None:
        """Note that these were switched off and are not homed. Those ``lost`` may be anywhere."""
        known = self.known
        self._remembered |= {name: known[name] for name in names if name in known}
        for name in names:
            self._homed.pop(name, None)
        for name in lost:
            self._remembered.pop(name, None)

    def begin(self, schedule: Schedule) -> None:
        """Note that a schedule has been sent and begins."""
        self.run = ScheduleProgress(schedule, self._clock)

    def note_executed(self, executed_us: int) -> None:
        """Note the end, in the schedule's time, of the last turn that is known to have ended."""
        if self.run is not None:
            self.run.executed_us = executed_us

    def note_progress(self, fraction: float) -> None:
        """Note the elapsed fraction (0..1) of the schedule's time."""
        if self.run is not None:
            self.run.note_report(fraction)

    def note_lost(self) -> None:
        """Note that the link broke now: no more progress will be reported."""
        if self.run is not None:
            self.run.note_lost()

    def end(self, turns_done: int) -> None:
        """Note that the schedule ended, or was stopped at rest, after ``turns_done`` turns."""
        if self.run is not None:
            self._homed = positions_after_turns(self._homed, self.run.schedule, turns_done)
        self.run = None

    def was_reset(self, boot_id: int) -> bool:
        """Return whether the board was reset or exchanged since it was last greeted."""
        before, self._boot_id = self._boot_id, boot_id
        return before not in (None, boot_id)


class PositionLedger:
    """Positions of all actuators of the robot, whichever board drives them."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._boards: dict[str, BoardLedger] = {}
        self._left = LastPositions({})
        self._caught: tuple[str, ...] = ()
        self._fault: RobotError | None = None
        self._lost: LostPositions | None = None

    def board_ledger(self, name: str) -> BoardLedger:
        """Return the ledger of a board, which its next link continues."""
        return self._boards.setdefault(name, BoardLedger(self._clock))

    def position(self, name: str) -> int | None:
        """Return an actuator's resting position; None while it is not homed."""
        places = (board.position(name) for board in self._boards.values())
        return next((place for place in places if place is not None), None)

    @property
    def known(self) -> dict[str, int]:
        """Positions of actuators that are homed, or were before motion broke off."""
        return {name: at for board in self._boards.values() for name, at in board.known.items()}

    @property
    def last_positions(self) -> LastPositions | None:
        """Positions and motion known without asking the boards; None if there are none."""
        told = [
            left for board in self._boards.values() if (left := board.last_positions) is not None
        ]
        if not told:
            return None
        positions = {name: at for left in told for name, at in left.positions.items()}
        return LastPositions(positions, tuple(name for left in told for name in left.moving))

    @property
    def caught_moving(self) -> tuple[str, ...]:
        """Actuators that a fault caught in motion and that have not been homed since."""
        return self._caught

    def note_boot(self, board: str, boot_id: int) -> None:
        """Note that a board was greeted. If it was reset unnoticed, its turns are unfinished."""
        ledger = self.board_ledger(board)
        caught, ledger.moving_when_silent = ledger.moving_when_silent, ()
        if ledger.was_reset(boot_id):
            self._caught = tuple(dict.fromkeys([*caught, *self._caught]))
            self._fault = RobotError(Fault.RESET)

    @contextmanager
    def performing(self, longest_silence_s: float) -> Iterator[None]:
        """Note which actuators move if a fault ends the schedule that is performed inside.

        A board that falls silent goes on for at most ``longest_silence_s``.
        """
        before = {name: board.run for name, board in self._boards.items()}
        try:
            yield
        except RobotError as fault:
            begun = [
                (board, board.run)
                for name, board in self._boards.items()
                if board.run is not None and board.run is not before.get(name)
            ]
            self._caught = _caught_by(fault, [run for _, run in begun])
            if isinstance(fault, LinkError):
                # The firmware finishes its turn, unless it turns out to have been reset.
                for board, run in begun:
                    board.moving_when_silent = run.moving_now(longest_silence_s)
            raise

    def home_first(self, *names: str) -> None:
        """Note that these may be out of position, so that they are homed first."""
        self._caught = (*names, *self._caught)

    def note_all_homed(self) -> None:
        """Note that everything has been homed."""
        self._caught, self._lost = (), None

    def keep_last_positions(self) -> None:
        """Keep the positions that are known now, beyond the end of the link."""
        self._left = self.last_positions or self._left

    def note_fault(self, fault: RobotError) -> None:
        """Keep the fault that broke motion or the link, without its traceback's frames."""
        self._fault = RobotError(
            fault.code,
            fault.cause,
            fault.remedy,
            detail=fault.detail,
            recoverable=fault.recoverable,
        )

    def motors_off_start(
        self, motors: Sequence[ActuatorSetup], guessed: Collection[str]
    ) -> tuple[str, ...]:
        """Return the motors that may be away from their start.

        They were moving when motion broke off, or rest elsewhere. For those whose steps per turn
        are ``guessed``, no other position looks like the start.
        """
        left = self.last_positions or self._left
        moving = {*left.moving, *self._caught}

        def is_off_start(one: ActuatorSetup) -> bool:
            is_away = left.positions.get(one.name, one.start) != one.start
            is_off = is_away if one.name in guessed else _is_off_start(one, left)
            return is_off or one.name in moving

        return tuple(one.name for one in motors if is_off_start(one))

    def mark_lost(self, lost: LostPositions) -> None:
        """Mark positions as lost, in addition to earlier ones, except those the board reports."""
        self._lost = lost if self._lost is None else lost.joined_with(self._lost)

    @property
    def lost(self) -> LostPositions | None:
        """The lost positions, until a person is asked, or everything is homed."""
        return self._lost

    def assume_start(self) -> None:
        """Note that a person has set everything to its start."""
        self._left, self._lost = LastPositions({}), None

    def require_known(self, setups: Sequence[ActuatorSetup]) -> None:
        """Raise :class:`RobotError` if only a person can restore a motor's position.

        The board may have lost positions that only it knew: it was reset while its cable was out.
        """
        unknown = [setup for setup in motors_without_sensor(setups) if setup.name not in self.known]
        self.require_not_lost(unknown)
        try:
            self.require_nothing_moved(unknown)
        except RobotError:
            asked = {setup.name for setup in unknown}
            self._caught = tuple(name for name in self._caught if name not in asked)
            raise

    def require_not_lost(self, unknown: Sequence[ActuatorSetup]) -> None:
        """Raise :class:`RobotError`, once, if one of these, unknown to the board, is lost."""
        lost = self._lost
        doubtful = [] if lost is None else lost.names_among(unknown)
        if lost is not None and doubtful:
            self._lost = None
            raise position_lost(lost.cause, doubtful)

    def require_nothing_moved(self, unknown: Sequence[ActuatorSetup]) -> None:
        """Raise the fault that broke the last motion if it lost one of these motors.

        They have no end stop, and were moving then or did not stand at their start. It is raised
        once: a person who squares the robot sets everything to its start.
        """
        left, self._left = self._left, LastPositions({})
        moving = {*left.moving, *self._caught}
        lost = [
            setup.name for setup in unknown if setup.name in moving or _is_off_start(setup, left)
        ]
        if lost and self._fault is not None:
            raise position_lost(self._fault, lost)


class ScheduleProgress:
    """Estimate of a schedule's progress, from the last report and the time since."""

    def __init__(self, schedule: Schedule, clock: Clock) -> None:
        self.schedule = schedule
        self.executed_us = 0
        self._clock = clock
        self._first: tuple[float, float] | None = None
        self._last = (clock(), 0.0)
        self._lost_at: float | None = None

    def note_lost(self) -> None:
        """Note that no more reports will come."""
        self._lost_at = self._clock()

    def note_report(self, fraction: float) -> None:
        """Note the elapsed fraction (0..1) of the schedule's time."""
        self._last = (self._clock(), fraction)
        self._first = self._first or self._last

    def moving_at_last_report(self) -> tuple[str, ...]:
        """Return the actuators that were moving when the firmware reported a fault."""
        return moving_at(self.schedule, self._last[1], STATUS_AGE_US)

    def moving_now(self, longest_s: float) -> tuple[str, ...]:
        """Return the actuators moving now, or when the link was lost, at the reported pace.

        A board without a link goes on for at most ``longest_s``.
        """
        heard_at, fraction = self._last
        now = self._clock() if self._lost_at is None else self._lost_at
        unheard_s = min(now - heard_at, longest_s)
        return moving_at(self.schedule, fraction + unheard_s * self._pace(), 0)

    def _pace(self) -> float:
        """Return the fraction of the schedule's time that passes in a second."""
        (first_at, first), (last_at, last) = self._first or self._last, self._last
        if last > first and last_at > first_at:
            return (last - first) / (last_at - first_at)
        return 1e6 / max(1, self.schedule.duration_us)


def _caught_by(fault: RobotError, runs: Sequence[ScheduleProgress]) -> tuple[str, ...]:
    """Return the actuators that a fault caught in motion or out of position."""
    if fault.code == "not-in-place":
        return (fault.detail,)
    if not FAULTS[fault.code].stops_at_once:
        return ()
    return tuple(dict.fromkeys(name for run in runs for name in run.moving_at_last_report()))


def motors_without_sensor(setups: Sequence[ActuatorSetup]) -> list[ActuatorSetup]:
    """Return the motors that have no end stop or index sensor to be homed by."""
    return [one for one in setups if one.counts_only]


def _is_off_start(setup: ActuatorSetup, left: LastPositions) -> bool:
    position = left.positions.get(setup.name)
    return position is not None and setup.way_to_start(position) != 0


def position_lost(fault: RobotError, names: Sequence[str]) -> RobotError:
    """Return the fault that asks a person to set motors square."""
    which = ", ".join(names)
    return RobotError(
        fault.code,
        f"{fault.cause}; {which} may have been moving and has no end stop to home with",
        f"set {which} and the cube square by hand, then start again",
        recoverable=False,
    )


def moving_at(schedule: Schedule, fraction: float, within_us: int) -> tuple[str, ...]:
    """Return the actuators that move at this fraction (0..1) of a schedule, or soon after."""
    time_us = fraction * schedule.duration_us
    timed = [(turn.start_us, schedule.profiles[turn.profile]) for turn in schedule.turns]
    return tuple(
        dict.fromkeys(
            profile.actuator
            for start_us, profile in timed
            if start_us <= time_us + within_us and time_us < start_us + profile.duration_us
        )
    )


def reported_positions(answer: Positions, actuators: Sequence[ActuatorSetup]) -> dict[str, int]:
    """Return the positions that the microcontroller knows, by actuator."""
    found = struct.unpack(f"<{len(actuators)}i", answer.positions)
    return {
        setup.name: setup.place_of(position)
        for number, (setup, position) in enumerate(zip(actuators, found, strict=True))
        if answer.known >> number & 1
    }


def positions_after_turns(
    positions: Mapping[str, int], schedule: Schedule, count: int
) -> dict[str, int]:
    """Return positions after the first ``count`` turns of a schedule."""
    reached = dict(positions)
    for turn in schedule.turns[:count]:
        profile = schedule.profiles[turn.profile]
        reached[profile.actuator] = profile.end
    return reached


def positions_after_break(
    positions: Mapping[str, int], schedule: Schedule, done_us: int
) -> LastPositions:
    """Return positions when a schedule broke off.

    ``done_us``: the end of the last turn that is known to have ended. No other turn can have ended
    long before the last report.
    """
    timed = [(turn.start_us, schedule.profiles[turn.profile]) for turn in schedule.turns]
    reached = dict(positions)
    later = []
    for start_us, profile in timed:
        if start_us + profile.duration_us <= done_us:
            reached[profile.actuator] = profile.end
        else:
            later.append((start_us, profile))
    now_us = STATUS_AGE_US + min(
        (start + profile.duration_us for start, profile in later), default=0
    )
    moving = [profile.actuator for start_us, profile in later if start_us < now_us]
    return LastPositions(reached, tuple(dict.fromkeys(moving)))
