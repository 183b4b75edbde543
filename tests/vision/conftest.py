"""Where real scans are, if this machine has them; the renderer beside the tests importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def vision_data() -> Path:
    """The folder of real scans and photographs beside the checkout; skips where it is absent."""
    folder = Path(__file__).parents[2].parent / "shared" / "data" / "vision"
    if not folder.is_dir():
        pytest.skip(f"no real scans at {folder}")
    return folder
