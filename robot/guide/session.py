"""A guide session: dialogs, one above the other, and one task at a time for the robot."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from robot.api.client import DaemonError
from robot.calibration.step import Session
from robot.calibration.steps.camera import Image
from robot.guide.state import (
    BACK,
    NEXT,
    UNDO,
    Action,
    Contents,
    DialogPress,
    DialogState,
    Mood,
    Notice,
)
from robot.guide.texts import GuideText
from solver.errors import CubistError
from solver.files import JsonMapping

T = TypeVar("T")

TICK_S = 1.0

ShowPicture = Callable[[bytes, Image], None]
"""Shows a camera's picture, given as JPEG and as uint8[H, W, 3] RGB."""


class Dialog:
    """Base of dialogs; all methods are called in the thread of the guide session.

    ``can_be_left``: it has the usual actions Undo, Back and Next; other dialogs have their own.
    """

    can_be_left = True

    def __init__(self, guide: GuideSession, heading: str, guidance: str) -> None:
        self.guide, self.heading, self.guidance = guide, heading, guidance
        self.name = heading
        self.parameters: JsonMapping = {}
        self.place: tuple[int, int] | None = None

    def open(self) -> None:
        """Begin, when the dialog comes to the top for the first time."""

    def refresh(self) -> None:
        """Update after a change of kept values, or when the dialog above was left."""

    def fail(self, reason: str) -> None:
        """Handle a task that failed."""
        self.guide.say(reason, "bad")

    def stop_work(self) -> None:
        """Stop the robot's task early because the person is leaving."""

    def close(self) -> None:
        """End, because the dialog will not be shown again."""

    def tick(self) -> None:
        """Update once a second while the robot is at work."""

    def contents(self) -> Contents:
        """Return the present contents."""
        return Contents()

    def actions(self) -> Sequence[Action]:
        """Return the dialog's own actions."""
        return ()

    def act(self, press: DialogPress) -> None:
        """Take an action."""


