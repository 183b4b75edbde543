"""Screens that list what can be calibrated; Enter goes to the screen of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from textual.widget import Widget
from textual.widgets import DataTable

from robot.cli.guide.screens import StepScreen
from robot.settings import RobotProfile


@dataclass(frozen=True)
class Row:
    """A line of the list, and the screen behind it."""

    key: str
    cells: tuple[str, ...]
    screen: Callable[[], StepScreen]


class ListScreen(StepScreen):
    """A table of things, made anew from what is kept whenever that changes."""

    columns: Sequence[str] = ()

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Row] = {}

    def rows(self, calibrated: RobotProfile) -> Iterator[Row]:
        """The lines; in a thread of its own."""
        raise NotImplementedError

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        """Fill the list."""
        super().on_mount()
        self.query_one(DataTable).add_columns(*self.columns)
        self.kept()

    def kept(self) -> None:
        """See :meth:`StepScreen.kept`."""
        self.attempt("", lambda: list(self.rows(self.session.calibrated)), self._fill)

    def _fill(self, rows: list[Row]) -> None:
        table = self.query_one(DataTable)
        at = table.cursor_row
        table.clear()
        self._rows = {row.key: row for row in rows}
        for row in rows:
            table.add_row(*row.cells, key=row.key)
        table.move_cursor(row=at)
        table.focus()
        if not rows:
            self.say("this robot has none")

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Go to the screen of this line."""
        chosen = self._rows[str(event.row_key.value)]
        self.app.push_screen(chosen.screen(), lambda _: self.kept())
