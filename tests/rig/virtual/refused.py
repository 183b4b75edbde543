"""A folder that refuses whoever runs the tests, root as well."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65_534


@contextlib.contextmanager
def refusing(folder: Path) -> Iterator[None]:
    """Make a folder refuse this process, which is not root meanwhile."""
    mode, user = folder.stat().st_mode, os.geteuid()
    folder.chmod(0)
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)
