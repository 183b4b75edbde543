"""The small display: its contents, on luma's dummy device, and its failures."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from luma.core.device import dummy
from luma.core.error import DeviceNotFoundError, DevicePermissionError
from luma.core.interface import serial
from luma.lcd import device as lcd
from PIL import Image

from robot.display import drawing
from robot.display.device import DISPLAY_LOST, LumaDisplay
from robot.display.drawing import draw
from robot.display.main import Front, main, show_until
from robot.display.menu import ENTRIES, MenuPage
from robot.display.view import Screenful, menu_view, unreachable, view_of
from robot.panel.gpio import PanelError, RpiGpio
from robot.records.run_record import FaultRecord
from robot.settings.profile import DisplaySettings
from robot.text.faults import FAULTS, RobotError
from robot.text.languages import LANGUAGES, catalogue
from robot.text.messages import JobStep, coded
from solver.errors import root_sentence
from tests.rig.documents import FakeClient, job_json, live_json, motion_json, run_json
from tests.rig.documents import status_json as status
from tests.rig.gpio import FakeModule, LgpioError

ENGLISH = catalogue("en")
# luma uses functions that Pillow will remove.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SIZES = {"st7735": (160, 128), "st7789": (240, 240), "ssd1306": (128, 64)}
PANELS = [*SIZES.items(), ("st7789", (240, 135))]
NOTHING = live_json()
TURNS = [
    {"op": op, "start_us": i * 1_000_000, "duration_us": 1_000_000}
    for i, op in enumerate(["turn", "rotate", "turn", "turn", "turn"])
]
ENDS_US = [1_000_000, 3_000_000, 4_000_000, 5_000_000]
TURNING = live_json(
    motion=motion_json(moves="R U2 F' D", operations=TURNS, move_ends_us=ENDS_US), at_us=3_100_000
)


def run(number: int, outcome: str = "solved", seconds: float = 40.0) -> Any:
    return run_json(number, outcome, duration_s=seconds)


def job(step: JobStep, progress: float | None = None) -> Any:
    return job_json(step, progress=progress, **coded(step))


def in_trouble(code: str) -> dict[str, Any]:
    fault = FaultRecord.of(RobotError(code, detail="lid")).model_dump()
    return status("fault", fault=fault)


RUNS = [run(3, seconds=31.0), run(2, "unreadable", 9.0), run(1, seconds=41.0)]
LOOKING = status("scanning", job=job(JobStep.of("look", faces="U", seen=2, count=6)))
AT_WORK = status("turning", job=job(JobStep.of("turn", moves=4, seconds="5.0"), 0.62))
IDLE = status(last_run=RUNS[0])


@pytest.mark.parametrize(
    ("now", "live", "runs", "shown"),
    [
        (AT_WORK, TURNING, [], Screenful("Turning", "busy", "12.3 s", ("Moves left: 2",), 0.62)),
        (LOOKING, NOTHING, [], Screenful("Scanning", "busy", "12.3 s", ("looking at U (2 of 6)",))),
        (
            IDLE,
            NOTHING,
            RUNS,
            Screenful("Ready", "good", "31.0 s", ("Solved: 2 of 3", "Best 31.0 s, mean 36.0 s")),
        ),
        (
            status(last_run=RUNS[1]),
            NOTHING,
            [RUNS[1]],
            Screenful("Ready", "good", "9.0 s", ("unreadable",)),
        ),
        (status(), NOTHING, [], Screenful("Ready", "good", "")),
        (status(inspection_left_s=7.2), NOTHING, RUNS, Screenful("Inspection", "busy", "8")),
    ],
)
def test_the_display_shows_state_progress_and_result(now, live, runs, shown):
    assert view_of(now, live, runs, ENGLISH) == shown


def test_a_fault_is_shown_with_its_remedy_and_texts_are_translated():
    row = FAULTS["home-missing"]
    shown = view_of(in_trouble("home-missing"), NOTHING, RUNS, ENGLISH)
    assert shown.mood == "bad" and shown.lines == (f"{row.about} (lid)", row.remedy)
    resting = view_of(status(released=["lid"]), NOTHING, [], ENGLISH)
    assert (resting.mood, resting.lines) == ("good", ("Motors at rest",))
    german = view_of(AT_WORK, TURNING, [], catalogue("de"))
    assert (german.heading, german.lines) == ("Drehen", ("Noch Züge: 2",))


def inked(picture: Image.Image, box: tuple[int, int, int, int]) -> int:
    """Return the number of pixels in a box that are not background."""
    grey = picture.convert("L").crop(box)
    return sum(grey.histogram()[1:])


@pytest.mark.parametrize(("controller", "size"), PANELS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_pictures_hold_what_is_shown(controller, size, language):
    if not drawing.has_font_for(language):
        pytest.skip("no font for Japanese: sudo apt install fonts-noto-cjk")
    said = catalogue(language)
    faults = [view_of(in_trouble(code), NOTHING, [], said) for code in FAULTS]
    faults.sort(key=lambda view: sum(map(len, view.lines)))
    faults = faults if controller == "ssd1306" else faults[-1:]
    views = [view_of(now, live, RUNS, said) for now, live in ((AT_WORK, TURNING), (IDLE, NOTHING))]
    pages = [*(MenuPage(chosen) for chosen in range(len(ENTRIES))), MenuPage(4, confirms=True)]
    pages.append(MenuPage(notice="the robot is at work: run `cubist stop`"))
    views += [*(menu_view(page, said) for page in pages), *faults, unreachable(said)]
    mode = "1" if controller == "ssd1306" else "RGB"
    width, height = size
    below = height // 8 + 4 * max(1, width // 40)
    pictures = {view: draw(view, size, mode) for view in views}
    for picture in pictures.values():
        assert inked(picture, (0, below, width, height)) > 0, "something stands below the heading"
        # Nothing reaches the edge, where it would be cut off.
        assert inked(picture, (0, below, 1, height)) == 0
        assert inked(picture, (0, height - 1, width, height)) == 0
    assert len({picture.tobytes() for picture in pictures.values()}) == len(pictures)


@pytest.mark.parametrize("size", [(128, 32), (480, 32)])
def test_a_low_display_shows_the_entries_around_the_chosen_one(size):
    pages = [menu_view(MenuPage(chosen), ENGLISH) for chosen in range(len(ENTRIES))]
    pictures = [draw(page, size, "1") for page in pages]
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)
    for picture in pictures:
        column = picture.crop((size[0] - 4, 0, size[0] - 3, size[1])).tobytes()
        _, *bars = [len(bar) for bar in bytes(map(bool, column)).split(b"\0") if bar]
        assert len(bars) == 1 and bars[0] >= drawing.SMALLEST, "only the chosen one's bar"


LCD = DisplaySettings(controller="st7735", width=160, height=128, dc_gpio=27, backlight_gpio=4)
OLED = DisplaySettings(controller="ssd1306", width=128, height=64, address=0x3D)
SPI = DisplaySettings(controller="st7789", width=240, height=240, dc_gpio=27, reset_gpio=22)


class Pins(FakeModule):
    """A GPIO library as luma uses it. ``outputs`` stay as they are left."""

    HIGH, LOW = 1, 0

    def cleanup(self, pins: object = None) -> None:
        """Accept pins given back."""


class Bus:
    """An SPI device, or an I2C bus, that records the bytes sent."""

    def __init__(self) -> None:
        self.is_open = False
        self.sent: list[list[int]] = []
        self.opened: tuple[int, int] | None = None

    def open(self, port: int, device: int) -> None:
        self.opened = (port, device)
        self.is_open = True

    def writebytes(self, data: list[int]) -> None:
        self.sent.append(list(data))

    def command(self, *data: int) -> None:
        self.writebytes(list(data))

    def data(self, data: list[int]) -> None:
        self.writebytes(data)

    def close(self) -> None:
        self.is_open = False

    cleanup = close


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> tuple[Pins, Bus]:
    """Return pins and bus that only record, behind luma's own classes."""
    pins, bus = Pins(), Bus()

    def wire(port: int, address: int) -> Bus:
        bus.open(port, address)
        return bus

    monkeypatch.setattr("robot.display.device.RpiGpio", lambda: None)
    monkeypatch.setattr(serial, "i2c", wire)
    monkeypatch.setattr(serial.spi, "__spidev__", lambda _: bus)
    monkeypatch.setattr(serial.spi, "__rpi_gpio__", lambda _: pins)
    monkeypatch.setattr(lcd.backlit_device, "__rpi_gpio__", lambda _: pins)
    return pins, bus


