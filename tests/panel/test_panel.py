"""The panel with a fake of the RPi.GPIO module."""

from __future__ import annotations

import re
import time
from typing import Any
from unittest.mock import Mock

import pytest

from robot.panel.button import Hands, Press
from robot.panel.gpio import PanelError, RpiGpio, install_command
from robot.panel.panel import (
    IDLE_POLL_S,
    LIGHTS,
    POLL_S,
    SOUNDS,
    Input,
    Listener,
    Output,
    Panel,
    PanelPins,
)
from solver.errors import root_sentence
from tests.rig.gpio import RAISES, FakeModule

BUTTON, LED, BUZZER, ESTOP = 17, 27, 22, 23
STOP = Input(ESTOP, active=True, pull="up")


class Bench:
    """A panel on a fake module with a manual clock."""

    def __init__(self, pins: PanelPins, module: FakeModule | None = None) -> None:
        self.module = module or FakeModule()
        self.now_us = 0
        self.told: list[Any] = []
        self.panel = Panel(
            RpiGpio(self.module),
            pins,
            Listener(
                press=self.told.append,
                estop=lambda opened: self.told.append(("estop", opened)),
                hands=self.told.append,
                stuck=lambda pins: self.told.append(("stuck", pins)),
                fault=self.told.append,
            ),
            clock=lambda: self.now_us,
        )

    def wait(self, milliseconds: int) -> None:
        for _ in range(milliseconds // 5):
            self.now_us += 5_000
            self.panel.poll()


@pytest.fixture
def bench() -> Bench:
    return opened(PanelPins(Input(BUTTON), Output(LED), Output(BUZZER), STOP), {ESTOP: 0})


def opened(pins: PanelPins, levels: dict[int, int] | None = None) -> Bench:
    """Return a running panel. ``levels`` are those of its pins at the start."""
    bench = Bench(pins)
    bench.module.levels |= levels or {}
    bench.panel.open()
    return bench


@pytest.mark.parametrize("active", [False, True])
def test_a_button_is_pressed_at_a_low_or_a_high_level(active):
    bench = opened(PanelPins(Input(BUTTON, active, "down" if active else "up")))
    assert bench.module.pulls == {BUTTON: bench.module.PUD_DOWN if active else bench.module.PUD_UP}
    bench.wait(8000)
    for milliseconds in (200, 6000):
        bench.module.drive(BUTTON, int(active))
        bench.wait(milliseconds)
        bench.module.drive(BUTTON, int(not active))
        bench.wait(100)
    assert bench.told == [Press.SHORT, Press.VERY_LONG]


def test_a_touch_button_taken_for_a_contact_is_stuck_and_does_nothing():
    bench = opened(PanelPins(Input(BUTTON), Output(LED)), {BUTTON: 0})
    bench.wait(3000)
    assert bench.told == [("stuck", ("GPIO 17",))]
    for _ in range(3):
        bench.module.drive(BUTTON, 1)
        bench.wait(700)
        bench.module.drive(BUTTON, 0)
        bench.wait(8000)
    assert set(bench.told) == {("stuck", ("GPIO 17",)), ("stuck", ())}


def test_light_and_sound_tell_when_to_let_go(bench):
    bench.wait(50)
    bench.module.drive(BUTTON, 0)
    bench.wait(4990)
    assert bench.module.outputs[BUZZER] == 0
    bench.wait(60)
    assert bench.module.outputs[BUZZER] == 1
    assert bench.told == []


def test_outputs_that_are_on_at_low():
    bench = opened(PanelPins(led=Output(LED, active=False), buzzer=Output(BUZZER, active=False)))
    assert bench.module.outputs == {LED: 1, BUZZER: 1}
    bench.panel.show("idle")
    bench.wait(10)
    assert bench.module.outputs == {LED: 0, BUZZER: 1}


@pytest.mark.parametrize("active", [False, True])
def test_a_stop_circuit_stops_when_it_opens_and_not_for_a_spike(active):
    pin = Input(ESTOP, active, "up" if active else "down")
    bench = opened(PanelPins(estop=pin), {ESTOP: int(not active)})
    bench.wait(50)
    for level, milliseconds in ((active, 5), (not active, 50), (active, 15), (not active, 50)):
        bench.module.drive(ESTOP, int(level))
        bench.wait(milliseconds)
    assert bench.told == [("estop", True), ("estop", False)]


@pytest.mark.parametrize("state", sorted(LIGHTS))
def test_the_light_follows_its_pattern(bench, state):
    bench.panel.show(state)
    for _ in range(600):
        bench.wait(5)
        assert bench.module.outputs[LED] == LIGHTS[state].level(bench.now_us / 1000)


def test_hands_on_the_pads_are_told():
    bench = opened(PanelPins(pads=(Input(5, True, "down"), Input(6, True, "down"))))
    assert bench.module.pulls == {5: FakeModule.PUD_DOWN, 6: FakeModule.PUD_DOWN}
    bench.wait(50)
    for level in (1, 0):
        for pin in (5, 6):
            bench.module.drive(pin, level)
        bench.wait(800)
    assert bench.told == [Hands.LAID, Hands.READY, Hands.LIFTED]


def test_outputs_are_written_only_when_they_change_and_a_sound_ends(bench):
    bench.panel.show("idle")
    bench.panel.sound("solved")
    bench.module.written.clear()
    bench.wait(10)
    assert bench.module.outputs[BUZZER] == 1
    bench.wait(SOUNDS["solved"].length_ms)
    assert bench.module.outputs[BUZZER] == 0
    assert bench.module.written.count((LED, 1)) == 1


def test_an_edge_wakes_the_panel(monkeypatch):
    """Check that the edge wakes it: its next poll is an hour away."""
    monkeypatch.setattr("robot.panel.panel.IDLE_POLL_S", 3600.0)
    bench = opened(PanelPins(estop=STOP), {ESTOP: 0})
    bench.panel.start()
    bench.module.drive(ESTOP, 1)
    deadline = time.monotonic() + 60
    while not bench.told and time.monotonic() < deadline:
        bench.now_us += 1000
    bench.panel.close()
    assert bench.told == [("estop", True)]


def test_the_panel_looks_often_only_while_something_happens():
    pins = PanelPins(Input(BUTTON), Output(LED), estop=STOP, pads=(Input(5), Input(6)))
    bench = opened(pins, {ESTOP: 0, 5: 1, 6: 1})
    bench.panel.show("idle")
    bench.panel.poll()
    assert bench.panel.poll_s == IDLE_POLL_S
    for pin, level in ((BUTTON, 0), (ESTOP, 1), (5, 0)):
        before = bench.module.levels[pin]
        bench.module.drive(pin, level)
        bench.panel.poll()
        assert bench.panel.poll_s <= POLL_S
        bench.module.drive(pin, before)
        bench.wait(200)
        assert bench.panel.poll_s == IDLE_POLL_S
    bench.panel.show("shutdown")
    bench.panel.poll()
    assert bench.panel.poll_s == pytest.approx(0.03)


@pytest.mark.parametrize("broken", ["pin", "clock"])
def test_a_pin_that_fails_and_a_defect_are_told_once(bench, broken):
    """Check that users of the emergency stop learn that nothing watches it any more."""
    if broken == "pin":
        del bench.module.levels[BUTTON]
    else:
        del bench.now_us
    bench.panel.start()
    while not bench.told:
        pass
    bench.panel.close()
    assert [type(fault) for fault in bench.told] == [PanelError]


@pytest.mark.parametrize(
    ("call", "error"), [(call, error) for call, errors in RAISES.items() for error in errors]
)
def test_whatever_the_library_raises_is_a_fault_and_pins_are_given_back(call, error, caplog):
    def use() -> None:
        bench = Bench(PanelPins(Input(BUTTON), Output(LED), Output(BUZZER), STOP), module)
        try:
            bench.panel.open()
            bench.panel.poll()
        finally:
            bench.panel.close()
            bench.panel.close()

    module = FakeModule()
    module.fail(call, error)
    try:
        use()
        told = caplog.text  # a pin that is not given back is no reason to fail
    except PanelError as fault:
        told = str(fault)
    assert root_sentence(error) in told
    use()
    assert module.given_back()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (ModuleNotFoundError("No module named 'RPi'"), re.escape(install_command())),
        (ModuleNotFoundError("No module named 'lgpio'"), re.escape(install_command())),
        (RuntimeError("This module can only be run on a Raspberry Pi!"), "simulated robot"),
        (
            NotImplementedError("This module does not understand old-style revision codes"),
            "RPI_LGPIO_REVISION",
        ),
        (AttributeError("module 'lgpio' has no attribute 'SET_PULL_NONE'"), "Install it again"),
        (SyntaxError("invalid syntax"), "Install it again"),
        (FileNotFoundError(2, "No such file or directory", ".lgd-nfy-3"), "LG_WD"),
    ],
)
def test_a_library_that_cannot_be_loaded_says_what_to_do(error, remedy, monkeypatch):
    monkeypatch.setattr("importlib.import_module", Mock(side_effect=error))
    with pytest.raises(PanelError, match=remedy) as fault:
        RpiGpio()
    assert root_sentence(error) in str(fault.value)


def test_only_raspberry_pi_os_has_a_package_of_the_library(tmp_path):
    assert "apt install python3-rpi-lgpio" in install_command(tmp_path)
    assert "pip install" in install_command(tmp_path / "missing")
