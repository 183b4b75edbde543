"""The calibration dialogs in a terminal, which may be an SSH session that breaks off."""

from __future__ import annotations

import contextlib
import re
import select
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TextIO

from rich.segment import Segment
from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap, BindingType
from textual.containers import Horizontal, Vertical
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import DataTable, Digits, Footer, Header, Static

from robot.calibration.step import Session
from robot.calibration.steps.camera import Image, draw_quad
from robot.cli.output import run_async
from robot.guide.dialogs import MenuDialog
from robot.guide.session import GuideSession, MakeDialog
from robot.guide.state import Action, Contents, DialogLine, DialogPress, DialogState, Setting
from robot.text.purposes import Purpose
from robot.text.terminal import picture_cells
from solver.files import JsonMapping

HANG_UP_S = 0.5
"""Seconds between checks that the terminal is still there: a hang-up's signal may be ignored."""

LEAST_COLUMN = 10
FOOTER_KEYS = {"ArrowUp": "↑↓", "ArrowRight": "←→", "PageUp": "PgUp/Dn", "Enter": "⏎"}
"""Keys in the last line of the screen; some also stand for their opposite."""

OPPOSITE_KEYS = {"ArrowDown", "ArrowLeft", "PageDown"}


class TerminalDriver(LinuxDriver):
    """Textual's driver, which discards output to a terminal that is gone.

    Textual writes on a thread of its own. If that thread dies of an error, everything that draws
    waits for it forever, signals or not.
    """

    def __init__(
        self,
        app: App[int],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = _ForgivingStream(self._file)

    @property
    def hung_up(self) -> bool:
        """True if nobody can press a key any more."""
        poll = select.poll()
        poll.register(self.fileno, 0)  # errors and hang-ups are always reported
        return bool(poll.poll(0))


class _ForgivingStream:
    """A stream that ignores errors, as its reader may leave."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class StateChanged(Message):
    """The dialog on top has another state."""

    def __init__(self, state: DialogState) -> None:
        super().__init__()
        self.state = state


class PictureTaken(Message):
    """The camera has taken a picture."""

    def __init__(self, image: Image) -> None:
        super().__init__()
        self.image = image


class GuideEnded(Message):
    """The guide session is over."""


class CalibrationApp(App[int]):
    """The app that calibrates one robot through the ``first`` dialogs, or else the menu.

    It returns 0 when the person is done, None if the terminal has gone or a signal ended it.
    """

    CSS = """
    #help { padding: 0 1; color: $text-muted; }
    #message { dock: bottom; height: auto; max-height: 3; padding: 0 1; margin-bottom: 1; }
    #message.bad { color: $error; }
    #message.good { color: $success; }
    #value { width: auto; margin: 1 2; }
    #place { height: 1fr; }
    #place.hidden { height: auto; }
    #told { height: auto; width: auto; min-width: 24; }
    #place.hidden #told { width: 1fr; }
    #drawing { width: auto; height: auto; margin: 0 2 1 2; }
    #live { width: 1fr; height: 1fr; }
    #about, #advice, #question, #purpose { padding: 0 1; height: auto; }
    #question { text-style: bold; }
    #picture, #lines { height: 1fr; }
    #lines { scrollbar-gutter: stable; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "leave", "Quit")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session, first: Sequence[MakeDialog] = ()) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.title = f"Calibrating {session.profile.name}"  # short, for 80 columns
        self.guide = GuideSession(
            session, self._post_state, self._post_picture, wants_pictures=True
        )
        self._first = [*first] or [MenuDialog]
        self._thread = threading.Thread(target=self._run_guide, name="guide", daemon=True)
        self._screen = DialogScreen(self.guide, self._thread.start)
        self._error: Exception | None = None

    def calibrate(self) -> int | None:
        """Run until the person leaves and the robot has stopped.

        Raises the error that ended the guide session, if one did. A signal cancels the screen:
        ``KeyboardInterrupt`` in the middle of Textual's loop might leave its threads waiting for
        each other.
        """
        try:
            code = run_async(self.run_async())
        finally:
            self.guide.end()
            if self._thread.ident is not None:
                self._thread.join()
        if self._error is not None:
            raise self._error
        return code

    def get_default_screen(self) -> DialogScreen:
        """Return the only screen."""
        return self._screen

    def on_mount(self) -> None:
        """Watch the terminal."""
        self.set_interval(HANG_UP_S, self._end_without_terminal)

    def action_leave(self) -> None:
        """Leave. Kept values stay, and all motion stops."""
        self._end(0)

    def _end_without_terminal(self) -> None:
        if isinstance(self._driver, TerminalDriver) and self._driver.hung_up:
            self._end(None)

    def _end(self, code: int | None) -> None:
        self.guide.end()
        self.exit(code)

    def _run_guide(self) -> None:
        try:
            self.guide.run(self._first)
        except Exception as error:
            self._error = error
        finally:
            self.post_message(GuideEnded())

    def _post_state(self, state: DialogState) -> None:
        self._screen.post_message(StateChanged(state))

    def _post_picture(self, _: bytes, image: Image) -> None:
        self._screen.post_message(PictureTaken(image))

    @on(GuideEnded)
    def _leave_ended_guide(self) -> None:
        self.exit(0)


class DialogScreen(Screen[None]):
    """The dialog on top of a guide session; ``begin`` starts the session once it can be drawn."""

    AUTO_FOCUS = ""

    def __init__(self, guide: GuideSession, begin: Callable[[], None]) -> None:
        super().__init__()
        self._guide = guide
        self._begin = begin
        self._state: DialogState | None = None
        self._image: Image | None = None

    def compose(self) -> ComposeResult:
        """Lay out everything that a dialog may show."""
        yield Header()
        yield Static("", id="help", markup=False)
        yield Static("", id="purpose", markup=False)
        with Horizontal(id="place"):
            with Vertical(id="told"):
                yield Static("", id="drawing", markup=False)
                yield Digits("", id="value")
                yield Static("", id="about", markup=False)
            yield ImageWidget(id="live")
        yield LineTable(id="lines")
        yield ImageWidget(id="picture")
        yield Static("", id="advice", markup=False)
        yield Static("", id="question", markup=False)
        yield Static("", id="message", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin with the first dialog."""
        self._begin()

    @on(StateChanged)
    def _show_state(self, changed: StateChanged) -> None:
        before, state = self._state, changed.state
        self._state = state
        is_new = before is None or before.dialog != state.dialog
        place = state.place and f"step {state.place[0]} of {state.place[1]}: "
        self.sub_title = f"{place or ''}{state.name}"
        self._write("#help", _fill(state.guidance, state.parameters))
        notice = [_fill(state.notice.text, state.notice.parameters), state.notice.about]
        self._write("#message", ": ".join(filter(None, notice))).set_classes(state.notice.mood)
        self._show_contents(state.contents, is_new)
        if before is None or is_new or before.actions != state.actions:
            bindings = [_binding_of(action) for action in state.actions]
            self._bindings = BindingsMap(bindings)
            self.refresh_bindings()

    def _show_contents(self, contents: Contents, is_new: bool) -> None:
        value = self.query_one("#value", Digits)
        value.display = contents.value is not None
        value.update(contents.value.text if contents.value else "")
        self._write("#about", _limits_text(contents) if contents.value else "")
        purpose = contents.purpose
        self._write("#purpose", "" if purpose is None else _purpose_text(purpose))
        self._write("#drawing", "" if purpose is None else purpose.drawing)
        self.query_one("#place").set_class(purpose is None, "hidden")
        self._write("#advice", "\n".join(_advice_lines(contents)))
        self._write("#question", contents.question)
        table = self.query_one(LineTable)
        table.display = contents.outline is None and purpose is None
        table.show(contents, is_new)
        self.query_one("#picture").display = contents.outline is not None
        if is_new:
            self._image = None
        self._draw_picture()

    def _write(self, name: str, text: str) -> Static:
        line = self.query_one(name, Static)
        line.update(text)
        line.display = bool(text)
        return line

    @on(PictureTaken)
    def _show_picture(self, taken: PictureTaken) -> None:
        self._image = taken.image
        self._draw_picture()

    def _draw_picture(self) -> None:
        contents = self._state.contents if self._state else Contents()
        live = self.query_one("#live", ImageWidget)
        live.display = contents.purpose is not None and self._image is not None
        if self._image is None:
            return
        if (outline := contents.outline) is not None:
            picture = draw_quad(self._image, outline.corners, outline.chosen)
            self.query_one("#picture", ImageWidget).show(picture)
        elif contents.purpose is not None:
            live.show(self._image)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open a line."""
        self._press("open", event.cursor_row)

    def action_press(self, do: str) -> None:
        """Take an action of the dialog."""
        self._press(do)

    def _press(self, do: str, row: int | None = None) -> None:
        if self._state is not None:
            self._guide.press(DialogPress(do=do, dialog=self._state.dialog, row=row))


class LineTable(DataTable[str | Text]):
    """Lines of a dialog; the widest column wraps within the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Choose", key_display="⏎")
    ]

    def __init__(self, id: str) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, cursor_type="none", show_header=False)
        self._heads: Sequence[str] = ()
        self._found: Sequence[DialogLine] = ()

    def show(self, contents: Contents, is_new: bool) -> None:
        """Show the lines of a dialog, if they have changed."""
        if not is_new and (self._heads, self._found) == (contents.columns, contents.lines):
            return
        row = contents.row if is_new else self.cursor_row
        self._heads, self._found = contents.columns, contents.lines
        opens = any(line.opens for line in self._found)
        self.cursor_type = "row" if opens else "none"
        self.can_focus = opens
        self._lay_out()
        if opens:
            self.move_cursor(row=row)
            self.focus()
        else:
            self.screen.set_focus(None)
            self.call_after_refresh(self.scroll_end, animate=False)

    def on_resize(self) -> None:
        """Wrap for the new width."""
        row = self.cursor_row
        self._lay_out()
        self.move_cursor(row=row)

    def _lay_out(self) -> None:
        self.clear(columns=True)
        self.show_header = bool(self._heads and self._found)
        if not self._found:
            return
        rows = [line.cells for line in self._found]
        count = max(len(self._heads), *map(len, rows))
        widths = [
            max(1, *(len(cells[at]) for cells in (self._heads, *rows) if at < len(cells)))
            for at in range(count)
        ]
        around = 2 * self.cell_padding * count + self.scrollbar_size_vertical
        widest = max(range(count), key=lambda at: (widths[at], at))
        others = sum(widths) - widths[widest]
        room = self.size.width - around - others
        widths[widest] = max(LEAST_COLUMN, min(widths[widest], room))
        heads = [*self._heads, *[""] * (count - len(self._heads))]
        for head, width in zip(heads, widths, strict=True):
            self.add_column(head, width=width)
        for line in self._found:
            self.add_row(*_cells_of(line), height=None)


class ImageWidget(Widget):
    """A widget that shows an image as large as fits, in its proportions."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id)
        self._image: Image | None = None
        self._lines: list[Strip] = []
        self._drawn_for = (0, 0)

    def show(self, image: Image) -> None:
        """Show uint8[H, W, 3], RGB."""
        self._image = image
        self._drawn_for = (0, 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of characters, see Textual."""
        size = (self.size.width, self.size.height)
        if self._drawn_for != size:
            self._drawn_for, self._lines = size, self._strips(*size)
        return self._lines[y] if y < len(self._lines) else Strip.blank(size[0])

    def _strips(self, columns: int, rows: int) -> list[Strip]:
        if self._image is None or not columns or not rows:
            return []
        lines = picture_cells(self._image, columns, rows)
        return [Strip([Segment(*cell) for cell in line]) for line in lines]


def _binding_of(action: Action) -> Binding:
    """Return an action's key, with its label in the last line of the screen."""
    key = action.key.replace("Control+", "ctrl+").replace("Shift+", "shift+").replace("Arrow", "")
    label = (action.short or action.label).lstrip("+")
    return Binding(
        key if len(key) == 1 else key.lower(),
        f"press('{action.do}')",
        label,
        show=bool(label) and action.key not in OPPOSITE_KEYS,
        key_display=FOOTER_KEYS.get(action.key),
    )


def _fill(text: str, parameters: JsonMapping) -> str:
    return text.format(**parameters) if parameters else text


def _purpose_text(purpose: Purpose) -> str:
    """Return the text of a purpose: what is right, and what to watch."""
    return f"{purpose.right} {purpose.cube} {purpose.touch}\nWatch: {purpose.watch}"


def _limits_text(contents: Contents) -> str:
    """Return a value's unit, limits and earlier values: ``us, from 900 to 2100; kept: 1490``.

    Beside a picture, each is on a line of its own.
    """
    assert contents.value is not None
    text = _setting_text(contents.value)
    return text if contents.purpose is None else re.sub("[,;] ", "\n", text)


def _setting_text(value: Setting) -> str:
    limits = "" if value.limits is None else ", from {} to {}".format(*value.limits)
    kept = "" if value.kept is None else f"; kept: {value.kept}"
    original = "" if value.original is None else f"; the profile says {value.original}"
    return f"{value.unit}{limits}{kept}{original}"


def _advice_lines(contents: Contents) -> list[str]:
    outline = contents.outline
    if outline is None:
        return []
    return [f"camera {outline.camera}, face {outline.face}", *contents.advice]


def _cells_of(line: DialogLine) -> list[str | Text]:
    if line.colour is None:
        return [*line.cells]
    red, green, blue = line.colour
    return [Text(line.cells[0], f"black on rgb({red},{green},{blue})"), *line.cells[1:]]
