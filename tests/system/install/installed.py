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


def try_installed(release: str, share: Path, *tests: str, architecture: str | None = None) -> None:
    """Install ``share/cubist.deb`` in a fresh root, use it, and run ``tests`` against it."""
    facelets, rgb = scan(1)
    (share / "scan.json").write_text(document(rgb))
    copies = share / "tests"
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("tests", "config"):
        shutil.copytree(CHECKOUT / folder, copies / folder, ignore=ignored)
    (copies / "pytest.ini").write_text(SETTINGS)
    scenario = Path(__file__).with_name("run_scenario")
    found = go_through(release, share, scenario, *tests, architecture=architecture)
    assert found["machine"] == ("aarch64" if architecture else platform.machine())
    assert (found["install"], found["version"], found["purge"]) == ("0", "0", "0")
    assert json.loads(found["solved"])["length"] == 3
    assert json.loads(found["read"])["facelets"] == facelets
    demo = json.loads(found["demo"])
    assert demo["solved"] is True and demo["violations"] == []
    assert demo["executed_us"] == demo["planned_us"]
    assert found["tests"] == "0"
