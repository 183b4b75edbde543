"""The AVR firmware under simavr for measurements: every pin change with its cycle-exact time."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot.link.framing import Frame, FrameReader

ROOT = Path(__file__).resolve().parents[2]
RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])
OUTPUT, READ, BYTE = 0, 3, 4
BYTE_CYCLES = 352


def build_elf(board: str) -> Path:
    """The firmware of a board, built if it is not up to date."""
    folder = ROOT / "build" / f"firmware-{board}"
    command = ["make", "-C", ROOT / "firmware" / "avr", f"BOARD={board}", f"BUILD={folder}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "cubist.elf"


def static_sizes(elf: Path) -> tuple[int, int]:
    """Bytes of flash and of static RAM."""
    shown = subprocess.run(["avr-size", elf], capture_output=True, text=True, check=True).stdout
    text, data, bss = (int(word) for word in shown.splitlines()[1].split()[:3])
    return text + data, data + bss


@dataclass
class Recorder:
    """Keeps what comes from the pins; inputs are answered as not pressed."""

    listener: socket.socket

    def __post_init__(self) -> None:
        self._chunks: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rb") as stream:
            while len(record := stream.read(RECORD.itemsize)) == RECORD.itemsize:
                if record[-1] == READ:
                    connection.sendall(record[:10] + b"\1" + record[11:])
                else:
                    self._chunks.append(record)

    def records(self, kind: int = OUTPUT) -> NDArray[np.void]:
        """All records of a kind so far."""
        records = np.frombuffer(b"".join(list(self._chunks)), dtype=RECORD)
        return records[records["kind"] == kind]

    def frames(self) -> list[tuple[int, Frame]]:
        """Frames as they reached the UART, each with the cycle at which its last byte was in."""
        reader = FrameReader()
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
    """A running simulation."""

    process: subprocess.Popen[bytes]
    port: Path
    pins: Recorder


@contextlib.contextmanager
def avr_board(board: str = "uno", speed: float = 1.0, *options: str) -> Iterator[AvrBoard]:
    """The firmware of a board under simavr, until the end of the block."""
    elf = build_elf(board)
    program = Path(sys.executable).with_name("cubist-firmware-avr")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        port, pins = Path(folder) / "port", Path(folder) / "pins"
        listener.bind(str(pins))
        listener.listen()
        command = [program, "--elf", elf, "--board", board, "--pty-link", port, "--pins", pins]
        process = subprocess.Popen([*command, "--speed", str(speed), *options])
        try:
            while not port.exists():
                if process.poll() is not None:
                    raise RuntimeError("the simulation ended at once")
                time.sleep(0.01)
            yield AvrBoard(process, port, Recorder(listener))
        finally:
            process.terminate()
            process.wait(10)
