"""Plans as boards get them: a model of the firmware reads back the original."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.link.plans import (
    LONGEST_IDLE_US,
    Capabilities,
    check_plan,
    encode_schedule,
    paces,
    peak_rate,
    stages,
    stretch_schedule,
)
from robot.link.protocol import MAX_DELAY_US, Board, ResetCause, Timing, TurnBit
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import RobotError
from tests.rig.boards import LIMITS, is_fault, pushes_of_two

NAMES = ("a", "b", "c")
TWO = {"left": "left", "right": "right"}


def profile(name: str, duration_us: int) -> MotionProfile:
    return servo_slew(name, 1500, 1600, duration_us)


def starts_read_back(turns: tuple[bytes, ...], durations: list[int]) -> list[int]:
    """Return start times as the firmware computes them from the bytes."""
    starts: list[int] = []
    ends: list[int] = []
    for turn in turns:
        timing = Timing(turn[0] >> TurnBit.TIMING_SHIFT)
        start = {
            Timing.AFTER_ALL: max(ends, default=0),
            Timing.WITH: starts[-1] if starts else 0,
            Timing.AFTER_PREVIOUS: ends[-1] if ends else 0,
            Timing.DELAY: (starts[-1] if starts else 0) + int.from_bytes(turn[2:], "little"),
        }[timing]
        starts.append(start)
        ends.append(start + durations[turn[0] & TurnBit.PROFILE_MASK])
    return starts


PIECES = st.tuples(
    st.integers(0, 2), st.sampled_from([0, 0, 1, 250_000, MAX_DELAY_US - 333_333]), st.booleans()
)


@settings(max_examples=100)
@given(st.lists(PIECES, min_size=1, max_size=30))
def test_start_times_survive_the_way_over_the_wire(pieces):
    durations = [100_000, 250_000, 333_333]
    profiles = tuple(profile(name, us) for name, us in zip(NAMES, durations, strict=True))
    free = [0, 0, 0]
    clock = 0
    turns = []
    for number, pause, wait_for_all in pieces:
        clock = max(clock, free[number], max(free) if wait_for_all else 0) + pause
        turns.append(TimedTurn(clock, number))
        free[number] = clock + durations[number]
    plan = encode_schedule(Schedule(profiles, tuple(turns), max(free)), NAMES)
    by_shape = [shape.duration_ticks // 2 for shape in plan.shapes]
    assert starts_read_back(plan.turns, by_shape) == [turn.start_us for turn in turns]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ((TimedTurn(0, 0), TimedTurn(99_999, 0)), "still moving"),
        ((TimedTurn(500_000, 0), TimedTurn(0, 1)), "in order"),
        ((TimedTurn(0, 0), TimedTurn(MAX_DELAY_US + 1, 1)), "apart"),
        ((TimedTurn(0, 2),), "no actuator"),
    ],
)
def test_what_cannot_be_sent_is_refused(turns, reason):
    profiles = (profile("a", 100_000), profile("b", 100_000), profile("nobody", 100_000))
    with pytest.raises(RobotError, match=reason, check=is_fault("bad-schedule")):
        encode_schedule(Schedule(profiles, turns, 1), NAMES)


def test_there_are_64_kinds_of_motion():
    def shapes(count: int) -> int:
        kinds = tuple(profile("a", 10_000 + number) for number in range(count))
        turns = tuple(TimedTurn(number * 1_000_000, number) for number in range(count))
        return len(encode_schedule(Schedule(kinds, turns, 0), NAMES).shapes)

    assert shapes(TurnBit.PROFILE_MASK + 1) == 64
    with pytest.raises(RobotError, match="64 kinds", check=is_fault("beyond-board")):
        shapes(TurnBit.PROFILE_MASK + 2)


def check(schedule: Schedule, units: int = 60, *, beside_servos: bool = False) -> None:
    """Raise an error if an Uno with this room for profiles cannot execute the schedule."""
    uno = Capabilities(
        Board.ATMEGA328P, "0.1.0", 1, 1, 0, ResetCause.POWER_ON, units, 320, 60_000, 32_000, 12_000
    )
    plan = encode_schedule(schedule, tuple("abcdef"))
    check_plan(schedule, plan, uno, beside_servos=beside_servos)


def even_moves(axes: int, speed: float) -> tuple[MotionProfile, ...]:
    """Return moves at one speed from the first step to the last."""
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    return tuple(stepper_move(name, 0, 1000, limits) for name in "abcdef"[:axes])


def together(profiles: tuple[MotionProfile, ...], second_us: int = 0) -> Schedule:
    """Return a schedule with all moves at once, those after the first at ``second_us``."""
    turns = [TimedTurn(second_us if number else 0, number) for number in range(len(profiles))]
    return Schedule(profiles, tuple(turns), profiles[0].duration_us)


@pytest.mark.parametrize(
    ("axes", "speed", "beside_servos", "possible"),
    [
        (1, 57_143, False, True),
        (2, 31_250, False, True),
        (2, 57_143, False, False),
        (6, 11_905, False, True),
        (6, 20_000, False, False),
        (1, 15_873, True, True),
        (1, 20_000, True, False),
        (6, 5_988, True, True),
    ],
)
def test_step_rates_beyond_the_board_are_refused(axes, speed, beside_servos, possible):
    """Include the share of the processor that servos take."""
    schedule = together(even_moves(axes, speed))
    assert peak_rate(schedule.profiles[0]) == pytest.approx(speed, rel=0.02)
    if possible:
        check(schedule, beside_servos=beside_servos)
        return
    with pytest.raises(RobotError, match="beside servos" if beside_servos else "steps/s") as caught:
        check(schedule, beside_servos=beside_servos)
    assert caught.value.code == "beyond-board"


def test_motors_count_together_only_while_both_move():
    """Check that one is too fast beside the other, whichever of the two moves first."""
    profiles = even_moves(2, 45_000.0)
    end = profiles[0].duration_us
    check(together(profiles, end))
    with pytest.raises(RobotError, match=rf"2 motors .* {(end - 1) / 1e6:.3f} s into"):
        check(together(profiles, end - 1))
    with pytest.raises(RobotError, match="2 motors"):
        check(together((profiles[0], stepper_move("b", 0, 1000, LIMITS))))
    with pytest.raises(RobotError, match="memory"):
        check(together(profiles[:1]), units=1)


def test_plans_are_cut_where_everything_rests_and_nothing_of_them_is_lost():
    plan = pushes_of_two(40)
    parts = stages(plan, TWO)
    begins = [sum(part.duration_us for part in parts[:number]) for number in range(len(parts))]
    turns = [
        TimedTurn(begin + turn.start_us, turn.profile)
        for begin, part in zip(begins, parts, strict=True)
        for turn in part.turns
    ]
    assert (len(parts), tuple(turns)) == (2, plan.turns)
    assert sum(part.duration_us for part in parts) == plan.duration_us
    for begin in begins[1:]:
        for turn in plan.turns:
            end = turn.start_us + plan.profiles[turn.profile].duration_us
            assert end <= begin or turn.start_us >= begin, "it moves at the cut"
    assert parts[1].turns[-1].start_us <= LONGEST_IDLE_US


def test_a_board_that_must_wait_while_another_never_rests_is_named():
    """Use one motion of a minute: no motor needs that, and the boards could report nothing."""
    minute = replace(stepper_move("left", 0, 400, LIMITS), duration_us=60_000_000)
    moves = (minute, stepper_move("right", 0, 400, LIMITS))
    with pytest.raises(RobotError, match="board right waits longer than 16 s") as told:
        stages(together(moves, 20_000_000), TWO)
    assert told.value.code == "bad-schedule"


@pytest.mark.parametrize(
    ("drifts", "right"),
    [((0.0, 1e-3), 1.001), ((-5e-3, 0.0), 1 / 0.995), ((1e-5, 0.0), 1.0), ((2e-3, 2e-3), 1.0)],
)
def test_no_turn_is_brought_forward(drifts, right):
    """Only boards whose clocks run faster than the slowest count more of their own time."""
    found = paces(dict(zip(TWO, drifts, strict=True)))
    assert found == pytest.approx({"left": 1.0, "right": right})
    plan = pushes_of_two(40)
    part = stretch_schedule(plan, found["right"])
    assert [turn.start_us for turn in part.turns] == [
        round(turn.start_us * right) for turn in plan.turns
    ]
    assert part.profiles == plan.profiles
