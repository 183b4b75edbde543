"""The table of camera behaviour with the real libraries and the kernel's drivers, in a machine.

``inside/cameras.py`` runs all rows in one boot.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.rig.camera_table import TABLE, Seen, judge
from tests.system.kernel.machine import Unavailable, boot_cameras, fetch_system

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

SEEN = {field.name for field in fields(Seen)}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the observations of each row's camera."""
    try:
        system = fetch_system(tmp_path_factory.mktemp("made"))
    except Unavailable as reason:
        pytest.skip(f"no virtual machine here: {reason}")
    return boot_cameras(system, tmp_path_factory.mktemp("guest"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_real_camera_behaves_as_in_the_table(row, rows):
    seen = rows[row.name]
    assert "error" not in seen, seen["error"]
    assert judge(row, Seen(**{name: seen[name] for name in SEEN})) == {}, seen
