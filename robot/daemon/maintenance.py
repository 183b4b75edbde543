"""Maintenance: a person calibrates over a connection, and it ends with that connection."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Collection
from typing import TypeVar

from robot.calibration.colours import ColoursRequest, ColoursSeen, measured_colours
from robot.calibration.positions import Moved, MoveRequest
from robot.calibration.stepper_trials import (
    Play,
    SpeedRequest,
    SpeedTried,
    StepperRequest,
    StepsRequest,
    StepsTried,
    TurnRequest,
    TurnTried,
    measured_play,
    tried_speed,
    tried_steps,
    tried_turn,
)
from robot.calibration.store import FORMAT, Calibration, CalibrationStore, apply
from robot.calibration.timing import TimingRequest, Timings, measured_timing
from robot.calibration.travel import Travel, TravelRequest, measured_travel
from robot.calibration.trial import Bench
from robot.daemon.job_control import JobController
from robot.daemon.models import RobotState
from robot.documents import JsonMapping
from robot.faults import InvalidRequest, Refused
from robot.machine.assembly import Machine
from robot.machine.first_contact import FirstContact, first_pulse
from robot.machine.motion_controller import require_within
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from solver.errors import CubistError

Asked = TypeVar("Asked")
Tried = TypeVar("Tried")
MakeMachine = Callable[[RobotProfile], Machine]


class Maintenance:
    """Single steps on the robot, for calibration; all methods but :meth:`values` need the mode.

    ``contact`` knows how far the robot may go, and hears from here what somebody confirms.
    ``make_machine`` puts the robot together anew from a calibrated profile, before whatever moves
    more than one actuator and once the mode ends.
    """

    def __init__(
        self,
        controller: JobController,
        profile: RobotProfile,
        store: CalibrationStore,
        contact: FirstContact,
        make_machine: MakeMachine,
    ) -> None:
        self._controller = controller
        self._profile = profile
        self._store = store
        self._make_machine = make_machine
        self._busy = asyncio.Lock()
        self._changed = False
        self._contact = contact

    def enter(self) -> None:
        """Begin; raises :class:`Refused` while a job is under way or another person calibrates."""
        if self._controller.state is RobotState.MAINTENANCE:
            raise Refused("another person is calibrating")
        self._controller.enter_maintenance()
        self._contact.calibrating = True

    async def leave(self) -> None:
        """End, after the step under way; what was saved counts from now on."""
        async with self._busy:
            self._contact.calibrating = False
            try:
                await self._renew()
            except CubistError as error:
                await self._controller.leave_maintenance(error)
            else:
                await self._controller.leave_maintenance()

    async def _renew(self) -> None:
        """Put the robot together anew, if anything was saved since the last time."""
        if self._changed:
            calibrated = apply(self._profile, await self.values())
            await self._controller.replace(await asyncio.to_thread(self._make_machine, calibrated))
            self._changed = False

    async def home(self, *, as_profile: bool) -> None:
        """Bring all actuators to their start positions; only to confirmed ones, unless told."""
        async with self._busy:
            self._require()
            motion = self._controller.machine.motion
            motion.reconfigure(apply(self._profile, await self.values()), {})
            with self._contact.vouching(self._profile.actuators if as_profile else ()):
                await asyncio.to_thread(motion.home)

    async def move(self, request: MoveRequest) -> Moved:
        """Move one actuator slowly to a position; beyond what is confirmed in small steps."""
        async with self._busy:
            self._require()
            profile = apply(self._profile, await self.values())
            return await asyncio.to_thread(self._moved, profile, request)

    def _moved(self, profile: RobotProfile, request: MoveRequest) -> Moved:
        name, target, contact = request.actuator, request.to, self._contact
        motion = self._controller.machine.motion
        actuator = profile.actuators.get(name)
        if actuator is None:
            known = ", ".join(profile.actuators)
            raise InvalidRequest(f"actuator: there is no {name!r}; there is {known}")
        if actuator.limits is not None and target is not None:
            require_within(name, target, *actuator.limits, actuator.unit)
        if actuator.is_inverted is not None:
            contact.require_direction(name)
        place = motion.position(name)
        if place is None:
            within = contact.range(name, actuator)
            first = _first_place(name, actuator, within, request)
            with contact.vouching((name,) if within is None else ()):
                place = motion.home_alone(name, first)
            contact.note(name, place)
        if target is not None:
            place = motion.jog(name, target)
            contact.note(name, place)
        low, high = contact.range(name, actuator) or (place, place)
        return Moved(actuator=name, position=place, low=low, high=high)

    async def picture(self, camera: str | None) -> str:
        """What a camera sees: a JPEG in base64."""
        async with self._busy:
            self._require()
            taken = await asyncio.to_thread(self._controller.machine.scanner.picture, camera)
            return base64.b64encode(taken).decode()

    async def colours(self, request: ColoursRequest) -> ColoursSeen:
        """Look at the cube and measure its colours.

        Raises what motion and reading do, and ``CalibrationFailed``.
        """
        return await self._tried(measured_colours, request)

    async def timing(self) -> Timings:
        """Perform every operation and time it; the cube ends as it was."""
        return await self._tried(measured_timing, TimingRequest())

    async def travel(self, request: TravelRequest) -> Travel:
        """Watch a servo go from one named position to another."""
        return await self._tried(measured_travel, request)

    async def turn(self, request: TurnRequest) -> TurnTried:
        """Turn a stepper by a quarter and back: so its direction is found out, and confirmed."""
        return await self._tried(tried_turn, request, vouched=(request.actuator,))

    async def steps(self, request: StepsRequest) -> StepsTried:
        """Turn a stepper by whole turns and back."""
        return await self._tried(tried_steps, request)

    async def speed(self, request: SpeedRequest) -> SpeedTried:
        """Try how fast a stepper can be."""
        return await self._tried(tried_speed, request)

    async def play(self, request: StepperRequest) -> Play:
        """Measure the play between a stepper and what it drives."""
        return await self._tried(measured_play, request)

    async def _tried(
        self,
        trial: Callable[[Bench, Asked], Tried],
        request: Asked,
        vouched: Collection[str] = (),
    ) -> Tried:
        """A trial with what is calibrated by now; ``vouched``: what moves for its first time."""
        async with self._busy:
            self._require()
            await self._renew()
            profile = apply(self._profile, await self.values())
            with self._contact.vouching(vouched):
                bench = Bench(self._controller.machine, profile)
                return await asyncio.to_thread(trial, bench, request)

    async def values(self) -> Calibration:
        """What is calibrated."""
        return await asyncio.to_thread(self._store.load, self._profile)

    async def save(self, values: JsonMapping, written: int = FORMAT) -> Calibration:
        """Set some values (None: back to the profile's); raises :class:`BadCalibration`.

        ``written``: the format of the calibration that the values come from.
        """
        async with self._busy:
            self._require()
            given = {key: value for key, value in values.items() if value is not None}
            come = Calibration(format=written, robot=self._profile.name, values=given)
            set_now = dict(values) | come.upgraded(self._profile).values
            calibration = (await self.values()).changed(set_now)
            apply(self._profile, calibration)
            await asyncio.to_thread(self._store.save, calibration)
            return self._set(calibration)

    async def restore(self) -> Calibration:
        """Exchange the calibration with the version before."""
        async with self._busy:
            self._require()
            if not self._store.has_previous:
                raise Refused("nothing was kept before: there is no version to go back to")
            apply(self._profile, await asyncio.to_thread(self._store.previous, self._profile))
            await asyncio.to_thread(self._store.restore)
            return self._set(await self.values())

    def _set(self, calibration: Calibration) -> Calibration:
        self._contact.values = calibration.values
        self._changed = True
        return calibration

    def _require(self) -> None:
        self._controller.check_estop()
        if self._controller.state is not RobotState.MAINTENANCE:
            raise Refused("the robot is not in maintenance mode (`cubist calibrate` enters it)")


def _first_place(
    name: str, actuator: ActuatorSettings, within: tuple[int, int] | None, request: MoveRequest
) -> int:
    """Where to let an actuator begin: within what is confirmed, if anything is."""
    if within is None:
        if actuator.limits is not None:
            return first_pulse(name, actuator.limits, request.begin_at)
        return 0  # a stepper's own start counts
    wanted = request.begin_at if request.to is None else request.to
    return within[0] if wanted is None else max(within[0], min(within[1], wanted))
