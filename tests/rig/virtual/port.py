"""The serial port of a virtual board, for the link; its line may be bad, or the plug be out."""

from __future__ import annotations

import asyncio

from robot.text.faults import Fault, LinkFault
from tests.rig.virtual.board import VirtualBoard
from tests.rig.virtual.damage import Line
from tests.rig.virtual.loop import VirtualLoop


class VirtualPort:
    """A :class:`robot.link.Transport` to a board, on the :class:`VirtualLoop` that runs it.

    The board's time passes only while the loop waits. ``seed`` decides where damage strikes.
    """

    def __init__(self, board: VirtualBoard, loop: VirtualLoop, seed: int = 1) -> None:
        self.outwards = Line(2 * seed)
        self.inwards = Line(2 * seed + 1)
        self.plugged = True
        self._attempts = -1
        self._board = board
        self._loop = loop
        self._received: asyncio.Queue[bytes | LinkFault] = asyncio.Queue()
        self._open = False
        loop.attach(self._pass)

    async def open(self) -> None:
        """See :class:`robot.link.Transport`."""
        if self._attempts == 0:
            self.plug()
        if not self.plugged:
            self._attempts -= 1
            raise LinkFault(Fault.PORT_MISSING, "virtual")
        self._board.read()
        self._received = asyncio.Queue()
        self._open = True

    async def read(self) -> bytes:
        """See :class:`robot.link.Transport`."""
        item = await self._received.get()
        if isinstance(item, LinkFault):
            self._received.put_nowait(item)
            raise item
        return item

    def write(self, data: bytes) -> None:
        """See :class:`robot.link.Transport`."""
        if not self._open:
            raise LinkFault(Fault.LINK_LOST, "virtual")
        if self.plugged:
            self._board.write(self.outwards.carry(data))
            self._loop.stir()

    def write_now(self, data: bytes) -> None:
        """See :class:`robot.link.Transport`; nothing ever waits here."""
        self.write(data)

    def close(self) -> None:
        """See :class:`robot.link.Transport`."""
        self._open = False

    def unplug(self, attempts: int = -1) -> None:
        """Pull the cable: whoever reads hears of it at once, as from a USB adapter.

        After so many attempts to open it, it is back; never by itself if negative.
        """
        self.plugged = False
        self._attempts = attempts
        if self._open:
            self._received.put_nowait(LinkFault(Fault.LINK_LOST, "virtual"))

    def plug(self) -> None:
        """Put it back."""
        self._board.read()
        self.plugged = True
        self._attempts = -1

    def end(self) -> None:
        """The board's time stands still from now on."""
        self._loop.detach(self._pass)

    def _pass(self, ticks: int) -> bool:
        spoke = self._board.pass_time(ticks)
        if spoke and (data := self._board.read()) and self._open and self.plugged:
            left = self.inwards.carry(data)
            if left:
                self._received.put_nowait(left)
        return spoke
