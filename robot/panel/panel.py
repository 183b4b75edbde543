"""The panel: one thread watches its pins, reports presses, and drives light and buzzer.

Between lifting the hands off the pads and the start, an :class:`Inspection` counts down.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import accumulate

from robot.panel.button import Button, Debouncer, Hands, Pads, Press
from robot.panel.gpio import Gpio, PanelError, Pull

log = logging.getLogger("cubistd")


@dataclass(frozen=True)
class Pattern:
    """Milliseconds on, off, on and so on, repeated forever unless ``once``."""

    steps_ms: tuple[int, ...]
    once: bool = False

    @property
    def length_ms(self) -> int:
        """Duration of one round."""
        return sum(self.steps_ms)

    def level(self, elapsed_ms: float) -> bool:
        """Return whether it is on, this long after its start."""
        return self._step(elapsed_ms)[0]

    def rest_ms(self, elapsed_ms: float) -> float:
        """Return the time to its next change; infinite if it is over or never changes."""
        changes = self.once or 0 < sum(self.steps_ms[::2]) < self.length_ms
        return self._step(elapsed_ms)[1] if changes else math.inf

    def _step(self, elapsed_ms: float) -> tuple[bool, float]:
        if self.once and elapsed_ms >= self.length_ms:
            return False, math.inf
        passed = elapsed_ms % self.length_ms
        ends = list(accumulate(self.steps_ms))
        index = bisect_right(ends, passed)
        return index % 2 == 0, ends[index] - passed


STEADY = Pattern((1000,))
OFF = Pattern((0, 1000))

LIGHTS: dict[str, Pattern] = {
    "idle": STEADY,
    "homing": Pattern((100, 900)),
    "scanning": Pattern((500, 500)),
    "solving": Pattern((100, 100)),
    "turning": Pattern((900, 100)),
    "checking": Pattern((500, 500)),
    "fault": Pattern((150, 150, 150, 150, 150, 750)),
    "maintenance": Pattern((50, 1950)),
    "ready": Pattern((50, 50)),
    "inspection": Pattern((500, 100, 300, 100)),
    "shutdown": Pattern((30, 30)),
}
"""Light patterns by the daemon's state: steady if ready, three flashes and a pause to ask for help.

