"""The display itself, over luma; the only file that imports it."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

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
    kind = getattr(devices, settings.controller)
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
