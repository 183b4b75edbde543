"""The motion controller's blocking link to a virtual board: its time passes during calls only."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from robot.link import ActuatorSetup, Link, LinkThread
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
    ) -> None:
        self._simulated = loop
        self._link = Link(port, actuators, clock=loop.time, draw=draw)

    @property
    def link(self) -> Link:
        """The link itself, for those on its loop."""
        return self._link

    def close(self) -> None:
        """Disconnect; idempotent."""
        self._wait(self._link.close())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._simulated.run_until_complete(work)
