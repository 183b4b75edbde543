"""The user's own directory, which not every account has."""

from __future__ import annotations

from pathlib import Path

from solver.errors import CubistError


class NoHomeDirectory(CubistError, ValueError):
    """The account has no home directory, and nothing says what to use instead."""


def home_directory(instead: str) -> Path:
    """The user's directory; NoHomeDirectory asks to set the variable ``instead``."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise NoHomeDirectory(
            f"this account has no home directory: set {instead} to a directory"
        ) from error
