"""The fake robot, its controller, and its daemon on a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.calibration.store import CalibrationStore
from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.server import make_app, serving
from robot.machine.confirmed_range import ConfirmedRange
from robot.panel.gpio import RpiGpio
from robot.panel.panel import Input, Output, PanelPins
from robot.records.runs import RunStore
from robot.settings import load_profile
from tests.rig.fake_robot import LIMIT_S, FakeMachine, management_of
from tests.rig.gpio import FakeModule
from tests.rig.simulated_run import kept_memory


@pytest.fixture(autouse=True, scope="session")
def _kept_memory() -> Iterator[None]:
    with kept_memory():
        yield


@pytest.fixture
def fake() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
async def controller(fake: FakeMachine, tmp_path: Path) -> AsyncIterator[JobController]:
    controller = JobController(fake.machine(), RunStore(tmp_path / "runs"), version="1.2.3")
    await controller.open()
    yield controller
    await controller.close()


@pytest.fixture
def module() -> FakeModule:
    """Return the pins, at rest at their pulls."""
    return FakeModule()


@pytest.fixture
def gpio(module: FakeModule) -> RpiGpio:
    return RpiGpio(module)


@pytest.fixture
async def panel(controller, gpio, module) -> AsyncIterator[FrontPanel]:
    front = FrontPanel(controller, gpio, PanelPins(start_button=Input(17), led=Output(27)))
    front.open()
    yield front
    await front.close()
    assert module.given_back()


@pytest.fixture
def profile_name() -> str:
    """Return the profile that describes the fake robot."""
    return "cubotino"


@pytest.fixture
def maintenance_of(tmp_path, profile_name) -> Callable[[JobController, FakeMachine], Maintenance]:
    """Return a function that makes the maintenance of a controller whose robot has that profile."""

    def make(controller: JobController, fake: FakeMachine) -> Maintenance:
        store = CalibrationStore(tmp_path / "state")
        profile, contact = load_profile(profile_name), ConfirmedRange({})
        return Maintenance(controller, profile, store, contact, lambda _: fake.machine())

    return make


@pytest.fixture
def eventually() -> Callable[[threading.Event], Any]:
    """Return a coroutine function that waits for an event of another thread."""

    async def wait(event: threading.Event) -> None:
        assert await asyncio.to_thread(event.wait, LIMIT_S)

    return wait


@pytest.fixture
def daemon(fake, maintenance_of, profile_name, short_folder, monkeypatch) -> Iterator[Any]:
    """Run the fake robot's daemon on a thread and yield the fake."""
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(short_folder / "state"))
    ready = threading.Event()
    ended: list[Callable[[], object]] = []

    async def serve() -> None:
        store = RunStore(short_folder / "state" / "runs")
        controller = JobController(fake.machine(), store, version="1.2.3")
        await controller.open()
        loop = asyncio.get_running_loop()
        ended.append(lambda: loop.call_soon_threadsafe(controller.ended.set))
        folder = short_folder / "owner"
        management = management_of(controller, folder, profile=profile_name, is_supervised=True)
        app = make_app(controller, maintenance_of(controller, fake), management, "1.2.3")
        async with serving(app, short_folder / "control.sock"):
            ready.set()
            await controller.ended.wait()
        await controller.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(LIMIT_S)
    yield fake
    with suppress(RuntimeError):  # it was asked to shut down, and its loop is closed
        ended[0]()
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.fixture
async def path(controller, fake, maintenance_of, short_folder) -> AsyncIterator[Path]:
    """Serve the controller's control socket in this test's event loop."""
    socket_path = short_folder / "control.sock"
    management = management_of(controller, short_folder / "owner")
    app = make_app(controller, maintenance_of(controller, fake), management, "1.2.3")
    async with serving(app, socket_path):
        yield socket_path


@pytest.fixture
async def client(path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.UnixConnector(str(path))
    async with aiohttp.ClientSession("http://localhost", connector=connector) as session:
        yield session
