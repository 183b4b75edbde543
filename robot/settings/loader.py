"""Profiles found by name, and read."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from robot.settings.checks import check_profile
from robot.settings.document import BadProfile, Complaint, parse_document
from robot.settings.profile import RobotProfile, read_document
from solver.errors import shortened
from solver.files import BadFile, read_text

DEFAULT_PROFILE = "cubotino"

_INSTALLED = Path(sys.prefix) / "share" / "cubist" / "config"

MAX_BYTES = 64 * 1024
"""Maximum size of a profile's file. Those that ship with Cubist have 2,000."""


def profile_folders() -> tuple[Path, ...]:
    """Return the folders with profiles: the checkout's ``config/``, then the installed one."""
    checkout = Path(__file__).resolve().parents[2] / "config"
    return tuple(folder for folder in (checkout, _INSTALLED) if folder.is_dir())


def list_profiles(reference: bool = False) -> tuple[str, ...]:
    """Return the names of the shipped robots, or with ``reference`` of planning benchmarks."""
    found = (
        {file.stem for file in folder.glob("*.yaml")}
        if not reference
        else {f"reference/{file.stem}" for file in (folder / "reference").glob("*.yaml")}
        for folder in profile_folders()
    )
    return tuple(sorted(set().union(*found)))


def require_profiles() -> tuple[str, ...]:
    """Return the names of the shipped robots. Raise :class:`BadProfile` if they are missing."""
    found = list_profiles()
    if DEFAULT_PROFILE not in found:
        raise BadProfile(
            (), f"{_INSTALLED}: the profiles that come with Cubist are missing. Install it again."
        )
    return found


def profile_path(name: str) -> Path:
    """Return the file of the profile called ``name``. Raise :class:`BadProfile` if unknown."""
    for folder in profile_folders():
        path = folder / f"{name}.yaml"
        with contextlib.suppress(OSError):  # no file has a name as long as this
            if path.is_file():
                return path
    known = ", ".join(require_profiles())
    raise BadProfile(
        (), f"no profile named {shortened(name)}; available: {known} (or give a path to a .yaml)"
    )


def profile_file(name_or_path: str | Path) -> Path:
    """Return the file of a profile, given as a path or by its name. Raise :class:`BadProfile`."""
    given = Path(name_or_path)
    is_path = isinstance(name_or_path, Path) or given.suffix in {".yaml", ".yml"}
    return given if is_path else profile_path(str(name_or_path))


def load_profile(name_or_path: str | Path = DEFAULT_PROFILE) -> RobotProfile:
    """Return the profile with that name or file. Raise :class:`BadProfile` with all its faults."""
    path = profile_file(name_or_path)
    try:
        text = read_text(path, MAX_BYTES)
    except BadFile as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise BadProfile([Complaint(str(path), 0, "", reason)]) from None
    return parse_profile(text, str(path))


def parse_profile(text: str, file: str = "profile") -> RobotProfile:
    """Return the profile that ``text`` describes. ``file`` names it in complaints."""
    document = parse_document(text, file)
    profile = read_document(document)
    findings = check_profile(profile)
    if findings:
        raise BadProfile([document.complaint(path, text) for path, text in findings])
    return profile.described_by(document)
