"""Putting a robot together: from a profile and the options to hands, eyes, mind and pins."""

from __future__ import annotations

from robot.daemon.hands import LONGEST_SILENCE_HOLD_MS, LinkHands
from robot.daemon.options import Options
from robot.daemon.ports import Policy, Robot
from robot.daemon.sight import Sight
from robot.daemon.thought import Thought
from robot.link.protocol import SILENCE_HOLD_MS
from robot.panel.gpio import Gpio, RpiGpio
from robot.panel.panel import PanelPins
from robot.planner import build_mechanism
from robot.settings.profile import CameraSettings, PanelSettings, RobotProfile
from robot.twin.client import TwinCamera, TwinGpio
from solver.errors import CubistError
from vision.camera import open_camera
from vision.frame import Camera


class NoRobot(CubistError, ValueError):
    """The profile describes a robot of which a part cannot be reached from here."""


def make_robot(profile: RobotProfile, options: Options) -> Robot:
    """Everything a job works with; nothing is connected yet but the cameras."""
    cameras = {settings.name: _camera(settings, options) for settings in profile.cameras}
    mechanism = build_mechanism(profile)
    policy = Policy(
        scan_retries=profile.policy.scan_retries,
        solve_retries=profile.policy.solve_retries,
        check_after=profile.policy.check_after,
        improve_while_turning=profile.policy.improve_while_turning,
        end_scan_early=profile.policy.end_scan_early,
    )
    return Robot(
        name=profile.name,
        hands=LinkHands(profile, options.port, _silence_hold_ms(options)),
        eyes=Sight(profile, cameras),
        mind=Thought(profile, mechanism),
        policy=policy,
    )


def make_gpio(options: Options) -> Gpio:
    """The pins; raises ``PanelFault``."""
    return TwinGpio(options.twin) if options.twin else RpiGpio()


def panel_pins(settings: PanelSettings) -> PanelPins:
    """The profile's pins as the panel takes them."""
    pads = (settings.left_pad_gpio, settings.right_pad_gpio)
    return PanelPins(
        start_button=settings.start_button_gpio,
        led=settings.led_gpio,
        buzzer=settings.buzzer_gpio,
        estop=settings.estop_gpio,
        pads=tuple(pad for pad in pads if pad is not None),
    )


def _silence_hold_ms(options: Options) -> int:
    """A simulated robot breaks nothing in two seconds, and its computer may be busy that long."""
    return LONGEST_SILENCE_HOLD_MS if options.twin else SILENCE_HOLD_MS


def _camera(settings: CameraSettings, options: Options) -> Camera:
    if options.twin:
        return TwinCamera(options.twin, settings.name, settings.name)
    if settings.kind == "simulated":
        raise NoRobot(
            f"camera {settings.name} is simulated: say `kind: picamera2` or `kind: usb` in the "
            "profile, or start cubistd with --twin and the socket of a simulated robot"
        )
    return open_camera(settings.kind, settings.device, settings.resolution, settings.name)
