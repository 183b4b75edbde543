"""Directories of a daemon: its sockets and its records, for the daemon and its clients.

A lasting simulated robot (``cubist simulate``) announces its place in a file of its user's. Clients
find it there when no daemon of a real robot answers.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from solver.errors import CubistError
from solver.files import BadFile, open_file, parse_object, user_directory

SYSTEM_RUNTIME = Path("/run/cubist")
SYSTEM_STATE = Path("/var/lib/cubist")

LARGEST_ANNOUNCEMENT = 64 * 1024
"""Most bytes of a file that announces a simulated robot."""


def runtime_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the service's directory if there is one, else the user's own."""
    for name in ("CUBIST_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        if environ.get(name):
            return Path(environ[name].split(":")[0])
    if SYSTEM_RUNTIME.is_dir():
        return SYSTEM_RUNTIME
    return _user_runtime(environ) / "cubist"


def _user_runtime(environ: Mapping[str, str]) -> Path:
    base = Path(environ.get("XDG_RUNTIME_DIR", ""))
    return base if base.is_absolute() else Path(f"/tmp/cubist-{os.getuid()}")


def state_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the service's directory if there is one, else the user's own.

    Raises InvalidRequest if there is neither.
    """
    for name in ("CUBIST_STATE_DIR", "STATE_DIRECTORY"):
        if environ.get(name):
            return Path(environ[name].split(":")[0])
    if SYSTEM_STATE.is_dir():
        return SYSTEM_STATE
    return user_directory("XDG_STATE_HOME", ".local/state", "CUBIST_STATE_DIR", environ) / "cubist"


def control_socket(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the control socket: a real robot's if its daemon answers, else a simulated one's.

    A directory that ``environ`` names is used without checking for a daemon.
    """
    simulated = simulated_robot(environ)
    if simulated is not None:
        return simulated.control_socket
    return runtime_directory(environ) / SOCKET_NAME


def simulated_robot(environ: Mapping[str, str] = os.environ) -> Simulation | None:
    """Return the simulated robot that clients find; None if a real robot takes precedence."""
    usual = runtime_directory(environ) / SOCKET_NAME
    if environ.get("CUBIST_RUNTIME_DIR") or _answers(usual):
        return None
    return running_simulation(environ)


SIMULATION_RUNS = "simulation-runs"
"""Code of the :class:`CubistError` if a simulation is already running."""

SOCKET_NAME = "control.sock"
HAND_NAME = "hand.sock"
"""Name of a simulated robot's socket for the actions of a person's hands."""

UNIT = "cubistd.service"
UNIT_FOLDERS = tuple(
    Path(folder) / "systemd/system" for folder in ("/etc", "/usr/local/lib", "/usr/lib", "/lib")
)


def how_to_start_the_daemon(unit_folders: Sequence[Path] = UNIT_FOLDERS) -> str:
    """Return the advice if no daemon runs: start its service, or simulate if there is none."""
    if any((folder / UNIT).exists() for folder in unit_folders):
        return "Start it with `sudo systemctl start cubistd`."
    return (
        "No robot here? Run `cubist simulate` in another terminal: all commands then find its "
        "simulated robot. For a real robot, run `cubistd` or install its service "
        "(docs/install.md)."
    )


@dataclass(frozen=True)
class Simulation:
    """A lasting simulated robot: its process, its profile's name, its folder, and the ``speed`` of
    its clock relative to this computer's."""

    process: int
    robot: str
    folder: Path
    speed: float = 1.0

    @property
    def about(self) -> str:
        """Name and speed for people: ``simulated cubotino, 2 times as fast as a real one``."""
        pace = "" if self.speed == 1 else f", {self.speed:g} times as fast as a real one"
        return f"simulated {self.robot}{pace}"

    @property
    def control_socket(self) -> Path:
        """Return the control socket of its daemon."""
        return self.folder / "run" / SOCKET_NAME

    @property
    def hand_socket(self) -> Path:
        """Return the socket that accepts a person's actions with cube and robot."""
        return self.folder / HAND_NAME


def running_simulation(environ: Mapping[str, str] = os.environ) -> Simulation | None:
    """Return this user's simulated robot, if one is running."""
    path = _simulation_file(environ)
    with contextlib.suppress(BadFile, KeyError, ValueError, TypeError):
        with os.fdopen(open_file(path), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.getuid() or _lock(file):
                return None  # left behind by one that was killed
            found = parse_object(file.read(LARGEST_ANNOUNCEMENT), str(path))
        process, speed = int(found["process"]), float(found["speed"])
        return Simulation(process, str(found["robot"]), Path(found["folder"]), speed)
    return None


@contextlib.contextmanager
def announced(simulation: Simulation, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Let clients find a simulated robot while the context lasts.

    Raises :class:`CubistError` if this user has another one running, and
    :class:`solver.files.BadFile` if its file cannot be used.
    """
    path = _simulation_file(environ)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = open_file(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        if not _lock(file):
            raise CubistError(_where(running_simulation(environ)), code=SIMULATION_RUNS)
        known = {"process": simulation.process, "robot": simulation.robot}
        document = known | {"speed": simulation.speed}
        file.truncate()
        json.dump(document | {"folder": str(simulation.folder)}, file)
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _where(other: Simulation | None) -> str:
    which = f" ({other.robot}, process {other.process})" if other else ""
    return f"a simulated robot is already running{which}: end it first, with Ctrl-C in its terminal"


def _simulation_file(environ: Mapping[str, str]) -> Path:
    return _user_runtime(environ) / "cubist-simulation.json"


def _lock(file: IO[Any]) -> bool:
    """Take the file's lock, which ends with the process. Return False while another has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _answers(path: Path) -> bool:
    """Return whether a server listens at a socket, even if access is denied."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(path))
        except PermissionError:
            return True
        except OSError:
            return False
    return True
