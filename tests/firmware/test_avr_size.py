"""The firmware fits the smallest board it is made for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

FLASH_BYTES = 28 * 1024
STATIC_RAM_BYTES = 1600


def sizes(elf: Path) -> tuple[int, int]:
    """Flash and static RAM in bytes, as avr-size tells."""
    shown = subprocess.run(["avr-size", elf], capture_output=True, text=True, check=True).stdout
    text, data, bss = (int(word) for word in shown.splitlines()[1].split()[:3])
    return text + data, data + bss


def test_uno_has_room(avr_elf: Callable[[str], Path]) -> None:
    flash, ram = sizes(avr_elf("uno"))
    assert flash <= FLASH_BYTES
    assert ram <= STATIC_RAM_BYTES


def test_mega_has_room_for_its_stack(avr_elf: Callable[[str], Path]) -> None:
    assert sizes(avr_elf("mega"))[1] <= 8192 - 512


@pytest.mark.parametrize("board", ["uno", "mega"])
def test_nothing_is_computed_in_floating_point(avr_elf: Callable[[str], Path], board: str) -> None:
    shown = subprocess.run(["avr-nm", avr_elf(board)], capture_output=True, text=True, check=True)
    floating = [line for line in shown.stdout.splitlines() if "sf" in line and "__" in line]
    assert not floating
