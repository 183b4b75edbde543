"""Writing the chart of a plan or of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robot.storage import write_given
from robot.timeline import operations_svg


def draw(path: Path, operations: Sequence[Mapping[str, Any]], duration_us: int) -> None:
    """Draw ``operations`` into an SVG file, ``-`` for standard output; raises ``StorageError``."""
    chart = operations_svg(operations, f"{duration_us / 1e6:.2f} s")
    write_given(path, chart.encode())
