"""Rotors and end stops at the borders of what they can do."""

from __future__ import annotations

import pytest

from robot.settings.board_table import TICKS_PER_S
from robot.twin.shared_time import SLICE_TICKS
from robot.twin.stepper import Rotor, StepperEndStop, pause_us

STALL_SPEED, STALL_ACCELERATION = 4_000.0, 20_000.0


def rotor() -> Rotor:
    return Rotor(STALL_SPEED, STALL_ACCELERATION)


def steps(rotor: Rotor, *times_us: float) -> list[str | None]:
    return [rotor.step(time_us) for time_us in times_us]


def test_it_rests_after_five_milliseconds_or_three_intervals() -> None:
    single, several = rotor(), rotor()
    assert not single.turning and single.wait(1e9) is None
    assert steps(single, 0) == [None] and single.turning
    assert single.wait(5_000) is None and single.turning
    assert single.wait(5_001) is None and not single.turning
    assert steps(several, 0, 4_000) == [None, None]
    several.wait(16_000)
    assert several.turning
    several.wait(16_001)
    assert not several.turning
    assert steps(several, 20_000, 21_666) != [None, None], "it begins anew"
    patient = Rotor(STALL_SPEED, STALL_ACCELERATION, 7_000.0)
    steps(patient, 0)
    patient.wait(7_000)
    assert patient.turning


@pytest.mark.parametrize(
    "interval_us, fault",
    [
        (2_662, None),
        (2_661, "accelerated too suddenly at 376 steps/s"),
        (250, "accelerated too suddenly at 4000 steps/s"),
        (249, "4016 steps/s is more than it can do"),
        (0, "2000000 steps/s is more than it can do"),
    ],
)
def test_how_fast_it_starts(interval_us: float, fault: str | None) -> None:
    started = rotor()
    assert steps(started, 100, 100 + interval_us) == [None, fault]
    assert started.turning == (interval_us >= 250)


def test_it_starts_again_by_a_step_that_it_can_follow() -> None:
    waiting = rotor()
    starts = {2_887: True, 2_886: False, 0: False}
    assert {interval_us: waiting.can_start(interval_us) for interval_us in starts} == starts


def test_speed_is_that_over_eight_steps() -> None:
    strong = Rotor(1_000.0, 1e9)
    assert steps(strong, *range(0, 20_000, 2_000)) == [None] * 10
    assert steps(strong, *range(18_500, 21_000, 500)) == [None] * 5
    assert strong.step(21_000) == "1143 steps/s is more than it can do"


def test_it_gains_by_every_step_as_much_as_its_torque_gives() -> None:
    """Energies in steps^2/s^2: 40,000 a step, and three steps' worth and a seventh ahead."""
    driven = Rotor(1e6, STALL_ACCELERATION)
    assert steps(driven, 0, 2_700) == [None, None]
    assert driven.stop() is None and not driven.turning
    assert steps(driven, 0, 250) == [None, "accelerated too suddenly at 4000 steps/s"]
    assert driven.step(5_000) == "slowed down too suddenly at 400 steps/s"
    assert steps(rotor(), 0, 2_700, 4_600, 6_200)[:2] == [None, None]


def test_it_stops_dead_only_from_little_speed() -> None:
    for interval_us, fault in ((1_000, None), (999, "stopped dead from 1001 steps/s")):
        strong = Rotor(1e5, 1e5)
        steps(strong, 0, interval_us)
        assert strong.stop() == fault and not strong.turning
        assert strong.stop() is None


def test_larger_steps_are_waited_for_longer() -> None:
    assert [pause_us(part) for part in (0.5, 1.0, 2.0)] == [10_000, 5_000, 5_000]


def test_an_end_stop_is_active_from_its_edge_on() -> None:
    forwards, backwards = StepperEndStop(10, 1, True), StepperEndStop(10, -1, False)
    assert [forwards.level(at) for at in (9.99, 10, 1e9)] == [False, True, True]
    assert [backwards.level(at) for at in (10.01, 10, -1e9)] == [True, False, False]
    narrow = StepperEndStop(10, 1, True, 4, 100)
    places = {9.99: False, 10: True, 14: True, 14.01: False, 110: True, 115: False, -90: True}
    assert {at: narrow.level(at) for at in places} == places
    narrow.stuck = True
    assert all(narrow.level(at) for at in places)
    narrow.stuck = False
    assert not any(narrow.level(at) for at in places)


def test_a_worn_end_stop_is_active_at_every_other_step_near_its_edges() -> None:
    worn = StepperEndStop(10, 1, True, 10)
    worn.chatter = 2
    places = {8: False, 9: False, 10: True, 11: False, 12: True, 13: True, 18: True, 19: False}
    assert {at: worn.level(at) for at in places} == places
    assert [worn.level(at) for at in (20, 21, 22, 23)] == [True, False, False, False]


def test_boards_share_time_by_the_millisecond() -> None:
    assert SLICE_TICKS * 1000 == TICKS_PER_S
