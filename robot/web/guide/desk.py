"""The desk of a guide: the pages that are open, and one thing at a time with the robot."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from robot.api.client import DaemonError
from robot.calibration.step import Session
from solver.errors import CubistError
from solver.files import JsonMapping, JsonObject

T = TypeVar("T")

AT_WORK: Final = "the robot is at work"
WAIT: Final = "the robot is still at work: a moment"
LEAVING: Final = "it ends after what the robot does now"
NOTHING_TO_UNDO: Final = "there is nothing to undo"
UNDONE: Final = "undone"
KEPT: Final = "kept"
"""What a desk says itself; the page translates it."""


@dataclass(frozen=True)
class GuideButton:
    """What can be pressed: ``do`` is told to the page that is open, ``label`` is read by people.

    ``moves``: the robot moves at once, so that it has to be held down. ``key``: of the keyboard, as
    browsers name it.
    """

    do: str
    label: str
    moves: bool = False
    key: str = ""

    def document(self) -> JsonObject:
        """As the page gets it."""
        return {"do": self.do, "label": self.label, "moves": self.moves, "key": self.key}


class GuidePage:
    """One page of the guide; it is used from the desk's own thread only.

    ``guidance`` may have placeholders, which ``parameters`` fill. ``can_be_left``: it has no way
    out of its own, and takes the usual ones.
    """

    can_be_left = True

    def __init__(self, desk: Desk, heading: str, guidance: str) -> None:
        self.desk, self.heading, self.guidance = desk, heading, guidance
        self.parameters: JsonObject = {}
        self.place: tuple[int, int] | None = None

    def opened(self) -> None:
        """It is shown for the first time."""

    def kept(self) -> None:
        """What is kept has changed, or the page above this one was left."""

    def failed(self, reason: str) -> None:
        """What was attempted did not succeed."""
        self.desk.say(reason, "bad")

    def left(self) -> None:
        """It is shown no more."""

    def break_off(self) -> None:
        """Leave it while the robot is at work for it."""

    def contents(self) -> JsonObject:
        """What it shows beside heading, guidance and buttons."""
        return {}

    def buttons(self) -> Sequence[GuideButton]:
        """Its own; all pages but the first can be left, and what was kept be undone."""
        return ()

    def press(self, do: str, message: JsonMapping) -> None:
        """One of its buttons, or something in its contents, was pressed."""


MakePage = Callable[[], GuidePage]


class Desk:
    """Shows pages and hears what is pressed, all in the thread that calls :meth:`run`.

    ``tell`` sends a document. The robot is asked in another thread, for one thing at a time.
    """

    def __init__(self, session: Session, tell: Callable[[JsonObject], None]) -> None:
        self.session = session
        self.tell = tell
        self.busy = False
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._open: list[GuidePage] = []
        self._opened = 0
        self._series: Sequence[MakePage] = ()
        self._leaving: Callable[[], None] | None = None
        self._message = self._mood = self._about = ""
        self._robot = ThreadPoolExecutor(1, "robot")
        self._told: JsonObject = {}

    @property
    def page(self) -> GuidePage:
        """The one that is shown."""
        return self._open[-1]

    def run(self, first: GuidePage) -> None:
        """Show pages until :meth:`end`; raises :class:`DaemonError` when the daemon goes away."""
        self.open(first)
        self._show()
        while (event := self._events.get()) is not None:
            event()
            self._show()

    def hear(self, message: JsonMapping) -> None:
        """Something was pressed; from any thread."""
        self.later(partial(self._press, message))

    def end(self) -> None:
        """No more of it; from any thread."""
        self._events.put(None)

    def later(self, event: Callable[[], None]) -> None:
        """Have something done in the desk's own thread; from any thread."""
        self._events.put(event)

    def say(self, text: str, mood: str = "", about: str = "") -> None:
        """Show a message: ``good``, ``bad`` or plain; ``about`` is what stays as it is in every
        language."""
        self._message, self._mood, self._about = text, mood, about

    def open(self, page: GuidePage) -> None:
        """Show a page above those that are open."""
        self._open.append(page)
        self._opened += 1
        self.say("")
        page.opened()

    def go_through(self, series: Sequence[MakePage], number: int = 0) -> None:
        """Show pages one after the other, for as long as the person goes on."""
        page = series[number]()
        if len(series) > 1:
            page.place = (number + 1, len(series))
        self._series = series
        self.open(page)

    def back(self) -> None:
        """Leave the page that is shown, unless it is the first."""
        if len(self._open) > 1:
            self._open.pop().left()
            self._opened += 1
            self.say("")
            self.page.kept()

    def _next(self) -> None:
        """Leave it for the next page of its series, if there is one."""
        place = self.page.place
        series = self._series
        self.back()
        if place is not None and place[0] < place[1]:
            self.go_through(series, place[0])

    def attempt(self, text: str, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do something with the robot that takes a while; one such thing at a time."""
        if self.busy:
            self.say(WAIT, "bad")
            return
        self.busy = True
        self.say(text)
        self._robot.submit(self._work, work, done)

    def _work(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        try:
            result = work()
        except DaemonError as error:
            self.later(partial(_raise, error))
        except CubistError as error:
            self.later(partial(self._ended, partial(self.page.failed, str(error))))
        else:
            self.later(partial(self._ended, partial(done, result)))

    def _ended(self, then: Callable[[], None]) -> None:
        self.busy = False
        leave, self._leaving = self._leaving, None
        if leave is None:
            then()
        else:
            leave()

    def _press(self, message: JsonMapping) -> None:
        do = message.get("do")
        if message.get("page") != self._opened or not isinstance(do, str):
            return  # of a page that was left meanwhile
        leave = {"back": self.back, "next": self._next}.get(do)
        if do == "undo" and self.page.can_be_left:
            self.attempt("", self.session.undo, self._undone)
        elif leave is not None and self.page.can_be_left:
            self._leave(leave)
        else:
            self.page.press(do, message)

    def _leave(self, leave: Callable[[], None]) -> None:
        """At once, or after what the robot does now."""
        if self.busy:
            self._leaving = leave
            self.page.break_off()
            self.say(LEAVING)
        else:
            leave()

    def _undone(self, keys: list[str]) -> None:
        self.page.kept()
        if keys:
            self.say(UNDONE, "good", ", ".join(keys))
        else:
            self.say(NOTHING_TO_UNDO)

    def _show(self) -> None:
        """Tell what is to be seen, if it is something else than before."""
        page = self.page
        buttons = [*page.buttons()]
        if len(self._open) > 1 and page.can_be_left:
            buttons.append(GuideButton("undo", "Undo"))
            buttons.append(GuideButton("back", "Back", key="Escape"))
            if page.place is not None:
                buttons.append(GuideButton("next", "Next"))
        document: JsonObject = {
            "page": self._opened,
            "heading": page.heading,
            "guidance": page.guidance,
            "parameters": page.parameters,
            "place": page.place,
            "message": self._message,
            "mood": self._mood,
            "about": self._about,
            "busy": self.busy,
            "buttons": [button.document() for button in buttons],
            **page.contents(),
        }
        if document != self._told:
            self._told = document
            self.tell(document)


def _raise(error: Exception) -> None:
    raise error
