"""The menu behind the display's buttons: which entry is chosen, and what a press asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from robot.api.client import ControlClient
from robot.api.endpoints import SHUT_DOWN

if TYPE_CHECKING:
    from pathlib import Path

MenuButton = Literal["next", "select", "previous"]

OPEN_S = 15.0
"""Time without a press after which the menu closes."""

NOTICE_S = 8.0
"""Time that a refusal is shown, unless a button is pressed."""


class MenuAction(StrEnum):
    """Actions of the menu, in English; ``STOP`` is no entry."""

    SOLVE = "Solve"
    SCRAMBLE = "Scramble"
    HOME = "Home"
    COLOURS = "Learn the colours"
    SHUT_DOWN = "Shut down"
    STOP = "Stop"


ENTRIES = tuple(action for action in MenuAction if action is not MenuAction.STOP)


@dataclass(frozen=True)
class MenuPage:
    """A page shown in place of the robot: the entry chosen, or ``notice`` in place of entries.

    ``confirms``: the chosen entry is asked for once more.
    """

    chosen: int = 0
    confirms: bool = False
    notice: str = ""


class Menu:
    """The state of the menu; None is closed. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._page: MenuPage | None = None
        self._until = -math.inf

    @property
    def page(self) -> MenuPage | None:
        """Return the page that is open, if any."""
        return self._page if self._clock() < self._until else None

    def press(self, button: MenuButton, *, working: bool) -> MenuAction | None:
        """Take a press. Return the action that it asks for, if any.

        While a job is under way or somebody calibrates (``working``) there is no menu: select stops
        the robot, others do nothing.
        The first press otherwise only opens the menu, so that no single press moves the robot.
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
