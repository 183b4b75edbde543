"""A servo moves, approaches a position step by step, and is kept there.

A series of pictures shows the time of its motion, as do films of the cube that turns.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.calibration.auto.film import FILMING, FilmedTravel, FilmRequest, find_travel, travel_us
from robot.calibration.step import Bench
from robot.calibration.steps.positions import (
    MOVING,
    MoveRequest,
    Placing,
    jaw_position,
    named_position,
    position_keys,
)
from robot.calibration.steps.travel import (
    STILL_PICTURES,
    STROBES,
    Grey,
    TravelRequest,
    measured_travel,
    motion_in,
    why_unseen,
)
from robot.cli.measuring import conduct
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, direction_key
from robot.motion.schedule import Schedule
from robot.settings import load_profile
from solver.errors import InvalidRequest
from tests.rig.fake_robot import FakeMachine
from tests.rig.guide import FakeCalibrationClient

NOISE = 0.8

LIMIT_S = 240.0
OPEN = "actuators.lid.positions_us.open"
CUBOTINO = load_profile("cubotino")


def pictures(positions: list[float], every_us: int = 10_000) -> list[tuple[int, Grey]]:
    """Return pictures, dark and noisy, of a bright bar at these positions."""
    rng = np.random.default_rng(1)
    columns = np.arange(80)
    return [
        (
            number * every_us,
            (100 * np.clip(4 - np.abs(columns - at), 0, 1) + rng.normal(0, NOISE, (60, 80))).astype(
                np.float32
            ),
        )
        for number, at in enumerate(positions)
    ]


@pytest.mark.parametrize("halfway", [0, 1], ids=["steady", "one picture like the one before"])
def test_a_motion_is_found_between_its_pictures(halfway):
    before, after = [
        [20.0 + step for step in range(*part)] for part in ((1, 16), (16, 31 - halfway))
    ]
    on_the_way = before + before[-1:] * halfway + after
    seen = motion_in(pictures([20.0] * 10 + on_the_way + [on_the_way[-1]] * 10))
    assert seen.ended_us - seen.began_us == pytest.approx(300_000, abs=seen.within_us)
    assert seen.within_us == 10_000


@pytest.mark.parametrize(
    ("positions", "why"),
    [
        ([20.0] * 40, "nothing in the picture moves"),
        ([20.0] * 10 + [20.0 + step for step in range(30)], "still changes after 200 ms"),
        ([20.0] * 10 + [60.0] + [20.0] * 20, "only 2 pictures during the motion: the camera's 100"),
        (
            [20.0] * 10 + [21.0, 22.0, 23.0] + [23.0] * 9 + [24.0, 25.0, 26.0] + [26.0] * 10,
            "something hides the moving part",
        ),
    ],
    ids=["still", "no end", "a glimpse", "out of sight on the way"],
)
def test_what_is_not_a_motion_from_beginning_to_end(positions, why):
    assert motion_in(pictures(positions)) is None
    assert why in why_unseen(pictures(positions), planned_us=100_000)


def test_a_servo_s_travel_is_watched_while_it_moves(fake):
    """Move the camera's bar in the first 30 pictures after the command."""
    scene = pictures([20.0] * (STILL_PICTURES + 1) + [20.0 + n for n in range(1, 31)] + [50.0] * 90)
    taken = itertools.count()
    seen_all = threading.Event()

    def glance() -> tuple[int, Grey]:
        number = next(taken)
        if number == 100:
            seen_all.set()
        return scene[min(number, len(scene) - 1)]

    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        fake.motion.done.append("perform")
        assert seen_all.wait(LIMIT_S), "nobody watches while it moves"
        return schedule.duration_us

    fake.scanner.glance, fake.motion.perform = glance, perform
    servo = load_profile("cubotino").actuators["holder"]
    request = TravelRequest(actuator="holder", between=["home", "cw"])
    found = measured_travel(Bench(fake.machine(), load_profile("cubotino")), request)
    jog = f"jog holder {servo.positions_us['home']}"
    assert fake.motion.done == ["home", jog, "perform", "home"]
    assert found.measured_us == pytest.approx(300_000, abs=found.within_us)
    (row,) = (
        row
        for row in found.values["actuators.holder.travel"]
        if set(row["between"]) == {"home", "cw"}
    )
    assert row["ms"] == pytest.approx((found.measured_us + found.within_us) / 1e3, abs=0.1)


