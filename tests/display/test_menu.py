"""The menu behind the display's buttons: the effect of presses, on pins that a test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from luma.core.device import dummy

from robot.api.client import ControlClient
from robot.api.endpoints import CALIBRATION
from robot.calibration.step import Session
from robot.display.main import Front, show_until
from robot.display.menu import ENTRIES, Buttons, Menu, MenuAction, MenuPage, carry_out, pressed
from robot.machine.confirmed_range import confirmable
from robot.panel.gpio import PanelError, RpiGpio
from robot.settings import BadProfile, load_profile, parse_profile, profile_path
from robot.settings.profile import DisplayButtonSettings, DisplaySettings
from robot.simulate.simulation import robot_to_practise_on
from robot.text.languages import catalogue
from tests.rig.documents import FakeClient, job_json, status_json
from tests.rig.gpio import FakeModule, LgpioError

ENGLISH = catalogue("en")
PINS = DisplayButtonSettings(next_gpio=23, select_gpio=24, previous_gpio=25)


def presses(menu: Menu, *buttons: Any, working: bool = False) -> list[MenuAction | None]:
    return [menu.press(button, working=working) for button in buttons]


@pytest.mark.parametrize("number", range(len(ENTRIES) - 1))
def test_the_first_press_opens_the_menu_and_every_entry_is_reached(number):
    for buttons in (["next"] * number, ["previous"] * (len(ENTRIES) - number)):
        menu = Menu()
        assert presses(menu, "select", *buttons) == [None] * (len(buttons) + 1)
        assert menu.page == MenuPage(number)
        assert presses(menu, "select") == [ENTRIES[number]]
        assert menu.page is None


def test_shutting_down_is_asked_for_twice():
    menu = Menu()
    assert presses(menu, "next", "previous", "select") == [None] * 3
    assert menu.page == MenuPage(4, confirms=True)
    assert presses(menu, "next") == [None], "the other button goes back"
    assert menu.page == MenuPage(4)
    assert presses(menu, "select", "select") == [None, MenuAction.SHUT_DOWN]


@given(st.lists(st.tuples(st.sampled_from(["next", "select", "previous"]), st.booleans())))
def test_no_press_moves_the_robot_or_ends_it_alone(found):
    """Check for any history that a requested action was on the screen when it was chosen."""
    menu = Menu(lambda: 0.0)
    for button, working in found:
        page = menu.page
        action = menu.press(button, working=working)
        if action is MenuAction.STOP:
            assert working and button == "select"
        elif action is not None:
            assert page is not None and not working and button == "select" and not page.notice
            assert ENTRIES[page.chosen] is action
            assert page.confirms == (action is MenuAction.SHUT_DOWN)


def test_a_button_may_be_pressed_at_a_high_level():
    module = FakeModule()
    Buttons(RpiGpio(module), PINS.model_copy(update={"active": "high"})).open()
    assert module.pulls == dict.fromkeys((23, 24, 25), FakeModule.PUD_DOWN)


def test_buttons_that_are_absent_or_fail_later_leave_the_display(caplog):
    absent = Mock(side_effect=PanelError("RPi.GPIO cannot be used here"))
    with pressed(PINS, absent) as found:
        assert found.empty()
    assert "no buttons: RPi.GPIO" in caplog.text
    module = FakeModule()
    module.fail("input", LgpioError("gone"))
    with pressed(PINS, lambda: RpiGpio(module)):
        pass
    assert module.given_back()
    assert "no longer answer: GPIO 23" in caplog.text


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        (MenuAction.SOLVE, ("POST", "/start", {"kind": "solve"})),
        (MenuAction.SCRAMBLE, ("POST", "/start", {"kind": "scramble"})),
        (MenuAction.HOME, ("POST", "/start", {"kind": "home"})),
        (MenuAction.SHUT_DOWN, ("POST", "/shutdown", {})),
        (MenuAction.STOP, ("POST", "/stop", {"emergency": False})),
    ],
)
def test_what_the_daemon_is_asked(action, asked):
    daemon = FakeClient()
    carry_out(action, daemon)
    assert daemon.asked == [asked]


@pytest.mark.long
def test_colours_are_learned_and_kept():
    profile = load_profile("cubotino")
    with robot_to_practise_on(profile, seed=5, speed=50):
        client = ControlClient()
        session = Session(client)
        with session.maintenance():
            session.keep(confirmable(profile))
        before = client.call(CALIBRATION)["values"]
        carry_out(MenuAction.COLOURS, client)
        after = client.call(CALIBRATION)["values"]
        assert client.status()["state"] == "idle", "maintenance is over"
    assert {key.partition(".")[0] for key in after.keys() - before.keys()} == {"colours"}


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came")


def test_a_refusal_is_shown():
    front = Front(FakeClient(refuses="the emergency stop is pressed"), ENGLISH)
    front.press("next")
    front.press("select")
    until(lambda: front.look().lines == ("the emergency stop is pressed",))


def test_a_press_stops_a_job_that_has_just_begun():
    daemon = FakeClient()
    front = Front(daemon, ENGLISH)
    front.press("next")
    daemon.now = status_json(job=job_json("homing"))
    front.press("select")
    assert daemon.done.wait(60)
    assert daemon.asked == [("POST", "/stop", {"emergency": False})]


def test_buttons_and_display_together(monkeypatch):
    module, daemon, shown = FakeModule(), FakeClient(), []
    gpio, made = RpiGpio(module), dummy(240, 135)
    monkeypatch.setattr(made, "display", lambda image: shown.append(image.tobytes()))
    monkeypatch.setattr("robot.display.main.LumaDisplay", lambda _: made)
    monkeypatch.setattr("robot.display.main.pressed", lambda found: pressed(found, lambda: gpio))
    settings = DisplaySettings(controller="st7789", width=240, height=135, dc_gpio=27, buttons=PINS)
    ended = threading.Event()
    showing = threading.Thread(target=show_until, args=[ended, settings, daemon, ENGLISH])
    showing.start()
    try:
        until(lambda: len(shown) == 1 and bool(module.callbacks))
        for number in (1, 2):
            module.drive(24, 0)
            threading.Event().wait(0.1)
            module.drive(24, 1)
            until(lambda: len(shown) > number)  # noqa: B023
        assert daemon.done.wait(60)
    finally:
        ended.set()
        showing.join()
    assert daemon.asked == [("POST", "/start", {"kind": "solve"})]
    assert shown[2] == shown[0] != shown[1], "the menu is closed again"
    assert module.given_back()


SPI = "\ndisplay: {controller: st7789, width: 240, height: 135, dc_gpio: 25, buttons: {%s}}\n"


@pytest.mark.parametrize(
    ("buttons", "complaint"),
    [
        ("next_gpio: 23", "select_gpio"),
        ("next_gpio: 23, select_gpio: 23", "GPIO 23 is already next_gpio"),
        ("next_gpio: 25, select_gpio: 24", "GPIO 25 is already display.dc_gpio"),
        ("next_gpio: 23, select_gpio: 24, pull: down", "that counts as pressed"),
        ("next_gpio: 23, select_gpio: 24, active: high, pull: up", "that counts as pressed"),
    ],
)
def test_impossible_button_pins_are_refused(buttons, complaint):
    with pytest.raises(BadProfile, match=complaint):
        parse_profile(profile_path("cubotino-pocket").read_text() + SPI % buttons)
