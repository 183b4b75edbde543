"""The surroundings of a whole robot's computer: servos, cube, a webcam, a finger at the button.

The computer is a virtual machine with the package installed; its devices are the kernel's own. The
servos follow the pulses of the chip whose registers its kernel writes, in the machine's time. The
webcam is plugged in through USB/IP and shows the cube as the servos hold it.
"""

from __future__ import annotations

import json
import queue
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from robot.settings import RobotProfile
from robot.settings.board_table import FIRST_CHANNEL
from robot.twin.cube import CubeBody, scrambled
from robot.twin.pulses import EdgeListener, PulseMaker
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from solver.cube.cube import Cube
from tests.system.install.debian_root import go_through
from tests.system.kernel.inside.devices import PRESCALE, WHEN_SWITCHED_ON
from tests.system.kernel.inside.robot_parts import ORDERS, OUTSIDE, PICTURES
from tests.system.kernel.inside.webcam import Webcam
from tests.system.kernel.machine import EMULATED_PC

HERE = Path(__file__).resolve().parent
LIMIT_S = 900.0
"""Limit for steps that take the machine a minute or two, on a computer that is busy."""
CLOCK_MHZ = 25
COUNTS = 4096
FIRST_REGISTER, ALL_REGISTERS = 0x06, 0xFA
FULL_OFF = 0x10
CHANNELS = 16
WRITTEN = re.compile(r"c=([0-9a-f]+) I2C_BLOCK_DATA l=\d+ \[[0-9a-f]+-([0-9a-f-]+)\]")
"""A write to the chip: its first register, and the values after their count."""


class ServoChip(PulseMaker):
    """A PCA9685 that makes pulses as its registers say."""

    def __init__(self, edge: EdgeListener) -> None:
        super().__init__(edge)
        self._registers = bytearray(256)
        for register, value in WHEN_SWITCHED_ON.items():
            self._registers[register] = value
        for channel in range(CHANNELS):
            self._registers[FIRST_REGISTER + 4 * channel + 3] = FULL_OFF
            self._add_train(FIRST_CHANNEL + channel)

    def take_write(self, time_us: float, register: int, values: bytes) -> None:
        """Store bytes written by the driver in consecutive registers."""
        self.advance(time_us)
        span = len(values)
        places = [register]
        if ALL_REGISTERS <= register < PRESCALE:
            places = [FIRST_REGISTER + 4 * n + register - ALL_REGISTERS for n in range(CHANNELS)]
        for place in places:
            self._registers[place : place + span] = values
            channel = (place - FIRST_REGISTER) // 4
            if 0 <= channel < CHANNELS:
                self.write(time_us, FIRST_CHANNEL + channel, place)

    def close(self) -> None:
        """See :class:`PulseMaker`."""

    def _take(self, time_us: float, pin: int, place: int) -> None:
        at = FIRST_REGISTER + 4 * (pin - FIRST_CHANNEL)
        on, off = (int.from_bytes(self._registers[at + i : at + i + 2], "little") for i in (0, 2))
        train = self._trains[pin]
        train.period_us = (self._registers[PRESCALE] + 1) * COUNTS / CLOCK_MHZ
        is_off = self._registers[at + 3] & FULL_OFF
        train.width_us = 0 if is_off else (off - on) % COUNTS * train.period_us / COUNTS
        if train.next_edge_us() is None:
            train.run(time_us)


class Computer:
    """The machine while it runs, with its keyboard and the robot's button."""

    def __init__(self, line: socket.socket, qemu: subprocess.Popen[bytes]) -> None:
        self._line = line
        self._qemu = qemu
        self.answers: queue.Queue[Any] = queue.Queue()

    def order(self, do: str, **more: object) -> Any:
        """Send the machine an order and return its answer."""
        self._line.sendall(json.dumps({"do": do, **more}).encode() + b"\n")
        return self.answers.get(timeout=LIMIT_S)

    def run(self, *words: str) -> tuple[int, str]:
        """Type a command; return its exit code and what it printed."""
        answer = self.order("run", words=words)
        print(words, answer["code"], answer["output"], sep="\n")
        return answer["code"], answer["output"]

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, "it takes too long"
            assert self._qemu.poll() is None, "the machine has ended"
            time.sleep(0.5)

    def outcome(self, number: int) -> str | None:
        """Return the outcome of a run, or None while it goes on."""
        path = f"/var/lib/cubist/runs/{number:06}/run.json"
        record = self.order("read", path=path)["output"]
        return json.loads(record)["outcome"] if record else None

    def cut_power(self) -> None:
        self._qemu.kill()

    def ends(self) -> bool:
        """Wait until the machine has switched itself off; return whether it exited with 0."""
        return self._qemu.wait(LIMIT_S) == 0


