"""Where actuators stand: one ledger of what is known, and of what is in doubt after broken motion.

The link writes down what the microcontroller reports and what it performs. When motion breaks off
the ledger works out what was moving, and so which positions nobody can rely on: a motor that has an
end stop or an index sensor is homed by it, one that has none has to be set square by a person. The
ledger outlives the link that broke, because the answer is needed when the next one is open.
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
"""Two heartbeats: so old may be what is known of the firmware's progress."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LastPositions:
    """What was known when motion broke off: ``positions`` at rest, in steps or microseconds of
    pulse, and the actuators that may have been moving.
    """

    positions: Mapping[str, int]
    moving: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LostPositions:
    """Why it is not known where motors without end stop stand; ``names``: only these."""

    by: RobotError
    names: Collection[str] | None = None

    @classmethod
    def of_job(cls) -> LostPositions:
        """A job broke off with its program; the board may have been reset since."""
        return cls(RobotError(Fault.RESET))

    @classmethod
    def of_calibration(cls, names: Collection[str] | None = None) -> LostPositions:
        """Calibration broke off with its program, or with these motors off their starts."""
        return cls(RobotError("not-homed", "calibration broke off"), names)

    def among(self, setups: Sequence[ActuatorSetup]) -> list[str]:
        """Which of these it concerns."""
        return [one.name for one in setups if self.names is None or one.name in self.names]


class BoardLedger:
    """Where the actuators of one board stand, by name: what its link writes down.

    In steps or microseconds of pulse.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._homed: dict[str, int] = {}
        self._remembered: dict[str, int] = {}
        self.run: ScheduleProgress | None = None
        self.caught_unheard: tuple[str, ...] = ()
        self._boot_id: int | None = None

    def position(self, name: str) -> int | None:
        """Where an actuator rests; None while it is not homed."""
        return self._homed.get(name)

    @property
    def homed(self) -> dict[str, int]:
        """Positions of the actuators that are homed."""
        return dict(self._homed)

    @property
    def known(self) -> dict[str, int]:
        """Positions of those that are homed, or were before motion broke off."""
        return self._remembered | self._homed

    @property
    def last_positions(self) -> LastPositions | None:
        """What can be told without asking the board; None while nothing is known."""
        if not self.known:
            return None
        if self.run is None:
            return LastPositions(self.known)
        return broken_off(self.known, self.run.schedule, self.run.executed_us)

    def forget_positions(self) -> None:
        """Nothing is known until the board has been asked."""
        self._homed, self._remembered, self.run = {}, {}, None

    def note_reported(self, positions: Mapping[str, int]) -> None:
        """The board knows these, none of which is homed yet, and nothing is under way."""
        self._homed, self._remembered, self.run = {}, dict(positions), None

    def note_homed(self, name: str, position: int) -> None:
        """An actuator has been homed and rests there."""
        self._homed[name] = position

    def begin(self, schedule: Schedule) -> None:
        """A schedule has been sent and begins."""
        self.run = ScheduleProgress(schedule, self._clock)

    def note_executed(self, executed_us: int) -> None:
        """The last turn of the schedule known to have ended, ended then."""
        if self.run is not None:
            self.run.executed_us = executed_us

    def note_progress(self, fraction: float) -> None:
        """This part (0..1) of the schedule's time is over."""
        if self.run is not None:
            self.run.hear(fraction)

    def note_lost(self) -> None:
        """The link broke now: what the schedule goes on to do is not heard of."""
        if self.run is not None:
            self.run.lose()

    def end(self, turns_done: int) -> None:
        """The schedule is over, or was stopped at rest, after so many turns."""
        if self.run is not None:
            self._homed = after_turns(self._homed, self.run.schedule, turns_done)
        self.run = None

    def was_reset(self, boot_id: int) -> bool:
        """Whether the board greeted now is another, or was reset, since it was greeted last."""
        before, self._boot_id = self._boot_id, boot_id
        return before not in (None, boot_id)