@pytest.mark.parametrize(
    ("settings", "at", "used"),
    [
        (SPI.model_copy(update={"chip_select": 1}), (0, 1), {27, 22}),
        (LCD, (0, 0), {27, 4}),
        (OLED, (1, 0x3D), set()),
    ],
    ids=["st7789", "st7735", "ssd1306"],
)
def test_a_real_driver_gets_whole_pictures_and_only_its_own_pins(settings, at, used, wires):
    pins, bus = wires
    device = LumaDisplay(settings)
    assert bus.opened == at
    assert set(pins.outputs) == used
    light = settings.backlight_gpio
    assert light is None or pins.outputs[light], "the light is on"
    bus.sent.clear()
    device.display(Image.new(device.mode, device.size, "white"))
    bits = {"RGB": 18, "1": 1}[device.mode]
    assert 8 * sum(map(len, bus.sent)) >= bits * settings.width * settings.height
    device.cleanup()
    assert not bus.is_open
    assert light is None or not pins.outputs[light], "the light is off"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        *(
            (ModuleNotFoundError(f"No module named '{name}'", name=name), f"apt install {package}")
            for name, package in {
                "luma": "python3-luma.lcd python3-luma.oled",
                "PIL": "python3-pil",
                "spidev": "python3-spidev",
                "smbus2": "python3-smbus2",
            }.items()
        ),
        (ImportError("libjpeg.so.62: cannot open shared object file"), "Install it again"),
        (PermissionError(13, "Permission denied", "/dev/spidev0.0"), "usermod -aG spi,i2c,gpio"),
        (DevicePermissionError("I2C device permission denied: /dev/i2c-1"), "usermod -aG"),
        (DeviceNotFoundError("I2C device not found on address: 0x3C"), "Check its wires"),
        (OSError(121, "Remote I/O error"), "Check its wires"),
    ],
)
def test_what_luma_raises_has_its_remedy(error, told, monkeypatch):
    monkeypatch.setattr(serial, "i2c", Mock(side_effect=error))
    with pytest.raises(PanelError, match=re.escape(told)) as fault:
        LumaDisplay(OLED)
    assert root_sentence(error) in str(fault.value)


