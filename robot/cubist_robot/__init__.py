"""Start the programs, after a check that their packages are Cubist's own.

In the wheel this is the package ``cubist_robot``, which the commands call. ``robot``, ``solver``
and ``vision`` are common names: another distribution may hide our packages or overwrite their
files. So this module checks them before the first import.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path

PACKAGES = ("robot", "solver", "vision")
FOLDER = __name__
"""The name of the package as installed, the same as the distribution's."""

DISTRIBUTION = FOLDER.replace("_", "-")
OWN = f"Install {DISTRIBUTION} into a virtual environment of its own"
AGAIN = f"Install {DISTRIBUTION} again, with pip's --force-reinstall."
BAD_USAGE = 2


def cubist() -> None:
    """Run ``cubist``."""
    _run("robot.cli.main")


def daemon() -> None:
    """Run ``cubistd``."""
    _run("robot.daemon.main")


def web() -> None:
    """Run ``cubist-web``."""
    _run("robot.web.main")


def display() -> None:
    """Run ``cubist-display``."""
    _run("robot.display.main")


def mqtt() -> None:
    """Run ``cubist-mqtt``."""
    _run("robot.mqtt.main")


def _run(module: str) -> None:
    # Our matrices are small: another thread of NumPy's library would take longer to wake than
    # any of them takes. The library reads this when it is imported, in child processes too.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    home = _find_home(Path(__file__).resolve().parent)
    if complaint := find_hidden(home) or find_overwritten(home, ("__init__.py",)):
        _refuse(complaint)
    try:
        main = importlib.import_module(module).main
    except (ImportError, AttributeError):
        if complaint := find_overwritten(home, (".py",)):
            _refuse(complaint)
        raise
    main()


def find_hidden(home: Path) -> str:
    """Describe a package that Python finds in place of ours in ``home``; empty if there is none."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = [spec.origin] if spec and spec.origin else []
        places += spec.submodule_search_locations or [] if spec else []
        found = Path(places[0]).resolve() if places else None
        if found is None:
            return f"{home / name} is missing. {AGAIN}"
        if found not in {home / name / "__init__.py", home / name}:
            place = found.parents[1] if found.name == "__init__.py" else found.parent
            return (
                f"{found} is not Cubist's package '{name}', which is in {home}. "
                f"Take {place} out of PYTHONPATH, or rename that package. {OWN} if both are needed."
            )
    return ""


def find_overwritten(home: Path, endings: tuple[str, ...]) -> str:
    """Describe a file of ours that another distribution overwrote; empty if there is none.

    It compares the files with the hashes that pip keeps of the wheel. A checkout has none.
    """
    for path, expected in _read_record(home).items():
        package, _, rest = path.partition("/")
        is_asked = rest in endings or (path.endswith(".py") and ".py" in endings)
        if package not in PACKAGES or not is_asked or not expected:
            continue
        try:
            digest = hashlib.sha256((home / path).read_bytes()).digest()
        except OSError:
            return f"{home / path} is missing. {AGAIN}"
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected:
            return (
                f"{home / path} is not Cubist's file any more: {_name_owner(home, path)} replaced "
                f"it. {OWN}."
            )
    return ""


def _read_record(home: Path) -> dict[str, str]:
    """Return path -> SHA-256 of the files that pip installed; empty in a checkout."""
    found = {}
    for record in home.glob(f"{FOLDER}-*.dist-info/RECORD"):
        for line in record.read_text(encoding="utf-8").splitlines():
            path, _, rest = line.partition(",")
            found[path] = rest.partition(",")[0].removeprefix("sha256=")
    return found


def _name_owner(home: Path, path: str) -> str:
    """Return the name of the other distribution to which a file belongs."""
    for record in home.glob("*.dist-info/RECORD"):
        name = record.parent.name.partition("-")[0]
        if name != DISTRIBUTION.replace("-", "_") and f"\n{path}," in "\n" + record.read_text(
            "utf-8"
        ):
            return f"the package '{name}'"
    return "another package"


def _find_home(here: Path) -> Path:
    """Return the folder of our packages: beside us in the wheel, above us in a checkout."""
    return here.parent if (here.parent / PACKAGES[0]).is_dir() else here.parents[1]


def _refuse(complaint: str) -> None:
    sys.stderr.write(f"cubist: {complaint}\n")
    sys.exit(BAD_USAGE)
