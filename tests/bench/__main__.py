"""``make bench``: runs every ``bench_*.py`` beside this file and prints JSON lines.

``make bench ARGS="solver vision"`` runs those areas alone; ``ARGS=--list`` names them.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tests.bench.figures import emit

HERE = Path(__file__).parent


def load(path: Path) -> ModuleType:
    """Import one benchmark file by its path, so that ``tests`` need not be a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Run the areas asked for, all of them by default."""
    areas = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(areas))
    parser.add_argument("--list", action="store_true", help="name the areas and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(areas))
        return 0
    unknown = [area for area in options.areas if area not in areas]
    if unknown:
        parser.error(f"no benchmark of {', '.join(unknown)}; there are: {', '.join(areas)}")
    for area in options.areas or areas:
        print(f"[bench] {area}", file=sys.stderr)
        load(areas[area]).main(emit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
