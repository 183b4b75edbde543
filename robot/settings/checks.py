"""What a profile must fulfil beyond the form of its single values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from robot.settings.actuators import Servo, Stepper, Timed, TurnCheck
from robot.settings.board_table import FIRST_PIN, PINS, STEPS_PER_S
from robot.settings.document import Path
from robot.settings.profile import CameraSettings, PanelSettings, RobotProfile, View

Finding = tuple[Path, str]


LEAST_US = 20
"""Nearer pulses are the same place to a hobby servo: two degrees, several times its dead band."""

LEAST_STEPS = 4


def check_profile(profile: RobotProfile) -> Iterator[Finding]:
    """Every contradiction between the parts of ``profile``, at the key to be changed."""
    for name, actuator in profile.actuators.items():
        path: Path = ("actuators", name)
        if isinstance(actuator, Servo):
            yield from _check_servo(path, actuator)
        elif isinstance(actuator, Stepper):
            yield from _check_stepper(path, actuator)
        else:
            yield from _check_rows(path, actuator, set(actuator.positions))
    yield from _check_pins(profile)
    yield from _check_cameras(profile.cameras)
    for index, camera in enumerate(profile.cameras):
        yield from _check_camera(("cameras", index), camera, profile)
    yield from _check_gpios(profile)
    yield from _check_pulls(profile.panel)
    for name in profile.simulation.actuators:
        if name not in profile.actuators:
            yield ("simulation", "actuators", name), _no_such("actuator", profile.actuators)


def _no_such(what: str, known: object) -> str:
    names = sorted(map(str, known)) if hasattr(known, "__iter__") else []
    return f"no such {what}; there is {', '.join(names) or 'none'}"


def _check_servo(path: Path, servo: Servo) -> Iterator[Finding]:
    low, high = servo.limits_us
    if low >= high:
        yield (*path, "limits_us"), f"the lower limit {low} must be below the upper {high}"
    beyond = servo.overshoot.us if servo.overshoot else 0
    for name, pulse in servo.positions_us.items():
        if not low <= pulse <= high:
            yield (*path, "positions_us", name), f"{pulse} us is outside limits_us {low}..{high}"
        elif not low <= pulse - beyond <= pulse + beyond <= high:
            yield (*path, "overshoot", "us"), f"goes beyond {name} and limits_us {low}..{high}"
    yield from _check_distinct((*path, "positions_us"), servo.positions_us, LEAST_US, "us")
    yield from _check_rows(path, servo, set(servo.positions_us))


def _check_distinct(
    path: Path, positions: Mapping[str, int], least: int, unit: str
) -> Iterator[Finding]:
    """No two names stand for the same place, or for places the motor cannot tell apart."""
    before: dict[str, int] = {}
    for name, place in positions.items():
        for other, there in before.items():
            if place == there:
                yield (*path, name), f"is {place} {unit}, as {other} is: they must differ"
            elif abs(place - there) < least:
                text = f"only {abs(place - there)} {unit} from {other}; {least} at the least"
                yield (*path, name), text
        before[name] = place


def _check_rows(path: Path, actuator: Servo | Timed, positions: set[str]) -> Iterator[Finding]:
    """The travel and settling tables speak of positions that exist, once each."""
    seen: set[tuple[str, str]] = set()
    for index, row in enumerate(actuator.travel):
        place: Path = (*path, "travel", index, "between")
        first, second = row.between
        for name in sorted(set(row.between) - positions):
            yield place, f"{name}: {_no_such('position', positions)}"
        if first == second:
            yield place, "a way from a position to itself takes no time; leave it out"
        ways = {(first, second)} | (set() if row.one_way else {(second, first)})
        if ways & seen:
            yield place, f"the way between {first} and {second} is given twice"
        seen |= ways
    for name in sorted(set(actuator.settle_ms) - positions):
        yield (*path, "settle_ms", name), _no_such("position", positions)


def _check_stepper(path: Path, stepper: Stepper) -> Iterator[Finding]:
    if stepper.steps_per_turn is None and not stepper.positions_steps:
        yield path, "give steps_per_turn (it rotates) or positions_steps (it opens and closes)"
    least = max(LEAST_STEPS, stepper.backlash_steps + 1)
    yield from _check_distinct((*path, "positions_steps"), stepper.positions_steps, least, "steps")
    yield from _check_speeds(path, stepper)
    if stepper.homing is not None and stepper.pins.endstop is None:
        yield (*path, "pins"), "homing needs the end stop's pin: endstop"
    if stepper.turn_check is not None:
        yield from _check_turn_check(path, stepper, stepper.turn_check)
    homing = stepper.homing
    if homing is not None and homing.slow_speed_steps_per_s > homing.speed_steps_per_s:
        yield (*path, "homing", "slow_speed_steps_per_s"), "must not exceed speed_steps_per_s"
    if homing is not None and homing.backoff_steps >= homing.max_travel_steps:
        yield (*path, "homing", "backoff_steps"), "must be less than max_travel_steps"


def _check_speeds(path: Path, stepper: Stepper) -> Iterator[Finding]:
    slowest, fastest = STEPS_PER_S
    speeds: dict[Path, int] = {
        ("start_speed_steps_per_s",): stepper.start_speed_steps_per_s,
        ("max_speed_steps_per_s",): stepper.max_speed_steps_per_s,
    }
    if stepper.held is not None:
        speeds["held", "max_speed_steps_per_s"] = stepper.held.max_speed_steps_per_s
    if stepper.homing is not None:
        speeds["homing", "speed_steps_per_s"] = stepper.homing.speed_steps_per_s
        speeds["homing", "slow_speed_steps_per_s"] = stepper.homing.slow_speed_steps_per_s
    for key, speed in speeds.items():
        if not slowest <= speed <= fastest:
            yield (*path, *key), f"a board makes {slowest}..{fastest} steps/s, not {speed}"


def _check_turn_check(path: Path, stepper: Stepper, check: TurnCheck) -> Iterator[Finding]:
    if stepper.pins.endstop is None:
        yield (*path, "pins"), "turn_check needs the end stop's or index sensor's pin: endstop"
    if stepper.homing is not None and check.endstop_active not in {
        None,
        stepper.homing.endstop_active,
    }:
        yield (*path, "turn_check", "endstop_active"), "must be as in homing; leave it out here"


def _check_pins(profile: RobotProfile) -> Iterator[Finding]:
    """The board has the pins, and parts share none but drivers their enable line."""
    target = profile.firmware.target
    used: dict[int, tuple[str, str]] = {}
    for name, actuator in profile.actuators.items():
        if isinstance(actuator, Timed):
            continue
        for role, pin in actuator.pins.model_dump().items():
            if pin is None:
                continue
            if pin >= PINS[target]:
                text = f"{target} has pins {FIRST_PIN}..{PINS[target] - 1}, not {pin}"
                yield ("actuators", name, "pins", role), text
            owner = used.setdefault(pin, (name, role))
            if owner != (name, role) and (role, owner[1]) != ("enable", "enable"):
                text = f"pin {pin} is already the {owner[1]} of {owner[0]}"
                yield ("actuators", name, "pins", role), text


def _check_gpios(profile: RobotProfile) -> Iterator[Finding]:
    used: dict[int, str] = {}
    for key, gpio in profile.panel.model_dump().items():
        if key.endswith("_gpio") and gpio is not None and used.setdefault(gpio, key) != key:
            yield ("panel", key), f"GPIO {gpio} is already {used[gpio]}"


def _check_pulls(panel: PanelSettings) -> Iterator[Finding]:
    """What is not connected, or has lost its wire, does nothing; but the emergency stop stops."""
    towards = {"up": "high", "down": "low"}
    for name, active, pull in (
        ("start_button", panel.start_button_active, panel.start_button_pull),
        ("pads", panel.pads_active, panel.pads_pull),
    ):
        if pull is not None and towards.get(pull) == active:
            text = f"pulls to {active}, where it counts as pressed: pull the other way, or none"
            yield ("panel", f"{name}_pull"), text
    if towards.get(panel.estop_pull or "none", panel.estop_active) != panel.estop_active:
        text = f"a broken wire would not stop the robot: pull towards {panel.estop_active}"
        yield ("panel", "estop_pull"), text


def _check_cameras(cameras: Sequence[CameraSettings]) -> Iterator[Finding]:
    """Each has its own name and, if it is one that can be plugged in, its own device."""
    names: set[str] = set()
    devices: dict[tuple[str, int | str], str] = {}
    for index, camera in enumerate(cameras):
        if camera.name in names:
            yield ("cameras", index, "name"), f"another camera is called {camera.name} already"
        names.add(camera.name)
        if camera.kind not in {"picamera2", "usb"}:
            continue
        owner = devices.setdefault((camera.kind, camera.device), camera.name)
        if owner != camera.name:
            yield ("cameras", index, "device"), f"{camera.kind} {camera.device} is {owner} already"


def _check_camera(path: Path, camera: CameraSettings, profile: RobotProfile) -> Iterator[Finding]:
    for index, view in enumerate(camera.views):
        place: Path = (*path, "views", index)
        yield from _check_view(place, view, profile)
        if not _convex(view):
            yield (
                (*place, "quad"),
                "corners must go round the face: top left, top right, bottom right, bottom left",
            )


def _check_view(path: Path, view: View, profile: RobotProfile) -> Iterator[Finding]:
    for name, allowed in view.when.items():
        actuator = profile.actuators.get(name)
        if actuator is None:
            yield (*path, "when", name), _no_such("actuator", profile.actuators)
            continue
        positions = positions_of(actuator)
        for position in sorted(set(allowed) - positions):
            yield (*path, "when", name), f"{position}: {_no_such('position', positions)}"
    too_many = [place for place in view.hidden if place > profile.cube.size**2]
    if too_many:
        yield (*path, "hidden"), f"a face has {profile.cube.size**2} stickers, not {too_many[0]}"


def _convex(view: View) -> bool:
    """Whether the quad turns clockwise (y down) at all four corners and is not tiny."""
    quad = view.quad
    for i in range(4):
        (ax, ay), (bx, by), (cx, cy) = quad[i], quad[(i + 1) % 4], quad[(i + 2) % 4]
        if (bx - ax) * (cy - by) - (by - ay) * (cx - bx) <= 1e-4:
            return False
    return True


def positions_of(actuator: Servo | Stepper | Timed) -> set[str]:
    """Names of the positions that ``actuator`` has been taught."""
    if isinstance(actuator, Servo):
        return set(actuator.positions_us)
    return set(actuator.positions_steps if isinstance(actuator, Stepper) else actuator.positions)
