"""The distance that an actuator may move before anybody has seen it go there."""

from contextlib import nullcontext

import pytest

from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, confirmable, first_pulse
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.settings import load_profile

CUBOTINO = load_profile("cubotino-uno")
HOLDER = CUBOTINO.actuators["holder"]
LIMITS = (900, 2100)
POSITIONS = "actuators.holder.positions_us"


def test_what_is_confirmed_is_what_was_kept_and_where_somebody_walked():
    contact = ConfirmedRange({})
    kept = {f"{POSITIONS}.home": 1500, f"{POSITIONS}.cw": 1990}
    kept["actuators.lid.positions_us.open"] = 9
    for walked, confirmed, expected in (
        ((), {}, None),
        ((), kept, (1500, 1990)),
        ((1450,), {}, (1450, 1450)),
        ((1400, 1420), kept, (1400, 1990)),
        ((2010,), kept, (1400, 2010)),
    ):
        contact.confirmed = confirmed
        for place in walked:
            contact.note("holder", place)
        assert contact.range("holder", HOLDER) == expected
    contact.confirmed = {}
    assert contact.range("lid", CUBOTINO.actuators["lid"]) is None


@pytest.mark.parametrize(
    ("target", "next_one"),
    [(1450, None), (1449, 1450), (1700, None), (2050, None), (2051, 2050), (900, 1450)],
)
def test_beyond_the_confirmed_range_only_one_step_is_allowed(target, next_one):
    contact = ConfirmedRange({f"{POSITIONS}.home": 1500, f"{POSITIONS}.cw": 2000})
    told = rf"{target} us is too far beyond.*: {next_one} next"
    with pytest.raises(NotConfirmed, match=told) if next_one else nullcontext():
        contact.require_step("holder", HOLDER, 1500, target)


def test_the_first_pulse_must_be_given_and_within_the_limits():
    assert [first_pulse("holder", LIMITS, pulse) for pulse in (900, 2100)] == [900, 2100]
    for pulse in (None, 899, 2101):
        with pytest.raises(NotConfirmed, match="--from 1500 is the middle"):
            first_pulse("holder", LIMITS, pulse)


def test_homing_waits_for_every_position_and_direction():
    values = confirmable(CUBOTINO)
    ConfirmedRange(values).require_all(CUBOTINO)
    for key in values:
        _, name, _, position = key.split(".")
        less = {other: pulse for other, pulse in values.items() if other != key}
        with pytest.raises(NotConfirmed, match=f"position {position} of {name}"):
            ConfirmedRange(less).require_all(CUBOTINO)
    four_arm = load_profile("four-arm")
    jaws = {key: 1 for key in confirmable(four_arm) if "positions" in key}
    with pytest.raises(NotConfirmed, match="direction of right"):
        ConfirmedRange(jaws).require_all(four_arm)


def test_who_is_vouched_for_may_go_anywhere_meanwhile():
    contact = ConfirmedRange({f"{POSITIONS}.home": 1500})
    with contact.trusting(["holder"]):
        with contact.trusting(["lid"]):
            contact.require_step("holder", HOLDER, 1500, 2100)
            contact.require_step("lid", CUBOTINO.actuators["lid"], 1500, 2100)
            contact.require_first("holder", HOLDER, 900)
        with pytest.raises(NotConfirmed):
            contact.require_step("lid", CUBOTINO.actuators["lid"], 1500, 2100)
        contact.require_step("holder", HOLDER, 1500, 2100)
    with pytest.raises(NotConfirmed):
        contact.require_step("holder", HOLDER, 1500, 2100)


def test_a_simulated_robot_needs_nothing_confirmed_until_it_is_calibrated():
    contact = ConfirmedRange({}, simulated=True)
    contact.require_all(CUBOTINO)
    contact.require_start(CUBOTINO, {"holder": 1500, "lid": 1335})
    contact.calibrating = True
    with pytest.raises(NotConfirmed):
        contact.require_all(CUBOTINO)


@pytest.mark.parametrize(
    ("far", "overshoot_us", "told"),
    [
        (2000, 0, None),
        (2010, 0, "holder would go to"),
        (990, 0, "holder would go to"),
        (2000, 30, r"1500\.\.2030 us"),
    ],
)
def test_a_schedule_stays_within_what_is_confirmed(far, overshoot_us, told):
    contact = ConfirmedRange(confirmable(CUBOTINO))
    move = servo_slew("holder", 1500, far, 100_000, overshoot=(overshoot_us, 20_000))
    schedule = Schedule((move,), (TimedTurn(0, 0),), move.duration_us)
    with pytest.raises(NotConfirmed, match=told) if told else nullcontext():
        contact.require_schedule(CUBOTINO, schedule)
