"""The motion controller's blocking link to a virtual board: its time passes during calls only."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

from robot.link import ActuatorSetup, Link, LinkThread, PositionLedger
from tests.virtual.loop import VirtualLoop
from tests.virtual.port import VirtualPort

T = TypeVar("T")


class VirtualLink(LinkThread):
    """A :class:`robot.link.LinkThread` without a thread; the callers' threads run the loop."""

    def __init__(
        self,
        loop: VirtualLoop,
        port: VirtualPort,
        actuators: Sequence[ActuatorSetup],
        draw: Callable[[int], int],
        ledger: PositionLedger,
    ) -> None:
        self._simulated = loop
        self.link = Link(port, actuators, clock=loop.time, draw=draw, ledger=ledger)

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """See :meth:`robot.link.LinkThread.wait`."""
        return self._simulated.run_until_complete(work)

    def close(self) -> None:
        """Disconnect; idempotent."""
        self.wait(self.link.close())
