"""Input and output pins, as RPi.GPIO sees them; the only file that imports it.

Real RPi.GPIO and its drop-in rpi-lgpio provide the same module. Pins have Broadcom numbers.
Levels are booleans: ``True`` is 3.3 V.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import Literal, Protocol

from solver.errors import CubistError

Pull = Literal["up", "down", "none"]


class PanelFault(CubistError, RuntimeError):
    """A pin of the panel is missing, busy or not ours to use."""


class Gpio(Protocol):
    """What the panel needs of RPi.GPIO, or of the simulated robot in its place.

    Methods return within milliseconds and may be called from any thread; all raise
    :class:`PanelFault`.
    """

    def setup_input(self, pin: int, pull: Pull) -> None:
        """Make ``pin`` an input with the given resistor; again for the same pin is allowed."""

    def setup_output(self, pin: int, level: bool) -> None:
        """Make ``pin`` an output that starts at ``level``."""

    def input(self, pin: int) -> bool:
        """Level of the pin now."""

    def output(self, pin: int, level: bool) -> None:
        """Drive an output."""

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None:
        """Call ``callback(pin)``, on a thread of the implementation's, after each change of level.

        One callback per pin. Edges may be merged; who is called reads the level with :meth:`input`.
        """

    def cleanup(self) -> None:
        """Stop callbacks and give all pins back as inputs. Idempotent."""


class RpiGpio:
    """:class:`Gpio` over the ``RPi.GPIO`` module, or a module of that shape given by a test."""

    def __init__(self, module: ModuleType | None = None) -> None:
        """Take the pins' library; raises :class:`PanelFault` where there is none."""
        self._gpio = module if module is not None else _import_rpi_gpio()
        self._used: set[int] = set()
        self._watched: set[int] = set()
        self._gpio.setwarnings(False)
        self._gpio.setmode(self._gpio.BCM)

    def setup_input(self, pin: int, pull: Pull) -> None:
        """See :meth:`Gpio.setup_input`."""
        gpio = self._gpio
        resistor = {"up": gpio.PUD_UP, "down": gpio.PUD_DOWN, "none": gpio.PUD_OFF}[pull]
        self._call(pin, lambda: gpio.setup(pin, gpio.IN, pull_up_down=resistor))
        self._used.add(pin)

    def setup_output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.setup_output`."""
        gpio = self._gpio
        self._call(pin, lambda: gpio.setup(pin, gpio.OUT, initial=int(level)))
        self._used.add(pin)

    def input(self, pin: int) -> bool:
        """See :meth:`Gpio.input`."""
        return bool(self._call(pin, lambda: self._gpio.input(pin)))

    def output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.output`."""
        self._call(pin, lambda: self._gpio.output(pin, int(level)))

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None:
        """See :meth:`Gpio.on_edge`."""
        gpio = self._gpio
        if pin in self._watched:
            gpio.remove_event_detect(pin)
        self._call(pin, lambda: gpio.add_event_detect(pin, gpio.BOTH, callback=callback))
        self._watched.add(pin)

    def cleanup(self) -> None:
        """See :meth:`Gpio.cleanup`."""
        for pin in sorted(self._watched):
            self._gpio.remove_event_detect(pin)
        if self._used:
            self._gpio.cleanup(sorted(self._used))
        self._watched.clear()
        self._used.clear()

    def _call(self, pin: int, action: Callable[[], object]) -> object:
        """Do it; the library's various exceptions (lgpio has its own) become one named fault."""
        try:
            return action()
        except Exception as error:
            raise PanelFault(
                f"GPIO {pin}: {error}. Check that the pin exists, that no other program uses it "
                "(`gpioinfo` shows who does), and the pin numbers under `panel:` in the profile."
            ) from error


def _import_rpi_gpio() -> ModuleType:
    # rpi-lgpio's library leaves a FIFO in its working directory unless told where.
    os.environ.setdefault("LG_WD", os.environ.get("RUNTIME_DIRECTORY", "/tmp").split(":")[0])
    try:
        return importlib.import_module("RPi.GPIO")
    except (ImportError, RuntimeError) as error:
        raise PanelFault(
            f"RPi.GPIO cannot be used here: {error}. On a Raspberry Pi `sudo apt install "
            "python3-rpi-lgpio` and join the group gpio; elsewhere use the simulated robot."
        ) from error
