"""The fake camera: what it paints, and what it notes."""

from __future__ import annotations

import numpy as np

from tests.rig.cameras import FakeClock, FakePicamera2, FakeV4l2, SceneCamera


def test_a_scene_camera_paints_by_time_and_exposure() -> None:
    camera = SceneCamera(lambda t, f: np.full((2, 3, 3), t * f, np.uint8), "up", period_us=10)
    assert [camera.capture().image.max() for _ in range(3)] == [0, 10, 20]
    assert camera.capture_at(0.5).image.max() == 15
    assert [(frame.camera, frame.time_us) for frame in camera.taken[-2:]] == [
        ("up", 20),
        ("up", 30),
    ]
    assert camera.factors == [1.0, 1.0, 1.0, 0.5]


def test_fake_libraries_take_time_and_adapt_to_the_light() -> None:
    clock = FakeClock()
    usb, pi = FakeV4l2(clock), FakePicamera2(clock, steps=2)
    before = usb.retrieve()[1].mean() if usb.grab() else 0.0
    assert all(usb.grab() for _ in range(9)) and usb.retrieve()[1].mean() > before
    pi.configure(pi.create_video_configuration({"size": (64, 48)}, sensor={}))
    pi.start()
    exposures = [pi.capture_metadata(1.0)["ExposureTime"] for _ in range(3)]
    assert exposures[0] < exposures[1] == exposures[2]
    assert clock.now_us > 1_000_000 + 12 * 33_000
