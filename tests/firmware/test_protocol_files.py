"""Generated files are what the generator makes of protocol.toml today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from robot.link.protocol import MAX_PAYLOAD, MESSAGES
from robot.link.wire import EMERGENCY_STOP
from robot.text.faults import FAULTS, Fault, RobotError, code_of

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_protocol", FIRMWARE / "tools" / "generate_protocol.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_up_to_date(generator: ModuleType) -> None:
    generated = generator.generated()
    assert {path.name for path in generated} >= {"protocol.h", "protocol.py", "fault_table.json"}
    for path, text in generated.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run generate_protocol.py"


def test_a_change_of_the_definition_changes_them(generator: ModuleType, tmp_path: Path) -> None:
    changed = tmp_path / "protocol.toml"
    text = (FIRMWARE / "protocol.toml").read_text(encoding="utf-8")
    changed.write_text(text.replace("MAX_PAYLOAD = [48", "MAX_PAYLOAD = [40"), encoding="utf-8")
    assert generator.generated(changed) != generator.generated()


def test_both_sides_stop_at_the_same_bytes(generator: ModuleType) -> None:
    header = next(text for path, text in generator.generated().items() if path.suffix == ".h")
    shown = ", ".join(f"{byte:#04x}" for byte in EMERGENCY_STOP.strip(b"\0"))
    assert f"PROTOCOL_STOP_PATTERN {{{shown}}}" in header


def test_every_message_fits_a_frame() -> None:
    assert all(message.LAYOUT.size <= MAX_PAYLOAD for message in MESSAGES.values())


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_every_fault_says_what_to_do(fault: Fault) -> None:
    row = FAULTS[code_of(fault)]
    error = RobotError(fault, detail="lid")
    assert all(part in str(error) for part in (row.about, row.cause, row.remedy, "lid"))
    assert error.code == fault.name.lower().replace("_", "-")
