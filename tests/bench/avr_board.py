"""The AVR firmware under simavr for measurements: every pin change with its cycle-exact time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.computer.board_family import build, executable
from robot.link.wire import CobsReader, WireFrame
from tests.rig.simulated_time import VirtualBoard, VirtualLoop, VirtualPort

RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])
OUTPUT, READ, BYTE, STACK = 0, 3, 4, 7
BYTE_CYCLES = 352


@dataclass
class Recorder:
    """Keeps what comes from the pins; inputs are answered as not pressed."""

    answer: Callable[[bytes], None]

    def __post_init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """See :class:`tests.rig.simulated_time.PinListener`."""
        self._chunks.append(data)
        records = np.frombuffer(data, dtype=RECORD)
        for record in records[records["kind"] == READ]:
            asked = record.tobytes()
            self.answer(asked[:10] + b"\1" + asked[11:])

    def records(self, kind: int = OUTPUT) -> NDArray[np.void]:
        """All records of a kind so far."""
        records = np.frombuffer(b"".join(self._chunks), dtype=RECORD)
        return records[records["kind"] == kind]

    def frames(self) -> list[tuple[int, WireFrame]]:
        """Frames as they reached the UART, each with the cycle at which its last byte was in."""
        reader = CobsReader()
        found = []
        for record in self.records(BYTE):
            arrived = int(record["ticks"]) + BYTE_CYCLES
            found += [(arrived, frame) for frame in reader.feed(bytes([record["level"]]))]
        return found

    def edges(self, pin: int, level: int = 1) -> NDArray[np.int64]:
        """Ticks at which a pin went to a level."""
        records = self.records()
        chosen = records[(records["pin"] == pin) & (records["level"] == level)]
        return chosen["ticks"].astype(np.int64)


@dataclass
class AvrBoard:
    """A running simulation, and the loop whose time is its own."""

    loop: VirtualLoop
    port: VirtualPort
    pins: Recorder

    def stack_left(self) -> int:
        """Fewest bytes there ever were between stack and variables."""
        return int(self.pins.records(STACK)["pin"].min())


@contextlib.contextmanager
def avr_board(name: str = "uno") -> Iterator[AvrBoard]:
    """The firmware of a board under simavr, until the end of the block; records in cycles."""
    command = [
        executable("cubist-firmware-avr"),
        "--elf",
        build(name).elf,
        "--board",
        name,
        "--cycles",
        "--stack",
    ]
    with contextlib.closing(VirtualLoop()) as loop:
        board = VirtualBoard(command)
        board.listener = pins = Recorder(board.answer)
        port = VirtualPort(board, loop)
        try:
            yield AvrBoard(loop, port, pins)
        finally:
            port.end()
            board.end()
