"""Input and output pins of RPi.GPIO. No other file imports it.

Real RPi.GPIO and its drop-in rpi-lgpio provide the same module. Pins have Broadcom numbers.
Levels are booleans: ``True`` is 3.3 V.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol

from robot.text.messages import Note
from solver.errors import CubistError, root_sentence

log = logging.getLogger("cubistd")

Pull = Literal["up", "down", "none"]


class PanelError(CubistError, RuntimeError):
    """A pin of the panel, or its display, is missing, busy or not accessible."""

    code = "panel-fault"

    def __init__(self, cause: str, remedy: str = "", code: str = "") -> None:
        super().__init__(f"{cause}. {remedy}" if remedy else cause, code=code)
        self.cause, self.remedy = cause, remedy


def install_command(issue: Path = Path("/etc/rpi-issue")) -> str:
    """Return the command that installs the library that works on every Raspberry Pi.

    Only Raspberry Pi OS has the file ``issue``. It also has a package that removes the old library;
    Debian has none.
    """
    if issue.exists():
        return "sudo apt install python3-rpi-lgpio"
    return (
        "sudo apt install python3-pip python3-dev gcc swig && "
        "sudo pip install --break-system-packages --no-deps rpi-lgpio adafruit-lgpio"
    )


INSTALL = install_command()
REPLACE = Note.of("replace-gpio", command=INSTALL)
_OPEN_CHIP = Note.of("open-chip")
_USE_PIN = Note.of("use-pin")


class Gpio(Protocol):
    """The part of RPi.GPIO that the panel uses; the simulated robot has one, too.

    Methods return within milliseconds and may be called from any thread; all raise
    :class:`PanelError`.
    """

    def setup_input(self, pin: int, pull: Pull) -> None:
        """Make ``pin`` an input with the given resistor. This may be repeated for a pin."""

    def setup_output(self, pin: int, level: bool) -> None:
        """Make ``pin`` an output that starts at ``level``."""

    def input(self, pin: int) -> bool:
        """Return the current level of the pin."""

    def output(self, pin: int, level: bool) -> None:
        """Drive an output."""

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None:
        """Call ``callback(pin)``, on the implementation's thread, after each change of level.

        One callback per pin. Edges may be merged, so the callback reads the level with
        :meth:`input`.
        """

    def cleanup(self) -> None:
        """Stop callbacks and release all pins as inputs. Idempotent."""


class RpiGpio:
    """:class:`Gpio` over the ``RPi.GPIO`` module, or a module of that shape given by a test."""

    def __init__(self, module: ModuleType | None = None) -> None:
        """Open the pins' library. Raise :class:`PanelError` if it cannot be used."""
        self._gpio = gpio = module if module is not None else _import_rpi_gpio()
        self._used: set[int] = set()
        self._call("the GPIO chip", _OPEN_CHIP, lambda: gpio.setwarnings(False))
        # This is where rpi-lgpio opens the chip.
        self._call("the GPIO chip", _OPEN_CHIP, lambda: gpio.setmode(gpio.BCM))

    @property
    def is_outdated(self) -> bool:
        """True for the old RPi.GPIO, false for the rpi-lgpio that replaces it."""
        return not hasattr(self._gpio, "lgpio")

    def setup_input(self, pin: int, pull: Pull) -> None:
        """See :meth:`Gpio.setup_input`."""
        gpio = self._gpio
        resistor = {"up": gpio.PUD_UP, "down": gpio.PUD_DOWN, "none": gpio.PUD_OFF}[pull]
        self._use(pin, lambda: gpio.setup(pin, gpio.IN, pull_up_down=resistor))
        self._used.add(pin)

    def setup_output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.setup_output`."""
        gpio = self._gpio
        self._use(pin, lambda: gpio.setup(pin, gpio.OUT, initial=int(level)))
        self._used.add(pin)

    def input(self, pin: int) -> bool:
        """See :meth:`Gpio.input`."""
        return bool(self._use(pin, lambda: self._gpio.input(pin)))

    def output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.output`."""
        self._use(pin, lambda: self._gpio.output(pin, int(level)))

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None:
        """See :meth:`Gpio.on_edge`."""
        gpio = self._gpio
        self._use(pin, lambda: gpio.remove_event_detect(pin))  # nothing happens if there is none
        self._use(pin, lambda: gpio.add_event_detect(pin, gpio.BOTH, callback=callback))

    def cleanup(self) -> None:
        """See :meth:`Gpio.cleanup`. If a pin cannot be released, the others still are."""
        used, self._used = self._used, set()
        for pin in sorted(used):
            try:
                self._use(pin, partial(self._gpio.cleanup, [pin]))  # its callback, too
            except PanelError as fault:
                log.warning("%s", fault)

    def _use(self, pin: int, action: Callable[[], object]) -> object:
        return self._call(f"GPIO {pin}", _USE_PIN, action)

    def _call(self, what: str, remedy: str, action: Callable[[], object]) -> object:
        """Call the library. Raise any of its exceptions (lgpio has its own) as one named fault."""
        try:
            return action()
        except Exception as error:
            # Old RPi.GPIO fails at edges (Linux 6.6) and on a Pi 5, whatever the pin.
            remedy = REPLACE if self.is_outdated else remedy
            raise PanelError(f"{what}: {root_sentence(error)}", remedy) from error


def _import_rpi_gpio() -> ModuleType:
    # rpi-lgpio's library leaves a FIFO in its working directory unless told where.
    os.environ.setdefault("LG_WD", os.environ.get("RUNTIME_DIRECTORY", "/tmp").split(":")[0])
    try:
        return importlib.import_module("RPi.GPIO")
    except Exception as error:
        if isinstance(error, NotImplementedError):
            remedy = Note.of("old-revision")
        elif isinstance(error, ImportError):
            remedy = Note.of("install-gpio", command=INSTALL)
        elif isinstance(error, OSError):
            remedy = Note.of("gpio-folder", folder=os.environ["LG_WD"])
        else:
            no_pi = "only be run on a Raspberry Pi" in str(error)
            again = Note.of("install-gpio-again", command=INSTALL)
            remedy = Note.of("no-pins") if no_pi else again
        told = f"RPi.GPIO cannot be loaded: {root_sentence(error)}"
        raise PanelError(told, remedy) from error
