"""``make bench``: measures areas and prints JSON lines.

``make bench ARGS="solver vision"`` runs only these areas; ``ARGS=--list`` lists all areas.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

FILES = {
    "algorithms": "algorithms nxn",
    "daemon": "button daemon latency memory",
    "firmware": "firmware pi_board pi_steps pico",
    "page": "page",
    "planner": "crane planner proof",
    "simulation": "calibration campaign simulation",
    "solver": "solver tables",
    "vision": "colours vision",
}
"""The areas of each ``bench_NAME.py``, which has a function ``measure_AREA`` for every one."""

AREAS = dict(sorted((area, name) for name, areas in FILES.items() for area in areas.split()))


def main() -> int:
    """Run the requested areas (default: all)."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--list", action="store_true", help="name the areas and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(AREAS))
        return 0
    unknown = [area for area in options.areas if area not in AREAS]
    if unknown:
        parser.error(f"no benchmark of {', '.join(unknown)}; there are: {', '.join(AREAS)}")
    for area in options.areas or AREAS:
        print(f"[bench] {area}", file=sys.stderr)
        getattr(import_module(f"tests.bench.bench_{AREAS[area]}"), f"measure_{area}")()
    return 0


if __name__ == "__main__":
    sys.exit(main())
