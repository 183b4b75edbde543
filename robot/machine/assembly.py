"""The machine: motion, cameras and planning of one robot, built from its profile.

It needs no daemon::

    profile = load_profile("cubotino")
    confirmed = CalibrationStore(Path("/var/lib/cubist")).load(profile).confirmed
    machine = make_machine(profile, ConfirmedRange(confirmed))
    machine.motion.open()
    machine.motion.home()
    images, state = machine.scan()
    reading = machine.scanner.read(images)
    plan = machine.planner.plan(reading.cube, state, threading.Event(), lambda _: None)
    machine.motion.perform(plan.schedule(), lambda _: None)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from robot.link.protocol import SILENCE_HOLD_MS
from robot.machine.confirmed_range import ConfirmedRange
from robot.machine.motion_controller import LONGEST_SILENCE_HOLD_MS, MotionController
from robot.machine.scanner import FaceImage, Scanner
from robot.machine.solve_planner import SolvePlanner
from robot.panel.gpio import Gpio, Pull, RpiGpio
from robot.panel.panel import Input, Output, PanelPins
from robot.planner import State, build_mechanism
from robot.records.latency import Stopwatch
from robot.settings.base import Level
from robot.settings.profile import CameraSettings, PanelSettings, PolicySettings, RobotProfile
from robot.twin.client import TwinCamera, TwinGpio
from solver.files import JsonObject
from vision.cameras.registry import open_camera
from vision.frame import Camera


@dataclass(frozen=True)
class Machine:
    """One robot.

    ``reconnect_s``: seconds to wait for a board that disappears in the middle of a job. ``size``:
    layers of its cube. ``stopwatch``: waiting times of its parts. ``mechanism``: that section of
    its profile.
    """

    name: str
    motion: MotionController
    scanner: Scanner
    planner: SolvePlanner
    policy: PolicySettings
    reconnect_s: float = 10.0
    size: int = 3
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    mechanism: JsonObject | None = None

    def scan(self, state: State | None = None) -> tuple[list[FaceImage], State]:
        """Take a picture of every face. Return the images and the robot's state afterwards.

        ``state``: its present state; ``None`` means homed. Raise ``RobotError`` and ``Stopped``.
        """
        tour = self.planner.scan(state, None)
        images: list[FaceImage] = []
        for step in tour.steps:
            if step.moves:
                self.motion.perform(step.plan.schedule(), lambda _: None)
            if not images:
                self.scanner.settle()
            taken = self.scanner.take(step.looks, moved=step.moves)
            images += [image.reduce() for image in taken]
        return images, tour.end


def make_machine(
    profile: RobotProfile,
    contact: ConfirmedRange,
    port: str | None = None,
    twin: str | None = None,
) -> Machine:
    """Return everything a job works with. Only the cameras are connected yet.

    ``contact``: the confirmed range, which stays valid when the machine is built anew. ``port``
    overrides the profile's serial port. ``twin``: the socket of a simulated robot.
    """
    cameras = {settings.name: _camera(settings, twin) for settings in profile.cameras}
    stopwatch = Stopwatch()
    return Machine(
        name=profile.name,
        motion=MotionController(
            profile, contact, port, _silence_hold_ms(twin), stopwatch=stopwatch
        ),
        scanner=Scanner(profile, cameras, stopwatch),
        planner=SolvePlanner(profile, build_mechanism(profile), stopwatch),
        stopwatch=stopwatch,
        policy=profile.policy,
        size=profile.cube.size,
        mechanism=profile.mechanism.model_dump(mode="json"),
    )


def make_gpio(twin: str | None = None) -> Gpio:
    """Return the pins, or a simulated robot's if ``twin`` is its socket. Raise ``PanelError``."""
    return TwinGpio(twin) if twin else RpiGpio()


def panel_pins(settings: PanelSettings) -> PanelPins:
    """Return the profile's pins in the panel's form."""
    pads = (settings.left_pad_gpio, settings.right_pad_gpio)
    rest: Mapping[Level, Pull] = {"low": "up", "high": "down"}
    button_pull = settings.start_button_pull or rest[settings.start_button_active]
    pads_pull = settings.pads_pull or rest[settings.pads_active]
    # Pulled to the level that stops, so that a broken wire stops, too.
    stop_pull: Pull = settings.estop_pull or ("up" if settings.estop_active == "high" else "down")
    found = (_input(pad, settings.pads_active, pads_pull) for pad in pads)
    return PanelPins(
        start_button=_input(settings.start_button_gpio, settings.start_button_active, button_pull),
        led=_output(settings.led_gpio, settings.led_active),
        buzzer=_output(settings.buzzer_gpio, settings.buzzer_active),
        estop=_input(settings.estop_gpio, settings.estop_active, stop_pull),
        pads=tuple(pad for pad in found if pad is not None),
    )


def _input(pin: int | None, active: Level, pull: Pull) -> Input | None:
    return None if pin is None else Input(pin, active == "high", pull)


def _output(pin: int | None, active: Level) -> Output | None:
    return None if pin is None else Output(pin, active == "high")


def _silence_hold_ms(twin: str | None) -> int:
    """Return the limit of silence: a simulation breaks nothing, and may be busy for 2 s."""
    return LONGEST_SILENCE_HOLD_MS if twin else SILENCE_HOLD_MS


def _camera(settings: CameraSettings, twin: str | None) -> Camera:
    if twin:
        return TwinCamera(twin, settings.name, settings.name)
    return open_camera(
        settings.kind, settings.device, settings.resolution, settings.name, settings.options
    )
