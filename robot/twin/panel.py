"""The panel of the simulated robot: pins of the Raspberry Pi, a finger on the button."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from robot.settings.profile import PanelSettings

BOUNCES = 5
"""How often the contact opens and closes before it comes to rest."""

LevelListener = Callable[[int, bool], None]


class SimulatedPanel:
    """Levels of the Pi's pins; listeners hear of inputs that change."""

    def __init__(self) -> None:
        self.outputs: dict[int, bool] = {}
        self._inputs: dict[int, bool] = {}
        self._listeners: list[LevelListener] = []

    def connect(self, settings: PanelSettings) -> None:
        """Put the parts that drive their pins at rest: the emergency stop's circuit is closed."""
        if settings.estop_gpio is not None:
            self.drive(settings.estop_gpio, settings.estop_active == "low")

    def listen(self, listener: LevelListener) -> None:
        """Tell ``listener`` of every change of an input from now on."""
        self._listeners.append(listener)

    def leave(self, listener: LevelListener) -> None:
        """Stop telling ``listener``."""
        self._listeners.remove(listener)

    def pull(self, pin: int, level: bool) -> bool:
        """A resistor pulls an input to ``level`` unless something drives it; its level now."""
        return self._inputs.setdefault(pin, level)

    def drive(self, pin: int, level: bool) -> None:
        """Something outside the Pi puts ``level`` on an input."""
        if self._inputs.get(pin) == level:
            return
        self._inputs[pin] = level
        for listener in tuple(self._listeners):
            listener(pin, level)

    async def press(self, pin: int, held_s: float = 0.15) -> None:
        """Press a button, with the bounce of a cheap contact: its pin leaves the level at which it
        rests."""
        rest = self.pull(pin, True)
        self._contact(pin, not rest)
        await asyncio.sleep(held_s)
        self._contact(pin, rest)

    def _contact(self, pin: int, level: bool) -> None:
        """A burst of edges. No pauses: on a busy computer they would grow into presses."""
        for number in range(BOUNCES):
            self.drive(pin, level if number % 2 == 0 else not level)
