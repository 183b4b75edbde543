"""A stand-in for the module RPi.GPIO, and the exceptions of the real ones.

Two libraries have that name. The old one, RPi.GPIO 0.7.1, accesses the chip's registers. The new
one, rpi-lgpio, opens /dev/gpiochip0 in ``setmode`` and raises the exceptions of ``lgpio``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


class LgpioError(Exception):
    """The class ``lgpio.error``, which is no OSError and quotes its message."""

    def __str__(self) -> str:
        return repr(self.args[0])


RAISES: dict[str, tuple[Exception, ...]] = {
    "setwarnings": (RuntimeError("Module not imported correctly!"),),
    "setmode": (
        LgpioError("can not open gpiochip"),
        ValueError("A different mode has already been set!"),
        ValueError("invalid literal for int() with base 10: 'none'"),
    ),
    "setup": (
        LgpioError("GPIO busy"),
        RuntimeError("No access to /dev/mem.  Try running as root!"),
        RuntimeError("Cannot determine SOC peripheral base address"),
        ValueError("The channel sent is invalid on a Raspberry Pi"),
    ),
    "input": (
        LgpioError("unknown handle"),
        RuntimeError("You must setup() the GPIO channel first"),
    ),
    "output": (
        LgpioError("unknown handle"),
        RuntimeError("The GPIO channel has not been set up as an OUTPUT"),
    ),
    "add_event_detect": (
        LgpioError("GPIO busy"),
        RuntimeError("Failed to add edge detection"),
        OSError(24, "Too many open files"),
    ),
    "remove_event_detect": (LgpioError("unknown handle"), KeyError(17)),
    "cleanup": (LgpioError("GPIO busy"), RuntimeError("Module not imported correctly!")),
}
"""Errors that functions of the module have raised on some computer."""


class FakeModule(ModuleType):
    """RPi.GPIO as far as Cubist uses it; ``levels`` are driven from outside."""

    BCM, IN, OUT, BOTH = 11, 1, 0, 33
    PUD_OFF, PUD_DOWN, PUD_UP = 20, 21, 22

    def __init__(self) -> None:
        super().__init__("RPi.GPIO")
        self.levels: dict[int, int] = {}
        self.pulls: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.written: list[tuple[int, int]] = []
        self.callbacks: dict[int, Callable[[int], None]] = {}
        self.mode: int | None = None
        self.lgpio = ModuleType("lgpio")  # the new library is built on it

    def setwarnings(self, _: bool) -> None: ...

    def setmode(self, mode: int) -> None:
        self.mode = mode

    def setup(self, pin: int, way: int, pull_up_down: int = 20, initial: int = 0) -> None:
        if way == self.IN:
            self.pulls[pin] = pull_up_down
            self.levels.setdefault(pin, int(pull_up_down == self.PUD_UP))
        else:
            self.output(pin, initial)

    def input(self, pin: int) -> int:
        return self.levels[pin]

    def output(self, pin: int, level: int) -> None:
        self.outputs[pin] = level
        self.written.append((pin, level))

    def add_event_detect(self, pin: int, edge: int, callback: Callable[[int], None]) -> None:
        assert edge == self.BOTH
        if self.pulls.get(pin) is None:
            raise RuntimeError("You must setup() the GPIO channel as an input first")
        if pin in self.callbacks:
            raise RuntimeError("Conflicting edge detection already enabled for this GPIO channel")
        self.callbacks[pin] = callback

    def remove_event_detect(self, pin: int) -> None:
        self.callbacks.pop(pin, None)

    def cleanup(self, pins: list[int]) -> None:
        for pin in pins:
            self.outputs.pop(pin, None)
            self.pulls.pop(pin, None)
            self.callbacks.pop(pin, None)

    def drive(self, pin: int, level: int) -> None:
        self.levels[pin] = level
        if pin in self.callbacks:
            self.callbacks[pin](pin)

    def fail(self, call: str, error: Exception) -> None:
        """Make the next use of this function raise, without effect."""
        works = getattr(self, call)

        def fails(*_: object, **__: object) -> None:
            setattr(self, call, works)
            raise error

        setattr(self, call, fails)

    def given_back(self) -> bool:
        return not (self.callbacks or self.outputs or self.pulls)