@pytest.mark.parametrize("took_ms", [60, 110, 180])
@pytest.mark.parametrize("rate", [12, 15, 20])
def test_a_slow_camera_times_a_servo_by_motions_begun_at_different_times(fake, took_ms, rate):
    """Move a bar from 20 to 50. A picture after the command waits until that has been sent."""
    holder = CUBOTINO.actuators["holder"].positions_us
    start, end, period_us = holder["home"], holder["cw"], round(1e6 / rate)
    clock, began, fake.motion.places["holder"] = [0], [-1], start
    begun, over, ends = threading.Event(), threading.Event(), [0]
    rng = np.random.default_rng(1)

    def place() -> float:
        if began[0] < 0:
            part = (fake.motion.places["holder"] - start) / (end - start)
        else:
            part = min(1.0, max(0.0, (clock[0] - began[0]) / (1000 * took_ms)))
        return 20 + 30 * part

    def glance() -> tuple[int, Grey]:
        if watching[0] and stills[0] == STILL_PICTURES:
            assert begun.wait(LIMIT_S)
        stills[0] += 1
        clock[0] += period_us
        if clock[0] >= ends[0]:
            over.set()
        bar = 100 * np.clip(4 - np.abs(np.arange(80) - place()), 0, 1)
        return clock[0], (bar + rng.normal(0, NOISE, (60, 80))).astype(np.float32)

    def settle() -> None:
        stills[0], watching[0] = 0, True

    stills, watching = [0], [False]

    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        began[0] = clock[0] + schedule.turns[0].start_us + 4000
        ends[0] = clock[0] + schedule.duration_us
        over.clear()
        begun.set()
        assert over.wait(LIMIT_S)
        begun.clear()
        fake.motion.places["holder"], began[0], watching[0] = end, -1, False
        return schedule.duration_us

    fake.scanner.glance, fake.scanner.settle, fake.motion.perform = glance, settle, perform
    request = TravelRequest(actuator="holder", between=["home", "cw"])
    found = measured_travel(Bench(fake.machine(), CUBOTINO), request)
    assert found.measured_us is not None, found.why
    assert found.measured_us == pytest.approx(1000 * took_ms, abs=found.within_us)
    assert found.within_us < 0.12 * 1000 * took_ms and found.motions == 1 + STROBES


@pytest.mark.parametrize(
    ("actuator", "between", "aside", "why"),
    [
        ("wing", ["home", "cw"], {}, "'wing' is not a servo; the profile has"),
        ("holder", ["home", "up"], {}, "holder has no position 'up'; it has"),
        ("holder", ["home", "cw"], {"lid": "up"}, "lid has no position 'up'; it has"),
        ("holder", ["home", "cw"], {"arm": "open"}, "'arm' is not a servo; the profile has"),
    ],
)
def test_what_cannot_be_watched_is_said_before_anything_moves(fake, actuator, between, aside, why):
    request = FilmRequest(actuator=actuator, between=between, aside=aside)
    with pytest.raises(InvalidRequest, match=why):
        FILMING.run(Bench(fake.machine(), load_profile("cubotino")), request)
    assert fake.motion.done == []


def film(took_s: float, way: float, period_s: float, phase: float) -> list[tuple[int, float]]:
    """Return the angles of a motion that begins 0.2 s after the first picture."""
    times = np.arange(phase * period_s, 0.2 + took_s + 0.4, period_s)
    return [(round(t * 1e6), way * min(1.0, max(0.0, (t - 0.2) / took_s))) for t in times]


@given(
    took_s=st.floats(0.15, 2.0),
    way=st.sampled_from([90.0, -90.0, 180.0]),
    period_s=st.floats(0.02, 0.05),
    phase=st.floats(0, 1),
)
def test_a_filmed_motion_takes_as_long_as_it_takes(took_s, way, period_s, phase):
    travels = [find_travel(film(took_s, way, period_s, part), way) for part in (phase, 0.3)]
    found = travel_us([one for one in travels if one is not None])
    assert found is not None
    took, within = found
    assert took == pytest.approx(took_s * 1e6, rel=0.002)
    assert within <= 0.02 * took


