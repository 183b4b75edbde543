"""``make bench``: measures areas and prints JSON lines.

``make bench ARGS="solver vision"`` runs those areas alone; ``ARGS=--list`` names them.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

AREAS = {
    "algorithms": "algorithms",
    "campaign": "simulation",
    "colours": "vision",
    "crane": "planner",
    "daemon": "daemon",
    "firmware": "firmware",
    "latency": "daemon",
    "memory": "daemon",
    "nxn": "algorithms",
    "page": "page",
    "pi_board": "pi",
    "pi_steps": "pi",
    "planner": "planner",
    "proof": "planner",
    "simulation": "simulation",
    "solver": "solver",
    "tables": "solver",
    "vision": "vision",
}
"""Areas, and the file ``bench_NAME.py`` with the function ``measure_AREA`` of each."""


def main() -> int:
    """Run the areas asked for, all of them by default."""
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
