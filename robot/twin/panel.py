"""The panel of the simulated robot: pins of the Raspberry Pi, a finger on the button."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BOUNCES = 5
"""How often the contact opens and closes before it comes to rest."""

LevelListener = Callable[[int, bool], None]


class Panel:
    """Levels of the Pi's pins; listeners hear of inputs that change."""

    def __init__(self) -> None:
        self.outputs: dict[int, bool] = {}
        self._inputs: dict[int, bool] = {}
        self._listeners: list[LevelListener] = []

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
        """Press a button that pulls its pin low, with the bounce of a cheap contact."""
        self._contact(pin, False)
        await asyncio.sleep(held_s)
        self._contact(pin, True)

    def _contact(self, pin: int, level: bool) -> None:
        """A burst of edges. No pauses: on a busy computer they would grow into presses."""
        for number in range(BOUNCES):
            self.drive(pin, level if number % 2 == 0 else not level)
