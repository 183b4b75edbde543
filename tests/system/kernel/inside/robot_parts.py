"""Parts of a whole robot inside the virtual machine, as a service; the rest is outside it.

The service makes a Raspberry Pi's devices and plugs in the webcam. Then it reports every write to
the servo board's chip and the passing of time as JSON lines, and obeys orders.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from robot.api.client import ControlClient
from robot.api.endpoints import Endpoint
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from tests.system.kernel.inside.devices import TRACE, Chip, Note, ServoBoard, following
from tests.system.kernel.inside.surroundings import attach, nodes, wait_for

LABEL, CAMERA = "pinctrl-bcm2711", "UVC Camera"
MODULES = (
    *("gpio-simulator", "i2c-dev", "i2c-stub chip_addr=0x40", "pwm-pca9685"),
    *("uvcvideo", "vhci-hcd"),
)
OUTSIDE = "10.0.2.100"
ORDERS, PICTURES = 1, 2
"""Ports of the lines to the outside."""
TICK_S = 0.05
CLIENT = ControlClient(Path("/run/cubist/control.sock"))


def connect(port: int) -> socket.socket:
    """Connect to the outside as soon as there is a network."""

    def attempt() -> socket.socket | None:
        with suppress(OSError):
            return socket.create_connection((OUTSIDE, port))
        return None

    return wait_for(attempt)


class Teller:
    """The line to the outside, shared by several threads."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._turn = threading.Lock()

    def tell(self, **what: object) -> None:
        with self._turn:
            self._line.sendall(json.dumps(what).encode() + b"\n")

    def hear(self, note: Note) -> None:
        self.tell(time_s=note.time_s, event=note.event, text=note.text)


def let_time_pass() -> None:
    """Write a trace marker every tick, so that the trace shows the passing of time."""
    while True:
        (TRACE / "trace_marker").write_text("tick")
        time.sleep(TICK_S)


def confirm(profile: str) -> None:
    """Confirm every position and direction of the profile, as if somebody had checked them all."""
    values = confirmable(load_profile(profile))
    with CLIENT.maintenance():
        CLIENT.call(Endpoint("PUT", "/calibration"), {"values": values})


def obey(order: dict[str, Any], chip: Chip) -> dict[str, object]:
    match order["do"]:
        case "press":
            chip.press(order["pin"], order["seconds"])
        case "confirm":
            confirm(order["profile"])
        case "status":
            return {"state": CLIENT.status()["state"]}
        case "run":
            done = subprocess.run(order["words"], capture_output=True, text=True, check=False)
            return {"code": done.returncode, "output": done.stdout + done.stderr}
        case "read":
            path = Path(order["path"])
            return {"output": path.read_text() if path.exists() else ""}
    return {}


def main() -> None:
    for module in MODULES:
        subprocess.run(["modprobe", *module.split()], check=True)
    line = connect(ORDERS)
    teller = Teller(line)
    chip = Chip("robot", LABEL)
    with following(teller.hear, "smbus/smbus_write"):
        ServoBoard()
        attach(connect(PICTURES))
        wait_for(lambda: len(nodes(CAMERA)) == 2)
        threading.Thread(target=let_time_pass, daemon=True).start()
        subprocess.run(["systemd-notify", "--ready"], check=True)
        for text in line.makefile():
            teller.tell(answer=obey(json.loads(text), chip))


if __name__ == "__main__":
    main()
