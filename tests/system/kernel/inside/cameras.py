"""The table of USB cameras with the real OpenCV, the kernel's driver and a webcam in software.

Each row runs in a process of its own, because a library may hang or crash.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2

from tests.rig.camera_table import TABLE, Row, Stage, UsbBench, observe
from tests.system.kernel.inside.webcam import FORMATS, Webcam
from vision.cameras import registry
from vision.cameras.registry import CameraFinding

LIMIT_S = 90.0
NOBODY = 65_534
VIDEO = Path("/sys/class/video4linux")


@contextmanager
def other_user(take: Callable[[], object]) -> Iterator[None]:
    """Let another program use a camera meanwhile; it is killed while it has it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        held = take()
        os.write(writing, b"held" if held else b"")
        signal.pause()
    os.close(writing)
    assert os.read(reading, 4) == b"held"
    yield
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until the kernel and udev have done it."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the kernel does not do it"
        time.sleep(0.02)


def nodes(name: str) -> list[Path]:
    """Return the devices of a name, in their order."""

    def has_name(path: Path) -> bool:
        try:
            return name in (path / "name").read_text()
        except OSError:  # it has just gone
            return False

    found = sorted(path.name for path in VIDEO.glob("*") if has_name(path))
    return [Path("/dev", one) for one in sorted(found, key=len)]


class RealUsb(UsbBench):
    """A webcam at the USB."""

    def __init__(self) -> None:
        self.webcam = Webcam()

    @property
    def format(self) -> str:
        return self.webcam.format

    @contextmanager
    def plugged_in(self, *formats: str, locks: bool = True) -> Iterator[Path]:
        self.webcam = Webcam(formats or FORMATS, locks=locks)
        yield self.plug_in()
        self.pull_out()

    def plug_in(self) -> Path:
        """Plug it in; return the device of its pictures."""
        self.webcam.plug_in()
        wait_for(lambda: len(nodes(self.webcam.NAME)) == 2)
        subprocess.run(["udevadm", "settle"], check=True)
        self.asked = nodes(self.webcam.NAME)[0]
        return self.asked

    def pull_out(self) -> None:
        """Pull it out."""
        self.webcam.pull_out()
        wait_for(lambda: not nodes(self.webcam.NAME))

    def take(self, path: Path) -> object:
        """Use the camera as any program would."""
        camera = cv2.VideoCapture(str(path), cv2.CAP_V4L2)
        return camera if camera.grab() else None

    def check(self) -> CameraFinding:
        return registry.check_camera("usb", str(self.asked))

    def in_use(self) -> Stage:
        with self.plugged_in() as path:
            with other_user(lambda: self.take(path)):
                yield (camera := self.camera())
            yield camera

    def user_killed(self) -> Stage:
        with self.plugged_in() as path:
            with other_user(lambda: self.take(path)):
                pass
            yield (camera := self.camera())
            yield camera

    def no_permission(self) -> Stage:
        with self.plugged_in():
            os.seteuid(NOBODY)
            yield (camera := self.camera())
            os.seteuid(0)
            yield camera

    def no_video_device(self) -> Stage:
        with self.plugged_in() as path:
            yield self.camera(Path("/dev/null"))
            yield self.camera(path)

    def other_node(self) -> Stage:
        with self.plugged_in() as path:
            yield self.camera(nodes(self.webcam.NAME)[1])
            yield self.camera(path)

    def pulled_out(self) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            self.pull_out()
            yield camera
            self.plug_in()
            yield camera

    def plugged_in_again(self) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            self.pull_out()
            self.plug_in()
            yield camera
            yield camera

    def while_used(self, name: str, value: object, usual: object) -> Stage:
        """Yield a camera in use that something happens to, then the same camera, opened again."""
        with self.plugged_in():
            camera = self.settled()
            setattr(self.webcam, name, value)
            yield camera
            setattr(self.webcam, name, usual)
            camera.close()
            yield camera

    def sends_nothing(self) -> Stage:
        return self.while_used("is_sending", False, True)

    def cut_short(self) -> Stage:
        return self.while_used("is_cut_short", True, False)

    def black(self) -> Stage:
        return self.while_used("shows", "black", "noise")

    def frozen(self) -> Stage:
        return self.while_used("shows", "same", "noise")


def run(row: Row, result: Path) -> None:
    """Write what a row's camera does."""
    try:
        result.write_text(json.dumps(asdict(observe(row, RealUsb()))))
    except BaseException:
        result.write_text(json.dumps({"error": traceback.format_exc()}))


def run_apart(row: Row) -> dict[str, Any]:
    """Run a row in a process of its own, and kill that when it hangs."""
    result = Path("/tmp/result")
    result.unlink(missing_ok=True)
    began = time.monotonic()
    sys.stderr.write(f"=== {row.name}\n")
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        run(row, result)
        sys.stderr.flush()
        os._exit(0)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > LIMIT_S:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(0.02)
    seen: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    if not seen:
        seen["error"] = f"it ended with {ended[1]} after {time.monotonic() - began:.0f} s"
    seen["seconds"] = round(time.monotonic() - began, 2)
    sys.stderr.write(f"{seen}\n")
    sys.stderr.flush()
    return seen


def main() -> None:
    """Run the table, or the rows whose names have a word."""
    for module in ("uvcvideo", "vhci-hcd"):
        subprocess.run(["modprobe", module], check=True)
    word = "".join(sys.argv[1:])
    rows = (row for row in TABLE if row.kind == "usb" and word in row.name)
    json.dump({row.name: run_apart(row) for row in rows}, sys.stdout)


if __name__ == "__main__":
    main()
