"""Faults that a user can inject into a demo, to see how Cubist handles them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from robot.api.endpoints import RobotState
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.settings.profile import FIRST_BOARD
from robot.settings.stepper import Stepper
from robot.simulate.boards import Cable
from robot.simulate.progress import STAGES
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import OddScene, Studio
from robot.twin.tmc2209 import DriverStatus
from solver.errors import InvalidRequest

UNPLUGGED_S = 2.5
"""Time without a cable; longer than the silence after which a simulated board holds."""

NOISE = 0.01
"""Fraction of bytes that a noisy cable changes."""
LOST_STEPS = 200
LAMP = 0.8
"""Strength of a lamp's reflection in the stickers."""
OLD_BULB = (1.0, 0.72, 0.38)
"""Factors of red, green and blue in an old bulb's light."""


@dataclass(frozen=True)
class BoardInScene:
    """A board with its cable, if there is one to unplug."""

    press_reset: Callable[[], None]
    cable: Cable | None


@dataclass(frozen=True)
class Scene:
    """The parts that an injected fault can reach; ``boards`` by name."""

    robot: SimulatedRobot
    studio: Studio
    boards: Mapping[str, BoardInScene]

    def mend(self) -> None:
        """Undo the effects of all faults."""
        self.robot.mend()
        self.studio.mend()
        for board in self.boards.values():
            if board.cable is not None:
                board.cable.noise = 0.0
                board.cable.mend()


Injection = Callable[[Scene, str], Awaitable[None] | None]
"""A function that injects a fault into a scene and a named actuator or board."""


@dataclass(frozen=True)
class InjectedFault:
    """A fault by name, its subject (an actuator or a board), and the stage in which it happens."""

    name: str
    subject: str
    stage: RobotState

    async def inject(self, scene: Scene) -> None:
        """Inject the fault."""
        happening = INJECTIONS[self.name](scene, self.subject)
        if happening is not None:
            await happening


def parse_injected_fault(text: str, profile: RobotProfile) -> InjectedFault:
    """Parse ``NAME[:ACTUATOR|:BOARD][@STAGE]`` for a robot, or raise :class:`InvalidRequest`."""
    boards = profile.every_board
    what, _, stage = text.partition("@")
    name, _, subject = what.partition(":")
    stages = {title: state for state, title in STAGES} | {str(state): state for state, _ in STAGES}
    if name not in INJECTIONS:
        raise InvalidRequest(f"there is no fault named {name}; choose from {', '.join(INJECTIONS)}")
    if stage and stage not in stages:
        names = ", ".join(title for _, title in STAGES)
        raise InvalidRequest(f"there is no stage named {stage}; choose from {names}")
    if name in ACTUATOR_FAULTS:
        _require_fitting(name, subject, profile)
    if name in SUPPLY_FAULTS and not any(map(_has_driver, profile.actuators.values())):
        raise InvalidRequest(f"{name} needs {WITH_DRIVER}, and {profile.name} has none")
    if name in BOARD_FAULTS and subject and subject not in boards:
        raise InvalidRequest(f"no board is called {subject}; choose from {', '.join(boards)}")
    if subject and name not in ACTUATOR_FAULTS.keys() | BOARD_FAULTS:
        raise InvalidRequest(f"{name} takes no actuator: omit :{subject}")
    usual = RobotState.HOMING if name in STANDING_FAULTS else RobotState.TURNING
    return InjectedFault(name, subject, stages[stage] if stage else usual)


def subjects_of_faults(profile: RobotProfile) -> dict[str, list[str]]:
    """Return the faults that a robot can have, each with the actuators or boards to choose from.

    The list is empty for a fault without a choice.
    """
    found: dict[str, list[str]] = {}
    boards = list(profile.every_board)
    has_drivers = any(map(_has_driver, profile.actuators.values()))
    for name in INJECTIONS:
        if name in SUPPLY_FAULTS and not has_drivers:
            continue
        if name in ACTUATOR_FAULTS:
            fits, _ = ACTUATOR_FAULTS[name]
            subjects = [actuator for actuator, its in profile.actuators.items() if fits(its)]
            if not subjects:
                continue
        else:
            subjects = boards if name in BOARD_FAULTS and len(boards) > 1 else []
        found[name] = subjects
    return found


def _require_fitting(name: str, subject: str, profile: RobotProfile) -> None:
    """Reject a fault for an actuator that cannot have it, such as a servo that loses steps."""
    fits, what = ACTUATOR_FAULTS[name]
    fitting = [actuator for actuator, its in profile.actuators.items() if fits(its)]
    if not fitting:
        raise InvalidRequest(f"{name} needs {what}, and {profile.name} has none")
    if subject not in fitting:
        raise InvalidRequest(
            f"{name} needs {what}, as in {name}:{fitting[0]}; choose from {', '.join(fitting)}"
        )


