"""The table of USB cameras with the real OpenCV and driver, in a virtual machine."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tests.rig.camera_table import TABLE, Seen, judge
from tests.system.kernel.camera_machine import boot_cameras, fetch_system
from tests.system.kernel.machine import Unavailable

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

SEEN = {field.name for field in fields(Seen)}


def test_real_usb_cameras_behave_as_in_the_table(tmp_path: Path) -> None:
    for name in ("made", "guest"):
        (tmp_path / name).mkdir()
    try:
        system = fetch_system(tmp_path / "made")
    except Unavailable as reason:
        pytest.skip(f"no virtual machine here: {reason}")
    found = boot_cameras(system, tmp_path / "guest", "cameras")
    wrong = {}
    for row in (row for row in TABLE if row.kind == "usb"):
        seen = found[row.name]
        if "error" in seen:
            wrong[row.name] = seen["error"]
        elif differs := judge(row, Seen(**{name: seen[name] for name in SEEN})):
            wrong[row.name] = differs
    assert wrong == {}
