"""The panel at work: one thread polls its pins, tells presses, and drives light and buzzer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from robot.panel.button import Button, ButtonTimes, Debouncer, Press
from robot.panel.gpio import Gpio, PanelFault
from robot.panel.pads import Hands, Pads
from robot.panel.patterns import LIGHTS, OFF, SOUNDS, Pattern

POLL_S = 0.005
"""While nothing happens: half a per cent of a slow processor."""

SETTLING_POLL_S = 0.001
"""While a contact settles: the gaps of mains pick-up are as short as two milliseconds."""

ESTOP_SETTLE_US = 10_000


@dataclass(frozen=True)
class PanelPins:
    """Broadcom numbers; None where the robot has no such part.

    The button closes to ground. The emergency stop is normally closed to ground: a pressed button
    and a broken wire both read high, and stop. A touch pad is high while a hand lies on it: one
    that is not connected never is.
    """

    start_button: int | None = None
    led: int | None = None
    buzzer: int | None = None
    estop: int | None = None
    pads: tuple[int, ...] = ()


def monotonic_us() -> int:
    """The panel's clock."""
    return time.monotonic_ns() // 1000


@dataclass(frozen=True)
class Listener:
    """What the panel tells, on its own thread."""

    press: Callable[[Press], None]
    estop: Callable[[bool], None]
    hands: Callable[[Hands], None]
    fault: Callable[[PanelFault], None]


class Panel:
    """Watches button, emergency stop and pads, shows the state."""

    def __init__(
        self,
        gpio: Gpio,
        pins: PanelPins,
        listener: Listener,
        *,
        times: ButtonTimes | None = None,
        clock: Callable[[], int] = monotonic_us,
    ) -> None:
        self._gpio, self._pins, self._clock = gpio, pins, clock
        self._listener = listener
        self._button = Button(times)
        self._estop = Debouncer(ESTOP_SETTLE_US)
        self._pads = Pads(len(pins.pads))
        self._shown: tuple[Pattern, int] = (OFF, clock())
        self._sounded: tuple[Pattern, int] | None = None
        self._levels: dict[int, bool] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Take the pins; raises :class:`PanelFault`. Call :meth:`start` or :meth:`poll` then."""
        for pin in (self._pins.start_button, self._pins.estop):
            if pin is not None:
                self._gpio.setup_input(pin, "up")
        for pin in self._pins.pads:
            self._gpio.setup_input(pin, "down")
        for pin in (self._pins.led, self._pins.buzzer):
            if pin is not None:
                self._gpio.setup_output(pin, False)
        if self._pins.start_button is not None:
            self._gpio.on_edge(self._pins.start_button, self._edge)

    def start(self) -> None:
        """Poll on a thread of our own until :meth:`close`."""
        self._thread = threading.Thread(target=self._run, name="panel", daemon=True)
        self._thread.start()

    def show(self, state: str) -> None:
        """Let the light tell a state."""
        self._shown = (LIGHTS[state], self._clock())

    def sound(self, name: str) -> None:
        """Let the buzzer say something, once."""
        self._sounded = (SOUNDS[name], self._clock())

    def poll(self) -> None:
        """Look at the inputs and drive the outputs once; raises :class:`PanelFault`."""
        now = self._clock()
        if self._pins.estop is not None:
            self._poll_estop(self._gpio.input(self._pins.estop), now)
        if self._pins.start_button is not None:
            press = self._button.sample(not self._gpio.input(self._pins.start_button), now)
            if press is not None:
                self.sound("press")
                self._listener.press(press)
        if self._pins.pads:
            hands = self._pads.sample([self._gpio.input(pin) for pin in self._pins.pads], now)
            if hands is not None:
                self._listener.hands(hands)
        self._drive(self._pins.led, self._shown, now)
        self._drive(self._pins.buzzer, self._sounded, now)

    @property
    def poll_s(self) -> float:
        """Seconds until the next poll is due."""
        return SETTLING_POLL_S if self._button.settling else POLL_S

    def close(self) -> None:
        """Stop, darken and give the pins back. Idempotent."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._gpio.cleanup()

    def _run(self) -> None:
        while not self._closing.wait(self.poll_s):
            try:
                self.poll()
            except PanelFault as fault:
                self._listener.fault(fault)
                return

    def _edge(self, _: int) -> None:
        self._button.edge(self._clock())

    def _poll_estop(self, open_circuit: bool, now: int) -> None:
        if self._estop.sample(open_circuit, now) is not None:
            self._listener.estop(open_circuit)

    def _drive(self, pin: int | None, playing: tuple[Pattern, int] | None, now: int) -> None:
        """Set an output, but only when it changes."""
        if pin is None:
            return
        level = playing is not None and playing[0].level((now - playing[1]) / 1000)
        if self._levels.get(pin) is not level:
            self._gpio.output(pin, level)
            self._levels[pin] = level
