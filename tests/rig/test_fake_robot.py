"""The fake robot moves, stops and fails as the daemon's tests rely on it."""

from __future__ import annotations

import threading

import pytest

from robot.api.client import DaemonError, RequestError
from robot.api.models import LiveState, RobotStatus
from robot.records.runs import RunRecord
from robot.text.faults import RobotError, Stopped
from tests.rig.documents import live_json, run_json, status_json
from tests.rig.fake_client import FakeClient
from tests.rig.fake_robot import MOTION, SCRAMBLED, FakeMachine


def test_a_motion_is_counted_and_fails_as_listed() -> None:
    fake = FakeMachine()
    fake.motion.faults = [RobotError("overload"), None]
    with pytest.raises(RobotError):
        fake.motion.perform(MOTION, lambda _: None)
    assert fake.motion.perform(MOTION, lambda _: None) == MOTION.duration_us
    assert fake.motion.done == ["perform", "perform"]


def test_a_held_motion_ends_at_a_stop() -> None:
    fake = FakeMachine()
    fake.motion.hold = threading.Event()
    threading.Thread(target=lambda: fake.motion.moving.wait(60) and fake.motion.stop()).start()
    with pytest.raises(Stopped):
        fake.motion.perform(MOTION, lambda _: None)


def test_a_tour_is_seen_and_read() -> None:
    fake = FakeMachine()
    tour = fake.planner.scan(None, None)
    images = [image for step in tour.steps for image in fake.scanner.take(step.looks)]
    assert "".join(fake.scanner.seen) == "URFDLB"
    assert fake.scanner.read(images).facelets != fake.scanner.read(images).facelets
    assert fake.scanner.readings == [] and SCRAMBLED == "scrambled"


def test_documents_are_valid() -> None:
    RobotStatus.model_validate(status_json("turning"))
    RunRecord.model_validate(run_json(3, "slipped"))
    LiveState.model_validate(live_json())


def test_a_client_answers_and_notes_what_it_was_asked() -> None:
    client = FakeClient(refuses="the emergency stop is pressed")
    assert client.status()["state"] == "idle" and client.looked == ["/status"]
    with pytest.raises(RequestError, match="emergency stop"):
        client.stop()
    assert client.asked == [("POST", "/stop", {"emergency": False})] and client.done.is_set()
    client.now = None
    with pytest.raises(DaemonError):
        client.status()