class GuideSession:
    """The dialogs of one robot, with the person's actions in them.

    Everything runs in the thread that calls :meth:`run`, except the robot's tasks, which ``robot``
    executes one at a time. ``show`` gets each new state of the dialog on top. ``was_stopped`` turns
    True if the session ends while the robot is at work. ``wants_pictures``: the screen has no other
    live picture to show beside a position's purpose.
    """

    def __init__(
        self,
        session: Session,
        show: Callable[[DialogState], None],
        show_picture: ShowPicture,
        robot: Executor | None = None,
        *,
        wants_pictures: bool = False,
    ) -> None:
        self.session = session
        self.wants_pictures = wants_pictures
        self.show_picture = show_picture
        self.busy = False
        self.was_stopped = False
        self._show = show
        self._robot = robot or ThreadPoolExecutor(1, "robot")
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._dialogs: list[Dialog] = []
        self._number = 0
        self._series: Sequence[MakeDialog] = ()
        self._leave: Callable[[], None] | None = None
        self._notice = Notice()
        self._shown: DialogState | None = None

    def run(self, first: Sequence[MakeDialog]) -> None:
        """Show the ``first`` dialogs and all that they open until the last is left.

        Raises :class:`DaemonError` when the daemon goes away, and a task's unexpected error.
        """
        self.begin(first)
        try:
            while self.handle_event():
                pass
        finally:
            while self._dialogs:
                with suppress(CubistError):
                    self._dialogs.pop().close()
            self._robot.shutdown()

    def begin(self, first: Sequence[MakeDialog]) -> None:
        """Show the first of a series of dialogs."""
        self.go_through(first)
        self._update()

    def handle_event(self) -> bool:
        """Wait for the next event and handle it; return False once no dialog is open."""
        try:
            event = self._events.get(timeout=TICK_S if self.busy else None)
        except queue.Empty:
            event = self._dialogs[-1].tick
        event()
        self._update()
        return bool(self._dialogs)

    @property
    def has_events(self) -> bool:
        """Return whether events are waiting."""
        return not self._events.empty()

    def press(self, press: DialogPress) -> None:
        """Take an action, from any thread; one for a dialog that is no longer on top is ignored."""
        self.later(partial(self._press, press))

    def end(self) -> None:
        """End the session and stop the robot's task, from any thread."""
        self.later(self._end)

    def later(self, event: Callable[[], None]) -> None:
        """Call ``event`` in the session's own thread, from any thread."""
        self._events.put(event)

    def say(self, text: str, mood: Mood = "", about: str = "", **parameters: str | float) -> None:
        """Show a message, see :class:`Notice`."""
        self._notice = Notice(text, mood, parameters, about)

    def open(self, dialog: Dialog) -> None:
        """Show a dialog above those that are open."""
        self._dialogs.append(dialog)
        self._number += 1
        self.say("")
        dialog.open()

    def go_through(self, series: Sequence[MakeDialog], number: int = 0) -> None:
        """Show a series of dialogs from ``number``; Next leads from one to the next."""
        dialog = series[number](self)
        if len(series) > 1:
            dialog.place = (number + 1, len(series))
        self._series = series
        self.open(dialog)

    def back(self) -> None:
        """Leave the dialog on top."""
        self._close_top()
        if self._dialogs:
            self._dialogs[-1].refresh()

    def undo(self) -> None:
        """Undo the values that were kept last."""
        self.attempt("", self.session.undo, self._report_undone)

    def attempt(self, text: str, work: Callable[[], T], done: Callable[[T], None]) -> bool:
        """Let the robot do ``work`` that takes a while. Return False if it is already at work.

        ``done`` gets the result, or :meth:`Dialog.fail` the reason if the work fails.
        """
        if self.busy:
            self.say(GuideText.WAIT, "bad")
            return False
        self.busy = True
        self.say(text)
        self._robot.submit(self._work, work, done)
        return True

    def _work(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        try:
            result = work()
        except Exception as error:
            if isinstance(error, CubistError) and not isinstance(error, DaemonError):
                self.later(partial(self._finish_task, partial(self._fail, str(error))))
            else:
                self.later(partial(_raise, error))
        else:
            self.later(partial(self._finish_task, partial(done, result)))

    def _fail(self, reason: str) -> None:
        self._dialogs[-1].fail(reason)

    def _finish_task(self, conclude: Callable[[], None]) -> None:
        """Conclude a task, unless the person is waiting to leave the dialog that began it."""
        self.busy = False
        leave, self._leave = self._leave, None
        (leave or conclude)()

    def _press(self, press: DialogPress) -> None:
        dialog = self._dialogs[-1]
        leave = {BACK.do: self.back, NEXT.do: self._go_on}.get(press.do)
        if press.dialog != self._number:
            return
        if press.do == UNDO.do and dialog.can_be_left:
            self.undo()
        elif leave is not None and dialog.can_be_left:
            self._leave_after_task(leave)
        else:
            dialog.act(press)

    def _leave_after_task(self, leave: Callable[[], None]) -> None:
        if self.busy:
            self._leave = leave
            self._dialogs[-1].stop_work()
            self.say(GuideText.LEAVING)
        else:
            leave()

    def _go_on(self) -> None:
        """Leave for the next dialog of the series, if there is one."""
        place = self._dialogs[-1].place
        if place is None or place[0] == place[1]:
            self.back()
        else:
            self._close_top()
            self.go_through(self._series, place[0])

    def _close_top(self) -> None:
        self._dialogs.pop().close()
        self._number += 1
        self.say("")

    def _end(self) -> None:
        if self.busy:
            self.was_stopped = True
            self.session.stop_beside()
        while self._dialogs:
            self._close_top()

    def _report_undone(self, keys: list[str]) -> None:
        self._dialogs[-1].refresh()
        if keys:
            self.say(GuideText.UNDONE, "good", ", ".join(keys))
        else:
            self.say(GuideText.NOTHING_TO_UNDO)

    def _update(self) -> None:
        """Show the state of the dialog on top if it has changed."""
        if not self._dialogs:
            return
        dialog = self._dialogs[-1]
        actions = [*dialog.actions()]
        if dialog.can_be_left:
            actions += [UNDO, BACK]
            if dialog.place is not None:
                actions.append(NEXT)
        state = DialogState(
            dialog=self._number,
            heading=dialog.heading,
            name=dialog.name,
            guidance=dialog.guidance,
            parameters=dialog.parameters,
            place=dialog.place,
            notice=self._notice,
            busy=self.busy,
            actions=actions,
            contents=dialog.contents(),
        )
        if state != self._shown:
            self._shown = state
            self._show(state)


MakeDialog = Callable[[GuideSession], Dialog]
"""Makes a dialog when it is first shown."""


def _raise(error: Exception) -> None:
    raise error
