"""One board over its link: configure, home, run schedules, stop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from robot.link.actuators import (
    ActuatorSetup,
    ServoSetup,
    StepperSetup,
    configuration,
    configuration_crc,
)
from robot.link.clock import WRAP
from robot.link.drivers import DRIVER_FAULTS, DriverState, parse_drivers
from robot.link.ledger import BoardLedger, reported_positions
from robot.link.plans import (
    Capabilities,
    Shape,
    WirePlan,
    check_plan,
    encode_schedule,
    rate_share,
)
from robot.link.protocol import (
    SILENCE_HOLD_MS,
    TICKS_PER_US,
    Abort,
    BoardState,
    Bootloader,
    Clear,
    Go,
    GoAt,
    Hold,
    Home,
    Message,
    PlanBegin,
    PowerDown,
    Release,
    Status,
    Turns,
)
from robot.link.session import Clock, Draw, LinkSession, SessionStatistics
from robot.link.transport import Transport
from robot.motion.schedule import Schedule
from robot.motion.servo import servo_slew
from robot.motion.stepper import stepper_move
from robot.text.faults import FAULTS, Fault, LinkError, RobotError, Stopped, code_of

Progress = Callable[[float], None]


class Gate(Protocol):
    """A gate at which the links to several boards wait for each other before a common start."""

    async def all_uploaded(self) -> None:
        """Wait until every board has its part of the plan."""

    async def start_tick(self, session: LinkSession) -> int:
        """Wait until all boards are ready. Return the tick of this board's clock at the start."""

    async def is_kept(self, session: LinkSession) -> bool:
        """Wait until every board knows its tick. Return False if the start must be taken back."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A performed schedule: microseconds from go to the end, by the firmware's clock.

    ``events``: names of irregularities: ``held`` (the Pi was silent and motion paused),
    ``underrun`` (the queue ran dry), ``late`` (a turn started after its time). ``waited_s``:
    seconds from the order to the go by this computer's clock, known from the first status.
    """

    executed_us: int
    turns_done: int
    events: tuple[str, ...]
    waited_s: float = field(default=0.0, compare=False)


def events_between(before: Status, after: Status) -> tuple[str, ...]:
    """Return the events between two reports of the firmware; its counters wrap at 256."""
    counters = {"held": "held", "underrun": "underruns", "late": "late"}
    return tuple(
        name for name, field in counters.items() if getattr(before, field) != getattr(after, field)
    )


ANSWER_PATIENCE_S = 5.0
STOP_PATIENCE_S = 2.0
"""Longest wait for the confirmation of an emergency stop; shorter than ``LOST_AFTER_S``."""


