"""The display itself, driven by luma, which only this file imports."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from robot.panel.gpio import PanelError, RpiGpio
from robot.settings.profile import DisplaySettings
from solver.errors import root_sentence

if TYPE_CHECKING:
    from PIL import Image


log = logging.getLogger("cubist-display")

DISPLAY_ABSENT, DISPLAY_LOST = "display-fault", "display-lost"
"""Error codes: the display or its library is missing; the display no longer answers."""


class LumaDisplay:
    """A display driven by luma. Errors of luma and of the bus become ``PanelError``.

    The constructor opens the display that the profile describes, and raises one, too.
    """

    def __init__(self, settings: DisplaySettings) -> None:
        self._controller = settings.controller
        self._bus: Any = None
        self._device: Any = None
        try:
            self._bus = _open_bus(settings)
            self._device = _open_device(settings, self._bus)
        except Exception as error:
            self.cleanup()
            raise PanelError(_complaint(self._controller, error), code=DISPLAY_ABSENT) from error
        self.size: tuple[int, int] = self._device.size
        self.mode: str = self._device.mode

    def display(self, image: Image.Image) -> None:
        """Show a picture of the display's size and mode; raises :class:`PanelError`."""
        try:
            self._device.display(image)
        except Exception as error:
            raise PanelError(_complaint(self._controller, error), code=DISPLAY_LOST) from error

    def cleanup(self) -> None:
        """Switch it off, and release its bus even if it no longer answers. Idempotent."""
        device, bus = self._device, self._bus
        self._device = self._bus = None
        for part in (device, bus):
            try:
                if part is not None:
                    part.cleanup()
                    return  # a device also releases its bus
            except Exception as error:
                log.warning("cannot switch the display off: %s", root_sentence(error))


_PACKAGES = {
    "luma": "python3-luma.lcd python3-luma.oled",
    "PIL": "python3-pil",
    "spidev": "python3-spidev",
    "smbus2": "python3-smbus2",
}
"""Debian packages by the module that is missing."""


def _complaint(controller: str, error: Exception) -> str:
    """Return what is wrong, and what to do about it."""
    if isinstance(error, PanelError):
        return f"the display {controller} has no pins: {error}"
    why = root_sentence(error)
    if isinstance(error, ModuleNotFoundError):
        package = _PACKAGES.get((error.name or "").split(".")[0], _PACKAGES["luma"])
        return f"the display library is incomplete: {why}. sudo apt install {package}"
    if isinstance(error, ImportError):
        return f"the display library cannot be loaded: {why}. Install it again"
    if isinstance(error, PermissionError) or "ermission" in why:
        join = "sudo usermod -aG spi,i2c,gpio $USER, then log in again"
        return f"the display {controller} cannot be accessed: {why}. {join}"
    return (
        f"the display {controller} does not answer: {why}. Check its wires, that SPI or I2C is on "
        "(sudo raspi-config), and `display:` in the profile"
    )


def _open_bus(settings: DisplaySettings) -> object:
    serial = importlib.import_module("luma.core.interface.serial")
    if settings.controller == "ssd1306":
        number = 1 if settings.bus is None else settings.bus
        return serial.i2c(port=number, address=settings.address)
    RpiGpio()  # raises the reason if pins are unavailable; luma hides it
    pins = {"gpio_DC": settings.dc_gpio, "gpio_RST": settings.reset_gpio}
    return serial.spi(port=settings.bus or 0, device=settings.chip_select, **pins)


def _open_device(settings: DisplaySettings, bus: object) -> object:
    serial = importlib.import_module("luma.core.interface.serial")
    family = "oled" if settings.controller == "ssd1306" else "lcd"
    kind = _class_of(importlib.import_module(f"luma.{family}.device"), settings)
    size = {"width": settings.width, "height": settings.height, "rotate": settings.rotate}
    if settings.controller == "ssd1306":
        return kind(bus, **size)
    light = settings.backlight_gpio
    # Without a pin of its own luma would switch GPIO 18, which may be a servo's.
    dark = {"gpio": serial.noop()} if light is None else {"gpio_LIGHT": light}
    backlight = dark | {"active_low": False}
    return kind(bus, **size, **backlight)


def _class_of(devices: ModuleType, settings: DisplaySettings) -> Callable[..., object]:
    """Return luma's class, also for a panel with an offset in its controller's memory.

    The ST7735's class has parameters for it. The ST7789's class always starts in the corner.
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
