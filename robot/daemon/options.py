"""How ``cubistd`` is started: flags, else the environment, else what systemd or the user has."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robot.paths import runtime_directory, state_directory
from robot.settings import DEFAULT_PROFILE
from solver.home import NoHomeDirectory

LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Options:
    """``twin`` is the socket of a simulated robot; ``port`` overrides the profile's serial port."""

    profile: str
    runtime_dir: Path
    state_dir: Path
    port: str | None = None
    twin: str | None = None
    log_level: str = "info"

    @property
    def socket_path(self) -> Path:
        """The control socket."""
        return self.runtime_dir / "control.sock"

    @property
    def lock_path(self) -> Path:
        """The lock that one daemon holds."""
        return self.runtime_dir / "cubistd.lock"


def parse(arguments: Sequence[str] | None, environ: Mapping[str, str] = os.environ) -> Options:
    """Read flags; leaves with exit code 2 and a message when they are wrong."""
    parser = _parser(environ)
    found = parser.parse_args(arguments)
    try:
        state_dir = found.state_dir or state_directory(environ)
    except NoHomeDirectory as error:
        parser.error(str(error))
    return Options(
        profile=found.profile,
        runtime_dir=found.runtime_dir or runtime_directory(environ),
        state_dir=state_dir,
        port=found.port,
        twin=found.twin,
        log_level=found.log_level,
    )


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cubistd",
        description="Controls a cube-solving robot: owns its serial port, cameras and panel.",
        epilog="Every flag can be set in the environment: CUBIST_PROFILE, CUBIST_RUNTIME_DIR, "
        "CUBIST_STATE_DIR, CUBIST_PORT, CUBIST_TWIN, CUBIST_LOG_LEVEL.",
    )
    add = parser.add_argument
    default = environ.get("CUBIST_PROFILE", DEFAULT_PROFILE)
    add("--profile", default=default, help="name from config/ or path of the robot's profile")
    add("--runtime-dir", type=Path, help="where the control socket and the lock are")
    add("--state-dir", type=Path, help="where run records and calibration are kept")
    add("--port", default=environ.get("CUBIST_PORT"), help="serial port of the firmware")
    add("--twin", default=environ.get("CUBIST_TWIN"), help="socket of a simulated robot")
    level = environ.get("CUBIST_LOG_LEVEL", "info")
    add("--log-level", choices=LEVELS, default=level, help="what to log (info)")
    return parser
