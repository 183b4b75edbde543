"""The table of cameras with the real libraries and the kernel's drivers: one JSON line per row.

Each row runs in a process of its own, because a library may hang or crash. A Raspberry Pi's camera
is the kernel's ``vimc``, a media device with a sensor, lenses and a debayer. It lacks exposure,
gains and focus, which a simulated sensor adds. A USB camera is a webcam in software.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import picamera2
from libcamera import controls
from picamera2 import CompletedRequest, Picamera2

from tests.rig.camera_table import TABLE, Bench, PiBench, Row, Stage, UsbBench, observe
from tests.rig.cameras import SimulatedSensor
from tests.system.kernel.inside.surroundings import nodes, wait_for
from tests.system.kernel.inside.webcam import FORMATS, Webcam
from vision.cameras import registry
from vision.cameras.base import monotonic_us
from vision.cameras.picamera2 import open_picamera2
from vision.cameras.registry import CameraFinding

LIMIT_S = 90.0
MODULES = ("uvcvideo", "vhci-hcd", "vimc")


@contextmanager
def other_user(take: Callable[[], object]) -> Iterator[None]:
    """Let another program use a device meanwhile. It is killed while it holds the device."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        held = take()
        os.write(writing, b"held" if held else b"none")
        signal.pause()
    os.close(writing)
    assert os.read(reading, 4) == b"held"
    yield
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


NOBODY = 65_534
DRIVER = Path("/sys/bus/platform/drivers/vimc")
DEVICE = "vimc.0"
SENSOR, DEBAYER = "Sensor B", "Debayer B"
"""Entities of the half of ``vimc`` that libcamera uses."""

SET_CONTROL = 0xC008_561C
"""Number of the request VIDIOC_S_CTRL."""
PATTERN, WINDOW, TEXT = 0x00F0_F000, 0x00F0_F001, 0x00F0_F002
"""Controls: the sensor's test pattern, the scale of the picture, the text over the picture."""
BLACK, RED = 5, 7
CLOCK, NO_TEXT = 1, 2

HEAPS = Path("/dev/dma_heap")
PI_HEAP = HEAPS / "linux,cma"
"""A Raspberry Pi's heap for pictures."""
LITTLE_MEMORY = 1_500_000


class Vimc:
    """The kernel's virtual camera."""

    def plug_in(self) -> None:
        """Bind the driver unless it is bound; the picture is red, with a clock."""
        if not (DRIVER / DEVICE).exists():
            (DRIVER / "bind").write_text(DEVICE)
        self.show(RED, CLOCK)
        _set(DEBAYER, {WINDOW: 1})  # three times as fast

    def pull_out(self) -> None:
        """Unbind the driver while programs may use the camera."""
        (DRIVER / "unbind").write_text(DEVICE)
        wait_for(lambda: not nodes(SENSOR))

    def show(self, pattern: int, text: int) -> None:
        _set(SENSOR, {PATTERN: pattern, TEXT: text})


def _set(name: str, values: Mapping[int, int]) -> None:
    wait_for(lambda: any(node.exists() for node in nodes(name)))
    [node] = nodes(name)
    with node.open("r+b", buffering=0) as device:
        for control, value in values.items():
            fcntl.ioctl(device, SET_CONTROL, struct.pack("Ii", control, value))


class SensedRequest(CompletedRequest):  # type: ignore[misc]
    """A picture whose metadata come from the simulated sensor."""

    def __init__(self, request: Any, camera: Any) -> None:
        super().__init__(request, camera)
        self._sensed = camera.sensor.expose()

    def get_metadata(self) -> dict[str, Any]:
        return {**super().get_metadata(), **self._sensed}


class SensedCamera(Picamera2):  # type: ignore[misc]
    """picamera2's camera with the controls of a simulated sensor. Its cable may be loose."""

    sensor = SimulatedSensor(focus_s=0.2)
    is_connected = True

    @property
    def camera_controls(self) -> dict[str, tuple[Any, Any, Any]]:
        return {**super().camera_controls, **self.sensor.camera_controls}

    def process_requests(self, display: Any) -> None:
        """Handle pictures. If the sensor is gone, they have errors and picamera2 skips them."""
        if not self.is_connected:
            with self._requestslock:
                broken, self._requests = self._requests, []
            for request in broken:
                request.release()
        super().process_requests(display)

    def set_controls(self, values: Mapping[str, Any]) -> None:
        enums = (controls.AfModeEnum, controls.AfTriggerEnum)
        self.sensor.take_controls(
            {k: int(v) if isinstance(v, enums) else v for k, v in values.items()}
        )


picamera2.Picamera2 = SensedCamera
picamera2.picamera2.CompletedRequest = SensedRequest


