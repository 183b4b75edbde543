"""The table of cameras with the real libraries and the kernel's drivers: one JSON line per row.

Each row runs in a process of its own, because a library may hang or crash.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.rig.camera_table import TABLE, Bench, Row, observe
from tests.system.kernel.inside.pi_bench import RealPi
from tests.system.kernel.inside.surroundings import run_apart
from tests.system.kernel.inside.usb_bench import RealUsb

LIMIT_S = 90.0
MODULES = ("uvcvideo", "vhci-hcd", "vimc")
BENCHES: dict[str, Callable[[], Bench]] = {"picamera2": RealPi, "usb": RealUsb}


def run(row: Row, result: Path) -> None:
    """Write the observations of a row's camera."""
    try:
        result.write_text(json.dumps(asdict(observe(row, BENCHES[row.kind]()))))
    except BaseException:
        result.write_text(json.dumps({"error": traceback.format_exc()}))


def seen_of(row: Row) -> dict[str, Any]:
    """Run a row in its own process; return its camera's observations, or the error."""
    result = Path("/tmp/result")
    result.unlink(missing_ok=True)
    sys.stderr.write(f"=== {row.name}\n")
    sys.stderr.flush()
    began = time.monotonic()
    ended = run_apart(lambda: run(row, result), LIMIT_S)
    seen: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    if ended or not seen:
        seen["error"] = f"{ended} {seen}"
    return {"row": row.name, "seconds": round(time.monotonic() - began, 2), **seen}


def main() -> None:
    """Run the whole table, or the rows named on the command line."""
    for module in MODULES:
        subprocess.run(["modprobe", module], check=True)
    names = sys.argv[1:]
    for row in TABLE:
        if row.name in names or not names:
            print(json.dumps(seen_of(row)), flush=True)


if __name__ == "__main__":
    main()
