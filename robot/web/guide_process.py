"""The guided calibration of a tab: a process of its own while somebody calibrates.

All code for vision and calculations is loaded here, so that the page's server stays small. The
server passes on lines of JSON and ends the process when the tab closes; maintenance ends with it.

    server -> guide   a :class:`robot.guide.state.DialogPress`
    guide  -> server  a :class:`robot.guide.state.DialogState`, {"picture": JPEG in base64},
                      {"ended": reason}
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from robot.api.client import ControlClient, RequestError
from robot.calibration.step import LONGEST_TRIAL_S, Session
from robot.guide.dialogs import MenuDialog
from robot.guide.session import GuideSession
from robot.guide.state import DialogPress
from robot.records.documents import parse_document
from solver.errors import CubistError
from solver.files import BadFile, JsonObject


def main() -> None:
    """Run until standard input ends; if anything else ends it, the last document says why."""
    parser = argparse.ArgumentParser(prog="python -m robot.web.guide_process")
    parser.add_argument("--socket", type=Path, required=True, help="the daemon's socket for guides")
    parser.add_argument("--at", default="", help="the address of the browser")
    options = parser.parse_args()
    client = ControlClient(options.socket, LONGEST_TRIAL_S)
    session = Session(client, place="page", at=options.at)
    guide = make_guide(session, _write_line)
    try:
        with session.maintenance(guide.end):
            run_guide(guide, sys.stdin)
        if reason := session.taken_over:
            note = {f"reason_{key}": reason[key] for key in ("code", "parameters")}
            _write_line({"ended": reason["text"], **note})
    except RequestError as error:
        _write_line({"ended": error.reason, **error.note})
    except CubistError as error:
        _write_line({"ended": str(error)})


def make_guide(session: Session, write: Callable[[JsonObject], None]) -> GuideSession:
    """Return a guide session that writes states and pictures."""
    return GuideSession(
        session,
        show=lambda state: write(asdict(state)),
        show_picture=lambda jpeg, _: write({"picture": base64.b64encode(jpeg).decode()}),
    )


def run_guide(guide: GuideSession, lines: Iterable[str]) -> None:
    """Run a guide session until there are no more lines.

    Raises the errors of :class:`robot.api.client.ControlClient`.
    """
    threading.Thread(target=_read_presses, args=(guide, lines), daemon=True).start()
    guide.run([MenuDialog])


def _read_presses(guide: GuideSession, lines: Iterable[str]) -> None:
    for line in lines:
        try:
            guide.press(parse_document(line, DialogPress, "a message of the page"))
        except BadFile:
            continue  # the page never sends this
    guide.end()


def _write_line(document: JsonObject) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
