"""What each of several boards has to do of a schedule: by board, in stages, in its own time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from robot.motion.schedule import Schedule, TimedTurn
from robot.text.faults import Fault, RobotFault

LEAST_PACE = 3e-5
"""Of a difference between clocks that is made up for: 0.1 ms in three seconds."""

LONGEST_IDLE_US = 16_000_000
"""Between the starts of two turns at one board. The protocol tells waits of 16.7 s; a board whose
clock is the quicker one counts some of its own for it."""


def stages(schedule: Schedule, board_of: Mapping[str, str]) -> list[Schedule]:
    """The schedule, cut where everything rests as often as no board has to wait too long.

    A board that rests between two cuts is told nothing of what the others do there. Raises
    :class:`RobotFault` for an actuator that is at none, and where nothing rests for too long.
    """
    cuts: list[int] = []
    begin = rested = latest_end = 0
    last: dict[str, int] = {}
    for turn in schedule.turns:
        profile = schedule.profiles[turn.profile]
        name = board_at(profile.actuator, board_of)
        if turn.start_us >= latest_end:
            rested = latest_end
        if turn.start_us - last.get(name, begin) > LONGEST_IDLE_US:
            if turn.start_us - rested > LONGEST_IDLE_US or rested == begin:
                raise RobotFault(Fault.BAD_SCHEDULE, _too_long(name, turn.start_us))
            cuts.append(rested)
            begin = rested
            last = {board: start for board, start in last.items() if start >= begin}
        last[name] = turn.start_us
        latest_end = max(latest_end, turn.start_us + profile.duration_us)
    bounds = [0, *cuts, schedule.duration_us]
    return [_between(schedule, *pair) for pair in pairwise(bounds)]


def _between(schedule: Schedule, begin: int, end: int) -> Schedule:
    """What starts between two moments at which everything rests, from the first of them on."""
    turns = (turn for turn in schedule.turns if begin <= turn.start_us < end)
    own = tuple(replace(turn, start_us=turn.start_us - begin) for turn in turns)
    return Schedule(schedule.profiles, own, end - begin)


def _too_long(name: str, at_us: int) -> str:
    return (
        f"board {name} waits longer than {LONGEST_IDLE_US / 1e6:g} s for its turn at "
        f"{at_us / 1e6:.1f} s, and nothing rests meanwhile"
    )


def split(schedule: Schedule, board_of: Mapping[str, str]) -> dict[str, Schedule]:
    """What each board has to do of a schedule, in the schedule's time.

    Raises :class:`RobotFault` for an actuator that is at none.
    """
    turns: dict[str, list[TimedTurn]] = {}
    numbers: dict[str, dict[int, int]] = {}
    for turn in schedule.turns:
        name = board_at(schedule.profiles[turn.profile].actuator, board_of)
        known = numbers.setdefault(name, {})
        number = known.setdefault(turn.profile, len(known))
        turns.setdefault(name, []).append(TimedTurn(turn.start_us, number))
    return {
        name: Schedule(
            tuple(schedule.profiles[profile] for profile in numbers[name]),
            tuple(own),
            schedule.duration_us,
        )
        for name, own in turns.items()
    }


def paces(drifts: Mapping[str, float]) -> dict[str, float]:
    """How many times as long, by its own clock, each board takes for a plan as the slowest does.

    ``drifts``: how much faster than this computer's the clock of each goes. Differences that no
    plan is long enough for are left out, so 1.0 is usual.
    """
    slowest = min(drifts.values(), default=0.0)
    exact = {name: (1 + drift) / (1 + slowest) for name, drift in drifts.items()}
    return {name: pace if pace - 1 >= LEAST_PACE else 1.0 for name, pace in exact.items()}


def stretched(part: Schedule, pace: float) -> Schedule:
    """The same with every start so many times as late; motions last as long as they do."""
    if pace == 1.0:
        return part
    turns = tuple(TimedTurn(round(turn.start_us * pace), turn.profile) for turn in part.turns)
    return Schedule(part.profiles, turns, round(part.duration_us * pace))


def board_at(actuator: str, board_of: Mapping[str, str]) -> str:
    """The board of an actuator; raises :class:`RobotFault` for one that is at none."""
    if actuator not in board_of:
        raise RobotFault(Fault.BAD_SCHEDULE, f"no actuator is called {actuator}")
    return board_of[actuator]
