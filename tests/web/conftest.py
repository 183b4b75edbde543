"""The page's server with a fake daemon behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from robot.api.endpoints import Program
from robot.web.main import PageOptions
from tests.rig.page_server import FakePageDaemon, PageVisitor, visited


@pytest.fixture
async def daemon(short_folder: Path) -> AsyncIterator[FakePageDaemon]:
    fake = FakePageDaemon(short_folder / "control.sock")
    async with fake.serving():
        Program.GUIDE.socket_beside(fake.path).symlink_to(fake.path)
        yield fake


@pytest.fixture
def options(short_folder: Path) -> PageOptions:
    return PageOptions(
        bind="127.0.0.1",
        port=0,
        names=("my-robot.example",),
        daemon=short_folder / "control.sock",
        announce=short_folder,
        state=None,
        calibrates=True,
    )


@pytest.fixture
async def page(daemon: FakePageDaemon, options: PageOptions) -> AsyncIterator[PageVisitor]:
    async with visited(daemon, options) as page:
        yield page
