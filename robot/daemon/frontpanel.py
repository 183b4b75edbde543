"""What the panel's presses do to the conductor, and what its light and buzzer tell of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from robot.daemon.conductor import Conductor
from robot.daemon.models import Event, StartRequest
from robot.daemon.states import WORKING
from robot.panel.button import Press
from robot.panel.gpio import Gpio, PanelFault
from robot.panel.panel import Panel, PanelPins
from solver.errors import CubistError

log = logging.getLogger("cubistd.panel")


class FrontPanel:
    """Connects a :class:`Panel`, whose callbacks come on its own thread, to a conductor."""

    def __init__(self, conductor: Conductor, gpio: Gpio, pins: PanelPins) -> None:
        self._conductor = conductor
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._panel = Panel(
            gpio,
            pins,
            on_press=lambda press: self._soon(self.pressed(press)),
            on_estop=lambda opened: self._soon(self.estop(opened)),
            on_fault=self._failed,
        )
        self._listener: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Take the pins and start watching; raises :class:`PanelFault`."""
        self._panel.open()
        self._panel.show(self._conductor.state)
        self._panel.start()
        self._listener = asyncio.create_task(self._follow(), name="panel light")

    async def close(self) -> None:
        """Give the pins back. Idempotent."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        await asyncio.to_thread(self._panel.close)

    def _soon(self, work: Awaitable[None]) -> None:
        """From the panel's thread: do this in the event loop."""
        self._loop.call_soon_threadsafe(self._spawn, work)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def pressed(self, press: Press) -> None:
        """Do what a press asks for; a refusal is told by the buzzer."""
        log.info("button: %s press", press)
        try:
            await self._act(press)
        except CubistError as error:
            log.warning("button: %s", error)
            self._panel.sound("fault")

    async def _act(self, press: Press) -> None:
        busy = self._conductor.state in WORKING
        if press is Press.VERY_LONG:
            self._panel.sound("shutdown")
            await self._conductor.shut_down(power_off=True)
        elif busy:
            await self._conductor.stop()
        else:
            kind = "home" if press is Press.LONG else "solve"
            await self._conductor.start(StartRequest.model_validate({"kind": kind}))

    async def estop(self, opened: bool) -> None:
        """The emergency stop was pressed (its circuit opened) or released."""
        self._conductor.estop_open = opened
        if opened:
            log.warning("emergency stop pressed, or its wire is broken")
            await self._conductor.stop(emergency=True)
        else:
            log.info("emergency stop released")

    def _failed(self, fault: PanelFault) -> None:
        log.error("the panel is out of order: %s", fault)

    async def _follow(self) -> None:
        """Show every state and say how jobs end."""
        with self._conductor.events.listening() as events:
            async for event in events:
                self._tell(event)

    def _tell(self, event: Event) -> None:
        self._panel.show(event.state)
        if event.outcome in {"solved", "already-solved"}:
            self._panel.sound("solved")
        elif event.event == "state" and event.state == "fault":
            self._panel.sound("fault")