class RealPi(PiBench):
    size = (384, 192)  # a third of vimc's picture, with room for the clock

    def __init__(self) -> None:
        super().__init__(SensedCamera.sensor)
        self.vimc = Vimc()
        self.vimc.plug_in()
        if not PI_HEAP.exists():
            PI_HEAP.symlink_to(HEAPS / "system")

    open = staticmethod(open_picamera2)

    def check(self) -> CameraFinding:
        return registry.check_camera("picamera2", self.number)

    def stream(self) -> Any:
        """Use the camera as any program would."""
        camera = self.open(0)
        camera.configure(camera.create_video_configuration(main={"size": self.size}))
        camera.start()
        return camera

    def in_use(self) -> Stage:
        with other_user(lambda: self.open(0)):  # libcamera does not list a vimc that streams
            yield (camera := self.camera())
        yield camera

    def user_killed(self) -> Stage:
        with other_user(self.stream):
            pass
        yield (camera := self.camera())
        yield camera

    def absent(self) -> Stage:
        self.vimc.pull_out()
        yield (camera := self.camera())
        self.vimc.plug_in()
        wait_for(SensedCamera.global_camera_info)
        yield camera

    def pulled_out(self) -> Stage:
        camera = self.settled()
        SensedCamera.is_connected = False
        yield camera
        SensedCamera.is_connected = True
        yield camera

    def no_permission(self) -> Stage:
        (HEAPS / "system").chmod(0o666)  # libcamera itself is refused
        os.seteuid(NOBODY)
        yield (camera := self.camera())
        os.seteuid(0)
        yield camera

    def no_memory(self) -> Stage:
        self.size = (636, 480)
        yield self.camera(open_device=self.open_with_little_memory)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        yield self.camera()

    def open_with_little_memory(self, number: int) -> Any:
        """Open a camera and leave less memory than its pictures need."""
        camera = self.open(number)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + LITTLE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        return camera

    def no_heap(self) -> Stage:
        PI_HEAP.unlink()
        yield (camera := self.camera())
        PI_HEAP.symlink_to(HEAPS / "system")
        yield camera

    def no_sensor_modes(self) -> Stage:
        return self.usual()  # vimc reports none

    def black(self) -> Stage:
        return self.while_shown(BLACK)

    def frozen(self) -> Stage:
        return self.while_shown(RED)

    def while_shown(self, pattern: int) -> Stage:
        """Yield a camera that sees a still picture, then the same camera with a changing one."""
        camera = self.settled()
        self.vimc.show(pattern, NO_TEXT)
        yield camera
        self.vimc.show(RED, CLOCK)
        yield camera

    def late(self) -> Stage:
        ahead_us = 2_000_000
        self.clock = lambda: monotonic_us() + ahead_us  # type: ignore[method-assign]
        yield (camera := self.settled())
        ahead_us = 0
        yield camera


class RealUsb(UsbBench):
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
        """Plug the webcam in and return its video device."""
        self.webcam.plug_in()
        wait_for(lambda: len(nodes(self.webcam.NAME)) == 2)
        subprocess.run(["udevadm", "settle"], check=True)
        self.asked = nodes(self.webcam.NAME)[0]
        return self.asked

    def pull_out(self) -> None:
        """Unplug the webcam."""
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
        """Yield a camera in use after a change to the webcam, then the same one, opened again."""
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


BENCHES: dict[str, Callable[[], Bench]] = {"picamera2": RealPi, "usb": RealUsb}


def run(row: Row, result: Path) -> None:
    try:
        result.write_text(json.dumps(asdict(observe(row, BENCHES[row.kind]()))))
    except BaseException:
        result.write_text(json.dumps({"error": traceback.format_exc()}))


def run_apart(work: Callable[[], None], limit_s: float) -> str:
    """Run a function in a process of its own, because it may hang or crash.

    Return an error text, empty if it ended well.
    """
    sys.stdout.flush()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        work()
        sys.stderr.flush()
        os._exit(0)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > limit_s:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"it did not end within {limit_s:.0f} s"
        time.sleep(0.02)
    return f"it ended with {os.waitstatus_to_exitcode(ended[1])}" if ended[1] else ""


def seen_of(row: Row) -> dict[str, Any]:
    """Run a row in its own process; return its camera's observations, or the error."""
    result = Path("/tmp/result")
    result.unlink(missing_ok=True)
    sys.stderr.write(f"=== {row.name}\n")
    sys.stderr.flush()
    began = time.monotonic()
    ended = run_apart(lambda: run(row, result), LIMIT_S)
    seen: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    if ended or not seen:
        seen["error"] = f"{ended} {seen}"
    return {"row": row.name, "seconds": round(time.monotonic() - began, 2), **seen}


def main() -> None:
    """Run the whole table, or the rows named on the command line."""
    for module in MODULES:
        subprocess.run(["modprobe", module], check=True)
    names = sys.argv[1:]
    for row in TABLE:
        if row.name in names or not names:
            print(json.dumps(seen_of(row)), flush=True)


if __name__ == "__main__":
    main()
