"""The front panel: its presses control the robot; its light and buzzer show the state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from robot.api.models import WORKING, Event, StartRequest
from robot.daemon.job_control import JobController
from robot.panel.button import Hands, Press
from robot.panel.gpio import Gpio, PanelError
from robot.panel.panel import Inspection, Listener, Panel, PanelPins
from robot.text.faults import RobotError
from robot.text.outcomes import Outcome
from solver.errors import CubistError

log = logging.getLogger("cubistd.panel")

STUCK = "button-stuck"


class FrontPanel:
    """Connects a :class:`Panel`, whose callbacks come on its own thread, to a controller.

    ``inspection_s``: seconds between lifting the hands off the pads and the start.
    """

    def __init__(
        self, controller: JobController, gpio: Gpio, pins: PanelPins, inspection_s: float = 0.0
    ) -> None:
        self._controller = controller
        self._has_estop = pins.estop is not None
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._panel = Panel(
            gpio,
            pins,
            Listener(
                press=lambda press: self._soon(self.pressed(press)),
                estop=lambda opened: self._soon(self.estop(opened)),
                hands=lambda hands: self._soon(self.hands(hands)),
                stuck=lambda pins: self._soon(self.stuck(pins)),
                fault=lambda fault: self._soon(self.failed(fault)),
            ),
        )
        self._inspection = Inspection(inspection_s, self._panel.sound, self._start_solve)
        self._listener: asyncio.Task[None] | None = None
        controller.inspection_left_s = lambda: self._inspection.left_s
        controller.call_off_start = lambda: self._call_off("the robot was stopped")

    def open(self) -> None:
        """Take the pins and start watching; raises :class:`PanelError`."""
        self._panel.open()
        self._panel.show(self._controller.state)
        self._panel.start()
        self._listener = asyncio.create_task(self._follow(), name="panel light")

    async def close(self) -> None:
        """Release the pins. Idempotent."""
        self._inspection.cancel()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        await asyncio.to_thread(self._panel.close)

    def _soon(self, work: Awaitable[None]) -> None:
        """Run this in the event loop. Called on the panel's thread."""
        self._loop.call_soon_threadsafe(self._spawn, work)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _is_busy(self) -> bool:
        """Return whether the robot works, is about to work, or is calibrated."""
        controller = self._controller
        return controller.state in WORKING or controller.is_starting or controller.is_calibrated

    async def pressed(self, press: Press) -> None:
        """Carry out a press. Sound the buzzer if it is refused."""
        log.info("button: %s press", press)
        await self._told_of_refusal("button", self._act(press))

    async def hands(self, hands: Hands) -> None:
        """Handle hands on the pads. Lifting them starts the inspection; laying them cancels it."""
        if self._is_busy:
            return
        if hands is Hands.LAID:
            self._call_off("hands on the pads again")
        elif hands is Hands.READY:
            self._panel.show("ready")
            self._panel.sound("ready")
        else:
            log.info("hands lifted off the pads")
            self._panel.show("inspection")
            self._inspection.begin()

    async def _start_solve(self) -> None:
        work = self._controller.start(StartRequest(kind="solve"))
        if not await self._told_of_refusal("hands", work):
            self._panel.show(self._controller.state)

    def _call_off(self, reason: str) -> bool:
        """Cancel the inspection; return whether one was under way."""
        if not self._inspection.cancel():
            return False
        log.info("inspection called off: %s", reason)
        self._panel.show(self._controller.state)
        return True

    async def _told_of_refusal(self, what: str, work: Awaitable[object]) -> bool:
        """Wait for the work. Sound and log a refusal. Return whether it was done."""
        try:
            await work
        except CubistError as error:
            log.warning("%s: %s", what, error)
            self._panel.sound("fault")
            return False
        return True

    async def _act(self, press: Press) -> None:
        if self._call_off("the button was pressed") and press is Press.SHORT:
            return
        if self._controller.is_recording:  # nothing to stop: a person has another cube
            await self._controller.finished()
        if press is Press.VERY_LONG:
            await self._controller.shut_down(power_off=True)
        elif self._is_busy:
            await self._controller.stop()
        else:
            kind = "home" if press is Press.LONG else "solve"
            await self._controller.start(StartRequest.model_validate({"kind": kind}))

    async def estop(self, opened: bool) -> None:
        """Handle a press of the emergency stop (its circuit opened) or its release."""
        self._controller.estop_open = opened
        if opened:
            self._call_off("emergency stop")
            log.warning("emergency stop pressed, or its wire is broken")
            stopping = self._controller.stop(emergency=True)
            await self._told_of_refusal("emergency stop", stopping)
        else:
            log.info("emergency stop released")

    async def stuck(self, pins: Sequence[str]) -> None:
        """Report the buttons or pads that are stuck, or that all are released."""
        if pins:
            self._call_off("a button is stuck")
            self._controller.report_panel(_fault(STUCK, ", ".join(pins)))
        else:
            log.info("no button is stuck now")
            self._controller.clear_panel(STUCK)
        self._panel.show(self._controller.state)

    async def failed(self, fault: PanelError) -> None:
        """Report a pin that does not answer. An unwatched emergency stop counts as open."""
        self._controller.report_panel(_fault("panel-failed", str(fault)))
        if self._has_estop:
            await self.estop(True)

    async def _follow(self) -> None:
        """Show every state; sound solved cubes and faults."""
        with self._controller.events.listening() as events:
            async for event in events:
                self._tell(event)

    def _tell(self, event: Event) -> None:
        if event.state in WORKING:
            self._inspection.cancel()
        self._panel.show(event.state)
        if event.outcome in {Outcome.SOLVED, Outcome.ALREADY_SOLVED}:
            self._panel.sound("solved")
        elif event.event == "state" and event.state == "fault" and event.step_code != "at-rest":
            self._panel.sound("fault")


def _fault(code: str, detail: str) -> RobotError:
    return RobotError(code, detail=detail)
