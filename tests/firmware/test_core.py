"""The firmware's own unit tests and fuzzing, with address and undefined-behaviour sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from robot.link.protocol import MAX_PAYLOAD

CORE = "drivers frame memory motion stepper plans full frames homing link messages setup"
PROCESS = "lines maestro pwm clock timing"
SUBJECTS = f"{CORE} {PROCESS} ports".split()
PROGRAMS = pytest.mark.parametrize("program", ["fuzz_link_edges", "fuzz_link_frames"])
CORPUS = Path(__file__).with_name("corpus")
MESSAGES = "-dict=" + str(Path(__file__).with_name("messages.dict"))
SHORT_RUNS = 5_000
LONG_S = 90
CHIP_RUNS = 200_000
AS_MESSAGES, ANY_ACTUATORS = 1, 2
"""Bits of the first byte of a corpus file: see firmware/fuzz/fuzz_link.c."""
SET_SENSORS, WAIT = 0x70, 0x71
UART_MESSAGE, USB_MESSAGE, CHIP_INPUTS, CHIP_WAIT = 2, 3, 9, 11
"""Deeds of firmware/fuzz/fuzz_rp2040.c."""


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_unit_tests_in_c_pass(unit_tests: Path, subject: str) -> None:
    run(unit_tests / f"test_{subject}")


@PROGRAMS
def test_the_corpus_is_survived(unit_tests: Path, program: str) -> None:
    files = sorted(CORPUS.iterdir())
    assert len(files) >= 40
    run(unit_tests / program, *files)


@PROGRAMS
def test_a_short_search_finds_nothing(fuzzers: Path, tmp_path: Path, program: str) -> None:
    short = [f"-runs={SHORT_RUNS}", "-seed=1", "-max_len=400", MESSAGES]
    run(fuzzers / program, *short, tmp_path, CORPUS)


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


@pytest.fixture
def chip_corpus(tmp_path: Path) -> Path:
    """A folder with the corpus for the RP2040's two ports."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for file in CORPUS.iterdir():
        whole = file.read_bytes()
        if whole[:1] and whole[0] & AS_MESSAGES:
            for deed in (UART_MESSAGE, USB_MESSAGE):
                (folder / f"{file.name}-{deed}").write_bytes(for_the_chip(whole, deed))
    return folder


@pytest.mark.parametrize(
    "runs", [SHORT_RUNS // 5, pytest.param(CHIP_RUNS, marks=[pytest.mark.long])]
)
@pytest.mark.timeout(1800)
def test_the_rp2040_survives_whatever_comes_at_its_ports(
    fuzzers: Path, tmp_path: Path, chip_corpus: Path, runs: int
) -> None:
    """Afterwards an emergency stop at either port still ends all motion."""
    options = [f"-runs={runs}", "-seed=1", "-max_len=400", "-len_control=0"]
    run(fuzzers / "fuzz_rp2040", *options, tmp_path, chip_corpus)


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 120)
@PROGRAMS
def test_a_long_search_finds_nothing(fuzzers: Path, tmp_path: Path, program: str) -> None:
    long = [f"-max_total_time={LONG_S}", "-max_len=400", MESSAGES]
    run(fuzzers / program, *long, tmp_path, CORPUS)
