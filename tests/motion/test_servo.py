"""Servo motions: they end where and when they should."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.motion.schedule import ServoSegment
from robot.motion.servo import servo_path, servo_slew
from solver.errors import InvalidRequest

PULSES = st.integers(500, 2500)


@given(PULSES, PULSES, st.integers(1, 3_000_000), st.integers(0, 1_000_000), st.floats(0, 0.5))
def test_slew_takes_travel_and_settling(
    start: int, end: int, travel_us: int, settle_us: int, ease: float
) -> None:
    profile = servo_slew("lid", start, end, travel_us, settle_us, ease_us=int(travel_us * ease))
    assert profile.start == start and profile.end == end
    assert profile.duration_us == travel_us + settle_us
    assert profile.duration_us == sum(segment.duration_us for segment in profile.segments)


def test_easing_starts_and_ends_slowly() -> None:
    profile = servo_slew("lid", 1000, 2000, 500_000, ease_us=200_000)
    speeds = []
    pulse = 1000
    for segment in profile.segments:
        assert isinstance(segment, ServoSegment)
        speeds.append((segment.pulse_us - pulse) / segment.duration_us)
        pulse = segment.pulse_us
    half = speeds[: len(speeds) // 2]
    assert all(slow < fast for slow, fast in pairwise(half))
    assert speeds == pytest.approx(speeds[::-1], rel=0.05)


def test_an_eased_slew_follows_its_parabolas() -> None:
    """Speed builds up in 200 ms, stays for 100 ms and falls off in 200 ms."""
    profile = servo_slew("lid", 1000, 2200, 500_000, ease_us=200_000)
    pieces = [(one.pulse_us, one.duration_us) for one in profile.segments]
    up, down = [1025, 1100, 1225, 1400], [1975, 2100, 2175, 2200]
    assert pieces == [*((pulse, 50_000) for pulse in up), (1800, 100_000)] + [
        (pulse, 50_000) for pulse in down
    ]


def test_path_may_overshoot() -> None:
    profile = servo_path("lid", 1500, [(2040, 400_000), (2000, 100_000)])
    assert profile.end == 2000
    assert profile.duration_us == 500_000


def test_the_shortest_of_paths() -> None:
    assert servo_path("lid", 1500, [(1, 1)]).duration_us == 1


@pytest.mark.parametrize("path", [[], [(1500, 0)], [(0, 100)], [(1500, -1)]])
def test_impossible_paths_are_refused(path: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidRequest):
        servo_path("lid", 1500, path)


def test_easing_longer_than_the_travel_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="lid"):
        servo_slew("lid", 1000, 2000, 100_000, ease_us=60_000)
    with pytest.raises(InvalidRequest, match="2 x -1 us of a travel"):
        servo_slew("lid", 1000, 2000, 100_000, ease_us=-1)
    assert servo_slew("lid", 1000, 2000, 100_000, ease_us=50_000).duration_us == 100_000


def test_a_slew_may_go_beyond_its_end_and_back() -> None:
    profile = servo_slew("holder", 1500, 600, 400_000, 50_000, overshoot=(40, 80_000))
    pulses = [
        (segment.pulse_us, segment.duration_us)
        for segment in profile.segments
        if isinstance(segment, ServoSegment)
    ]
    assert pulses == [(560, 400_000), (600, 80_000), (600, 50_000)]
    assert (profile.end, profile.duration_us) == (600, 530_000)
    upwards = servo_slew("holder", 600, 1500, 400_000, overshoot=(40, 80_000))
    assert [segment.pulse_us for segment in upwards.segments] == [1540, 1500]