class PositionLedger:
    """Where each actuator of the robot stands, whichever board drives it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._boards: dict[str, BoardLedger] = {}
        self._left = LastPositions({})
        self._caught: tuple[str, ...] = ()
        self._fault: RobotError | None = None
        self._distrusted: LostPositions | None = None

    def of_board(self, name: str) -> BoardLedger:
        """What the link to a board writes down; the same for its next link."""
        return self._boards.setdefault(name, BoardLedger(self._clock))

    def position(self, name: str) -> int | None:
        """Where an actuator rests; None while it is not homed."""
        places = (board.position(name) for board in self._boards.values())
        return next((place for place in places if place is not None), None)

    @property
    def known(self) -> dict[str, int]:
        """Positions of those that are homed, or were before motion broke off."""
        return {name: at for board in self._boards.values() for name, at in board.known.items()}

    @property
    def last_positions(self) -> LastPositions | None:
        """What can be told without asking the boards; None while nothing is known."""
        told = [
            left for board in self._boards.values() if (left := board.last_positions) is not None
        ]
        if not told:
            return None
        positions = {name: at for left in told for name, at in left.positions.items()}
        return LastPositions(positions, tuple(name for left in told for name in left.moving))

    @property
    def caught_moving(self) -> tuple[str, ...]:
        """What a fault caught in motion and has not been homed since: home it first."""
        return self._caught

    def note_boot(self, board: str, boot_id: int) -> None:
        """A board was greeted. One that was reset unheard has left its turns unfinished."""
        ledger = self.of_board(board)
        caught, ledger.caught_unheard = ledger.caught_unheard, ()
        if ledger.was_reset(boot_id):
            self._caught = tuple(dict.fromkeys([*caught, *self._caught]))
            self._fault = RobotError(Fault.RESET)

    @contextmanager
    def performing(self, longest_unheard_s: float) -> Iterator[None]:
        """Note what moves when a fault ends the schedule that is performed inside.

        A board that falls silent goes on for at most ``longest_unheard_s``.
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
                    board.caught_unheard = run.moving_now(longest_unheard_s)
            raise

    def suspect(self, *names: str) -> None:
        """Home these first: they may stand where they should not."""
        self._caught = (*names, *self._caught)

    def trust_all(self) -> None:
        """Everything has been homed."""
        self._caught, self._distrusted = (), None

    def keep_last_positions(self) -> None:
        """Remember what is known now beyond the link that knows it."""
        self._left = self.last_positions or self._left

    def note_fault(self, fault: RobotError) -> None:
        """Remember why motion, or the link, broke."""
        self._fault = fault

    def lost(self, motors: Sequence[ActuatorSetup], guessed: Collection[str]) -> tuple[str, ...]:
        """Of which of these motors is not known that they stand at their start: they were moving
        when motion broke off, or stand elsewhere. Of those whose steps of a turn are ``guessed``
        no place looks the same."""
        left = self.last_positions or self._left
        moving = {*left.moving, *self._caught}

        def is_lost(one: ActuatorSetup) -> bool:
            is_away = left.positions.get(one.name, one.start) != one.start
            is_off = is_away if one.name in guessed else _is_off_start(one, left)
            return is_off or one.name in moving

        return tuple(one.name for one in motors if is_lost(one))

    def distrust(self, distrust: LostPositions) -> None:
        """What moved them broke off: where the board does not know of these, nobody knows."""
        self._distrusted = distrust

    @property
    def has_doubts(self) -> bool:
        """True while :meth:`distrust` holds: nobody was told, and nothing was homed since."""
        return self._distrusted is not None

    def assume_start(self) -> None:
        """A person has set everything to its start."""
        self._left, self._distrusted = LastPositions({}), None

    def require_known(self, setups: Sequence[ActuatorSetup]) -> None:
        """Raise :class:`RobotError` where only a person can tell where a motor is.

        The board may have lost what only it knew: it was reset while its cable was out.
        """
        unknown = [setup for setup in unsensed(setups) if setup.name not in self.known]
        self.require_trusted(unknown)
        self.require_nothing_moved(unknown)

    def require_trusted(self, unknown: Sequence[ActuatorSetup]) -> None:
        """Raise :class:`RobotError`, once, where a person has to set one of these square first, of
        which the board knows nothing."""
        distrust = self._distrusted
        doubtful = [] if distrust is None else distrust.among(unknown)
        if distrust is not None and doubtful:
            self._distrusted = None
            raise position_lost(distrust.by, doubtful)

    def require_nothing_moved(self, unknown: Sequence[ActuatorSetup]) -> None:
        """Raise what broke the last motion, for a person, if one of these motors without end stop
        was moving then or did not stand at its start.

        It is raised once: whoever squares the robot sets everything to its start.
        """
        left, self._left = self._left, LastPositions({})
        moving = {*left.moving, *self._caught}
        lost = [
            setup.name for setup in unknown if setup.name in moving or _is_off_start(setup, left)
        ]
        if lost and self._fault is not None:
            raise position_lost(self._fault, lost) from self._fault.__cause__


