"""The firmware: generated files, unit tests and fuzzing with sanitizers, sizes and versions."""

from __future__ import annotations

import fcntl
import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from robot.cli.firmware import firmware as command
from robot.computer import board_family
from robot.link.protocol import FIRMWARE_VERSION, MAX_PAYLOAD
from tests.rig.boards import board_process

CORE = "drivers frame memory motion stepper plans full frames homing link messages setup"
PROCESS = "lines maestro pwm clock timing"
SUBJECTS = f"{CORE} {PROCESS} ports".split()
FUZZ_TARGETS = ("fuzz_link_edges", "fuzz_link_frames", "fuzz_rp2040")
"""Boards that make edges or set pulses, and the ports of an RP2040."""
PROGRAMS = pytest.mark.parametrize("program", FUZZ_TARGETS[:2])
CORPUS = Path(__file__).with_name("corpus")
DICTIONARY = "-dict=" + str(Path(__file__).with_name("messages.dict"))
SHORT_RUNS = 5_000
LONG_S = 90
CHIP_RUNS = 200_000
AS_MESSAGES, ANY_ACTUATORS = 1, 2
"""Bits of the first byte of a corpus file: see firmware/fuzz/fuzz_link.c."""
SET_SENSORS, WAIT = 0x70, 0x71
UART_MESSAGE, USB_MESSAGE, CHIP_INPUTS, CHIP_WAIT = 2, 3, 9, 11
"""Actions of firmware/fuzz/fuzz_rp2040.c."""


