"""One guide: reads from standard input what is pressed, and writes what is shown.

Whoever starts it ends it by closing its input, or at once by a signal: the robot leaves maintenance
with this process.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from robot.api.client import ControlClient, RequestError
from robot.calibration.step import LONGEST_TRIAL_S, Session
from robot.web.guide.desk import Desk
from robot.web.guide.pages import StepsPage
from solver.errors import CubistError
from solver.files import JsonObject, parse_object


def main() -> None:
    """Entry point; the last document says why it ended, if nobody ended it."""
    parser = argparse.ArgumentParser(prog="python -m robot.web.guide.main")
    parser.add_argument("--socket", type=Path, required=True, help="the daemon's socket for guides")
    options = parser.parse_args()
    tell = _teller(sys.stdout)
    session = Session(ControlClient(options.socket, LONGEST_TRIAL_S), place="page")
    try:
        with session.maintenance():
            guide(session, sys.stdin, tell)
    except RequestError as error:
        tell({"ended": error.reason, **error.note})
    except CubistError as error:
        tell({"ended": str(error)})


def guide(session: Session, lines: Iterable[str], tell: Callable[[JsonObject], None]) -> None:
    """Show the guide until there are no more lines.

    Raises what :class:`robot.api.client.ControlClient` raises.
    """
    desk = Desk(session, tell)
    menu = StepsPage(desk)
    threading.Thread(target=_hear, args=(desk, lines), daemon=True).start()
    desk.run(menu)


def _hear(desk: Desk, lines: Iterable[str]) -> None:
    for line in lines:
        desk.hear(parse_object(line, "a message of the page"))
    desk.end()


def _teller(stream: TextIO) -> Callable[[JsonObject], None]:
    def tell(document: JsonObject) -> None:
        stream.write(json.dumps(document) + "\n")
        stream.flush()

    return tell


if __name__ == "__main__":
    main()