class ScheduleProgress:
    """How far a schedule is: by what was heard of it, and by the time that has passed since."""

    def __init__(self, schedule: Schedule, clock: Clock) -> None:
        self.schedule = schedule
        self.executed_us = 0
        self._clock = clock
        self._first: tuple[float, float] | None = None
        self._last = (clock(), 0.0)
        self._lost_at: float | None = None

    def lose(self) -> None:
        """Nothing more will be heard."""
        self._lost_at = self._clock()

    def hear(self, fraction: float) -> None:
        """This part (0..1) of the schedule's time is over."""
        self._last = (self._clock(), fraction)
        self._first = self._first or self._last

    def moving_when_heard(self) -> tuple[str, ...]:
        """What was moving when the firmware reported a fault."""
        return moving_at(self.schedule, self._last[1], STATUS_AGE_US)

    def moving_now(self, longest_s: float) -> tuple[str, ...]:
        """What is moving now, or was when the link was lost, at the pace heard of; it did so for at
        most ``longest_s`` unheard."""
        heard_at, fraction = self._last
        now = self._clock() if self._lost_at is None else self._lost_at
        unheard_s = min(now - heard_at, longest_s)
        return moving_at(self.schedule, fraction + unheard_s * self._pace(), 0)

    def _pace(self) -> float:
        """Part of the schedule's time that is over each second; a simulated one may be quick."""
        (first_at, first), (last_at, last) = self._first or self._last, self._last
        if last > first and last_at > first_at:
            return (last - first) / (last_at - first_at)
        return 1e6 / max(1, self.schedule.duration_us)


def _caught_by(fault: RobotError, runs: Sequence[ScheduleProgress]) -> tuple[str, ...]:
    """What a fault that ended a schedule caught in motion, or out of its place."""
    if fault.code == "not-in-place":
        return (fault.detail,)
    if not FAULTS[fault.code].stops_at_once:
        return ()
    return tuple(dict.fromkeys(name for run in runs for name in run.moving_when_heard()))


def unsensed(setups: Sequence[ActuatorSetup]) -> list[ActuatorSetup]:
    """The motors that have no end stop or index sensor to be homed by."""
    return [one for one in setups if one.counts_only]


def _is_off_start(setup: ActuatorSetup, left: LastPositions) -> bool:
    position = left.positions.get(setup.name)
    return position is not None and setup.way_to_start(position) != 0


def position_lost(fault: RobotError, names: Sequence[str]) -> RobotError:
    """Motors without end stops were caught in motion: only a person knows where they are."""
    which = ", ".join(names)
    return RobotError(
        fault.code,
        f"{fault.cause}; {which} may have been moving and has no end stop to be homed by",
        f"set {which} and the cube square by hand, then start again",
        recoverable=False,
    )


def moving_at(schedule: Schedule, fraction: float, within_us: int) -> tuple[str, ...]:
    """Actuators that move when this part (0..1) of a schedule's time is over, or soon after."""
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
    """Positions of the actuators of which the microcontroller knows them."""
    found = struct.unpack(f"<{len(actuators)}i", answer.positions)
    return {
        setup.name: setup.place_of(position)
        for number, (setup, position) in enumerate(zip(actuators, found, strict=True))
        if answer.known >> number & 1
    }


def after_turns(positions: Mapping[str, int], schedule: Schedule, count: int) -> dict[str, int]:
    """Positions after the first ``count`` turns of a schedule."""
    reached = dict(positions)
    for turn in schedule.turns[:count]:
        profile = schedule.profiles[turn.profile]
        reached[profile.actuator] = profile.end
    return reached


def broken_off(positions: Mapping[str, int], schedule: Schedule, done_us: int) -> LastPositions:
    """What is known when a schedule broke off whose last turn known to have ended ended at
    ``done_us``: no other can have ended long ago.
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
