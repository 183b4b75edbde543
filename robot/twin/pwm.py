"""PWM chips in a folder, as the kernel shows them, and the pulses that they make.

The files that a firmware writes are pipes, so every single value arrives, in its order; a record on
the socket of the pins says when. What a chip does with it is the hardware's: pulses come in periods
whose beginning the firmware does not know, and a new duty counts from the next period on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from robot.settings.pins import SERVO_BOARDS
from robot.twin.pulses import EdgeListener, PulseMaker, PulseTrain
from solver.errors import InvalidRequest

FILES = ("duty_cycle", "period", "enable")
"""Files of a channel, in the order in which records number them."""
OWN_CHANNELS: Mapping[int, int] = {12: 0, 18: 0, 13: 1, 19: 1}
"""BCM number -> channel of the Pi's own PWM, up to the Pi 4 and the Zero 2."""
NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A value as it was written."""

    time_us: float
    pin: int
    file: str
    value: int


class _Channel:
    """The files of one output of a chip."""

    def __init__(self, folder: Path, train: PulseTrain) -> None:
        self._pin = train.pin
        self._train = train
        self._pipes = {file: _make_pipe(folder / file) for file in FILES}
        self._rests = dict.fromkeys(FILES, b"")
        self._ns = dict.fromkeys(FILES, 0)

    def take(self, time_us: float, number: int) -> FileWrite:
        """The next value in a file; it counts from now on."""
        file = FILES[number]
        while b"\n" not in self._rests[file]:
            self._rests[file] += os.read(self._pipes[file], 4096)
        text, _, self._rests[file] = self._rests[file].partition(b"\n")
        if not text.isdigit():
            raise InvalidRequest(f"pin {self._pin}, {file}: {text!r}")
        before, self._ns[file] = self._ns[file], int(text)
        if file != "enable" and self._ns["duty_cycle"] > self._ns["period"]:
            raise InvalidRequest(f"pin {self._pin}: a duty of {self._ns['duty_cycle']} ns")
        if self._ns["enable"] and not self._ns["period"]:
            raise InvalidRequest(f"pin {self._pin}: enabled without a period")
        self._train.width_us = self._ns["duty_cycle"] / NS_PER_US
        self._train.period_us = self._ns["period"] / NS_PER_US
        if file == "enable" and self._ns["enable"] != before:
            if self._ns["enable"]:
                self._train.run(time_us)
            else:
                self._train.halt()
        return FileWrite(time_us, self._pin, file, self._ns[file])

    def close(self) -> None:
        """Nobody reads any more."""
        for pipe in self._pipes.values():
            os.close(pipe)


class PwmChips(PulseMaker):
    """The chips that make the pulses of ``pins``, numbered as on the wire, in ``folder``.

    12, 13, 18 and 19 are outputs of the Pi's own chip, other BCM numbers those of a ``pwm-gpio``
    each, channels of a PCA9685 its own.
    """

    def __init__(self, folder: Path, pins: Iterable[int], edge: EdgeListener) -> None:
        super().__init__(edge)
        self.folder = folder
        self.writes: list[FileWrite] = []
        self._channels: dict[int, _Channel] = {}
        self._chips: dict[str, Path] = {}
        folder.mkdir(exist_ok=True)
        for pin in sorted(set(pins)):
            self._add(pin)

    def close(self) -> None:
        """Give the pipes back, as a chip that is unplugged. Idempotent."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self._trains.clear()

    def _take(self, time_us: float, pin: int, place: int) -> None:
        self.writes.append(self._channels[pin].take(time_us, place))

    def _add(self, pin: int) -> None:
        if pin in SERVO_BOARDS["pca9685"]:
            channel = SERVO_BOARDS["pca9685"].index(pin)
            place = self._chip("1-0040", name=b"pca9685"), channel
        elif pin in OWN_CHANNELS:
            place = self._chip("fe20c000.pwm"), OWN_CHANNELS[pin]
        else:
            gpios = b"".join(cell.to_bytes(4, "big") for cell in (7, pin, 0))
            place = self._chip(f"pwm_gpio@{pin:x}", gpios=gpios), 0
        files = place[0] / f"pwm{place[1]}"
        files.mkdir()
        self._channels[pin] = _Channel(files, self._add_train(pin))

    def _chip(self, device: str, name: bytes = b"", gpios: bytes = b"") -> Path:
        """The folder of a device's chip; made at the first call."""
        if device in self._chips:
            return self._chips[device]
        behind = self.folder / "devices" / device
        (behind / "of_node").mkdir(parents=True)
        if name:
            (behind / "name").write_bytes(name + b"\n")
        if gpios:
            (behind / "of_node" / "gpios").write_bytes(gpios)
        chip = self.folder / f"pwmchip{2 * len(self._chips)}"
        chip.mkdir()
        (chip / "device").symlink_to(behind)
        self._chips[device] = chip
        return chip


def _make_pipe(path: Path) -> int:
    """A pipe; kept open for both ends, so that a writer never waits for a reader."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
