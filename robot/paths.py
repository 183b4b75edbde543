"""Where a daemon keeps its socket and its records, for the daemon and for its clients."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from solver.files import user_directory

SYSTEM_RUNTIME = Path("/run/cubist")
SYSTEM_STATE = Path("/var/lib/cubist")


def runtime_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The service's directory where there is one, else one of the user's own."""
    for name in ("CUBIST_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        if environ.get(name):
            return Path(environ[name].split(":")[0])
    if SYSTEM_RUNTIME.is_dir():
        return SYSTEM_RUNTIME
    base = Path(environ.get("XDG_RUNTIME_DIR", ""))
    return (base if base.is_absolute() else Path(f"/tmp/cubist-{os.getuid()}")) / "cubist"


def state_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The service's directory where there is one, else one of the user's own.

    Raises NoHomeDirectory where there is none of either.
    """
    for name in ("CUBIST_STATE_DIR", "STATE_DIRECTORY"):
        if environ.get(name):
            return Path(environ[name].split(":")[0])
    if SYSTEM_STATE.is_dir():
        return SYSTEM_STATE
    return user_directory("XDG_STATE_HOME", ".local/state", "CUBIST_STATE_DIR", environ) / "cubist"


def control_socket(environ: Mapping[str, str] = os.environ) -> Path:
    """Where clients find the daemon."""
    return runtime_directory(environ) / "control.sock"
