"""The display itself, over luma; the only file that imports it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from robot.settings.profile import DisplaySettings
from solver.errors import CubistError

if TYPE_CHECKING:
    from PIL import Image


class DisplayFault(CubistError, RuntimeError):
    """The display, or the library for it, is not there; the text says what to do."""


class Device(Protocol):
    """What of a luma device is used."""

    size: tuple[int, int]
    mode: str

    def display(self, image: Image.Image) -> None:
        """Show a picture of the device's size and mode."""

    def cleanup(self) -> None:
        """Switch it off."""


def open_device(settings: DisplaySettings) -> Device:
    """The display that the profile describes; raises :class:`DisplayFault`."""
    try:
        serial = importlib.import_module("luma.core.interface.serial")
        family = "oled" if settings.controller == "ssd1306" else "lcd"
        devices = importlib.import_module(f"luma.{family}.device")
    except ImportError as error:
        raise DisplayFault(
            f"the library for displays is not installed ({error}): "
            "sudo apt install python3-luma.lcd python3-luma.oled"
        ) from error
    try:
        return _opened(settings, serial, devices)
    except Exception as error:  # luma's own, the GPIO library's, and OSError
        raise DisplayFault(
            f"the display {settings.controller} does not answer: {error}. Check its wires, that "
            "SPI or I2C is on (sudo raspi-config), and `display:` in the profile"
        ) from error


def _opened(settings: DisplaySettings, serial: ModuleType, devices: ModuleType) -> Device:
    kind = _class_of(devices, settings)
    size = {"width": settings.width, "height": settings.height, "rotate": settings.rotate}
    if settings.controller == "ssd1306":
        number = 1 if settings.bus is None else settings.bus
        bus = serial.i2c(port=number, address=settings.address)
        return cast(Device, kind(bus, **size))
    pins = {"gpio_DC": settings.dc_gpio, "gpio_RST": settings.reset_gpio}
    number = settings.bus or 0
    bus = serial.spi(port=number, device=settings.chip_select, **pins)
    light = settings.backlight_gpio
    # Without a pin of its own luma would switch GPIO 18, which may be a servo's.
    dark = {"gpio": serial.noop()} if light is None else {"gpio_LIGHT": light}
    backlight = dark | {"active_low": False}
    return cast(Device, kind(bus, **size, **backlight))


def _class_of(devices: ModuleType, settings: DisplaySettings) -> Callable[..., object]:
    """luma's class, also for a panel that begins elsewhere in its controller's memory.

    That of the ST7735 has parameters for it; that of the ST7789 always begins in the corner.
    """
    kind: Any = getattr(devices, settings.controller)
    x, y = settings.offset
    if (x, y) == (0, 0):
        return cast(Callable[..., object], kind)
    if settings.controller == "st7735":
        return partial(kind, h_offset=x, v_offset=y)

    def set_window(self: object, x1: int, y1: int, x2: int, y2: int) -> None:
        kind.set_window(self, x1 + x, y1 + y, x2 + x, y2 + y)

    return type(f"{kind.__name__}_at_offset", (kind,), {"set_window": set_window})
