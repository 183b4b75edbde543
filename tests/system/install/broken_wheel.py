"""``broken_wheel.py WHEEL FOLDER``: the same wheel with a daemon that does not start."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

BROKEN = "robot/daemon/main.py"


def main(wheel: Path, folder: Path) -> None:
    """Copy every file of the wheel but one."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(folder / wheel.name, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, b"raise SystemExit(1)\n" if entry.filename == BROKEN else data)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
