"""The folder of real scans, if this machine has it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vision_data() -> Path:
    """The folder of real scans and photographs beside the checkout; skips where it is absent."""
    folder = Path(__file__).parents[2].parent / "shared" / "data" / "vision"
    if not folder.is_dir():
        pytest.skip(f"no real scans at {folder}")
    return folder