class Outside:
    """A robot around a computer that has yet to boot."""

    def __init__(self, profile: RobotProfile, seed: int) -> None:
        self.robot = SimulatedRobot(profile, scrambled(profile.cube.size, seed))
        self._studio = Studio(self.robot, seed)
        self._turn = threading.Condition()
        self._ticks = 0
        self._is_open = False

    def insert(self, moves: str) -> None:
        """Put another cube, scrambled by these moves, squarely into the robot."""
        with self._turn:
            self.robot.set_square()
            self.robot.insert(CubeBody(Cube.from_moves(moves).facelets()))

    @contextmanager
    def booted(self, folder: Path, root: str = "rw") -> Iterator[Computer]:
        """Run the computer with this disk for a while. ``root``: "rw", or "ro" for read only."""
        with ExitStack() as stack:
            listeners = [self._listen(folder / name, stack) for name in ("orders", "pictures")]
            qemu = stack.enter_context(subprocess.Popen(_command(folder, root)))
            stack.callback(qemu.kill)
            orders, pictures = (stack.enter_context(one.accept()[0]) for one in listeners)
            computer = Computer(orders, qemu)
            webcam = Webcam()
            webcam.width, webcam.height = 640, 480
            webcam.look = lambda _: cv2.cvtColor(self.take_picture(), cv2.COLOR_RGB2BGR)
            webcam.connect(pictures)
            stack.callback(webcam.pull_out)
            with self._turn:
                self._is_open = True
                self.robot.reset()
            threading.Thread(target=self._hear, args=(orders, computer), daemon=True).start()
            try:
                yield computer
            except AssertionError:
                if qemu.poll() is None:
                    computer.run("journalctl", "--boot", "--no-pager", "--unit", "cubist*")
                raise

    @staticmethod
    def _listen(path: Path, stack: ExitStack) -> socket.socket:
        path.unlink(missing_ok=True)
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(LIMIT_S)
        return listener

    def _hear(self, line: socket.socket, computer: Computer) -> None:
        chip = ServoChip(self.robot.pin_changed)
        # When the power is cut, a line may end in the middle.
        with suppress(OSError):
            for text in takewhile(lambda text: text.endswith("\n"), line.makefile()):
                told = json.loads(text)
                if "answer" in told:
                    computer.answers.put(told["answer"])
                else:
                    self._play(chip, told["time_s"] * 1e6, told["text"])
        with self._turn:
            self._is_open = False
            self._turn.notify_all()

    def _play(self, chip: ServoChip, time_us: float, text: str) -> None:
        with self._turn:
            written = WRITTEN.search(text)
            if written is not None:
                chip.take_write(
                    time_us, int(written[1], 16), bytes.fromhex(written[2].replace("-", ""))
                )
            chip.advance(time_us)
            self.robot.advance(time_us)
            self._ticks += 1
            self._turn.notify_all()

    def take_picture(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the camera's view at the machine's current time or later."""
        with self._turn:
            before = self._ticks
            self._turn.wait_for(lambda: self._ticks > before or not self._is_open)
            paint = self._studio.pose_for()
        return paint().image


def _command(folder: Path, root: str) -> list[str]:
    forwards = "".join(
        f",guestfwd=tcp:{OUTSIDE}:{port}-unix:{folder / name}"
        for port, name in ((ORDERS, "orders"), (PICTURES, "pictures"))
    )
    return [
        *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *EMULATED_PC),
        *("-m", "1024", "-nodefaults", "-nographic"),
        *("-no-reboot", "-serial", f"file:{folder / 'console'}"),
        *("-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd")),
        *("-append", f"{KERNEL} root=/dev/vda {root}"),
        *(
            word
            for name in ("disk", "records")
            for word in ("-drive", f"file={folder / name},{DRIVE}")
        ),
        *("-netdev", f"user,id=net,restrict=on{forwards}", "-device", "virtio-net-pci,netdev=net"),
    ]


KERNEL = "console=ttyS0 net.ifnames=0 panic=-1 quiet"
DRIVE = "format=raw,if=virtio,cache=unsafe"
PARTS = """[Unit]
After=systemd-networkd.service
Before=cubist-board.service cubistd.service
[Service]
Type=notify
NotifyAccess=all
# The twin hears of the chip and of time at once, whatever else the processor has to do.
CPUSchedulingPolicy=rr
CPUSchedulingPriority=50
StandardError=journal+console
Environment=PYTHONPATH=/opt PYTHONDONTWRITEBYTECODE=1 RPI_LGPIO_REVISION=c03114
ExecStart=/usr/lib/cubist/bin/python -P -m tests.system.kernel.inside.robot_parts
[Install]
WantedBy=multi-user.target
"""
NETWORK = "[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nLinkLocalAddressing=no\n"


def prepare_computer(system: Path, package: Path, files: dict[str, str], folder: Path) -> None:
    """Install the package and some files, given by path, on a disk of the Debian ``system``."""
    for name in ("vmlinuz", "initrd", "root"):
        shutil.copy(system / name, folder)
    shutil.copy(package, folder / "cubist.deb")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE.parents[1], folder / "files/opt/tests", ignore=ignored)
    own = {
        "etc/systemd/system/robot-parts.service": PARTS,
        "etc/systemd/network/eth0.network": NETWORK,
        "etc/fstab": "/dev/vdb /var/lib/cubist ext4 defaults 0 0\n",
    }
    for name, text in (own | files).items():
        place = folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    go_through("13", folder, HERE / "disk_scenario")
