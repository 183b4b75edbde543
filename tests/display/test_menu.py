"""The menu behind the display's buttons: what presses ask for, on pins that a test moves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api.client import ControlClient
from robot.api.endpoints import CALIBRATION
from robot.calibration.step import Session
from robot.display.buttons import IDLE_POLL_S, POLL_S, Buttons, pressed
from robot.display.main import Front, show_until
from robot.display.menu import ENTRIES, NOTICE_S, OPEN_S, Menu, MenuAction, MenuPage, carry_out
from robot.machine.confirmed_range import confirmable
from robot.panel.gpio import PanelError, RpiGpio
from robot.settings import BadProfile, load_profile, parse_profile, profile_file, profile_path
from robot.settings.profile import DisplayButtonSettings, DisplaySettings, RobotProfile
from robot.simulate.processes import workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions
from robot.text.languages import catalogue
from robot.twin.cube import scrambled
from tests.rig.documents import FakeClient, job_json, status_json
from tests.rig.gpio import FakeModule, LgpioError

ENGLISH = catalogue("en")
PINS = DisplayButtonSettings(next_gpio=23, select_gpio=24)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def menu(clock: Clock) -> Menu:
    return Menu(clock)


def presses(menu: Menu, *buttons: Any, working: bool = False) -> list[MenuAction | None]:
    return [menu.press(button, working=working) for button in buttons]


def test_the_first_press_only_opens_it(menu: Menu) -> None:
    assert menu.page is None
    assert presses(menu, "select") == [None]
    assert menu.page == MenuPage(0)
    assert presses(menu, "select") == [MenuAction.SOLVE]
    assert menu.page is None


@pytest.mark.parametrize("number", range(len(ENTRIES) - 1))
def test_every_entry_is_reached(menu: Menu, number: int) -> None:
    assert presses(menu, "next", *["next"] * number, "select")[-1] is ENTRIES[number]
    backwards = ["previous"] * (len(ENTRIES) - number)
    assert presses(menu, "next", *backwards, "select")[-1] is ENTRIES[number]


def test_shutting_down_is_asked_for_twice(menu: Menu) -> None:
    assert presses(menu, "next", "previous", "select") == [None] * 3
    assert menu.page == MenuPage(4, confirms=True)
    assert presses(menu, "next") == [None], "the other button goes back"
    assert menu.page == MenuPage(4)
    assert presses(menu, "select", "select") == [None, MenuAction.SHUT_DOWN]


def test_it_closes_by_itself(menu: Menu, clock: Clock) -> None:
    presses(menu, "next", "next")
    clock.now += OPEN_S - 0.1
    assert menu.page == MenuPage(1)
    clock.now += 0.2
    assert menu.page is None
    assert presses(menu, "select") == [None], "and is opened again, not carried out"


def test_what_went_wrong_is_shown_for_a_while(menu: Menu, clock: Clock) -> None:
    menu.tell("no cube")
    assert menu.page == MenuPage(notice="no cube")
    assert presses(menu, "select") == [None] and menu.page is None
    menu.tell("no cube")
    clock.now += NOTICE_S
    assert menu.page is None


def test_select_stops_what_is_under_way(menu: Menu) -> None:
    presses(menu, "next")
    assert presses(menu, "next", "select", working=True) == [None, MenuAction.STOP]
    assert menu.page is None


@given(st.lists(st.tuples(st.sampled_from(["next", "select", "previous"]), st.booleans())))
def test_no_press_moves_the_robot_or_ends_it_alone(found: list[tuple[Any, bool]]) -> None:
    """Whatever came before: what is asked for was on the screen when it was pressed."""
    menu = Menu(Clock())
    for button, working in found:
        page = menu.page
        action = menu.press(button, working=working)
        if action is MenuAction.STOP:
            assert working and button == "select"
        elif action is not None:
            assert page is not None and not working and button == "select" and not page.notice
            assert ENTRIES[page.chosen] is action
            assert page.confirms == (action is MenuAction.SHUT_DOWN)


def held_for(buttons: Buttons, module: FakeModule, time: list[int], pin: int, us: int) -> list[str]:
    """Return the presses of a button that is held for so long, and those soon after."""
    told: list[str] = []
    for level, until in ((0, time[0] + us), (1, time[0] + us + 200_000)):
        module.drive(pin, level)
        while time[0] < until:
            told += buttons.poll()
            time[0] += 5_000
    return told


def test_presses_are_debounced_and_stuck_buttons_do_nothing() -> None:
    module, time = FakeModule(), [0]
    settings = DisplayButtonSettings(next_gpio=23, select_gpio=24, previous_gpio=25)
    buttons = Buttons(RpiGpio(module), settings, lambda: time[0])
    buttons.open()
    assert module.pulls == dict.fromkeys((23, 24, 25), FakeModule.PUD_UP)
    assert list(buttons.poll()) == []
    assert held_for(buttons, module, time, 24, 100_000) == ["select"]
    assert held_for(buttons, module, time, 25, 100_000) == ["previous"]
    assert held_for(buttons, module, time, 23, 10_000) == [], "no more than a bounce"
    assert held_for(buttons, module, time, 23, 60_000_000) == [], "something lies on it"


def test_an_edge_wakes_the_buttons() -> None:
    module = FakeModule()
    buttons = Buttons(RpiGpio(module), PINS, lambda: 7_000)
    buttons.open()
    assert list(buttons.poll()) == []
    assert (buttons.poll_s, buttons.woken.is_set()) == (IDLE_POLL_S, False)
    module.drive(24, 0)
    assert buttons.woken.is_set()
    assert list(buttons.poll()) == []
    assert buttons.poll_s == POLL_S


def test_a_button_may_be_pressed_at_a_high_level() -> None:
    module, time = FakeModule(), [0]
    settings = DisplayButtonSettings(next_gpio=23, select_gpio=24, active="high")
    Buttons(RpiGpio(module), settings, lambda: time[0]).open()
    assert module.pulls == dict.fromkeys((23, 24), FakeModule.PUD_DOWN)


def test_buttons_that_are_not_there_leave_the_display(caplog: pytest.LogCaptureFixture) -> None:
    def absent() -> Any:
        raise PanelError("RPi.GPIO cannot be used here")

    with pressed(PINS, absent) as found:
        assert found.empty()
    assert "no buttons: RPi.GPIO" in caplog.text


def test_a_pin_that_fails_later_is_told_and_given_back(caplog: pytest.LogCaptureFixture) -> None:
    module = FakeModule()
    module.fail("input", LgpioError("gone"))
    with pressed(PINS, lambda: RpiGpio(module)):
        pass
    assert module.given_back()
    assert "do not answer any more: GPIO 23" in caplog.text


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
def test_what_the_daemon_is_asked(action: MenuAction, asked: tuple[str, str, Any]) -> None:
    daemon = FakeClient()
    carry_out(action, daemon)
    assert daemon.asked == [asked]


def confirm(client: ControlClient, profile: RobotProfile) -> None:
    """What a person does on a new robot, before anything may move fast."""
    session = Session(client)
    with session.maintenance():
        session.keep(confirmable(profile))


async def test_colours_are_learned_and_kept() -> None:
    """By a whole simulated robot, as `cubist calibrate colours` does it."""
    profile = load_profile("cubotino")
    options = DemoOptions(
        profile=profile,
        profile_file=profile_file("cubotino").resolve(),
        body=scrambled(3, 5),
        title=profile.title,
        speed=50,
        seed=5,
    )
    with workspace() as folder:
        async with Demo(options, SilentDisplay()).standing(folder):
            client = ControlClient(folder / "run" / "control.sock")
            before = await asyncio.to_thread(client.call, CALIBRATION)
            await asyncio.to_thread(confirm, client, profile)
            await asyncio.to_thread(carry_out, MenuAction.COLOURS, client)
            after = await asyncio.to_thread(client.call, CALIBRATION)
            now = await asyncio.to_thread(client.status)
    assert "colours" not in str(before["values"])
    assert "colours" in str(after["values"])
    assert now["state"] == "idle", "maintenance is over"


def until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came")


def test_a_refusal_is_shown() -> None:
    front = Front(FakeClient(refuses="the emergency stop is pressed"), ENGLISH)
    front.press("next")
    assert front.look().heading == "Menu"
    front.press("select")
    until(lambda: front.look().heading == "Not done")
    assert front.look().lines == ("the emergency stop is pressed",)


def test_a_press_stops_a_job_that_has_just_begun() -> None:
    daemon = FakeClient()
    front = Front(daemon, ENGLISH)
    front.press("next")
    daemon.now = status_json(job=job_json("homing"))
    front.press("select")
    assert daemon.done.wait(60)
    assert daemon.asked == [("POST", "/stop", {"emergency": False})]


def test_buttons_and_display_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a finger on the pin to the daemon, and to the picture."""
    from luma.core.device import dummy

    module, daemon, shown = FakeModule(), FakeClient(), []
    gpio, made = RpiGpio(module), dummy(240, 135)
    monkeypatch.setattr(made, "display", lambda image: shown.append(image.tobytes()))
    monkeypatch.setattr("robot.display.device.open_device", lambda _: made)
    monkeypatch.setattr("robot.display.buttons.pressed", lambda found: pressed(found, lambda: gpio))
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
        ("next_gpio: 23, select_gpio: 24, pull: down", "where it counts as pressed"),
        ("next_gpio: 23, select_gpio: 24, active: high, pull: up", "where it counts as pressed"),
    ],
)
def test_pins_that_cannot_be(buttons: str, complaint: str) -> None:
    text = profile_path("cubotino-pocket").read_text()
    found = parse_profile(text + SPI % "next_gpio: 23, select_gpio: 24").display
    assert found is not None and found.buttons == PINS
    with pytest.raises(BadProfile, match=complaint):
        parse_profile(text + SPI % buttons)
