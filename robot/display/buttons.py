"""The display's buttons: presses from pins, on a thread of their own."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator

from robot.display.menu import MenuButton
from robot.panel.button import Button
from robot.panel.gpio import Gpio, PanelError, RpiGpio
from robot.settings.profile import DisplayButtonSettings

log = logging.getLogger("cubist-display")

POLL_S = 0.005
"""While a contact may be about to change."""

IDLE_POLL_S = 0.5
"""Edges wake the thread; this is for one that was missed."""

Presses = queue.SimpleQueue[MenuButton]


def pins_of(settings: DisplayButtonSettings) -> dict[MenuButton, int]:
    """The pin of each button that there is."""
    found: dict[MenuButton, int | None] = {
        "next": settings.next_gpio,
        "select": settings.select_gpio,
        "previous": settings.previous_gpio,
    }
    return {name: pin for name, pin in found.items() if pin is not None}


class Buttons:
    """Debounced presses of some buttons; one that is stuck does nothing until it was let go.

    ``clock`` gives microseconds.
    """

    def __init__(
        self,
        gpio: Gpio,
        settings: DisplayButtonSettings,
        clock: Callable[[], int] = lambda: time.monotonic_ns() // 1000,
    ) -> None:
        self._gpio, self._clock = gpio, clock
        self._pins = pins_of(settings)
        self._active = settings.active == "high"
        self._pull = settings.pull or ("down" if self._active else "up")
        self._buttons: dict[MenuButton, Button] = {name: Button() for name in self._pins}
        self.woken = threading.Event()

    def open(self) -> None:
        """Take the pins; raises :class:`PanelError`."""
        try:
            for pin in self._pins.values():
                self._gpio.setup_input(pin, self._pull)
                self._gpio.on_edge(pin, self._edge)
        except PanelError:
            self._gpio.cleanup()
            raise

    def poll(self) -> Iterator[MenuButton]:
        """Look at the pins once; the buttons that were let go just now."""
        for name, pin in self._pins.items():
            pressed = self._gpio.input(pin) == self._active
            if self._buttons[name].sample(pressed, self._clock()) is not None:
                yield name

    @property
    def poll_s(self) -> float:
        """Seconds until the next look is due, unless an edge comes first."""
        return POLL_S if any(one.settling for one in self._buttons.values()) else IDLE_POLL_S

    def close(self) -> None:
        """Give the pins back."""
        self._gpio.cleanup()

    def _edge(self, pin: int) -> None:
        for name, own in self._pins.items():
            if own == pin:
                self._buttons[name].edge(self._clock())
        self.woken.set()


@contextlib.contextmanager
def pressed(
    settings: DisplayButtonSettings, make_gpio: Callable[[], Gpio] = RpiGpio
) -> Iterator[Presses]:
    """Yield the presses. If the buttons fail, a warning is logged and the display goes on."""
    presses: Presses = queue.SimpleQueue()
    ended = threading.Event()
    try:
        buttons = Buttons(make_gpio(), settings)
        buttons.open()
    except PanelError as fault:
        log.warning("no buttons: %s", fault)
        yield presses
        return

    def watch() -> None:
        while not ended.is_set():
            buttons.woken.clear()  # before the look: what comes during it calls for another
            try:
                for name in buttons.poll():
                    presses.put(name)
            except PanelError as fault:
                log.warning("the buttons do not answer any more: %s", fault)
                return
            buttons.woken.wait(buttons.poll_s)

    thread = threading.Thread(target=watch, name="buttons", daemon=True)
    thread.start()
    try:
        yield presses
    finally:
        ended.set()
        buttons.woken.set()
        thread.join()
        buttons.close()
