"""One boot for all scenarios: fetching the kernel and building its modules takes longest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.system.kernel.debian import Unavailable, fetched
from tests.system.kernel.machine import boot

SCENARIOS = ("panel", "lines", "servo_board")


@pytest.fixture(scope="session")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each scenario found in the machine."""
    try:
        kernel = fetched(tmp_path_factory.mktemp("kernel"))
    except Unavailable as reason:
        pytest.skip(f"no virtual machine here: {reason}")
    return boot(kernel, SCENARIOS)