class FaultInjection:
    """A plan that injects each fault once, when the daemon enters its stage."""

    def __init__(self, planned: Sequence[InjectedFault], scene: Scene, delay_s: float) -> None:
        self._planned = list(planned)
        self._scene = scene
        self._delay_s = delay_s
        self._tasks: set[asyncio.Task[None]] = set()

    def plan(self, fault: InjectedFault) -> None:
        """Plan another fault for the next time the daemon enters its stage."""
        self._planned.append(fault)

    def enter(self, state: RobotState) -> None:
        """Inject the faults planned for a state that the daemon has entered."""
        due = [fault for fault in self._planned if fault.stage is state]
        self._planned = [fault for fault in self._planned if fault not in due]
        for fault in due:
            task = asyncio.create_task(self._later(fault))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def pending(self) -> bool:
        """True if the injection of a fault is pending."""
        return bool(self._tasks)

    def cancel(self) -> None:
        """Cancel the pending faults."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def _later(self, fault: InjectedFault) -> None:
        if fault.name not in STANDING_FAULTS:
            await asyncio.sleep(self._delay_s)
        await fault.inject(self._scene)


def _put_on_wrong_sticker(scene: Scene, _subject: str) -> None:
    facelets = scene.robot.body.letters
    centre = str(facelets[len(facelets) // 12])
    scene.studio.disturbances.repainted[0] = "R" if str(facelets[0]) != "R" else centre


def _press_reset(scene: Scene, board: str) -> None:
    scene.boards[board or FIRST_BOARD].press_reset()


async def _unplug(scene: Scene, board: str) -> None:
    """Unplug the cable, and plug it in again after a while."""
    cable = _cable(scene, board)
    cable.cut()
    await asyncio.sleep(UNPLUGGED_S)
    cable.mend()


def _add_noise(scene: Scene, board: str) -> None:
    _cable(scene, board).noise = NOISE


def _put_in_view(odd: OddScene) -> Injection:
    def happen(scene: Scene, _subject: str) -> None:
        scene.studio.disturbances.odd = odd

    return happen


def _cable(scene: Scene, board: str) -> Cable:
    cable = scene.boards[board or FIRST_BOARD].cable
    if cable is None:
        raise InvalidRequest("this demo has no serial cable")
    return cable


def _trouble(trouble: DriverStatus) -> Injection:
    def happen(scene: Scene, actuator: str) -> None:
        scene.robot.trouble_driver(actuator, trouble)

    return happen


def _silence_driver(scene: Scene, actuator: str) -> None:
    scene.robot.drivers[actuator].silent = True


def _has_driver(its: ActuatorSettings) -> bool:
    return isinstance(its, Stepper) and its.driver is not None


def _has_end_stop(its: ActuatorSettings) -> bool:
    return isinstance(its, Stepper) and not (its.homing is None and its.turn_check is None)


INJECTIONS: dict[str, Injection] = {
    "slip": lambda scene, _: scene.robot.slip_cube(),
    "jam": lambda scene, actuator: scene.robot.jam(actuator),
    "lost-steps": lambda scene, actuator: scene.robot.lose_steps(actuator, LOST_STEPS),
    "end-stop": lambda scene, actuator: scene.robot.stick_end_stop(actuator, active=False),
    "undervoltage": lambda scene, _: scene.robot.cut_motor_supply(),
    "driver-reset": lambda scene, actuator: scene.robot.drivers[actuator].reset(),
    "driver-silent": _silence_driver,
    "driver-warm": _trouble(DriverStatus.OVER_120_C),
    "driver-hot": _trouble(DriverStatus.OVERHEATED),
    "driver-ground-a": _trouble(DriverStatus.GROUND_A),
    "driver-ground-b": _trouble(DriverStatus.GROUND_B),
    "driver-supply-a": _trouble(DriverStatus.SUPPLY_A),
    "driver-supply-b": _trouble(DriverStatus.SUPPLY_B),
    "driver-open-a": _trouble(DriverStatus.OPEN_A),
    "driver-open-b": _trouble(DriverStatus.OPEN_B),
    "glare": lambda scene, _: scene.studio.glare(LAMP),
    "cast": lambda scene, _: scene.studio.colour_cast(OLD_BULB),
    "wrong-sticker": _put_on_wrong_sticker,
    "reset": _press_reset,
    "unplug": _unplug,
    "noise": _add_noise,
    **{str(odd): _put_in_view(odd) for odd in OddScene},
}
"""Faults by name. A slip happens at the next motion, a reset acts like a dip of the supply, and an
end stop never closes again."""

STANDING_FAULTS = frozenset(map(str, OddScene))
"""Faults present from the start of a stage; by default before the first picture."""

WITH_DRIVER = "a stepper with a TMC2209"

ACTUATOR_FAULTS: Mapping[str, tuple[Callable[[ActuatorSettings], bool], str]] = {
    "jam": (lambda _: True, "an actuator"),
    "lost-steps": (lambda its: isinstance(its, Stepper), "a stepper"),
    "end-stop": (_has_end_stop, "a stepper with an end stop"),
    **{name: (_has_driver, WITH_DRIVER) for name in INJECTIONS if name.startswith("driver-")},
}
"""Faults of an actuator: a test for actuators that can have it, and their description."""

SUPPLY_FAULTS = frozenset({"undervoltage"})
"""Faults that only motor drivers detect."""

BOARD_FAULTS = frozenset({"reset", "unplug", "noise"})
"""Faults of a board (default: the first)."""

CABLE_FAULTS = frozenset({"unplug", "noise"})
"""Faults that need a cable between firmware and daemon."""
