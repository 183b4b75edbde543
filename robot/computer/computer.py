"""The computer that controls a robot, and the findings of its check-up."""

from __future__ import annotations

import grp
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from robot.panel.gpio import RpiGpio
from robot.text.faults import FAULTS
from solver.errors import CubistError
from solver.files import BadFile, read_file
from vision.cameras.registry import CameraFinding, check_camera

Verdict = Literal["ok", "warning", "bad"]

LARGEST_SETTINGS = 64 * 1024
"""Maximum bytes of a settings file, or of a file that the kernel provides."""


@dataclass(frozen=True)
class CheckResult:
    """A finding about one thing, with a remedy unless it is ``ok``.

    ``fault``: the code of the fault that has ``text`` as its cause. ``detail``: the fault's detail.
    """

    about: str
    verdict: Verdict
    text: str
    remedy: str = ""
    fault: str = ""
    detail: str = ""

    @classmethod
    def describe(cls, about: str, error: CubistError) -> CheckResult:
        """Return the finding for an error, with its own remedy or else the usual one."""
        usual = FAULTS[error.code].remedy if error.code in FAULTS else ""
        remedy = error.remedy or usual
        return cls(about, "bad", error.cause, remedy, error.code, error.detail)


def members_of(group: str) -> frozenset[str] | None:
    """Return the users that a group lists; None if there is no such group."""
    try:
        return frozenset(grp.getgrnam(group).gr_mem)
    except KeyError:
        return None


def own_groups() -> frozenset[str] | None:
    """Return the groups of this process; None for root, who needs none."""
    if os.geteuid() == 0:
        return None
    ours = {os.getegid(), *os.getgroups()}
    return frozenset(entry.gr_name for entry in grp.getgrall() if entry.gr_gid in ours)


@dataclass(frozen=True)
class Computer:
    """The places and programs to check; tests pass others."""

    boot: Path = Path("/boot")
    dev: Path = Path("/dev")
    etc: Path = Path("/etc")
    sys: Path = Path("/sys")
    run: Path = Path("/run")
    now_s: Callable[[], float] = time.time
    check_camera: Callable[[str, int | str], CameraFinding] = check_camera
    open_gpio: Callable[[], RpiGpio] = RpiGpio
    may_use: Callable[[Path], bool] = field(default=lambda path: os.access(path, os.R_OK | os.W_OK))
    members_of: Callable[[str], frozenset[str] | None] = members_of
    own_groups: Callable[[], frozenset[str] | None] = own_groups

    @property
    def boot_config(self) -> Path | None:
        """A Raspberry Pi's config.txt; None if there is none.

        Since Raspberry Pi OS 12 it is in ``firmware``; a file beside that folder is no longer read.
        """
        newer = self.boot / "firmware"
        path = (newer if newer.is_dir() else self.boot) / "config.txt"
        return path if path.is_file() else None

    @property
    def model(self) -> str:
        """The name that a Raspberry Pi gives its model; empty on other computers."""
        path = self.sys / "firmware/devicetree/base/model"
        try:
            return read_file(path, LARGEST_SETTINGS).rstrip(b"\0").decode("utf-8", "replace")
        except BadFile:
            return ""

    @property
    def service_profile(self) -> str | None:
        """The robot that the service's settings name; None if they name none."""
        return self.service_setting("CUBIST_PROFILE")

    def service_setting(self, name: str) -> str | None:
        """Return a setting of the service; None if it is missing or empty."""
        try:
            data = read_file(self.etc / "cubist/cubistd.env", LARGEST_SETTINGS)
        except BadFile:
            return None
        lines = data.decode("utf-8", "replace").splitlines()
        pairs = [line.strip().partition("=") for line in lines]
        found = [value.strip().strip("\"'") for key, _, value in pairs if key == name]
        return found[-1] if found and found[-1] else None