class Link:
    """One microcontroller with its actuators; all coroutines belong to one event loop."""

    def __init__(
        self,
        transport: Transport,
        actuators: Sequence[ActuatorSetup],
        clock: Clock = time.monotonic,
        silence_hold_ms: int = SILENCE_HOLD_MS,
        draw: Draw = secrets.randbelow,
        ledger: BoardLedger | None = None,
    ) -> None:
        self.ledger = ledger or BoardLedger(clock)
        self.actuators = tuple(actuators)
        self._numbers = {setup.name: index for index, setup in enumerate(self.actuators)}
        self._transport = transport
        self._clock = clock
        self._draw = draw
        self._silence_hold_ms = silence_hold_ms
        self.session: LinkSession | None = None
        self._plan_number = 0
        self._stopping = False
        self.drivers: tuple[DriverState, ...] = ()
        self._uploaded: tuple[Shape, ...] = ()
        self._began_at: float | None = None
        self._start_tick: int | None = None

    async def open(self, patience_s: float = ANSWER_PATIENCE_S) -> Capabilities:
        """Connect and greet; raises :class:`robot.text.faults.LinkError`."""
        await self.close()
        session = LinkSession(self._transport, self._clock, self._draw)
        try:
            capabilities = await session.open(patience_s)
        except BaseException:
            await session.close()
            raise
        self.session = session
        self._uploaded = ()
        return capabilities

    async def close(self) -> None:
        """Disconnect; the firmware makes the robot safe when it misses the heartbeat."""
        if self.session is not None:
            await self.session.close()
            self.session = None
            self.ledger.forget_positions()

    async def configure(self, anew: bool = False) -> None:
        """End what the firmware is doing, clear any old fault, and configure its actuators.

        If it is configured already, by this program or by one that was killed, it keeps its
        actuators and their positions. Otherwise, or with ``anew``, or after a fault that lost
        outputs, all outputs are off afterwards.
        """
        self._uploaded = ()
        self._refuse_too_many()
        stops = self._open_session.stops
        await self._command(Abort())
        status = await self._wait_for_rest()
        anew = anew or bool(status.fault and FAULTS[code_of(Fault(status.fault))].loses_outputs)
        wanted = configuration(self.actuators, self._silence_hold_ms)
        told = await self._open_session.positions()
        known = not anew and told.config_crc == configuration_crc(wanted)
        if self._open_session.stops != stops:  # a stop since then is not an old fault
            self._raise_fault(await self._open_session.fresh_status())
        await self._command(Clear(), *([] if known else wanted))
        await self._wait_for_drivers()
        self.ledger.note_reported(reported_positions(told, self.actuators) if known else {})

    def _refuse_too_many(self) -> None:
        """Raise :class:`RobotError` (``BAD_CONFIG``) that names the actuators without room."""
        most = self.capabilities.most_actuators
        if len(self.actuators) > most:
            board = self.capabilities.board.name.lower()
            beyond = ", ".join(one.name for one in self.actuators[most:])
            detail = f"{board} drives {most} actuators: no room for {beyond}"
            raise RobotError(Fault.BAD_CONFIG, detail=detail)

    async def _wait_for_drivers(self) -> None:
        """Wait until the board has set up all stepper drivers. Raise the fault of any of them."""
        while self._has_drivers:
            await self._look_at_drivers()
            self._raise_fault(await self._open_session.fresh_status())
            if all(driver.is_ready for driver in self.drivers):
                return

    async def _look_at_drivers(self) -> None:
        if self._has_drivers:
            names = [setup.name for setup in self.actuators]
            self.drivers = parse_drivers(await self._open_session.driver_states(), names)

    @property
    def _has_drivers(self) -> bool:
        return any(
            isinstance(setup, StepperSetup) and setup.driver is not None for setup in self.actuators
        )

    def adopt(self, actuators: Sequence[ActuatorSetup]) -> None:
        """Use another set-up of the same actuators from the next :meth:`configure` on."""
        self.actuators = tuple(actuators)

    async def home(self, names: Sequence[str] | None = None) -> None:
        """Home actuators (default: all) one after the other, and move each to its start.

        Raise :class:`robot.text.faults.Stopped` after :meth:`stop`.
        """
        self._stopping = False
        for name in self._numbers if names is None else names:
            setup = self.actuators[self._number(name)]
            if not (setup.goes_on_from_there and name in self.ledger.homed):
                await self._find_home(name)
            await self._go_to_start(setup)

    async def take_up(self, names: Sequence[str]) -> None:
        """Home actuators together, each assumed to be where its setup says."""
        self._stopping = False
        if names:
            await self._find_home(*names)

    async def _find_home(self, *names: str) -> None:
        self._raise_if_stopping()
        numbers = {name: self._number(name) for name in names}
        await self._command(Home(self._mask(names)))
        status = await self._wait_for_rest()
        self._raise_fault(status)
        missing = [name for name, number in numbers.items() if not status.homed >> number & 1]
        if missing:
            raise RobotError(Fault.NOT_HOMED, detail=f"{missing[0]}: homing was interrupted")
        reported = reported_positions(await self._open_session.positions(), self.actuators)
        for name in names:
            self.ledger.note_homed(name, reported[name])

    async def run(
        self,
        schedule: Schedule,
        on_progress: Progress | None = None,
        gate: Gate | None = None,
    ) -> Execution:
        """Upload a schedule, play it and wait for its end.

        If ``gate`` is given, start at the tick that it returns, together with other boards: within
        a millisecond if they are connected alike. Then raise ``LINK_LOST`` if the clock cannot be
        compared, ``CLOCKS_APART`` if the boards' clocks do not agree, and ``HOST_LOST`` if anything
        happens later than planned.
        Raise :class:`RobotError` for faults that the firmware reports and for a plan beyond its
        limits, and :class:`robot.text.faults.Stopped` after :meth:`stop`.
        """
        if not schedule.turns:
            return Execution(0, 0, ())
        self._stopping = False
        return await self._run(schedule, on_progress, gate)

    async def _run(
        self,
        schedule: Schedule,
        on_progress: Progress | None = None,
        gate: Gate | None = None,
    ) -> Execution:
        """Perform :meth:`run`, also as a part of homing, which a stop ends as a whole."""
        self._began_at = self._start_tick = None
        begun = self._clock()
        plan = encode_schedule(schedule, tuple(self._numbers))
        check_plan(schedule, plan, self.capabilities, beside_servos=self._has_servos)
        self._check_positions(schedule)
        before = await self._open_session.fresh_status()
        self._raise_fault(before)
        self._raise_if_stopping()
        in_step = before if gate is not None else None
        # Never that of the board's last plan, which may be an earlier link's: it is reported first.
        self._plan_number = (before.plan + 1) % 65536
        await self._start(schedule, plan, gate)
        status = await self._follow(len(plan.turns), schedule.duration_us, on_progress, in_step)
        self._uploaded = plan.shapes
        self.ledger.end(status.turns_done)
        await self._look_at_drivers()
        return Execution(
            executed_us=status.executed // TICKS_PER_US,
            turns_done=status.turns_done,
            events=events_between(before, status),
            waited_s=self._waited_s(begun),
        )

    def _waited_s(self, since: float) -> float:
        """Return the seconds until the plan began, by this computer's clock; 0 if not seen."""
        return 0.0 if self._began_at is None else self._began_at - since

    async def stop(self) -> None:
        """Finish the turns in progress, then rest; a run under way raises ``Stopped``."""
        self._stopping = True
        session = self._open_session
        session.discard_motion()
        await self._command(Hold(), Abort())
        self._raise_fault(await self._wait_for_rest())

    async def emergency_stop(self) -> None:
        """Stop all motion now; the robot has to be set square, cleared and homed afterwards."""
        await self._open_session.emergency_stop(STOP_PATIENCE_S)

    async def clear(self) -> None:
        """Clear a latched fault whose cause is gone."""
        await self._command(Clear())

    async def release(self) -> None:
        """Switch off motors and the pulses of servos. Nothing is homed afterwards."""
        await self._command(Release())

    async def enter_bootloader(self) -> None:
        """Restart the board into its bootloader, which ends the link.

        Raise :class:`RobotError` (``BAD_MESSAGE``) if the board has none that the link can enter.
        """
        with suppress(LinkError):  # it restarts before it answers
            await self._command(Bootloader())

    async def power_down(self, names: Collection[str]) -> None:
        """Switch off actuators at rest. The others hold and stay homed."""
        if not names:
            return
        kept = {one.name for one in self.actuators if one.keeps_position_unpowered}
        lost = [name for name in names if name not in kept]
        await self._command(PowerDown(self._mask(names), self._mask(lost)))
        self.ledger.note_powered_down(names, lost)

    def _mask(self, names: Collection[str]) -> int:
        return sum(1 << self._number(name) for name in names)

    async def status(self) -> Status:
        """Return the firmware's current state."""
        return await self._open_session.fresh_status()

    async def active_sensors(self) -> frozenset[str]:
        """Return the actuators whose end stop or index sensor is active now."""
        sensors = (await self.status()).sensors
        return frozenset(name for name, number in self._numbers.items() if sensors >> number & 1)

    @property
    def capabilities(self) -> Capabilities:
        """The firmware's own description. Raises :class:`RobotError` if not connected."""
        capabilities = self._open_session.capabilities
        assert capabilities is not None, "an open session has been greeted"
        return capabilities

    def rate_share(self, schedules: Sequence[Schedule]) -> float:
        """Return the fraction (up to 1) of the schedules' speed that the board reaches: see
        :func:`robot.link.plans.rate_share`."""
        return rate_share(schedules, self.capabilities, beside_servos=self._has_servos)

    @property
    def _has_servos(self) -> bool:
        return any(isinstance(setup, ServoSetup) for setup in self.actuators)

    @property
    def drift_bounds(self) -> tuple[float, float] | None:
        """Bounds of the drift of the board's clock against this computer's."""
        return self._open_session.board_clock.drift_bounds

    @property
    def statistics(self) -> SessionStatistics:
        """Statistics of the link."""
        return self._open_session.statistics

    @property
    def _open_session(self) -> LinkSession:
        if self.session is None:
            raise RobotError(Fault.LINK_LOST, detail="not connected")
        return self.session

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise RobotError(Fault.BAD_SCHEDULE, detail=f"no actuator is called {name}")
        return self._numbers[name]

    async def _command(self, *messages: Message) -> None:
        """Deliver messages. Raise the fault that they cause."""
        session = self._open_session
        session.put(messages)
        await session.wait_for_delivery()
        status = await session.fresh_status()
        allowed = any(isinstance(message, Abort) for message in messages)
        if not allowed:
            self._raise_fault(status)

    def _raise_if_stopping(self) -> None:
        if self._stopping:
            raise Stopped("before it began")

    def _raise_fault(self, status: Status) -> None:
        if status.state != BoardState.FAULT:
            return
        fault, number = Fault(status.fault), status.fault_detail
        row, detail = FAULTS[code_of(fault)], ""
        if row.names_actuator and number < len(self.actuators):
            detail = self.actuators[number].name
        elif row.names_line:
            detail = f"GPIO {number}"
        if fault in DRIVER_FAULTS:
            self.drivers = tuple(
                state.as_failed() if state.actuator == detail else state for state in self.drivers
            )
        raise RobotError(fault, detail=detail)

    async def _wait_for_rest(self) -> Status:
        session = self._open_session
        await session.wait_until(lambda: session.is_at_rest)
        return await session.fresh_status()

    async def _go_to_start(self, setup: ActuatorSetup) -> None:
        at = self.ledger.homed[setup.name]
        if isinstance(setup, ServoSetup):
            if at != setup.start_us:
                slew_us = setup.home_ms * 1000
                await self._run(Schedule.of(servo_slew(setup.name, at, setup.start_us, slew_us)))
            return
        assert isinstance(setup, StepperSetup)
        play = setup.backlash_steps
        goal = at + setup.way_to_start(at)
        # With play, go back by it first and then forwards: the load ends where the motor does.
        for target in (goal - play, goal) if play and goal != at else (goal,):
            if target != at:
                await self._run(
                    Schedule.of(stepper_move(setup.name, at, target - at, setup.limits))
                )
                at = target

    def _check_positions(self, schedule: Schedule) -> None:
        """Refuse a plan made for other positions: it would turn layers by wrong angles."""
        positions = self.ledger.homed
        for turn in schedule.turns:
            profile = schedule.profiles[turn.profile]
            stands = positions.get(profile.actuator, profile.start)
            if not self._same_place(profile.actuator, stands, profile.start):
                raise RobotError(
                    Fault.BAD_SCHEDULE,
                    detail=f"{profile.actuator} is at {stands}, but a turn starts at "
                    f"{profile.start}",
                )
            positions[profile.actuator] = profile.end

    def _same_place(self, actuator: str, one: int, other: int) -> bool:
        """Return whether two positions are the same, or look the same on an endless part."""
        setup = next((setup for setup in self.actuators if setup.name == actuator), None)
        period = setup.period_steps if setup is not None else None
        return one == other if period is None else (one - other) % period == 0

    async def _start(self, schedule: Schedule, plan: WirePlan, gate: Gate | None) -> None:
        """Queue everything. The window and the credits decide when it is sent."""
        messages: list[Message] = []
        if plan.shapes != self._uploaded:
            messages += plan.upload()
            self._uploaded = ()  # until they are known to have arrived
        messages.append(PlanBegin(self._plan_number, len(plan.turns)))
        turns = plan.turn_messages()
        fitting = _fitting(turns, self.capabilities.queue_bytes)
        messages += turns[:fitting]
        rest = turns[fitting:]
        if gate is None:
            self._open_session.put([*messages, Go(), *rest])
            self.ledger.begin(schedule)
        else:
            await self._start_together(schedule, messages, gate)
            self._open_session.put(rest)

    async def _start_together(
        self, schedule: Schedule, messages: Sequence[Message], gate: Gate
    ) -> None:
        """Give the board ``messages`` and its start tick, repeatedly until the start is right.

        Clocks are compared when all boards have their parts, so for all of them at the same time.
        Then the answers of boards that are connected alike have equal delays.
        """
        session = self._open_session
        while True:
            await self._command(*messages)
            await gate.all_uploaded()
            tick = await gate.start_tick(session)
            self._raise_if_stopping()
            self._start_tick = tick
            session.put([GoAt(tick % WRAP)])
            self.ledger.begin(schedule)
            with self._noting_loss():
                if await gate.is_kept(session):
                    return
                await self._take_back()
            messages = [message for message in messages if isinstance(message, (PlanBegin, Turns))]

    async def _take_back(self) -> None:
        """Drop the plan whose start was ordered, before it begins."""
        await self._command(Abort())
        status = await self._wait_for_rest()
        self._raise_fault(status)
        self.ledger.end(status.turns_done)
        self._raise_if_stopping()
        if status.turns_done:
            raise RobotError(
                Fault.HOST_LOST, detail="out of step: a start came too late to take it back"
            )

    async def _follow(
        self,
        turns: int,
        duration_us: int,
        on_progress: Progress | None,
        in_step: Status | None,
    ) -> Status:
        """Wait for the end. After a hold for silence, resume once the link works again.

        ``in_step``: the status before a start in step with other boards. Then any irregularity is a
        fault instead.
        """
        session = self._open_session
        with self._noting_loss():
            while True:
                status = await session.next_status()
                self._note_executed(status)
                self._raise_fault(status)
                if status.plan != self._plan_number:
                    if self._stopping and session.all_delivered:
                        await self._raise_if_discarded()
                    continue
                if in_step is not None and (events := events_between(in_step, status)):
                    raise RobotError(Fault.HOST_LOST, detail=f"out of step: {', '.join(events)}")
                fraction = min(1.0, status.executed / TICKS_PER_US / max(duration_us, 1))
                self.ledger.note_progress(self._elapsed(status, duration_us, fraction))
                if on_progress:
                    on_progress(fraction)
                if status.state == BoardState.IDLE and status.turns_done == turns:
                    return status
                if self._stopping and status.state == BoardState.IDLE:
                    self.ledger.end(status.turns_done)
                    raise Stopped(f"after {status.turns_done} of {turns} turns")
                held = status.state == BoardState.HELD
                if held and not self._stopping and session.all_delivered:
                    session.put([Go()])

    async def _raise_if_discarded(self) -> None:
        """Raise ``Stopped`` if a stop discarded the plan before the board received any of it."""
        status = await self._open_session.fresh_status()
        self._raise_fault(status)
        if status.plan != self._plan_number:
            self.ledger.end(0)
            raise Stopped("before it began")

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Note the last report about a plan that was sent and, if the link breaks, the loss."""
        session = self._open_session
        try:
            yield
        except LinkError:
            self.ledger.note_lost()  # at once: other boards may have to be stopped first
            raise
        finally:
            # A status may have come right before what broke the session.
            self._note_executed(session.status)

    def _elapsed(self, status: Status, duration_us: int, ended: float) -> float:
        """Return the elapsed fraction of the plan's time, by the board's clock if the start tick is
        known, otherwise by the turns that have ended."""
        if self._start_tick is None:
            return ended
        ticks = (status.now - self._start_tick) % WRAP
        if ticks >= WRAP // 2:  # not yet
            return 0.0
        return min(1.0, ticks / TICKS_PER_US / max(duration_us, 1))

    def _note_executed(self, status: Status | None) -> None:
        if status is not None and status.plan == self._plan_number:
            executed_us = status.executed // TICKS_PER_US
            if self._began_at is None and executed_us:
                self._began_at = self._clock() - executed_us / 1e6
            self.ledger.note_executed(executed_us)


def _fitting(turns: Sequence[Message], room: int) -> int:
    """Return the number of frames that fit the queue before the plan starts."""
    for count, message in enumerate(turns):
        room -= len(message.payload())
        if room < 0:
            return count
    return len(turns)