@pytest.mark.parametrize("settings", [LCD, OLED])
@pytest.mark.parametrize("call", ["open", "writebytes", "later"])
def test_wherever_a_bus_fails_it_is_given_back(settings, call, wires, monkeypatch, caplog):
    fail = Mock(side_effect=OSError(121, "Remote I/O error"))
    if call == "later":
        device = LumaDisplay(settings)
        monkeypatch.setattr(Bus, "writebytes", fail)
        with pytest.raises(PanelError, match="Remote I/O error"):
            device.display(Image.new(device.mode, device.size, "white"))
        device.cleanup()
        assert "Remote I/O error" in caplog.text
    else:
        monkeypatch.setattr(Bus, call, fail)
        with pytest.raises(PanelError, match="Remote I/O error"):
            LumaDisplay(settings)
    assert not wires[1].is_open


def test_pins_that_cannot_be_had_are_no_matter_of_wires(monkeypatch):
    module = FakeModule()
    module.fail("setmode", LgpioError("can not open gpiochip"))
    monkeypatch.setattr("robot.display.device.RpiGpio", lambda: RpiGpio(module))
    with pytest.raises(PanelError, match=r"can not open gpiochip\..*group gpio") as fault:
        LumaDisplay(SPI)
    assert "wires" not in str(fault.value)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return luma's dummy in place of the display. ``display`` and ``cleanup`` record calls."""
    made = dummy(240, 240)
    made.display, made.cleanup = Mock(), Mock()
    monkeypatch.setattr("robot.display.main.LumaDisplay", lambda _: made)
    monkeypatch.setattr("robot.display.main.PERIOD_S", 0.001)
    return made


def test_a_display_that_is_lost_is_started_again(screen, caplog):
    screen.display.side_effect = PanelError("Remote I/O error", code=DISPLAY_LOST)
    with pytest.raises(SystemExit) as ended:
        main(["--profile", "cubotino", "--socket", "/nowhere"])
    assert ended.value.code == 1 and screen.cleanup.called
    assert "Remote I/O error" in caplog.text


def test_it_draws_what_has_changed_and_switches_off(screen, monkeypatch):
    ended = threading.Event()
    views = [view_of(now, TURNING, RUNS, ENGLISH) for now in (IDLE, IDLE, AT_WORK, AT_WORK)]

    def look(_: Front) -> Screenful:
        if len(views) == 1:
            ended.set()
        return views.pop(0)

    monkeypatch.setattr(Front, "look", look)
    show_until(ended, SPI, FakeClient(), ENGLISH)
    assert screen.display.call_count == 2 and screen.cleanup.called


def test_a_profile_without_display(caplog):
    with pytest.raises(SystemExit) as ended:
        main(["--profile", "two-arm"])
    assert ended.value.code == 2
    assert "has no display" in caplog.text


def test_it_follows_the_daemon_and_only_watches():
    daemon = FakeClient(IDLE, RUNS)
    watch = Front(daemon, ENGLISH)
    first = watch.look()
    assert first.large == "31.0 s" and watch.look() == first
    assert sum("/runs" in path for path in daemon.looked) == 1, "runs only when there is another"
    for gone in (None, {"last_run": None}):  # no daemon, or one of another version
        daemon.now = gone
        assert watch.look() == unreachable(ENGLISH)
    daemon.now = AT_WORK
    assert watch.look().heading == "Turning"
    assert daemon.asked == []


def test_pictures_for_the_documentation(tmp_path):
    """Keep the pictures in the folder that CUBIST_PICTURES names: docs/pictures."""
    kept = Path(os.environ.get("CUBIST_PICTURES", tmp_path))
    views = [
        view_of(AT_WORK, TURNING, [], ENGLISH),
        view_of(IDLE, NOTHING, RUNS, ENGLISH),
        view_of(in_trouble("home-missing"), NOTHING, [], ENGLISH),
        menu_view(MenuPage(1), ENGLISH),
    ]
    gap, count = 8, len(views)
    for controller, (width, height) in PANELS[1:]:
        sheet = Image.new("RGB", (count * (width + gap) + gap, height + 2 * gap), "#808080")
        for place, view in enumerate(views):
            picture = draw(view, (width, height), "1" if controller == "ssd1306" else "RGB")
            sheet.paste(picture.convert("RGB"), (gap + place * (width + gap), gap))
        name = controller if SIZES[controller] == (width, height) else f"{width}x{height}"
        sheet.save(kept / f"display-{name}.png")
