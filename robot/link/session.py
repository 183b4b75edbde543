"""A session with the microcontroller: greeting, heartbeat, frames in and out, fault detection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass

from robot.link.clock import BoardClock
from robot.link.plans import Capabilities
from robot.link.protocol import (
    HEARTBEAT_AT_REST_MS,
    HEARTBEAT_MS,
    VERSION,
    Ack,
    BoardState,
    Drivers,
    DriverStates,
    Hello,
    Locate,
    Message,
    Ping,
    Positions,
    ResetCause,
    Status,
    Welcome,
)
from robot.link.transport import Transport
from robot.link.wire import EMERGENCY_STOP, CobsReader, SendWindow, WireFrame
from robot.settings.board_table import WIDE_MASKS
from robot.text.faults import Fault, LinkError, RobotError

log = logging.getLogger("cubistd")

HELLO_EVERY_S = 0.1
LOST_AFTER_S = 2.5
"""Silence after which the board counts as lost. Longer than an emergency stop waits for its
confirmation (``robot.link.link.STOP_PATIENCE_S``): a caller that stops waiting closes the session,
which ends everything that still waits for the board."""
PUMP_EVERY_S = 0.02
ASK_AGAIN_S = 0.02
"""Time until an unanswered heartbeat is repeated: a bad line must not look like a lost one."""
STOP_EVERY_S = 0.02
COMPARISONS = 6
"""Number of clock comparisons before a start, of which the best counts. More follow while none is
good enough."""
COMPARING_S = 1.0
"""Time limit for comparisons: a computer that is briefly busy must not look like a slow line."""
WELL_COMPARED_S = 0.005
"""Maximum uncertainty of a good comparison. Nearly all of it is the answer's travel time, which is
the same for boards that are connected alike, so that these start together within much less."""
TIMER_S = 0.001
STALLED_S = 0.1
"""Delay of the loop above which it had no processor, and received nothing."""
CALM_AFTER_S = 1.0
"""Time after the last order until the heartbeat becomes slow, if the robot is at rest."""

MOVING = (BoardState.RUNNING, BoardState.HOLDING, BoardState.HELD, BoardState.HOMING)
"""States of the board in which anything may move."""

RESET_FAULTS = {ResetCause.WATCHDOG: Fault.HUNG, ResetCause.BROWN_OUT: Fault.BROWN_OUT}
"""Faults of resets that have a special cause."""

Clock = Callable[[], float]
Draw = Callable[[int], int]
"""Returns a random number from 0 to below the given one."""


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """Statistics of the link since it was opened."""

    sent: int
    resent: int
    received: int
    damaged_here: int
    damaged_there: int
    bytes_lost_there: int

    def __add__(self, other: SessionStatistics) -> SessionStatistics:
        """Return the sum over two links."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return SessionStatistics(*(one + another for one, another in pairs))


