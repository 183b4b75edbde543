"""How far an actuator may go before somebody has seen it go there."""

from __future__ import annotations

import pytest

from robot.faults import Refused
from robot.machine.first_contact import (
    LARGEST_STEP_US,
    Confirmations,
    largest_step,
    require_begin,
    require_confirmed,
)
from robot.settings import load_profile, parse_profile, profile_path

CUBOTINO = load_profile("cubotino")
HOLDER = CUBOTINO.actuators["holder"]
POSITIONS = "actuators.holder.positions_us"
TO_AND_FRO = parse_profile(
    profile_path("four-arm")
    .read_text()
    .replace(
        "steps_per_turn: 1600", "steps_per_turn: 1600\n    positions_steps: {in: 0, out: 320}", 1
    )
)


def test_what_is_confirmed_is_what_was_kept_and_where_somebody_walked() -> None:
    confirmed = Confirmations()
    assert confirmed.range("holder", HOLDER, {}) is None
    kept = {
        f"{POSITIONS}.home": 1500,
        f"{POSITIONS}.cw": 1990,
        "actuators.lid.positions_us.open": 9,
    }
    assert confirmed.range("holder", HOLDER, kept) == (1500, 1990)
    confirmed.note("holder", 1450)
    assert confirmed.range("holder", HOLDER, {}) == (1450, 1450)
    confirmed.note("holder", 1400)
    confirmed.note("holder", 1420)
    assert confirmed.range("holder", HOLDER, kept) == (1400, 1990)
    confirmed.note("holder", 2010)
    assert confirmed.range("holder", HOLDER, kept) == (1400, 2010)
    assert confirmed.range("lid", CUBOTINO.actuators["lid"], {}) is None


@pytest.mark.parametrize(
    ("target", "next_one"),
    [(1450, None), (1449, 1450), (1700, None), (2050, None), (2051, 2050), (900, 1450)],
)
def test_beyond_it_goes_a_step_at_a_time(target: int, next_one: int | None) -> None:
    confirmed = Confirmations()
    if next_one is None:
        confirmed.require_step("holder", HOLDER, (1500, 2000), target)
        return
    with pytest.raises(Refused, match=rf"{target} us is too far beyond.*: {next_one} next"):
        confirmed.require_step("holder", HOLDER, (1500, 2000), target)


def test_steps_are_small() -> None:
    assert largest_step(HOLDER) == LARGEST_STEP_US
    assert largest_step(TO_AND_FRO.actuators["right"]) == 10
    table = load_profile("mindcuber").actuators["table"]
    assert largest_step(table) is None
    confirmed = Confirmations()
    confirmed.require_step("table", table, (0, 0), 100_000)
    with pytest.raises(Refused, match="11 steps is too far"):
        confirmed.require_step("right", TO_AND_FRO.actuators["right"], (0, 0), 11)


def test_somebody_says_which_pulse_is_the_first() -> None:
    assert [require_begin("holder", HOLDER, pulse) for pulse in (900, 1444, 2100)] == [
        900,
        1444,
        2100,
    ]
    for pulse in (None, 899, 2101):
        with pytest.raises(Refused, match="--from 1500 is the middle"):
            require_begin("holder", HOLDER, pulse)


def test_homing_waits_for_every_position_and_direction() -> None:
    values = {
        f"actuators.{name}.positions_us.{position}": pulse
        for name, servo in CUBOTINO.actuators.items()
        for position, pulse in servo.positions_us.items()
    }
    require_confirmed(CUBOTINO, values)
    for key in values:
        _, name, _, position = key.split(".")
        less = {other: pulse for other, pulse in values.items() if other != key}
        with pytest.raises(Refused, match=f"position {position} of {name} is not confirmed"):
            require_confirmed(CUBOTINO, less)
    jaws = {
        f"actuators.{n}-jaw.positions_us.{p}": 1 for n in ("right",) for p in ("open", "closed")
    }
    with pytest.raises(Refused, match="which way right turns"):
        require_confirmed(load_profile("four-arm"), jaws)