def run(*command: str | Path) -> None:
    """Run a command; if it fails, its output is the message."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout}\n{done.stderr[-4000:]}"


def built(name: str, *options: str, build: Sequence[str] = ()) -> Path:
    """Build programs of the firmware with CMake, one process at a time, and return their folder."""
    sources = board_family.sources()
    builds = sources.parent / "build"
    folder = builds / name
    builds.mkdir(exist_ok=True)
    own = Path(sys.executable).with_name("cmake")
    cmake = str(own) if own.exists() else "cmake"
    with (builds / f".{name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        run(cmake, "-S", sources, "-B", folder, *options, "-DCUBIST_FIRMWARE_TESTS=ON")
        run(cmake, "--build", folder, *build)
    return folder


@pytest.fixture(scope="session")
def fuzzers() -> Path:
    """Return the folder with the fuzzing targets. `make test` makes sure that clang is there."""
    return built("firmware-fuzz", "-DCMAKE_C_COMPILER=clang", build=["--target", *FUZZ_TARGETS])


@pytest.fixture(scope="session")
def unit_tests() -> Path:
    """Return the folder with the unit tests, built with sanitizers."""
    return built("firmware-tests", build=["--parallel", "2"])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_unit_tests_in_c_pass(unit_tests, subject):
    run(unit_tests / f"test_{subject}")


@PROGRAMS
def test_the_corpus_is_survived(unit_tests, program):
    files = sorted(CORPUS.iterdir())
    assert len(files) >= 40
    run(unit_tests / program, *files)


@PROGRAMS
@pytest.mark.parametrize(
    "limits",
    [
        (f"-runs={SHORT_RUNS}", "-seed=1"),
        pytest.param((f"-max_total_time={LONG_S}",), marks=pytest.mark.long),
    ],
)
@pytest.mark.timeout(LONG_S + 120)
def test_a_search_finds_nothing(fuzzers, tmp_path, program, limits):
    run(fuzzers / program, *limits, "-max_len=400", DICTIONARY, tmp_path, CORPUS)


def for_the_chip(whole: bytes, deed: int) -> bytes:
    """Return the messages of a corpus file as an input of fuzz_rp2040."""
    count = 1 + (whole[0] >> 2) % 8 if whole[0] & ANY_ACTUATORS else 0
    rest = whole[1 + count if len(whole) > count else 1 :]
    deeds = bytes([0, 3]) if deed == UART_MESSAGE else bytes([3, 8])
    while len(rest) >= 2:
        kind, size, rest = rest[0], rest[1] % (MAX_PAYLOAD + 1), rest[2:]
        payload, rest = rest[:size], rest[size:]
        if kind == WAIT:
            deeds += bytes([CHIP_WAIT, min(15, payload[0] if payload else 1)])
        elif kind == SET_SENSORS:
            deeds += bytes([CHIP_INPUTS, len(payload)]) + payload
        else:
            deeds += bytes([deed, len(payload) + 1, kind]) + payload
    return deeds


@pytest.mark.parametrize(
    "runs", [SHORT_RUNS // 5, pytest.param(CHIP_RUNS, marks=[pytest.mark.long])]
)
@pytest.mark.timeout(1800)
def test_the_rp2040_survives_whatever_comes_at_its_ports(fuzzers, tmp_path, runs):
    """Check that an emergency stop at either port still ends all motion afterwards."""
    found, corpus = tmp_path / "found", tmp_path / "corpus"
    found.mkdir()
    corpus.mkdir()
    for file in CORPUS.iterdir():
        whole = file.read_bytes()
        if whole[:1] and whole[0] & AS_MESSAGES:
            for deed in (UART_MESSAGE, USB_MESSAGE):
                (corpus / f"{file.name}-{deed}").write_bytes(for_the_chip(whole, deed))
    options = [f"-runs={runs}", "-seed=1", "-max_len=400", "-len_control=0"]
    run(fuzzers / "fuzz_rp2040", *options, found, corpus)


FLASH_BYTES = 28 * 1024
STATIC_RAM_BYTES = {"uno": 1600, "mega": 8192 - 512}
"""Static RAM allowed; the stack has the rest."""


@pytest.mark.quick
def test_version_of_a_running_board(tmp_path):
    port = tmp_path / "port"
    with board_process("cubist-firmware-host", port):
        told = CliRunner().invoke(command, ["version", "--port", str(port), "--json"]).stdout
    answer = json.loads(told)
    assert (answer["board"], answer["version"]) == ("host", FIRMWARE_VERSION)
    assert answer["matches"] is True


@pytest.mark.quick
@pytest.mark.parametrize("board", STATIC_RAM_BYTES)
def test_a_board_has_room_and_computes_nothing_in_floating_point(board):
    shown = CliRunner().invoke(command, ["build", "--board", board, "--json"])
    assert shown.exception is None, shown.exception
    told = json.loads(shown.stdout)
    assert told["static_ram_bytes"] <= STATIC_RAM_BYTES[board]
    assert told["flash_bytes"] <= FLASH_BYTES
    assert Path(told["image"]).read_text().startswith(":")
    symbols = subprocess.run(
        ["avr-nm", board_family.build(board).elf], capture_output=True, text=True, check=True
    )
    assert not [line for line in symbols.stdout.splitlines() if "sf" in line and "__" in line]


@pytest.mark.parametrize("board", board_family.firmware_boards())
def test_the_firmware_of_every_board_builds_and_fits_its_chip(board):
    chip = board_family.firmware_boards()[board]
    family = board_family.family_of(chip.target)
    if absent := board_family.missing(family.build_packages):
        pytest.skip(f"{', '.join(absent)} not installed")
    built = family.build(chip)
    assert built.image.exists()
    assert 0 < built.flash_bytes <= chip.flash_bytes
    assert 0 < built.static_ram_bytes < chip.ram_bytes


@pytest.mark.quick
def test_several_may_build_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(board_family, "build_folder", lambda _: tmp_path / "firmware")
    with ThreadPoolExecutor(3) as builders:
        flash = {one.flash_bytes for one in builders.map(board_family.build, ["uno"] * 3)}
    assert len(flash) == 1 and flash.pop() > 10_000


FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"


@pytest.fixture(scope="module")
def generate() -> Any:
    """Return the generator, which makes the files of a definition."""
    tool = runpy.run_path(str(FIRMWARE / "tools/generate_protocol.py"))
    return tool["generated"]


def test_files_are_up_to_date(generate):
    generated = generate()
    assert {path.name for path in generated} >= {"protocol.h", "protocol.py", "fault_table.json"}
    for path, text in generated.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run generate_protocol.py"


def test_a_change_of_the_definition_changes_them(generate, tmp_path):
    changed = tmp_path / "protocol.toml"
    text = (FIRMWARE / "protocol.toml").read_text(encoding="utf-8")
    changed.write_text(text.replace("MAX_PAYLOAD = [48", "MAX_PAYLOAD = [40"), encoding="utf-8")
    assert generate(changed) != generate()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("RP2040 = [2, 30,", r"\[pins\] has no RP2040"),
        ("RP2040 = [4, 500000,", r"\[steps\] has no RP2040"),
        ("RP2040 = [16, 8,", r"\[actuators\] has no RP2040"),
        ('RP2040 = [4, "Rasp', r"\[enums.Board\] has no RP2040"),
    ],
)
def test_a_board_without_a_row_in_every_table_is_refused(generate, tmp_path, row, told):
    lines = (FIRMWARE / "protocol.toml").read_text(encoding="utf-8").splitlines()
    changed = tmp_path / "protocol.toml"
    left = [line for line in lines if not line.startswith(row)]
    assert len(left) == len(lines) - 1
    changed.write_text("\n".join(left), encoding="utf-8")
    with pytest.raises(ValueError, match=f"^firmware/protocol.toml: {told}$"):
        generate(changed)
