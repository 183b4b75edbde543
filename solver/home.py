"""The user's own directories, which not every account has."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from solver.errors import CubistError


class NoHomeDirectory(CubistError, ValueError):
    """The account has no home directory, and nothing says what to use instead."""


def user_directory(
    variable: str, below_home: str, instead: str, environ: Mapping[str, str] = os.environ
) -> Path:
    """What the XDG ``variable`` says, else ``below_home`` in the user's home directory.

    As that standard demands, a path that is not absolute counts as absent: it would mean another
    folder wherever a command is run. NoHomeDirectory asks to set the variable ``instead``.
    """
    named = environ.get(variable, "")
    return Path(named) if Path(named).is_absolute() else _home(instead, environ) / below_home


def _home(instead: str, environ: Mapping[str, str]) -> Path:
    """``HOME`` where it is absolute, else what the system's accounts say."""
    candidates = [environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        candidates.append(pwd.getpwuid(os.getuid()).pw_dir)
    found = next((Path(home) for home in candidates if Path(home).is_absolute()), None)
    if found is None:
        raise NoHomeDirectory(f"this account has no home directory: set {instead} to a directory")
    return found
