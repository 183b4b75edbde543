"""The panel on the kernel's own GPIO interface, and the events it reports."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robot.panel.gpio import PanelError, RpiGpio
from robot.panel.panel import Input, Listener, Output, Panel, PanelPins
from tests.system.kernel.inside.devices import Chip, plugged_in

BUTTON, LED, BUZZER, ESTOP = 17, 27, 22, 23


@contextmanager
def panel(chip: Chip, told: list[Any], *, wire: bool = True) -> Iterator[Panel]:
    """Run the real panel on the real library. ``wire`` closes the emergency stop's circuit."""
    pins = PanelPins(Input(BUTTON), Output(LED), Output(BUZZER), Input(ESTOP, True, "up"))
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
    # The driver of a line is stronger than the resistor that the panel has just chosen for it.
    chip.close_contact(ESTOP, wire)
    made.start()
    time.sleep(0.1)
    try:
        yield made
    finally:
        made.close()


def presses(chip: Chip, told: list[Any]) -> None:
    with panel(chip, told):
        for seconds in (0.2, 2.0, 5.5):
            chip.press(BUTTON, seconds)


def noise(chip: Chip, told: list[Any]) -> None:
    with panel(chip, told):
        chip.bounce(BUTTON, False)
        for hertz in (50, 60):
            chip.hum(BUTTON, hertz, 1.0)
        time.sleep(0.2)


def emergency(chip: Chip, told: list[Any]) -> None:
    with panel(chip, told):
        for closed in (False, True):
            chip.close_contact(ESTOP, closed)
            time.sleep(0.1)
    with panel(chip, told, wire=False):
        time.sleep(0.1)


def light(chip: Chip) -> list[Any]:
    """Return the levels of the light when ready, when thinking, and the buzzer's at a fault."""
    seen: list[Any] = []
    with panel(chip, []) as made:
        made.show("idle")
        time.sleep(0.1)
        seen.append(chip.level(LED))
        made.show("solving")
        levels = set()
        for _ in range(100):
            levels.add(chip.level(LED))
            time.sleep(0.01)
        seen.append(sorted(levels))
        made.sound("fault")
        time.sleep(0.3)
        seen.append(chip.level(BUZZER))
    return seen


def complaint(pin: int) -> str:
    """Ask for a pin and return the error, or "nothing"."""
    gpio = RpiGpio()
    try:
        gpio.setup_input(pin, "up")
    except PanelError as fault:
        return str(fault)
    finally:
        gpio.cleanup()
    return "nothing"


def main() -> None:
    with plugged_in("robot") as chip:
        assert chip.name == "gpiochip0", chip.name
        found: dict[str, Any] = {}
        for scenario in (presses, noise, emergency):
            scenario(chip, found.setdefault(scenario.__name__, []))
        found["light"] = light(chip)
        with chip.taken(BUTTON):
            found["busy"] = complaint(BUTTON)
        found["after"] = complaint(BUTTON)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
