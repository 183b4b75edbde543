"""Schedules as bytes: read back by a model of the firmware they are what they were."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.link.encoding import encode_schedule
from robot.link.limits import Capabilities, check_plan, peak_rate
from robot.link.protocol import (
    MAX_DELAY_US,
    Board,
    ResetCause,
    Timing,
    TurnBit,
)
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import RobotError

LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
NAMES = ("a", "b", "c")


def profile(name: str, duration_us: int) -> MotionProfile:
    return servo_slew(name, 1500, 1600, duration_us)


def starts_read_back(turns: tuple[bytes, ...], durations: list[int]) -> list[int]:
    """Start times as the firmware works them out from the bytes."""
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


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 1, 250_000]), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_starts_survive(pieces: list[tuple[int, int, bool]]) -> None:
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
    order = {shape.duration_ticks // 2: place for place, shape in enumerate(plan.shapes)}
    by_shape = [us for us, _ in sorted(order.items(), key=lambda item: item[1])]
    assert starts_read_back(plan.turns, by_shape) == [turn.start_us for turn in turns]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ((TimedTurn(0, 0), TimedTurn(99_999, 0)), "still moving"),
        ((TimedTurn(500_000, 0), TimedTurn(0, 1)), "in order"),
        ((TimedTurn(0, 0), TimedTurn(20_000_000, 1)), "apart"),
        ((TimedTurn(0, 2),), "no actuator"),
    ],
)
def test_what_cannot_be_sent_is_refused(turns: tuple[TimedTurn, ...], reason: str) -> None:
    profiles = (profile("a", 100_000), profile("b", 100_000), profile("nobody", 100_000))
    with pytest.raises(RobotError, match=reason) as caught:
        encode_schedule(Schedule(profiles, turns, 1), NAMES)
    assert caught.value.code == "bad-schedule"


def capabilities(units: int = 60) -> Capabilities:
    return Capabilities(
        Board.ATMEGA328P, "0.1.0", 1, 1, 0, ResetCause.POWER_ON, units, 320, 60_000, 32_000, 12_000
    )


def fast_schedule(axes: int, speed: float) -> Schedule:
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    profiles = tuple(stepper_move(name, 0, 1000, limits) for name in "abcdef"[:axes])
    turns = tuple(TimedTurn(0, number) for number in range(axes))
    return Schedule(profiles, turns, profiles[0].duration_us)


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
def test_step_rates_beyond_the_board_are_refused(
    axes: int, speed: float, beside_servos: bool, possible: bool
) -> None:
    """Servos take their share."""
    schedule = fast_schedule(axes, speed)
    plan = encode_schedule(schedule, tuple("abcdef"))
    assert peak_rate(schedule.profiles[0]) == pytest.approx(speed, rel=0.02)
    if possible:
        check_plan(schedule, plan, capabilities(), beside_servos=beside_servos)
        return
    with pytest.raises(RobotError, match="beside servos" if beside_servos else "steps/s") as caught:
        check_plan(schedule, plan, capabilities(), beside_servos=beside_servos)
    assert caught.value.code == "beyond-board"


def test_too_many_shapes_are_refused() -> None:
    schedule = fast_schedule(1, 5000)
    with pytest.raises(RobotError, match="memory"):
        check_plan(schedule, encode_schedule(schedule, ("a",)), capabilities(units=1))


def test_the_longest_pause_and_the_last_number_of_a_shape_still_fit() -> None:
    profiles = (profile("a", 100_000), profile("b", 100_000))

    def after(pause_us: int) -> tuple[bytes, ...]:
        turns = (TimedTurn(0, 0), TimedTurn(pause_us, 1))
        return encode_schedule(Schedule(profiles, turns, 0), NAMES).turns

    assert starts_read_back(after(MAX_DELAY_US), [100_000])[1] == MAX_DELAY_US
    with pytest.raises(RobotError, match="apart"):
        after(MAX_DELAY_US + 1)

    def shapes(count: int) -> int:
        kinds = tuple(profile("a", 10_000 + number) for number in range(count))
        turns = tuple(TimedTurn(number * 1_000_000, number) for number in range(count))
        return len(encode_schedule(Schedule(kinds, turns, 0), NAMES).shapes)

    assert shapes(TurnBit.PROFILE_MASK + 1) == 64
    with pytest.raises(RobotError, match="64 kinds") as caught:
        shapes(TurnBit.PROFILE_MASK + 2)
    assert caught.value.code == "beyond-board"


def test_motors_count_together_only_while_both_move() -> None:
    """One is too slow for the other's company, and which moves first makes no difference."""
    speed = 45_000.0
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    profiles = tuple(stepper_move(name, 0, 1000, limits) for name in "ab")
    end = profiles[0].duration_us

    def check(start_us: int) -> None:
        schedule = Schedule(profiles, (TimedTurn(0, 0), TimedTurn(start_us, 1)), 0)
        check_plan(schedule, encode_schedule(schedule, NAMES), capabilities())

    check(end)
    with pytest.raises(RobotError, match=rf"2 motors .* {(end - 1) / 1e6:.3f} s into"):
        check(end - 1)
    slow = stepper_move("b", 0, 1000, LIMITS)
    both = Schedule((profiles[0], slow), (TimedTurn(0, 0), TimedTurn(0, 1)), 0)
    with pytest.raises(RobotError, match="2 motors"):
        check_plan(both, encode_schedule(both, NAMES), capabilities())
