"""The installed package at work: it reads, solves and simulates, and passes tests of its parts."""

from __future__ import annotations

import json
import platform
import shutil
from pathlib import Path

from tests.cli.test_read_command import document, scan
from tests.system.install.debian_root import CHECKOUT, go_through

SETTINGS = """[pytest]
addopts = --import-mode=importlib
asyncio_mode = auto
markers =
    long: not here
    quick: these and others
"""
"""Debian's pytest is too old for some of ours."""

TAKE_PICTURES = """
import json

import cv2
import numpy as np

film = "/tmp/film.mp4"
code = cv2.VideoWriter.fourcc(*"mp4v")
assert not cv2.VideoWriter(film, code, 10, (64, 48)).isOpened()
assert not cv2.VideoCapture(film).isOpened()
assert not cv2.VideoCapture("/dev/video99", cv2.CAP_V4L2).isOpened()
black = np.zeros((48, 64, 3), dtype=np.uint8)
read = {kind: cv2.imdecode(cv2.imencode(kind, black)[1], 1) for kind in (".jpg", ".png", ".webp")}
print(json.dumps({kind: not (picture - black).any() for kind, picture in read.items()}))
"""
"""OpenCV without FFmpeg refuses video, and still reads and writes the pictures of a run."""


def try_installed(release: str, share: Path, *tests: str, architecture: str | None = None) -> None:
    """Install ``share/cubist.deb`` in a fresh root, use it, and run ``tests`` against it."""
    facelets, rgb = scan(1)
    (share / "scan.json").write_text(document(rgb))
    copies = share / "tests"
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("tests", "config"):
        shutil.copytree(CHECKOUT / folder, copies / folder, ignore=ignored)
    (copies / "pytest.ini").write_text(SETTINGS)
    (share / "take_pictures.py").write_text(TAKE_PICTURES)
    scenario = Path(__file__).with_name("run_scenario")
    found = go_through(release, share, scenario, *tests, architecture=architecture)
    assert found["machine"] == ("aarch64" if architecture else platform.machine())
    assert (found["install"], found["version"], found["purge"]) == ("0", "0", "0")
    assert json.loads(found["pictures"]) == {".jpg": True, ".png": True, ".webp": True}
    assert json.loads(found["solved"])["length"] == 3
    assert json.loads(found["read"])["facelets"] == facelets
    demo = json.loads(found["demo"])
    assert demo["solved"] is True and demo["violations"] == []
    assert demo["executed_us"] == demo["planned_us"]
    assert found["tests"] == "0"
