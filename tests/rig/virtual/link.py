"""The motion controller's blocking link to a virtual board: its time passes during calls only."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TypeVar

from robot.link import LinkGroup, LinkThread
from tests.rig.virtual.loop import VirtualLoop

T = TypeVar("T")


class VirtualLink(LinkThread[LinkGroup]):
    """A :class:`robot.link.LinkThread` without a thread; the callers' threads run the loop."""

    def __init__(self, loop: VirtualLoop, links: LinkGroup) -> None:
        self._simulated = loop
        self.link = links

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """See :meth:`robot.link.LinkThread.wait`."""
        return self._simulated.run_until_complete(work)

    def close(self) -> None:
        """Disconnect; idempotent."""
        self.wait(self.link.close())
