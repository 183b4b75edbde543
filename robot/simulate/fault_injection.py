"""Faults a person can ask the demo for, to see what Cubist makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from robot.api.endpoints import RobotState
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.settings.profile import FIRST_BOARD
from robot.settings.stepper import Stepper
from robot.simulate.cable import Cable
from robot.simulate.progress import STAGES
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import OddScene, Studio
from solver.errors import InvalidRequest

UNPLUGGED_S = 2.5
"""Longer than the silence after which a simulated board holds."""

NOISE = 0.01
LOST_STEPS = 200


@dataclass(frozen=True)
class BoardInScene:
    """A board with its cable, if there is one that can be pulled."""

    press_reset: Callable[[], None]
    cable: Cable | None


@dataclass(frozen=True)
class Scene:
    """The parts that an injected fault can reach; ``boards`` by name."""

    robot: SimulatedRobot
    studio: Studio
    boards: Mapping[str, BoardInScene]

    def mend(self) -> None:
        """Undo what faults have left behind."""
        self.robot.mend()
        self.studio.mend()
        for board in self.boards.values():
            if board.cable is not None:
                board.cable.noise = 0.0
                board.cable.mend()


Injection = Callable[[Scene, str], Awaitable[None]]


@dataclass(frozen=True)
class InjectedFault:
    """A fault by name, its subject (an actuator or a board), and the stage in which it happens."""

    name: str
    subject: str
    stage: RobotState

    async def inject(self, scene: Scene) -> None:
        """Inject the fault."""
        await INJECTIONS[self.name](scene, self.subject)


def parse_injected_fault(text: str, profile: RobotProfile) -> InjectedFault:
    """``NAME[:ACTUATOR|:BOARD][@STAGE]`` on a robot; raises :class:`InvalidRequest`."""
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
    if name in BOARD_FAULTS and subject and subject not in boards:
        raise InvalidRequest(f"no board is called {subject}; choose from {', '.join(boards)}")
    if subject and name not in ACTUATOR_FAULTS.keys() | BOARD_FAULTS:
        raise InvalidRequest(f"{name} takes no actuator: omit :{subject}")
    usual = RobotState.HOMING if name in STANDING_FAULTS else RobotState.TURNING
    return InjectedFault(name, subject, stages[stage] if stage else usual)


def _require_fitting(name: str, subject: str, profile: RobotProfile) -> None:
    """Refuse a fault of an actuator that cannot have it, such as a servo that loses steps."""
    fits, what = ACTUATOR_FAULTS[name]
    fitting = [actuator for actuator, its in profile.actuators.items() if fits(its)]
    if not fitting:
        raise InvalidRequest(f"{name} needs {what}, and {profile.name} has none")
    if subject not in fitting:
        raise InvalidRequest(
            f"{name} needs {what}, as in {name}:{fitting[0]}; choose from {', '.join(fitting)}"
        )


class FaultInjection:
    """Injects each fault once, when its stage is entered."""

    def __init__(self, planned: Sequence[InjectedFault], scene: Scene, delay_s: float) -> None:
        self._planned = list(planned)
        self._scene = scene
        self._delay_s = delay_s
        self._tasks: set[asyncio.Task[None]] = set()

    def plan(self, fault: InjectedFault) -> None:
        """Plan another fault for the next time its stage is entered."""
        self._planned.append(fault)

    def enter(self, state: RobotState) -> None:
        """Inject the faults planned for a state, which the daemon has entered."""
        due = [fault for fault in self._planned if fault.stage is state]
        self._planned = [fault for fault in self._planned if fault not in due]
        for fault in due:
            task = asyncio.create_task(self._later(fault))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def pending(self) -> bool:
        """Return whether a fault is about to happen."""
        return bool(self._tasks)

    def cancel(self) -> None:
        """Drop the faults that have not happened yet."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def _later(self, fault: InjectedFault) -> None:
        if fault.name not in STANDING_FAULTS:
            await asyncio.sleep(self._delay_s)
        await fault.inject(self._scene)


async def _slip(scene: Scene, _subject: str) -> None:
    """Let the cube slip the next time it should move."""
    scene.robot.slip_cube()


async def _jam(scene: Scene, subject: str) -> None:
    """Jam an actuator."""
    scene.robot.jam(subject)


async def _lose_steps(scene: Scene, subject: str) -> None:
    """Let a stepper lose steps unnoticed."""
    scene.robot.lose_steps(subject, LOST_STEPS)


async def _end_stop(scene: Scene, subject: str) -> None:
    """Let an end stop never close."""
    scene.robot.stick_end_stop(subject, active=False)


async def _glare(scene: Scene, _subject: str) -> None:
    """Reflect a lamp in the stickers."""
    scene.studio.glare(0.8)


async def _cast(scene: Scene, _subject: str) -> None:
    """Turn the light to that of an old bulb."""
    scene.studio.colour_cast((1.0, 0.72, 0.38))


async def _wrong_sticker(scene: Scene, _subject: str) -> None:
    """Put a sticker of another colour on the cube."""
    facelets = scene.robot.body.letters
    centre = str(facelets[len(facelets) // 12])
    scene.studio.disturbances.repainted[0] = "R" if str(facelets[0]) != "R" else centre


async def _reset(scene: Scene, board: str) -> None:
    """Restart the microcontroller, as after a dip of its supply."""
    scene.boards[board or FIRST_BOARD].press_reset()


async def _unplug(scene: Scene, board: str) -> None:
    """Pull the cable and put it back after a while."""
    cable = _cable(scene, board)
    cable.cut()
    await asyncio.sleep(UNPLUGGED_S)
    cable.mend()


async def _noise(scene: Scene, board: str) -> None:
    """Let the cable change a byte in a hundred from now on."""
    _cable(scene, board).noise = NOISE


def _odd_view(odd: OddScene) -> Injection:
    """Return an injection that puts something odd in view."""

    async def happen(scene: Scene, _subject: str) -> None:
        scene.studio.disturbances.odd = odd

    return happen


def _cable(scene: Scene, board: str) -> Cable:
    cable = scene.boards[board or FIRST_BOARD].cable
    if cable is None:
        raise InvalidRequest("this demo has no serial cable")
    return cable


def _has_end_stop(its: ActuatorSettings) -> bool:
    return isinstance(its, Stepper) and not (its.homing is None and its.turn_check is None)


INJECTIONS: dict[str, Injection] = {
    "slip": _slip,
    "jam": _jam,
    "lost-steps": _lose_steps,
    "end-stop": _end_stop,
    "glare": _glare,
    "cast": _cast,
    "wrong-sticker": _wrong_sticker,
    "reset": _reset,
    "unplug": _unplug,
    "noise": _noise,
    **{str(odd): _odd_view(odd) for odd in OddScene},
}
"""Faults by the names people use."""

STANDING_FAULTS = frozenset(map(str, OddScene))
"""Those that are there from the start rather than happen; unless told, before the first look."""

ACTUATOR_FAULTS: Mapping[str, tuple[Callable[[ActuatorSettings], bool], str]] = {
    "jam": (lambda _: True, "an actuator"),
    "lost-steps": (lambda its: isinstance(its, Stepper), "a stepper"),
    "end-stop": (_has_end_stop, "a stepper with an end stop"),
}
"""Those that happen to an actuator: which can have them, and what such a one is called."""

BOARD_FAULTS = frozenset({"reset", "unplug", "noise"})
"""Those that happen to a board; to the first unless another is named."""

CABLE_FAULTS = frozenset({"unplug", "noise"})
"""Those for which there has to be a cable between firmware and daemon."""
