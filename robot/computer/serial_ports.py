"""The serial ports of this computer, and the boards that show themselves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robot.text.faults import Fault, LinkError

DEV = Path("/dev")
OWN_PORT = Path("/run/cubist-board/port")
"""Where the service cubist-board is to be found."""

ARDUINO = (0x2341, 0x2A03)
"""Vendors of boards that tell by their product number which board they are."""
ADAPTERS = (0x1A86, 0x10C4, 0x0403)
"""Vendors of the adapters on other boards (CH340, CP210x, FT232), which could be any of them."""
PRODUCTS: Mapping[int, str] = {
    **dict.fromkeys((0x0001, 0x0043, 0x0243), "uno"),
    **dict.fromkeys((0x0010, 0x0042, 0x0242), "mega"),
}
"""Product number of an Arduino -> its name in :data:`robot.computer.firmware_build.BOARDS`."""


@dataclass(frozen=True, slots=True)
class SerialPort:
    """A serial port: its device file, what is there, USB vendor and product where it is USB's."""

    device: str
    title: str
    vendor: int | None = None
    product: int | None = None

    @property
    def board(self) -> str | None:
        """The board there, where its USB numbers tell: an adapter's do not."""
        if self.vendor not in ARDUINO or self.product is None:
            return None
        return PRODUCTS.get(self.product)

    @property
    def may_be_board(self) -> bool:
        """True for what boards for Cubist's firmware are connected by."""
        return self.vendor in ARDUINO + ADAPTERS

    def __str__(self) -> str:
        """As in a list for people."""
        return f"{self.device} ({self.title})"


def serial_ports() -> Sequence[SerialPort]:
    """All serial ports, in the order of their names."""
    from serial.tools.list_ports import comports

    return [
        SerialPort(port.device, port.product or port.description, port.vid, port.pid)
        for port in sorted(comports())
    ]


def find_board(dev: Path = DEV, *, is_pi: bool = False, own: Path = OWN_PORT) -> Path:
    """The serial port of the only board there is, for ``link.port: auto``.

    That is the one our udev rule names, else the only one of ``by-id``. Raises ``PORT_MISSING``
    when that is unclear. Where the Raspberry Pi itself is the board, it is ``own``; raises
    ``BOARD_ABSENT`` when its program does not run.
    """
    if is_pi:
        if not own.exists():
            raise LinkError(Fault.BOARD_ABSENT, detail=f"{own} does not exist")
        return own
    named = dev / "cubist"
    if named.exists():
        return named
    ports = sorted((dev / "serial/by-id").glob("*"))
    if len(ports) == 1:
        return ports[0]
    found = ", ".join(port.name for port in ports) or "none"
    raise LinkError(Fault.PORT_MISSING, detail=f"looking for a board; serial ports found: {found}")