class LinkSession:
    """Keeps one session alive on an open transport. :class:`Link` communicates through it."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock = time.monotonic,
        draw: Draw = secrets.randbelow,
    ) -> None:
        self.status: Status | None = None
        self.capabilities: Capabilities | None = None
        self._transport = transport
        self._clock = clock
        self._draw = draw
        self.number = 0
        self._nonce = 0
        self._reader = CobsReader()
        self._window = SendWindow()
        self._heard_at = 0.0
        self._pinged_at = 0.0
        self._beat_due_at = 0.0
        self._used_at = 0.0
        self._used = asyncio.Event()
        self.status_count = 0
        self.board_clock = BoardClock()
        self._asked_at = 0.0
        self._echo = 0
        self._echo_due = False
        self._told: Positions | None = None
        self._drivers: DriverStates | None = None
        self._failure: RobotError | None = None
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, patience_s: float) -> Capabilities:
        """Greet the firmware until it answers; raises ``NO_ANSWER`` after ``patience_s``."""
        await self._transport.open()
        self.number = 1 + self._draw(253)
        self._nonce = self._draw(1 << 16)
        self._tasks = [asyncio.create_task(self._read())]
        deadline = self._clock() + patience_s
        while self.capabilities is None:
            if self._clock() > deadline:
                raise LinkError(Fault.NO_ANSWER)
            self._send(Hello(VERSION, self._nonce), 0)
            await self._wait(HELLO_EVERY_S)
        if self.capabilities.protocol_version != VERSION:
            raise LinkError(
                Fault.WRONG_PROTOCOL,
                detail=f"{self.capabilities.protocol_version}, expected {VERSION}",
            )
        self._heard_at = self._beat_due_at = self._clock()
        self._tasks.append(asyncio.create_task(self._pump_for_ever()))
        return self.capabilities

    async def close(self) -> None:
        """End the session and close the transport. Waiting callers get ``LINK_LOST``."""
        self.fail(LinkError(Fault.LINK_LOST, detail="disconnected"))
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        self._transport.close()

    @property
    def statistics(self) -> SessionStatistics:
        """Counters of both sides."""
        status = self.status
        return SessionStatistics(
            sent=self._window.sent,
            resent=self._window.resent,
            received=self._reader.frames,
            damaged_here=self._reader.damaged,
            damaged_there=status.bad_frames if status else 0,
            bytes_lost_there=status.lost_bytes if status else 0,
        )

    @property
    def failure(self) -> RobotError | None:
        """The fault that ended the session; None while it lasts."""
        return self._failure

    @property
    def is_at_rest(self) -> bool:
        """True if nothing moved at the last status."""
        status = self.status
        return status is not None and status.state not in MOVING and not status.moving

    @property
    def all_delivered(self) -> bool:
        """True when everything queued is acknowledged."""
        return self._window.idle

    def put(self, messages: Iterable[Message]) -> None:
        """Queue messages for the window."""
        for message in messages:
            self._window.put(message)
        self._note_use()
        self._pump()

    def discard_motion(self) -> None:
        """Forget motion that was not sent yet. All other messages are still sent."""
        self._window.discard_motion()

    async def wait_for_delivery(self) -> None:
        """Wait until everything queued is acknowledged."""
        await self.wait_until(lambda: self._window.idle)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that frames bring about. Raise the fault that broke the session."""
        while True:
            self._raise_failure()
            if condition():
                return
            await self._wait(PUMP_EVERY_S)

    async def fresh_status(self) -> Status:
        """Return a status made after this call and after everything that was delivered."""
        for _ in range(2):  # one may be under way already
            await self.next_status(ask=True)
        assert self.status is not None
        return self.status

    async def next_status(self, ask: bool = False) -> Status:
        """Return the next status. The heartbeat requests one soon, ``ask`` at once."""
        seen = self.status_count
        if ask:
            self._ping()
        await self.wait_until(lambda: self.status_count > seen)
        assert self.status is not None
        return self.status

    async def compare_clocks(self, asking: asyncio.Lock) -> None:
        """Ask for the board's clock until it is known well enough to start together with others.

        Boards with the same lock are asked in turn. Raises ``LINK_LOST`` if the line is too slow.
        """
        asked, give_up_at = 0, self._clock() + COMPARING_S
        while asked < COMPARISONS or not self._well_compared:
            if asked >= COMPARISONS and self._clock() > give_up_at:
                doubt_ms = self.board_clock.doubt_s(self._clock()) * 1000
                raise LinkError(
                    Fault.LINK_LOST, detail=f"its clock is only known to within {doubt_ms:.1f} ms"
                )
            await self.ask_clock(asking)
            asked += 1

    async def ask_clock(self, asking: asyncio.Lock) -> None:
        """Compare the board's clock with this computer's once."""
        async with asking:
            self._ping()
            await self.wait_until(lambda: not self._echo_due)

    @property
    def _well_compared(self) -> bool:
        return self.board_clock.doubt_s(self._clock()) <= WELL_COMPARED_S

    async def positions(self) -> Positions:
        """Return the positions after everything that was delivered. Only while nothing moves."""
        self._told = None
        while self._told is None:
            self._raise_failure()
            self._send(Locate(), 0)
            await self._wait(ASK_AGAIN_S)
        return self._told

    async def driver_states(self) -> DriverStates:
        """Return the states of the stepper drivers after everything that was delivered."""
        self._drivers = None
        while self._drivers is None:
            self._raise_failure()
            self._send(Drivers(), 0)
            await self._wait(ASK_AGAIN_S)
        return self._drivers

    @property
    def stops(self) -> int:
        """The number of emergency stops that the board has reported, modulo 256."""
        return self._window.stops

    async def emergency_stop(self, patience_s: float) -> None:
        """Repeat the emergency stop until the microcontroller confirms it.

        Earlier messages are not sent again. Without a confirmation the session ends.
        """
        self._window.suspend()
        before = self.stops
        deadline = self._clock() + patience_s
        while self.stops == before:
            if self._clock() > deadline:
                self.fail(LinkError(Fault.NO_ANSWER, detail="emergency stop not confirmed"))
            self._raise_failure()
            self._transport.write_now(EMERGENCY_STOP * 2)
            self._ping()
            again_at = self._clock() + STOP_EVERY_S
            while self.stops == before and (rest_s := again_at - self._clock()) > TIMER_S:
                await self._wait(rest_s)
        await self.fresh_status()  # the repeated stops count, too

    def fail(self, fault: RobotError) -> None:
        """End the session. All waiting callers get ``fault``."""
        self._failure = self._failure or fault
        self._changed.set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _note_use(self) -> None:
        """Speed up the heartbeat for a while: the link is in use."""
        self._used_at = self._clock()
        self._used.set()

    async def _wait(self, longest_s: float) -> None:
        """Wait for the next frame, for at most ``longest_s``."""
        self._note_use()
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), longest_s)
        self._raise_failure()

    async def _read(self) -> None:
        with self._telling_failures():
            while True:
                for frame in self._reader.feed(await self._transport.read()):
                    self._handle(frame)

    async def _pump_for_ever(self) -> None:
        with self._telling_failures():
            while True:
                self._pump()
                self._beat()
                await self._pause()

    @contextlib.contextmanager
    def _telling_failures(self) -> Iterator[None]:
        """End the session when the task inside fails, so that nobody waits for it forever."""
        try:
            yield
        except RobotError as fault:
            self.fail(fault)
        except Exception as error:
            log.exception("the session with the board ended unexpectedly")
            self.fail(LinkError(Fault.LINK_LOST, detail=f"internal error: {error}"))

    def _beat(self) -> None:
        now = self._clock()
        # Frames that came while the loop was delayed are not read yet.
        self._heard_at += max(0.0, now - self._beat_due_at - STALLED_S)
        if now - self._heard_at > LOST_AFTER_S:
            raise LinkError(Fault.LINK_LOST, detail=f"nothing heard for {LOST_AFTER_S} s")
        if now >= self._next_ping_at - TIMER_S:  # timers may be early
            self._pinged_at = now
            self._ping()

    async def _pause(self) -> None:
        """Wait until the next beat, or until a link at rest is used."""
        if not self._calm:
            self._beat_due_at = self._clock() + PUMP_EVERY_S
            await asyncio.sleep(PUMP_EVERY_S)
            return
        self._used.clear()
        self._beat_due_at = self._next_ping_at
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._used.wait(), self._next_ping_at - self._clock())

    @property
    def _calm(self) -> bool:
        """True if nothing moves, nothing is under way, and no request came recently."""
        recently = self._clock() - self._used_at < CALM_AFTER_S
        return self.is_at_rest and self._window.idle and not recently

    @property
    def _next_ping_at(self) -> float:
        if self._pinged_at > self._heard_at:
            return self._pinged_at + ASK_AGAIN_S
        beat_ms = HEARTBEAT_AT_REST_MS if self._calm else HEARTBEAT_MS
        return self._pinged_at + beat_ms / 1000

    def _pump(self) -> None:
        for seq, message in self._window.pump(self._clock()):
            self._send(message, seq)

    def _ping(self) -> None:
        """Ask for a status, which includes the board's clock."""
        self._echo, self._echo_due = self._echo % 255 + 1, True
        self._asked_at = self._clock()
        self._send(Ping(self._echo), 0)

    @property
    def _wide(self) -> bool:
        """True if masks of actuators have two bytes at this board."""
        return self.capabilities is not None and self.capabilities.most_actuators > WIDE_MASKS

    def _send(self, message: Message, seq: int) -> None:
        frame = WireFrame(self.number, seq, self.stops, message.TYPE, message.payload(self._wide))
        self._transport.write(frame.encode())

    def _handle(self, frame: WireFrame) -> None:
        with contextlib.suppress(struct.error, ValueError):
            if frame.type == Welcome.TYPE:
                self._welcome(Welcome.parse(frame.payload))
            elif frame.session == self.number and self.capabilities:
                self._handle_state(frame)
        self._changed.set()

    def _welcome(self, welcome: Welcome) -> None:
        if self.capabilities is None:
            if welcome.nonce == self._nonce:
                self.capabilities = Capabilities.of(welcome)
        elif welcome.boot_id != self.capabilities.boot_id:
            self.fail(LinkError(RESET_FAULTS.get(ResetCause(welcome.reset_cause), Fault.RESET)))

    def _handle_state(self, frame: WireFrame) -> None:
        self._heard_at = self._clock()
        if frame.type == Ack.TYPE:
            self._acknowledge(frame, Ack.parse(frame.payload).free)
        elif frame.type == Status.TYPE:
            self.status = Status.parse(frame.payload, self._wide)
            self.status_count += 1
            if self._echo_due and self.status.echo == self._echo:
                self._echo_due = False
                self.board_clock.compare(self._asked_at, self._heard_at, self.status.now)
            if self.status.fault and frame.seq != self.stops:
                self._window.restart(frame.ack, frame.seq)
            self._acknowledge(frame, self.status.free)
        elif frame.type == Positions.TYPE and frame.ack == self._window.handled:
            self._told = Positions.parse(frame.payload, self._wide)
        elif frame.type == DriverStates.TYPE and frame.ack == self._window.handled:
            self._drivers = DriverStates.parse(frame.payload)

    def _acknowledge(self, frame: WireFrame, free: int) -> None:
        self._window.acknowledge(frame.ack, self._clock(), free)
        self._pump()
