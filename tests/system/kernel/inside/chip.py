"""The kernel's simulated GPIO chip: what the world does to a line is its ``pull``, what a program
drives is its ``value``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LINES = 28
CONFIG = Path("/sys/kernel/config/gpio-sim")
HOLD = """
import lgpio, sys
chip = lgpio.gpiochip_open(int(sys.argv[1]))
lgpio.gpio_claim_input(chip, int(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


class Chip:
    """A chip and what happens to its lines outside the computer."""

    def __init__(self, name: str, label: str | None = None) -> None:
        self._config = CONFIG / name
        bank = self._config / "bank0"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(str(LINES))
        if label is not None:
            (bank / "label").write_text(label)
        self.plug_in()

    def plug_in(self) -> None:
        """The kernel has it from now on."""
        (self._config / "live").write_text("1")
        device = (self._config / "dev_name").read_text().strip()
        self.name = (self._config / "bank0/chip_name").read_text().strip()
        self._lines = Path("/sys/devices/platform") / device / self.name

    def unplug(self) -> None:
        """It is gone, whoever uses it."""
        (self._config / "live").write_text("0")

    def remove(self) -> None:
        """It was never there."""
        self.unplug()
        (self._config / "bank0").rmdir()
        self._config.rmdir()

    @property
    def number(self) -> int:
        """Of its device, ``/dev/gpiochipN``."""
        return int(self.name.removeprefix("gpiochip"))

    @property
    def base(self) -> int:
        """What the kernel adds to a line's number where it counts the lines of all chips."""
        [base] = self._lines.parent.glob("gpio/gpiochip*/base")
        return int(base.read_text())

    def close_contact(self, pin: int, closed: bool) -> None:
        """A contact to ground closes, or opens and the resistor pulls up."""
        pull = "pull-down" if closed else "pull-up"
        (self._lines / f"sim_gpio{pin}" / "pull").write_text(pull)

    def level(self, pin: int) -> int:
        """What an output drives."""
        return int((self._lines / f"sim_gpio{pin}" / "value").read_text())

    @contextmanager
    def taken(self, pin: int) -> Iterator[None]:
        """Another program has a line."""
        command = [sys.executable, "-c", HOLD, str(self.number), str(pin)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd="/run") as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield
            holder.communicate()


@contextmanager
def plugged_in(name: str, label: str | None = None) -> Iterator[Chip]:
    """A chip that is there for a while."""
    chip = Chip(name, label)
    try:
        yield chip
    finally:
        chip.remove()


class Finger:
    """What people and wires do to a line."""

    def __init__(self, chip: Chip) -> None:
        self._chip = chip

    def bounce(self, pin: int, closed: bool) -> None:
        """Twenty milliseconds of contact bounce that end closed or open."""
        for _ in range(5):
            for level in (closed, not closed):
                self._chip.close_contact(pin, level)
                time.sleep(0.002)
        self._chip.close_contact(pin, closed)

    def press(self, pin: int, seconds: float) -> None:
        """A finger on a cheap button."""
        self.bounce(pin, True)
        time.sleep(seconds)
        self.bounce(pin, False)
        time.sleep(0.1)

    def hum(self, pin: int, hertz: float, seconds: float) -> None:
        """A long wire picks up the mains: the input follows its half waves."""
        for _ in range(int(seconds * hertz)):
            for closed in (True, False):
                self._chip.close_contact(pin, closed)
                time.sleep(0.5 / hertz)
