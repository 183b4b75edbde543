"""``cubist-display``: shows the robot on its small display until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from robot.api.client import ControlClient, DaemonError, RequestError
from robot.api.endpoints import LIVE, RUNNING_PROFILE, Program, RunRecordJson
from robot.api.environment import read_setting
from robot.api.paths import control_socket
from robot.display.device import DISPLAY_LOST, LumaDisplay
from robot.display.menu import Menu, MenuAction, MenuButton, carry_out, pressed
from robot.display.view import Screenful, menu_view, unreachable, view_of
from robot.settings import DEFAULT_PROFILE, RobotProfile, load_profile, parse_profile
from robot.settings.profile import DisplaySettings
from robot.text.languages import ENGLISH, Catalogue, catalogue, chosen_catalogue
from solver.errors import CubistError, InvalidRequest

log = logging.getLogger("cubist-display")

PERIOD_S = 0.25
"""Seconds between pictures; sending a full picture to the largest display takes 0.1 s."""

COUNTED = 100
"""Number of latest runs in the statistics."""

EXIT_LOST, EXIT_USAGE = 1, 2
"""Exit codes: systemd restarts the program after the first, not after the second."""


def make_parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of the program's flags, with defaults from the environment."""
    parser = argparse.ArgumentParser(
        prog="cubist-display",
        description="Shows the robot on the small display that its profile describes.",
        epilog="Also in the environment: CUBIST_PROFILE, CUBIST_RUNTIME_DIR, CUBIST_LANGUAGE.",
    )
    profile = read_setting(environ, "CUBIST_PROFILE", DEFAULT_PROFILE)
    parser.add_argument("--profile", default=profile, help="robot profile: name or file")
    parser.add_argument("--socket", type=Path, help="the daemon's socket for the display")
    return parser


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Entry point; exit codes: 0 ended in order, 1 the display was lost, 2 there is none."""
    found = make_parser(environ).parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        socket = found.socket or Program.DISPLAY.socket_beside(control_socket(environ))
        client = ControlClient(socket)
        settings = _load_profile(client, found.profile).display
        if settings is None:
            raise InvalidRequest(
                f"the profile {found.profile} has no display: add `display:` to it"
            )
        with _ended_by(signal.SIGTERM, signal.SIGINT) as ended:
            show_until(ended, settings, client, chosen_catalogue(environ))
    except CubistError as error:
        log.error("%s", error)
        sys.exit(EXIT_LOST if error.code == DISPLAY_LOST else EXIT_USAGE)


def _load_profile(client: ControlClient, name: str) -> RobotProfile:
    """Return the profile that the daemon runs with, or the file's if it does not run yet."""
    try:
        return parse_profile(client.call(RUNNING_PROFILE)["text"], name)
    except (DaemonError, RequestError):
        return load_profile(name)


@contextlib.contextmanager
def _ended_by(*numbers: signal.Signals) -> Iterator[threading.Event]:
    """Yield an event that these signals set; restore their handlers afterwards."""
    ended = threading.Event()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show_until(
    ended: threading.Event, settings: DisplaySettings, client: ControlClient, said: Catalogue
) -> None:
    """Show the robot until ``ended`` is set, then switch the display off."""
    device = LumaDisplay(settings)
    from robot.display.drawing import draw, has_font_for  # Pillow may be absent

    if not has_font_for(said.language):
        log.warning("no font for Japanese, so using English: sudo apt install fonts-noto-cjk")
        said = catalogue(ENGLISH)
    front = Front(client, said)
    buttons = pressed(settings.buttons) if settings.buttons else contextlib.nullcontext()
    shown: Screenful | None = None
    try:
        with buttons as presses:
            while not ended.is_set():
                if (view := front.look()) != shown:
                    device.display(draw(view, device.size, device.mode))
                    shown = view
                if presses is None:
                    ended.wait(PERIOD_S)
                    continue
                with contextlib.suppress(queue.Empty):
                    front.press(presses.get(timeout=PERIOD_S))
    finally:
        device.cleanup()


class Front:
    """The display and its buttons: shows the robot or the menu, and carries out presses.

    It polls the daemon's status, and asks for the list of runs only after a new one.
    """

    def __init__(self, client: ControlClient, said: Catalogue) -> None:
        self._client = client
        self._said = said
        self._menu = Menu()
        self._refusals: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._runs: list[RunRecordJson] = []
        self._last: object = None
        self._is_working = False

    def look(self) -> Screenful:
        """Return the picture to show now."""
        with contextlib.suppress(queue.Empty):
            self._menu.tell(self._refusals.get_nowait())
        page = self._menu.page
        return self._look_at_robot() if page is None else menu_view(page, self._said)

    def press(self, button: MenuButton) -> None:
        """Carry out a press in the background."""
        self._look_at_robot()  # updates whether a press stops the robot
        action = self._menu.press(button, working=self._is_working)
        if action is not None:
            log.info("menu: %s", action)
            threading.Thread(target=self._carry_out, args=[action], daemon=True).start()

    def _carry_out(self, action: MenuAction) -> None:
        try:
            carry_out(action, self._client)
        except CubistError as error:
            log.warning("%s: %s", action, error)
            note = error.note if isinstance(error, RequestError) else {}
            self._refusals.put(self._said.refusal(str(error), note))

    def _look_at_robot(self) -> Screenful:
        """Return the robot's picture, even while the daemon does not answer."""
        try:
            now = self._client.status()
            live = self._client.call(LIVE)
            last = now["last_run"] and now["last_run"]["id"]
            if last != self._last:
                self._runs = self._client.runs(COUNTED)
                self._last = last
            self._is_working = (
                now["job"] is not None or now["calibrating"] or now["inspection_left_s"] is not None
            )
            return view_of(now, live, self._runs, self._said)
        except (DaemonError, RequestError, LookupError):  # another version's daemon lacks a key
            self._last, self._is_working = None, False
            return unreachable(self._said)


if __name__ == "__main__":
    main()