def filmed(took_us: float, count: int = 4) -> FilmedTravel:
    times = 10_000.0 * np.arange(count)
    return FilmedTravel(times, 90.0 * times / took_us, 90.0)


@pytest.mark.parametrize(("other", "agree"), [(105_100, True), (105_200, False)])
def test_two_films_agree_within_a_twentieth(other, agree):
    assert (travel_us([filmed(100_000), filmed(other)]) is not None) is agree
    assert (travel_us([filmed(other), filmed(100_000)]) is not None) is agree
    found = travel_us([filmed(120_000, 9), filmed(100_000), filmed(100_100)])
    assert found is not None and found[0] == pytest.approx(100_050, abs=1), "one differs"


@pytest.mark.parametrize(
    ("target", "steps"),
    [(1500, []), (1550, [1550]), (1620, [1550, 1600, 1620]), (1390, [1450, 1400, 1390])],
)
def test_a_distant_position_is_approached_in_steps(target, steps):
    client = FakeCalibrationClient()
    session = client.session
    position = named_position(session, "lid", "open", "servo")
    conduct(Placing(session, position, target, 1500, gently=True), as_json=False)
    moves = [(body["to"], body["begin_at"]) for path, body in client.asked if path == "/move"]
    assert moves == [(None, 1500), *((step, None) for step in steps)]


def test_positions_are_found_by_their_names():
    session = FakeCalibrationClient(**{OPEN: 1340}).session
    assert named_position(session, "lid", "open", "servo").value == 1340, "not the profile's"
    for actuator, position, known in (
        ("hat", "open", "there is no hat; the profile has holder, lid"),
        ("lid", "up", "there is no position up; it has open, close, flip"),
    ):
        with pytest.raises(InvalidRequest, match=known):
            named_position(session, actuator, position, "servo")
    with pytest.raises(InvalidRequest, match="cubotino has no gripper at R: it has no grippers"):
        jaw_position(session, "R", "open")
    assert position_keys(CUBOTINO)["lid.open"] == OPEN
    session = FakeCalibrationClient("two-arm").session
    opened, closed = (jaw_position(session, "D", name) for name in ("open", "closed"))
    assert (opened.actuator, opened.name, closed.name) == ("down-jaw", "open", "closed")
    with pytest.raises(
        InvalidRequest, match="two-arm has no gripper at L: it has grippers at R, D"
    ):
        jaw_position(session, "L", "open")


def moved(fake: FakeMachine, contact: ConfirmedRange, profile: str, **asked: Any) -> Any:
    bench = Bench(fake.machine(), load_profile(profile), contact)
    found = MOVING.run(bench, MoveRequest(**asked))
    return found.position, found.low, found.high


def test_an_actuator_moves_and_what_it_has_walked_is_known(fake):
    contact, lid = ConfirmedRange({}), {"actuator": "lid"}
    with pytest.raises(NotConfirmed):
        moved(fake, contact, "cubotino", **lid)
    assert moved(fake, contact, "cubotino", **lid, begin_at=1340) == (1340, 1340, 1340)
    assert moved(fake, contact, "cubotino", **lid, to=1350) == (1350, 1340, 1350)
    assert moved(fake, contact, "cubotino", **lid, to=1330) == (1330, 1330, 1350)
    assert moved(fake, contact, "cubotino", **lid) == (1330, 1330, 1350)
    assert fake.motion.done == ["home-alone lid 1340", "jog lid 1350", "jog lid 1330"]
    for to in (899, 2101):
        with pytest.raises(InvalidRequest, match="its limits are 900 to 2100 us"):
            moved(fake, contact, "cubotino", **lid, to=to)
    with pytest.raises(InvalidRequest, match="there is no 'hat'; the profile has holder, lid"):
        moved(fake, contact, "cubotino", actuator="hat", to=1)


def test_a_motor_needs_its_direction_and_begins_at_its_own_start(fake):
    with pytest.raises(NotConfirmed, match="the direction in which table turns"):
        moved(fake, ConfirmedRange({}), "mindcuber", actuator="table")
    contact = ConfirmedRange({direction_key("table"): False})
    assert moved(fake, contact, "mindcuber", actuator="table", to=400) == (400, 0, 400)
    assert fake.motion.done == ["home-alone table 0", "jog table 400"]
