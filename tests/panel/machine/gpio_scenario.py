"""The panel on the kernel's own GPIO interface, in the virtual machine; prints what it was told.

The chip is the kernel's gpio-sim: what the world does to a line is its ``pull``, what the program
drives is its ``value``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot.panel.button import Press
from robot.panel.gpio import PanelFault, RpiGpio
from robot.panel.panel import Input, Listener, Output, Panel, PanelPins

BUTTON, LED, BUZZER, ESTOP, LINES = 17, 27, 22, 23, 28
CONFIG = Path("/sys/kernel/config/gpio-sim/robot")

HOLD = """
import lgpio, sys
chip = lgpio.gpiochip_open(0)
lgpio.gpio_claim_input(chip, int(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def make_chip() -> Path:
    """Switch the chip on; the folder of its lines."""
    bank = CONFIG / "bank0"
    bank.mkdir(parents=True)
    (bank / "num_lines").write_text(str(LINES))
    (CONFIG / "live").write_text("1")
    device = (CONFIG / "dev_name").read_text().strip()
    chip = (bank / "chip_name").read_text().strip()
    assert chip == "gpiochip0", chip
    return Path("/sys/devices/platform") / device / chip


class World:
    """What happens outside the Pi."""

    def __init__(self, lines: Path) -> None:
        self._lines = lines

    def close_contact(self, pin: int, closed: bool) -> None:
        """A contact to ground closes, or opens and the resistor pulls up."""
        pull = "pull-down" if closed else "pull-up"
        (self._lines / f"sim_gpio{pin}" / "pull").write_text(pull)

    def bounce(self, pin: int, closed: bool) -> None:
        """Twenty milliseconds of contact bounce that end closed or open."""
        for _ in range(5):
            for level in (closed, not closed):
                self.close_contact(pin, level)
                time.sleep(0.002)
        self.close_contact(pin, closed)

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
                self.close_contact(pin, closed)
                time.sleep(0.5 / hertz)

    def level(self, pin: int) -> int:
        """What an output drives."""
        return int((self._lines / f"sim_gpio{pin}" / "value").read_text())


@contextmanager
def panel(
    world: World, told: list[Any], *, wire: bool = True, touch: bool = False
) -> Iterator[Panel]:
    """The real panel on the real library; ``wire``: the emergency stop's circuit is closed;
    ``touch``: the button is a module that is high while touched."""
    button = Input(BUTTON, True, "down") if touch else Input(BUTTON)
    pins = PanelPins(button, Output(LED), Output(BUZZER), Input(ESTOP, True, "up"))
    made = Panel(
        RpiGpio(),
        pins,
        Listener(
            press=lambda press: told.append(str(press)),
            estop=lambda opened: told.append(f"estop {opened}"),
            hands=lambda hands: told.append(str(hands)),
            stuck=lambda stuck: told.append(f"stuck {', '.join(stuck)}".strip()),
            fault=lambda fault: told.append(f"fault {fault}"),
        ),
    )
    made.open()
    world.close_contact(ESTOP, wire)
    made.start()
    time.sleep(0.1)
    try:
        yield made
    finally:
        made.close()


def presses(world: World) -> list[Any]:
    told: list[Any] = []
    with panel(world, told):
        for seconds in (0.2, 2.0, 5.5):
            world.press(BUTTON, seconds)
    return told


def touches(world: World) -> list[Any]:
    """A touch module rests low: first as what it is, then taken for a contact to ground."""
    told: list[Any] = []
    for touch in (True, False):
        world.close_contact(BUTTON, True)
        with panel(world, told, touch=touch):
            for seconds in (0.2, 5.5):
                world.close_contact(BUTTON, False)
                time.sleep(seconds)
                world.close_contact(BUTTON, True)
                time.sleep(0.1)
    world.close_contact(BUTTON, False)
    return told


def noise(world: World) -> list[Any]:
    told: list[Any] = []
    with panel(world, told):
        world.bounce(BUTTON, False)
        for hertz in (50, 60):
            world.hum(BUTTON, hertz, 1.0)
        time.sleep(0.2)
    return told


def emergency(world: World) -> list[Any]:
    told: list[Any] = []
    with panel(world, told):
        world.close_contact(ESTOP, False)
        time.sleep(0.1)
        world.close_contact(ESTOP, True)
        time.sleep(0.1)
    with panel(world, told, wire=False):
        time.sleep(0.1)
    return told


def light(world: World) -> list[Any]:
    """Levels of the light: ready, then thinking, then closed."""
    seen: list[Any] = []
    with panel(world, []) as made:
        made.show("idle")
        time.sleep(0.1)
        seen.append(world.level(LED))
        made.show("solving")
        levels = []
        for _ in range(100):
            levels.append(world.level(LED))
            time.sleep(0.01)
        seen.append(sorted(set(levels)))
        made.sound("fault")
        time.sleep(0.3)
        seen.append(world.level(BUZZER))
    return seen


def edges(_: World, lines: Path) -> list[Any]:
    """Edges told by the library, against levels read by it."""
    world, gpio, read = World(lines), RpiGpio(), []
    gpio.setup_input(BUTTON, "up")
    gpio.on_edge(BUTTON, lambda pin: read.append(gpio.input(pin)))
    for closed in (True, False, True, False):
        world.close_contact(BUTTON, closed)
        time.sleep(0.05)
    gpio.cleanup()
    return read


def complaint(pin: int) -> str:
    """What a program is told that wants a pin."""
    gpio = RpiGpio()
    try:
        gpio.setup_input(pin, "up")
    except PanelFault as fault:
        return str(fault)
    finally:
        gpio.cleanup()
    return "nothing"


def busy() -> str:
    command = [sys.executable, "-c", HOLD, str(BUTTON)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd="/run") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        found = complaint(BUTTON)
        holder.communicate()
    return found


def main() -> None:
    lines = make_chip()
    world = World(lines)
    assert Press.SHORT == "short"
    found = {
        "presses": presses(world),
        "touches": touches(world),
        "noise": noise(world),
        "emergency": emergency(world),
        "light": light(world),
        "edges": edges(world, lines),
        "busy": busy(),
        "after": complaint(BUTTON),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
