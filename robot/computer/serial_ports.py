"""The serial ports of this computer, and the boards that can be identified there.

``python -m robot.computer.serial_ports`` prints systemd/70-cubist.rules, by which udev names them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from robot.computer.board_family import FAMILIES, BoardFamily

RULES = """\
# Made by `python -m robot.computer.serial_ports`; do not edit.
# Pins, buses, memory of pictures. Raspberry Pi OS has these groups, plain Debian root alone.
SUBSYSTEM=="gpio", KERNEL=="gpiochip*", GROUP="gpio", MODE="0660"
SUBSYSTEM=="spidev", GROUP="spi", MODE="0660"
SUBSYSTEM=="i2c-dev", GROUP="i2c", MODE="0660"
SUBSYSTEM=="dma_heap", GROUP="video", MODE="0660"
# Boards that run Cubist's firmware: one stable name, and no modem manager that talks to them first.
# {makers}.
SUBSYSTEM=="tty", ENV{{ID_BUS}}=="usb", ENV{{ID_USB_VENDOR_ID}}=="{vendors}", \
SYMLINK+="cubist", GROUP="dialout", MODE="0660", ENV{{ID_MM_DEVICE_IGNORE}}="1", TAG+="uaccess"
{more}
"""


@dataclass(frozen=True, slots=True)
class SerialPort:
    """A serial port: its device file, its title, and its USB vendor and product if it is on USB."""

    device: str
    title: str
    vendor: int | None = None
    product: int | None = None
    board_name: str | None = None

    @property
    def board(self) -> str | None:
        """The board there, if it is known or its USB numbers identify it; an adapter's do not."""
        if self.board_name is not None:
            return self.board_name
        if self.vendor is None or self.product is None:
            return None
        known = (family.usb_products.get((self.vendor, self.product)) for family in _families())
        return next((board for board in known if board is not None), None)

    @property
    def may_be_board(self) -> bool:
        """True if boards for Cubist's firmware have such a USB vendor."""
        return any(self.vendor in family.usb_vendors for family in _families())

    def __str__(self) -> str:
        """Return the port as shown in lists."""
        return f"{self.device} ({self.title})"


def serial_ports() -> Sequence[SerialPort]:
    """Return all serial ports, in the order of their names."""
    from serial.tools.list_ports import comports

    return [
        SerialPort(port.device, port.product or port.description, port.vid, port.pid)
        for port in sorted(comports())
    ]


def udev_rules() -> str:
    """Return the text of systemd/70-cubist.rules."""
    makers = {
        vendor: maker for family in _families() for vendor, maker in family.usb_vendors.items()
    }
    return RULES.format(
        makers=", ".join(dict.fromkeys(makers.values())),
        vendors="|".join(f"{vendor:04x}" for vendor in makers),
        more="\n".join(line for family in _families() for line in family.udev_rules()),
    )


def _families() -> Sequence[BoardFamily]:
    return list(FAMILIES.values())


if __name__ == "__main__":
    sys.stdout.write(udev_rules())
