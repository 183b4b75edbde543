"""What presses do to the robot, and what the light tells of it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from robot.daemon.conductor import Conductor
from robot.daemon.frontpanel import FrontPanel
from robot.daemon.models import StartRequest
from robot.daemon.states import Refused, State
from robot.panel.button import Press
from robot.panel.gpio import Pull
from robot.panel.panel import PanelPins


class FakeGpio:
    """Pins whose inputs rest at their pull; outputs are remembered."""

    def __init__(self) -> None:
        self.outputs: dict[int, bool] = {}
        self.cleaned = 0

    def setup_input(self, pin: int, pull: Pull) -> None: ...

    def setup_output(self, pin: int, level: bool) -> None:
        self.outputs[pin] = level

    def input(self, pin: int) -> bool:
        return True

    def output(self, pin: int, level: bool) -> None:
        self.outputs[pin] = level

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None: ...

    def cleanup(self) -> None:
        self.cleaned += 1


@pytest.fixture
def gpio() -> FakeGpio:
    return FakeGpio()


@pytest.fixture
async def panel(conductor: Conductor, gpio: FakeGpio) -> AsyncIterator[FrontPanel]:
    front = FrontPanel(conductor, gpio, PanelPins(start_button=17, led=27))
    front.open()
    yield front
    await front.close()
    assert gpio.cleaned


async def test_a_short_press_starts_and_the_next_one_stops(
    panel: FrontPanel, conductor: Conductor, fake: Any, eventually: Any
) -> None:
    fake.hands.hold = threading.Event()
    await panel.pressed(Press.SHORT)
    await eventually(fake.hands.moving)
    assert conductor.state is State.SCANNING
    await panel.pressed(Press.SHORT)
    assert conductor.state is State.IDLE
    assert (await conductor.runs(1))[0].outcome == "stopped"


async def test_a_long_press_homes(panel: FrontPanel, conductor: Conductor) -> None:
    await panel.pressed(Press.LONG)
    await conductor.finished()
    assert (await conductor.runs(1))[0].kind == "home"


async def test_a_very_long_press_stops_and_asks_for_power_off(
    panel: FrontPanel, conductor: Conductor, fake: Any, eventually: Any
) -> None:
    fake.hands.hold = threading.Event()
    await panel.pressed(Press.SHORT)
    await eventually(fake.hands.moving)
    await panel.pressed(Press.VERY_LONG)
    assert conductor.power_off
    assert conductor.ended.is_set()
    assert "stop" in fake.hands.done


async def test_a_press_that_is_refused_does_no_harm(
    panel: FrontPanel, conductor: Conductor
) -> None:
    conductor.enter_maintenance()
    await panel.pressed(Press.SHORT)
    assert conductor.state is State.MAINTENANCE


async def test_the_emergency_stop(panel: FrontPanel, conductor: Conductor, fake: Any) -> None:
    await panel.estop(True)
    assert conductor.state is State.FAULT
    assert "emergency" in fake.hands.done
    await panel.pressed(Press.SHORT)
    with pytest.raises(Refused, match="release it first"):
        await conductor.start(StartRequest())
    assert "home" not in fake.hands.done
    await panel.estop(False)
    assert conductor.state is State.FAULT
    await panel.pressed(Press.SHORT)
    await conductor.finished()
    assert (await conductor.runs(1))[0].outcome == "solved"
