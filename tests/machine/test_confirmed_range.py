"""The distance that an actuator may move before anybody has seen it go there."""

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
    if next_one is None:
        contact.require_step("holder", HOLDER, 1500, target)
        return
    with pytest.raises(NotConfirmed, match=rf"{target} us is too far beyond.*: {next_one} next"):
        contact.require_step("holder", HOLDER, 1500, target)


@pytest.mark.parametrize("pulse", [900, 1444, 2100, None, 899, 2101])
def test_the_first_pulse_must_be_given_and_within_the_limits(pulse):
    if pulse in (900, 1444, 2100):
        assert first_pulse("holder", LIMITS, pulse) == pulse
        return
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


@pytest.mark.parametrize(("far", "may"), [(2000, True), (2010, False), (990, False)])
def test_a_schedule_stays_within_what_is_confirmed(far, may):
    contact = ConfirmedRange(confirmable(CUBOTINO))
    move = servo_slew("holder", 1500, far, 100_000)
    schedule = Schedule((move,), (TimedTurn(0, 0),), move.duration_us)
    if may:
        contact.require_schedule(CUBOTINO, schedule)
        return
    with pytest.raises(NotConfirmed, match="holder would go to"):
        contact.require_schedule(CUBOTINO, schedule)
    overshooting = servo_slew("holder", 1500, 2000, 100_000, overshoot=(30, 20_000))
    schedule = Schedule((overshooting,), (TimedTurn(0, 0),), overshooting.duration_us)
    with pytest.raises(NotConfirmed, match=r"1500\.\.2030 us"):
        contact.require_schedule(CUBOTINO, schedule)
