"""The file that announces the page's address to the group of the daemon's socket."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from robot.api.paths import LARGEST_ANNOUNCEMENT, SYSTEM_RUNTIME, control_socket
from robot.records.documents import ApiDocument, read_document
from robot.records.storage import write_atomically
from solver.errors import CubistError
from solver.files import BadFile, NoSuchFile

FILE_NAME = "web.json"
SYSTEM_WEB_RUNTIME = Path("/run/cubist-web")
MODE = 0o640


PageAddress = Annotated[str, Field(pattern=r"^http://[!-~]+:[0-9]{1,5}/#[!-~]+$", max_length=500)]


class PageError(CubistError):
    """No page was found for this daemon.

    ``code`` is ``no-page``, or ``damaged-announcement`` if its file cannot be used.
    """

    code = "no-page"


class Announcement(ApiDocument):
    """The page's addresses, each with the token; those for viewers have another token.

    ``process``: the id of the process that serves it. ``local``: only this machine can reach it.
    """

    urls: tuple[PageAddress, ...] = Field(min_length=1)
    viewer_urls: tuple[PageAddress, ...] = ()
    process: int = Field(ge=1, lt=1 << 31)
    local: bool

    def publish(self, folder: Path) -> Path:
        """Write the file and return its path; the caller removes it at the end."""
        path = folder / FILE_NAME
        write_atomically(path, self.model_dump_json().encode(), mode=MODE)
        return path


def find_page(environ: Mapping[str, str] = os.environ) -> Announcement:
    """Return the page of the daemon that commands talk to; raises :class:`PageError`."""
    path = announcement_file(control_socket(environ))
    try:
        page = read_announcement(path)
    except NoSuchFile as error:
        raise PageError(_how_to_start(path)) from error
    except BadFile as error:
        if isinstance(error.__cause__, PermissionError):
            raise PageError(
                f"{path}: no permission to read it. Join the group cubist "
                "(`sudo usermod -aG cubist $USER`) and log in again."
            ) from error
        raise PageError(
            f"{error}. Restart cubist-web, which writes this file.", code="damaged-announcement"
        ) from error
    if not Path(f"/proc/{page.process}").exists():
        raise PageError(_how_to_start(path))
    return page


def read_announcement(path: Path) -> Announcement:
    """Return the announcement in a file; raises :class:`solver.files.BadFile`."""
    return read_document(path, Announcement, LARGEST_ANNOUNCEMENT)


def announcement_file(socket: Path) -> Path:
    """Return the file for the page of the daemon at a control socket."""
    service = socket.parent == SYSTEM_RUNTIME
    return (SYSTEM_WEB_RUNTIME if service else socket.parent) / FILE_NAME


def _how_to_start(path: Path) -> str:
    if path.parent == SYSTEM_WEB_RUNTIME:
        return "the page is off; switch it on with `sudo systemctl enable --now cubist-web`"
    return "no page is served for this daemon; start one with `cubist-web`"
