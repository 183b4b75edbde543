"""Where the page is, for those who may know: a file that the group of the daemon's socket reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from robot.paths import SYSTEM_RUNTIME, control_socket
from robot.records.storage import write_atomically
from solver.errors import CubistError

FILE_NAME = "web.json"
SYSTEM_WEB_RUNTIME = Path("/run/cubist-web")
MODE = 0o640


class NoPage(CubistError, ConnectionError):
    """No page is served for this daemon."""


@dataclass(frozen=True)
class Announcement:
    """The page's addresses, each with the token; ``process`` serves it, ``local`` says whether only
    this machine reaches it."""

    urls: tuple[str, ...]
    process: int
    local: bool

    def publish(self, folder: Path) -> Path:
        """Write it; the file, to be removed at the end."""
        path = folder / FILE_NAME
        write_atomically(path, json.dumps(asdict(self)).encode(), mode=MODE)
        return path


def find_page(environ: Mapping[str, str] = os.environ) -> Announcement:
    """The page of the daemon that commands talk to; raises :class:`NoPage` where there is none."""
    path = announcement_file(control_socket(environ))
    try:
        found = json.loads(path.read_bytes())
        page = Announcement(tuple(found["urls"]), int(found["process"]), bool(found["local"]))
    except PermissionError as error:
        raise NoPage(
            f"{path}: no permission to read it. Join the group cubist "
            "(`sudo usermod -aG cubist $USER`) and log in again."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoPage(_how_to_start(path)) from error
    if not Path(f"/proc/{page.process}").exists():
        raise NoPage(_how_to_start(path))
    return page


def announcement_file(socket: Path) -> Path:
    """Where the page of the daemon at a control socket is announced."""
    service = socket.parent == SYSTEM_RUNTIME
    return (SYSTEM_WEB_RUNTIME if service else socket.parent) / FILE_NAME


def _how_to_start(path: Path) -> str:
    if path.parent == SYSTEM_WEB_RUNTIME:
        return "the page is off; switch it on with `sudo systemctl enable --now cubist-web`"
    return "no page is served for this daemon; start one with `cubist-web`"
