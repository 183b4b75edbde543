"""How far an actuator may go before somebody has seen it go there."""

from __future__ import annotations

import pytest

from robot.machine.first_contact import (
    LARGEST_STEP_US,
    FirstContact,
    NotConfirmed,
    confirmable,
    direction_key,
    first_pulse,
    largest_step,
)
from robot.settings import load_profile, parse_profile, profile_path

CUBOTINO = load_profile("cubotino-uno")
HOLDER = CUBOTINO.actuators["holder"]
LIMITS = (900, 2100)
POSITIONS = "actuators.holder.positions_us"
TO_AND_FRO = parse_profile(
    profile_path("four-arm")
    .read_text()
    .replace(
        "steps_per_turn: 1600", "steps_per_turn: 1600\n    positions_steps: {in: 0, out: 320}", 1
    )
)


def test_what_is_confirmed_is_what_was_kept_and_where_somebody_walked() -> None:
    contact = FirstContact({})
    assert contact.range("holder", HOLDER) is None
    kept = {
        f"{POSITIONS}.home": 1500,
        f"{POSITIONS}.cw": 1990,
        "actuators.lid.positions_us.open": 9,
    }
    contact.values = kept
    assert contact.range("holder", HOLDER) == (1500, 1990)
    contact.note("holder", 1450)
    contact.values = {}
    assert contact.range("holder", HOLDER) == (1450, 1450)
    contact.note("holder", 1400)
    contact.note("holder", 1420)
    contact.values = kept
    assert contact.range("holder", HOLDER) == (1400, 1990)
    contact.note("holder", 2010)
    assert contact.range("holder", HOLDER) == (1400, 2010)
    contact.values = {}
    assert contact.range("lid", CUBOTINO.actuators["lid"]) is None


@pytest.mark.parametrize(
    ("target", "next_one"),
    [(1450, None), (1449, 1450), (1700, None), (2050, None), (2051, 2050), (900, 1450)],
)
def test_beyond_it_goes_a_step_at_a_time(target: int, next_one: int | None) -> None:
    contact = FirstContact({f"{POSITIONS}.home": 1500, f"{POSITIONS}.cw": 2000})
    if next_one is None:
        contact.require_step("holder", HOLDER, 1500, target)
        return
    with pytest.raises(NotConfirmed, match=rf"{target} us is too far beyond.*: {next_one} next"):
        contact.require_step("holder", HOLDER, 1500, target)


def test_steps_are_small() -> None:
    assert largest_step(HOLDER) == LARGEST_STEP_US
    assert largest_step(TO_AND_FRO.actuators["right"]) == 10
    table = load_profile("mindcuber").actuators["table"]
    assert largest_step(table) is None
    contact = FirstContact({direction_key("table"): False, direction_key("right"): False})
    contact.require_step("table", table, 0, 100_000)
    with pytest.raises(NotConfirmed, match="11 steps is too far"):
        contact.require_step("right", TO_AND_FRO.actuators["right"], 0, 11)


def test_somebody_says_which_pulse_is_the_first() -> None:
    assert [first_pulse("holder", LIMITS, pulse) for pulse in (900, 1444, 2100)] == [
        900,
        1444,
        2100,
    ]
    for pulse in (None, 899, 2101):
        with pytest.raises(NotConfirmed, match="--from 1500 is the middle"):
            first_pulse("holder", LIMITS, pulse)


def test_homing_waits_for_every_position_and_direction() -> None:
    values = confirmable(CUBOTINO)
    FirstContact(values).require_all(CUBOTINO)
    for key in values:
        _, name, _, position = key.split(".")
        less = {other: pulse for other, pulse in values.items() if other != key}
        with pytest.raises(NotConfirmed, match=f"position {position} of {name}"):
            FirstContact(less).require_all(CUBOTINO)
    four_arm = load_profile("four-arm")
    jaws = {key: 1 for key in confirmable(four_arm) if "positions" in key}
    with pytest.raises(NotConfirmed, match="direction of right"):
        FirstContact(jaws).require_all(four_arm)
