"""The display's buttons and the menu behind them: presses from pins, and actions from presses."""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from robot.api.client import ControlClient
from robot.api.endpoints import SHUT_DOWN
from robot.panel.button import Button
from robot.panel.gpio import Gpio, PanelError, RpiGpio
from robot.settings.profile import DisplayButtonSettings

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("cubist-display")

MenuButton = Literal["next", "select", "previous"]
Presses = queue.SimpleQueue[MenuButton]

POLL_S = 0.005
"""Seconds between polls while a contact may be about to change."""

IDLE_POLL_S = 0.5
"""Seconds between polls otherwise. Edges wake the thread, but one may be missed."""

OPEN_S = 15.0
"""Seconds without a press after which the menu closes."""

NOTICE_S = 8.0
"""Seconds for which a refusal is shown, unless a button is pressed."""


class MenuAction(StrEnum):
    """Actions of the menu, in English; ``STOP`` is not an entry."""

    SOLVE = "Solve"
    SCRAMBLE = "Scramble"
    HOME = "Home"
    COLOURS = "Learn the colours"
    SHUT_DOWN = "Shut down"
    STOP = "Stop"


ENTRIES = tuple(action for action in MenuAction if action is not MenuAction.STOP)


@dataclass(frozen=True)
class MenuPage:
    """A page shown instead of the robot: the chosen entry, or ``notice`` instead of entries.

    ``confirms``: the chosen entry needs another press.
    """

    chosen: int = 0
    confirms: bool = False
    notice: str = ""


class Menu:
    """The state of the menu; without a page it is closed. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._page: MenuPage | None = None
        self._until = -math.inf

    @property
    def page(self) -> MenuPage | None:
        """The open page, if any."""
        return self._page if self._clock() < self._until else None

    def press(self, button: MenuButton, *, working: bool) -> MenuAction | None:
        """Handle a press, and return the action that it requests, if any.

        While a job runs or somebody calibrates (``working``) there is no menu: select stops the
        robot, other buttons do nothing. Otherwise the first press only opens the menu, so that no
        single press moves the robot.
        """
        page = self.page
        if working:
            self.close()
            return MenuAction.STOP if button == "select" else None
        if page is None or page.notice:
            self._open(None if page else MenuPage())
            return None
        if button != "select":
            step = 1 if button == "next" else -1
            turned = 0 if page.confirms else step
            self._open(MenuPage((page.chosen + turned) % len(ENTRIES)))
            return None
        action = ENTRIES[page.chosen]
        if action is MenuAction.SHUT_DOWN and not page.confirms:
            self._open(MenuPage(page.chosen, confirms=True))
            return None
        self.close()
        return action

    def tell(self, notice: str) -> None:
        """Show a text for a while."""
        self._open(MenuPage(notice=notice), NOTICE_S)

    def close(self) -> None:
        """Show the robot again."""
        self._open(None)

    def _open(self, page: MenuPage | None, seconds: float = OPEN_S) -> None:
        self._page, self._until = page, self._clock() + seconds


def carry_out(action: MenuAction, client: ControlClient) -> None:
    """Request the action from the daemon; raises the errors of :class:`ControlClient`."""
    match action:
        case MenuAction.STOP:
            client.stop()
        case MenuAction.SHUT_DOWN:
            client.call(SHUT_DOWN, {})
        case MenuAction.COLOURS:
            _learn_colours(client.path)
        case MenuAction.SOLVE | MenuAction.SCRAMBLE | MenuAction.HOME:
            client.start(action.name.lower())


def _learn_colours(socket: Path) -> None:
    """Measure and keep the colours of a readable cube, like ``cubist calibrate colours``."""
    from robot.calibration.step import LONGEST_TRIAL_S, Session
    from robot.calibration.steps.colours import LOOKING

    session = Session(ControlClient(socket, timeout_s=LONGEST_TRIAL_S), place="display")
    with session.maintenance():
        session.keep(session.perform(LOOKING).values)


class Buttons:
    """Debounced presses of some buttons. A stuck button does nothing until it has been released.

    ``clock`` gives microseconds.
    """

    def __init__(
        self,
        gpio: Gpio,
        settings: DisplayButtonSettings,
        clock: Callable[[], int] = lambda: time.monotonic_ns() // 1000,
    ) -> None:
        self._gpio, self._clock = gpio, clock
        pins: dict[MenuButton, int | None] = {
            "next": settings.next_gpio,
            "select": settings.select_gpio,
            "previous": settings.previous_gpio,
        }
        self._buttons = {pin: (name, Button()) for name, pin in pins.items() if pin is not None}
        self._active = settings.active == "high"
        self._pull = settings.pull or ("down" if self._active else "up")
        self.woken = threading.Event()

    def open(self) -> None:
        """Set up the pins; raises :class:`PanelError`."""
        try:
            for pin in self._buttons:
                self._gpio.setup_input(pin, self._pull)
                self._gpio.on_edge(pin, self._edge)
        except PanelError:
            self._gpio.cleanup()
            raise

    def poll(self) -> Iterator[MenuButton]:
        """Read the pins once, and yield the buttons that were just released."""
        for pin, (name, button) in self._buttons.items():
            pressed = self._gpio.input(pin) == self._active
            if button.sample(pressed, self._clock()) is not None:
                yield name

    @property
    def poll_s(self) -> float:
        """Seconds until the next poll, unless an edge comes first."""
        return POLL_S if any(one.settling for _, one in self._buttons.values()) else IDLE_POLL_S

    def close(self) -> None:
        """Release the pins."""
        self._gpio.cleanup()

    def _edge(self, pin: int) -> None:
        self._buttons[pin][1].edge(self._clock())
        self.woken.set()


@contextlib.contextmanager
def pressed(
    settings: DisplayButtonSettings, make_gpio: Callable[[], Gpio] = RpiGpio
) -> Iterator[Presses]:
    """Yield the presses. If the buttons fail, log a warning; the display works without them."""
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
            buttons.woken.clear()  # before polling: an edge during the poll needs another
            try:
                for name in buttons.poll():
                    presses.put(name)
            except PanelError as fault:
                log.warning("the buttons no longer answer: %s", fault)
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
