"""USB cameras of the table: the real OpenCV, the kernel's driver and a webcam in software."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2

from tests.rig.camera_table import Stage, UsbBench
from tests.system.kernel.inside.surroundings import nodes, other_user, wait_for
from tests.system.kernel.inside.webcam import FORMATS, Webcam
from vision.cameras import registry
from vision.cameras.registry import CameraFinding

NOBODY = 65_534


class RealUsb(UsbBench):
    """A webcam on USB."""

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
