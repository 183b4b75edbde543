"""Progress is one line on a terminal and nothing anywhere else."""

from __future__ import annotations

import io

from robot.cli.search_progress import ProgressLine, text_of
from solver.solution import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_texts() -> None:
    assert text_of(Progress("tables", done=0.42)) == "tables 42%"
    searching = Progress("searching", depth=15, nodes=1_200_000_000, rate=30_000_000)
    assert text_of(searching) == "searching, depth 15, 1.2 G nodes, 30.0 M/s"


def test_a_terminal_sees_one_line_at_a_time_and_it_is_wiped() -> None:
    stream, now = Terminal(), [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        line.report(Progress("one"))
        line.report(Progress("too soon"))
        now[0] = 1.0
        line.report(Progress("two"))
    assert stream.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K"


def test_a_pipe_sees_nothing() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line.report(Progress("one"))
    assert stream.getvalue() == ""
