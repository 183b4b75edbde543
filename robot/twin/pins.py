"""The stream of pin changes from the firmware: bytes in, calls on the simulated robot out.

A record is a time in half microseconds since the firmware's boot, a pin, a level and a kind, little
endian. Time records keep the robot going while nothing changes; a read waits for its answer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum

import numpy as np

from robot.settings.board_table import TICKS_PER_US
from robot.twin.simulated import SimulatedRobot

RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])


class Kind(IntEnum):
    """What a record says."""

    LEVEL = 0
    """The firmware changed an output; or, to the firmware: an input has changed."""
    TIME = 1
    """Nothing else happened until this time."""
    RESET = 2
    """The firmware has booted: its clock is at zero and its outputs are low. To a firmware that
    runs as granted: the reset button is pressed."""
    READ = 3
    """The firmware asks for the level of an input and waits for the same record back."""
    GRANT = 5
    """To a firmware that runs as granted: so many ticks may pass; from it: they have passed."""
    HANG = 6
    """To a firmware that runs as granted: its main loop hangs from now on."""


class PinStream:
    """Cuts the stream into records and plays them; ``answer`` sends bytes to the firmware."""

    def __init__(self, robot: SimulatedRobot, answer: Callable[[bytes], None]) -> None:
        self._robot = robot
        self._answer = answer
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Play what has arrived; an incomplete record waits for its rest."""
        data = self._rest + data
        whole = len(data) - len(data) % RECORD.itemsize
        self._rest = data[whole:]
        records = np.frombuffer(data[:whole], dtype=RECORD)
        columns = (records[name].tolist() for name in ("ticks", "pin", "level", "kind"))
        for ticks, pin, level, kind in zip(*columns, strict=True):
            self._play(ticks, pin, bool(level), kind)

    def restart(self) -> None:
        """A new connection: half a record of the old one is of no use."""
        self._rest = b""

    def _play(self, ticks: int, pin: int, level: bool, kind: int) -> None:
        time_us = ticks / TICKS_PER_US
        if kind == Kind.LEVEL:
            self._robot.pin_changed(time_us, pin, level)
        elif kind == Kind.TIME:
            self._robot.advance(time_us)
        elif kind == Kind.RESET:
            self._robot.reset()
        elif kind == Kind.READ:
            self._robot.advance(time_us)
            level = self._robot.inputs.get(pin, True)
            self._answer(struct.pack("<QHBB", ticks, pin, level, Kind.READ))


def input_record(pin: int, level: bool) -> bytes:
    """What tells the firmware that an input has changed."""
    return struct.pack("<QHBB", 0, pin, level, Kind.LEVEL)
