"""The link for programs without an event loop: the same methods, blocking, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from robot.link.actuators import ActuatorSetup
from robot.link.capability import Capabilities
from robot.link.link import Execution, Link, Progress
from robot.link.protocol import SILENCE_HOLD_MS, Status
from robot.link.session import Statistics
from robot.link.transport import Transport
from robot.link.whereabouts import Whereabouts
from robot.schedule import Schedule

T = TypeVar("T")


class LinkThread:
    """Runs a :class:`Link` on a loop of its own, so that nobody's work delays the heartbeat.

    ``transport`` is called on that loop. Progress callbacks come on the loop's thread.
    """

    def __init__(
        self,
        transport: Callable[[], Transport],
        actuators: Sequence[ActuatorSetup],
        silence_hold_ms: int = SILENCE_HOLD_MS,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)
        self._thread.start()
        self._link = Link(transport(), actuators, silence_hold_ms=silence_hold_ms)

    def open(self) -> Capabilities:
        """See :meth:`Link.open`."""
        return self._wait(self._link.open())

    def configure(self, anew: bool = False) -> None:
        """See :meth:`Link.configure`."""
        self._wait(self._link.configure(anew))

    def adopt(self, actuators: Sequence[ActuatorSetup]) -> None:
        """See :meth:`Link.adopt`."""
        self._link.adopt(actuators)

    def home(self, names: Sequence[str] | None = None) -> None:
        """See :meth:`Link.home`."""
        self._wait(self._link.home(names))

    def run(self, schedule: Schedule, on_progress: Progress | None = None) -> Execution:
        """See :meth:`Link.run`."""
        return self._wait(self._link.run(schedule, on_progress))

    def stop(self) -> None:
        """See :meth:`Link.stop`."""
        self._wait(self._link.stop())

    def emergency_stop(self) -> None:
        """See :meth:`Link.emergency_stop`."""
        self._wait(self._link.emergency_stop())

    def clear(self) -> None:
        """See :meth:`Link.clear`."""
        self._wait(self._link.clear())

    def release(self) -> None:
        """See :meth:`Link.release`."""
        self._wait(self._link.release())

    def status(self) -> Status:
        """See :meth:`Link.status`."""
        return self._wait(self._link.status())

    def position(self, name: str) -> int | None:
        """See :meth:`Link.position`."""
        return self._link.position(name)

    @property
    def places(self) -> dict[str, int]:
        """See :attr:`Link.places`."""
        return self._link.places

    @property
    def whereabouts(self) -> Whereabouts | None:
        """See :attr:`Link.whereabouts`."""
        return self._link.whereabouts

    @property
    def statistics(self) -> Statistics:
        """See :attr:`Link.statistics`."""
        return self._link.statistics

    def close(self) -> None:
        """Disconnect and end the thread; idempotent."""
        if not self._thread.is_alive():
            return
        self._wait(self._link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
