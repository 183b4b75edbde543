"""Boards that a demo runs: those that come with Cubist, and one registered from outside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    FirmwareError,
    simulations,
)
from robot.settings import RobotProfile, Servo, load_profile
from robot.settings.board_table import FIRST_MAESTRO
from robot.settings.boards import BOARD_TARGETS
from robot.settings.checks import check_profile
from robot.settings.profile import FIRST_BOARD
from robot.simulate.boards import (
    fastest,
    own_simulation,
    require_pace,
    wire_to_board,
)
from robot.simulate.processes import SimulationError
from robot.twin.cube import scrambled
from robot.twin.pulses import Maestro, PwmChips
from robot.twin.simulated import SimulatedRobot

pytestmark = pytest.mark.quick
TOY = "toy"
PINS = range(9, 11)


def to_toy(profile: RobotProfile) -> RobotProfile:
    return profile.with_board(TOY)


class ToySimulation(BoardSimulation):
    about = "a toy"

    def command(self, profile: RobotProfile, folder: Path) -> list[str]:
        return [profile.name, str(folder)]

    def wire(self, profile: RobotProfile) -> RobotProfile:
        return to_toy(profile)

    def is_for(self, profile: RobotProfile) -> bool:
        return profile.firmware.target == TOY


@pytest.fixture
def toy() -> Iterator[str]:
    """A board from outside: two channels of a servo board, whose bus takes one of them."""
    BOARD_TARGETS[TOY] = replace(
        BOARD_TARGETS["linux"],
        pins=(PINS,),
        servo_boards={"tiny": PINS},
        buses={"tiny": {10: "DATA"}},
    )
    FAMILIES[TOY] = BoardFamily(folder=TOY, targets=(TOY,), simulations={TOY: ToySimulation()})
    yield TOY
    del BOARD_TARGETS[TOY], FAMILIES[TOY]


def test_a_board_from_outside_is_run_like_the_others(toy: str) -> None:
    moved = to_toy(load_profile("cubotino-uno"))
    assert own_simulation(moved) == toy
    assert simulations()[toy].command(moved, Path("/x")) == ["cubotino-uno", "/x"]


def test_its_pins_and_its_bus_are_named_in_complaints(toy: str) -> None:
    told = {text for _, text in check_profile(to_toy(load_profile("cubotino-uno")))}
    assert "GPIO 10 is DATA of the bus that the TINY is on" in told
    document = to_toy(load_profile("cubotino-uno")).model_dump(mode="json")
    document["actuators"]["lid"]["pins"]["pulse"] = document["actuators"]["holder"]["pins"]["pulse"]
    twice = RobotProfile.model_validate(document)
    assert any("pin tiny:0 is already the pulse of" in text for _, text in check_profile(twice))


def test_a_robot_beyond_a_board_is_refused_with_the_place(toy: str) -> None:
    with pytest.raises(SimulationError, match=r"four-arm cannot be driven by toy: actuators\.\w+"):
        wire_to_board(toy, load_profile("four-arm"))


@pytest.mark.parametrize(
    ("robot", "kind"),
    [
        ("cubotino", "linux"),
        ("v-arms", "linux"),
        ("otvinta", "maestro"),
        ("cubotino-uno", "host"),
        ("six-motor", "host"),
    ],
)
def test_a_robot_runs_on_its_own_board(robot: str, kind: str) -> None:
    profile = load_profile(robot)
    assert own_simulation(profile) == kind
    assert wire_to_board(kind, profile) is profile


def test_several_boards_are_simulated_by_what_shares_their_time() -> None:
    several, alone = load_profile("soltvvo"), load_profile("cubotino-uno")
    with pytest.raises(
        SimulationError, match=r"which linux cannot simulate; choose from avr, host$"
    ):
        wire_to_board("linux", several)
    assert wire_to_board("host", several) is several
    assert (fastest(several), fastest(alone)) == (2.0, math.inf)
    require_pace(several, 2.0)
    require_pace(alone, 1000.0)
    with pytest.raises(SimulationError, match="--speed 2 at most"):
        require_pace(several, 2.1)


def test_servos_move_to_the_first_channels_of_a_maestro() -> None:
    moved = wire_to_board("maestro", load_profile("cubotino-uno"))
    pins = [servo.pins.pulse for servo in moved.actuators_of(Servo).values()]
    assert pins == [FIRST_MAESTRO, FIRST_MAESTRO + 1]
    assert moved.firmware.target == "linux"
    assert wire_to_board("maestro", moved) is moved
    with pytest.raises(FirmwareError, match="six-motor has no servos, and a Maestro"):
        wire_to_board("maestro", load_profile("six-motor"))


@pytest.mark.parametrize(("kind", "maker"), [("linux", PwmChips), ("maestro", Maestro)])
def test_a_pi_s_program_says_how_long_pulses_are_and_chips_make_them(
    tmp_path: Path, kind: str, maker: type
) -> None:
    profile = wire_to_board(kind, load_profile("cubotino-uno"))
    chips = simulations()[kind].pulse_maker(
        SimulatedRobot(profile, scrambled(3, 1)), tmp_path, FIRST_BOARD
    )
    assert isinstance(chips, maker)
    chips.close()
    command = simulations()[kind].command(profile, tmp_path)
    assert command[1:] == ["--pwm", f"{tmp_path}/pwm", "--maestro", f"{tmp_path}/maestro"]
    assert Path(command[0]).name == "cubist-firmware-linux"
    [host] = simulations()["host"].command(profile, tmp_path)
    assert Path(host).name == "cubist-firmware-host"