Three are the panel's own: hands lie ready on the pads, the cube is being inspected, and a press
will switch off when the button is released.
"""

SOUNDS: dict[str, Pattern] = {
    "press": Pattern((40, 10), once=True),
    "solved": Pattern((80, 80, 80, 80, 300, 10), once=True),
    "fault": Pattern((600, 200, 600, 10), once=True),
    "shutdown": Pattern((1000, 10), once=True),
    "ready": Pattern((40, 40, 40, 10), once=True),
    "inspection": Pattern((200, 10), once=True),
    "warning": Pattern((100, 10), once=True),
    "last warning": Pattern((100, 100, 100, 10), once=True),
}


WARNINGS = ((7.0, "warning"), (3.0, "last warning"))
"""Seconds before the end, and the sounds then: at 8 and 12 of 15 seconds, as judges call."""

IDLE_POLL_S = 0.2
"""Period while nothing happens. An edge at any input wakes the panel at once."""

POLL_S = 0.005
"""Period while an emergency stop settles, or hands lie on the pads."""

SETTLING_POLL_S = 0.001
"""Period while a contact settles: the gaps of mains pick-up are as short as two milliseconds."""

ESTOP_SETTLE_US = 10_000


@dataclass(frozen=True)
class Input:
    """A pin by its Broadcom number, the level that counts as pressed (``True``: high) and its
    resistor. The defaults are for a contact to ground.
    """

    pin: int
    active: bool = False
    pull: Pull = "up"


@dataclass(frozen=True)
class Output:
    """A pin by its Broadcom number, and the level that switches on what it drives."""

    pin: int
    active: bool = True


@dataclass(frozen=True)
class PanelPins:
    """Pins of the parts; None if the robot has no such part.

    Button and pads are pulled to the level at which they rest, so that one that is not connected is
    not pressed; the emergency stop to the level that stops, so that a broken wire stops, too.
    """

    start_button: Input | None = None
    led: Output | None = None
    buzzer: Output | None = None
    estop: Input | None = None
    pads: tuple[Input, ...] = ()


@dataclass(frozen=True)
class Listener:
    """Callbacks of the panel, on its own thread. ``stuck``: the stuck inputs, at each change."""

    press: Callable[[Press], None]
    estop: Callable[[bool], None]
    hands: Callable[[Hands], None]
    stuck: Callable[[tuple[str, ...]], None]
    fault: Callable[[PanelError], None]


class Panel:
    """Watches button, emergency stop and pads, and shows the state."""

    def __init__(
        self,
        gpio: Gpio,
        pins: PanelPins,
        listener: Listener,
        clock: Callable[[], int] = lambda: time.monotonic_ns() // 1000,
    ) -> None:
        self._gpio, self._pins, self._clock = gpio, pins, clock
        self._listener = listener
        self._button = Button()
        self._estop = Debouncer(ESTOP_SETTLE_US)
        self._pads = Pads(len(pins.pads))
        self._shown: tuple[Pattern, int] = (OFF, clock())
        self._sounded: tuple[Pattern, int] = (OFF, clock())
        self._stuck: tuple[str, ...] = ()
        self._held_very_long = False
        self._on: dict[int, bool] = {}
        self._closing = False
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Take the pins; raises :class:`PanelError`. Call :meth:`start` or :meth:`poll` then."""
        try:
            self._take_pins()
        except PanelError:
            self._gpio.cleanup()
            raise

    def _take_pins(self) -> None:
        for source in (self._pins.start_button, self._pins.estop, *self._pins.pads):
            if source is not None:
                self._gpio.setup_input(source.pin, source.pull)
                self._gpio.on_edge(source.pin, self._edge)
        for part in (self._pins.led, self._pins.buzzer):
            if part is not None:
                self._gpio.setup_output(part.pin, not part.active)

    def start(self) -> None:
        """Poll on a separate thread until :meth:`close`."""
        self._thread = threading.Thread(target=self._run, name="panel", daemon=True)
        self._thread.start()

    def show(self, state: str) -> None:
        """Show a state with the light."""
        self._shown = (LIGHTS[state], self._clock())
        self._woken.set()

    def sound(self, name: str) -> None:
        """Play a sound with the buzzer, once."""
        self._sounded = (SOUNDS[name], self._clock())
        self._woken.set()

    def poll(self) -> None:
        """Read the inputs and drive the outputs once. Raise :class:`PanelError`."""
        now = self._clock()
        if self._pins.estop is not None:
            self._poll_estop(self._is_pressed(self._pins.estop), now)
        if self._pins.start_button is not None:
            self._poll_button(self._is_pressed(self._pins.start_button), now)
        if self._pins.pads:
            hands = self._pads.sample([self._is_pressed(pad) for pad in self._pins.pads], now)
            if hands is not None:
                self._listener.hands(hands)
        self._tell_stuck()
        self._drive(self._pins.led, self._shown, now)
        self._drive(self._pins.buzzer, self._sounded, now)

    @property
    def poll_s(self) -> float:
        """Seconds until the next poll is due, unless an edge comes first."""
        if self._button.settling:
            return SETTLING_POLL_S
        if self._estop.settling or self._pads.in_use:
            return POLL_S
        now = self._clock()
        playing = (self._shown, self._sounded)
        rests = [pattern.rest_ms((now - since) / 1000) / 1000 for pattern, since in playing]
        return min(IDLE_POLL_S, *rests)

    def close(self) -> None:
        """Stop, switch off the outputs and release the pins. Idempotent."""
        self._closing = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._gpio.cleanup()

    def _run(self) -> None:
        while not self._closing:
            self._woken.clear()  # before the poll: an event during it causes another
            try:
                self.poll()
            except PanelError as fault:
                self._listener.fault(fault)
                return
            except Exception as error:
                # People who rely on the emergency stop must know that it is not watched any more.
                log.exception("the panel is no longer watched")
                self._listener.fault(PanelError(f"internal error: {error}"))
                return
            self._woken.wait(self.poll_s)

    def _edge(self, pin: int) -> None:
        button = self._pins.start_button
        if button is not None and pin == button.pin:
            self._button.edge(self._clock())
        self._woken.set()

    def _is_pressed(self, source: Input) -> bool:
        return self._gpio.input(source.pin) == source.active

    def _poll_button(self, pressed: bool, now: int) -> None:
        press = self._button.sample(pressed, now)
        if press is not None:
            self.sound("press")
            self._listener.press(press)
        held, self._held_very_long = self._held_very_long, self._button.held_very_long
        if self._held_very_long and not held:
            self.show("shutdown")
            self.sound("shutdown")

    def _poll_estop(self, pressed: bool, now: int) -> None:
        if self._estop.sample(pressed, now) is not None:
            self._listener.estop(pressed)

    def _tell_stuck(self) -> None:
        button = [self._pins.start_button] if self._button.stuck else []
        pads = [pad for pad, stuck in zip(self._pins.pads, self._pads.stuck, strict=True) if stuck]
        stuck = tuple(f"GPIO {source.pin}" for source in (*button, *pads) if source is not None)
        if stuck != self._stuck:
            self._stuck = stuck
            self._listener.stuck(stuck)

    def _drive(self, part: Output | None, playing: tuple[Pattern, int], now: int) -> None:
        """Set an output, but only when it changes."""
        if part is None:
            return
        pattern, since = playing
        on = pattern.level((now - since) / 1000)
        if self._on.get(part.pin) is not on:
            self._gpio.output(part.pin, on == part.active)
            self._on[part.pin] = on


class Inspection:
    """A countdown that ends in ``start``, unless it is cancelled."""

    def __init__(
        self,
        seconds: float,
        sound: Callable[[str], None],
        start: Callable[[], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._ends_at = 0.0
        self._sleep = sleep
        self._seconds = seconds
        self._sound = sound
        self._start = start
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Return whether the countdown is under way."""
        return self._task is not None

    @property
    def left_s(self) -> float | None:
        """Seconds until the start; None while there is no countdown."""
        return max(0.0, self._ends_at - self._clock()) if self.running else None

    def begin(self) -> None:
        """Start the countdown, if none is under way."""
        if self._task is None:
            self._ends_at = self._clock() + self._seconds
            self._task = asyncio.create_task(self._count(), name="inspection")

    def cancel(self) -> bool:
        """End the countdown without a start. Return whether there was one."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        return task is not None

    async def _count(self) -> None:
        left = self._seconds
        if left:
            self._sound("inspection")
        for before_end, name in WARNINGS:
            if left > before_end:
                await self._sleep(left - before_end)
                left = before_end
                self._sound(name)
        await self._sleep(left)
        # From here on it is a normal start, which this class does not cancel.
        self._task = None
        await self._start()
