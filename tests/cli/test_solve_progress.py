"""Progress of a search and of its tables: a line or a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io

import pytest

from robot.cli.search_job import ProgressLine
from solver.solution import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SEARCHING = Progress("searching", depth=15, nodes=1_200_000_000, rate=30_000_000)
MAKING = "making the tables of a search in /a/folder/far/away"
IN_STEPS = [
    Progress("making it", done / 10, making=True, remaining_s=3.0) for done in (0, 1, 2, 10)
]


@pytest.mark.parametrize(
    ("stream", "every_s", "reports", "shown"),
    [
        (Terminal(), 1.0, [Progress("one"), Progress("two")], ["", "one", "two", ""]),
        (Terminal(), 0.05, [Progress("one"), Progress("too soon")], ["", "one", ""]),
        (Terminal(), 1.0, [Progress("tables", done=0.42)], ["", "tables 42%", ""]),
        (Terminal(), 1.0, [SEARCHING], ["", "searching, depth 15, 1.2 G nodes, 30.0 M/s", ""]),
        (
            Terminal(),
            1.0,
            [
                Progress(MAKING, done, making=True, remaining_s=left)
                for done, left in ((0.0, None), (0.25, 100.0), (0.5, 99.4), (1.0, 0.0))
            ],
            [
                "",
                "[....................]   0 %: making the tables of a sea...",
                f"{MAKING}\n",
                "[#####...............]  25 %, 2 min left: making the tab...",
                "[##########..........]  50 %, 99 s left: making the tabl...",
                "[####################] 100 %, 0 s left: making the table...",
                "",
            ],
        ),
        (io.StringIO(), 1.0, [Progress("one")], [""]),
        (io.StringIO(), 0.0, IN_STEPS, [""]),
        (io.StringIO(), 0.4, IN_STEPS, ["making it, about 3 s left\nmaking it: done in 1.2 s\n"]),
    ],
)
def test_a_line_on_a_terminal_is_wiped_and_a_pipe_sees_only_what_takes_long(
    stream, every_s, reports, shown, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "60")
    now = [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        for progress in reports:
            line.report(progress)
            now[0] += every_s
    assert stream.getvalue().split("\r\x1b[K") == shown
