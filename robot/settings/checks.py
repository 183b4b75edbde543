"""Checks of a profile beyond the form of its individual values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from robot.settings.actuators import ActuatorSettings
from robot.settings.boards import BOARD_TARGETS, BoardTarget
from robot.settings.document import BadProfile, Finding, Path, dotted_path, no_such
from robot.settings.profile import (
    FIRST_BOARD,
    OTHER_CUBES,
    CameraSettings,
    DisplaySettings,
    PanelSettings,
    RobotProfile,
    View,
    for_cube,
)
from robot.settings.stepper import Stepper
from vision.cameras.registry import camera_kind


def check_profile(profile: RobotProfile) -> list[Finding]:
    """Return every contradiction in ``profile``, at the key to change.

    The mechanism is checked last, and only if all its parts are sound.
    """
    mechanism, size = profile.mechanism, profile.cube.size
    if size > mechanism.most_layers:
        text = f"a {mechanism.kind} turns only outer layers: 2 or 3 layers, not {size}"
        return [(("cube", "size"), text)]
    own = list(_check_parts(profile)) or list(mechanism.check(profile.actuators, size))
    return own or list(_check_other_cubes(profile))


def _check_other_cubes(profile: RobotProfile) -> Iterator[Finding]:
    """Yield each size of cube that the robot cannot be set up for."""
    for size in sorted(profile.other_cubes):
        path: Path = (OTHER_CUBES, str(size))
        if size == profile.cube.size:
            yield path, f"the robot takes cubes of {size} layers without any change: leave it out"
            continue
        try:
            found = check_profile(for_cube(profile, size))
        except BadProfile as error:
            yield from ((path, f"{one.key}: {one.text}") for one in error.complaints)
            continue
        yield from ((path, f"{dotted_path(place)}: {text}") for place, text in found)


def _check_parts(profile: RobotProfile) -> Iterator[Finding]:
    for name, actuator in profile.actuators.items():
        yield from actuator.check(("actuators", name))
    yield from _check_boards(profile)
    yield from _check_pins(profile)
    yield from _check_idle(profile)
    yield from _check_cameras(profile.cameras)
    for index, camera in enumerate(profile.cameras):
        yield from _check_camera(("cameras", index), camera, profile)
    yield from _check_gpios(profile)
    yield from _check_pulls(profile.panel)
    yield from _check_display(profile.display)
    for name in profile.simulation.actuators:
        if name not in profile.actuators:
            yield ("simulation", "actuators", name), no_such("actuator", profile.actuators)


def _check_boards(profile: RobotProfile) -> Iterator[Finding]:
    """Check that actuators name existing boards, and that each board is in use and recognisable."""
    for name, actuator in profile.actuators.items():
        if actuator.board is not None and actuator.board not in profile.boards:
            known = f"further boards: {', '.join(profile.boards) or 'none'}"
            text = (
                f"no board is called {actuator.board} ({known}); leave it out for the first board"
            )
            yield ("actuators", name, "board"), text
    in_use = {actuator.board for actuator in profile.actuators.values()}
    ports = {profile.link.port: "the first board"}
    is_pi = BOARD_TARGETS[profile.firmware.target].is_pi
    if profile.boards and profile.link.port == "auto" and not is_pi:
        text = "several boards cannot be told apart by auto: give the first one's device"
        yield ("link", "port"), text
    pis = ["the first board"] if is_pi else []
    for name, board in profile.boards.items():
        path: Path = ("boards", name)
        if name == FIRST_BOARD:
            yield path, "the board of `firmware` has this name: choose another"
        if name not in in_use:
            yield path, "drives no actuator: set `board: " + name + "` on one, or leave it out"
        if board.port == "auto":
            yield (*path, "port"), "several boards cannot be told apart by auto: give its device"
        elif (owner := ports.setdefault(board.port, name)) != name:
            yield (*path, "port"), f"{board.port} is already {owner}"
        if BOARD_TARGETS[board.target].is_pi:
            pis.append(name)
            if len(pis) > 1:
                yield (*path, "target"), f"the Raspberry Pi's own pins are already {pis[0]}"
    if profile.boards and None not in in_use:
        yield ("boards",), "the first board, that of `firmware`, drives no actuator"


def _check_idle(profile: RobotProfile) -> Iterator[Finding]:
    """Check that actuators released at rest can be switched off without harm, and separately."""
    released = profile.policy.idle.release
    for index, name in enumerate(released):
        path: Path = ("policy", "idle", "release", index)
        actuator = profile.actuators.get(name)
        if actuator is None:
            yield path, no_such("actuator", profile.actuators)
            continue
        if name in profile.mechanism.carriers and not actuator.self_locking:
            text = f"without power {name} may drop the cube: leave it out, or set `self_locking: "
            yield path, text + "true` on the actuator if nothing but its motor can move it"
        if not isinstance(actuator, Stepper):
            continue
        if actuator.pins.enable is None:
            yield path, f"{name} has no enable pin to switch its driver off"
            continue
        for other, its in profile.actuators_of(Stepper).items():
            shared = its.board == actuator.board and its.pins.enable == actuator.pins.enable
            if shared and other not in released:
                yield path, f"{name} and {other} share an enable pin: release both or neither"


def _check_pins(profile: RobotProfile) -> Iterator[Finding]:
    boards: dict[str | None, tuple[Path, str]] = {None: (("firmware",), profile.firmware.target)}
    boards |= {name: (("boards", name), one.target) for name, one in profile.boards.items()}
    for name, (path, target) in boards.items():
        at_it = {key: one for key, one in profile.actuators.items() if one.board == name}
        yield from _check_room(path, target, at_it)
        yield from _check_pins_at(profile, target, at_it)


def _check_room(
    path: Path, target: str, actuators: Mapping[str, ActuatorSettings]
) -> Iterator[Finding]:
    """Yield a finding that names the actuators for which the board has no room."""
    board = BOARD_TARGETS[target]
    driven = [name for name, one in actuators.items() if one.drivable]
    steppers = [name for name in driven if isinstance(actuators[name], Stepper)]
    for names, most, kind in (
        (driven, board.actuators, "actuators"),
        (steppers, board.steppers, "steppers"),
    ):
        if len(names) > most:
            beyond = ", ".join(names[most:])
            yield (
                path,
                f"{target} drives at most {most} {kind}, not {len(names)}: no room for {beyond}",
            )
            return


def _check_pins_at(
    profile: RobotProfile, target: str, actuators: Mapping[str, ActuatorSettings]
) -> Iterator[Finding]:
    """Check that the board has the pins, and that parts share none but drivers' enable lines."""
    board = BOARD_TARGETS[target]
    used: dict[int, tuple[str, str]] = {}
    for name, actuator in actuators.items():
        for role, pin in actuator.connections.items():
            path: Path = ("actuators", name, "pins", role)
            if not board.has_pin(pin):
                yield path, f"{target} has pins {board.pins_text}, not {pin}: {board.note}"
            if board.servo_board(pin) is not None and role != "pulse":
                yield path, f"{board.name_of(pin)} makes only servo pulses"
            owner = used.setdefault(pin, (name, role))
            if owner != (name, role) and (role, owner[1]) != ("enable", "enable"):
                yield path, f"pin {board.name_of(pin)} is already the {owner[1]} of {owner[0]}"
    yield from _check_channels(board, used)
    yield from _check_speeds(profile, board, used)
    yield from _check_drivers(target, actuators, used)
    if board.is_pi:
        yield from _check_pi(profile, board, used)


def _check_channels(board: BoardTarget, used: Mapping[int, tuple[str, str]]) -> Iterator[Finding]:
    """Check that no two servos share a channel."""
    for pair in board.shared_channels:
        servos = [pin for pin in pair if pin in used and used[pin][1] == "pulse"]
        if len(servos) > 1:
            name, role = used[max(pair)]
            text = f"GPIO {min(pair)} and {max(pair)} share a PWM channel: both servos would move"
            yield ("actuators", name, "pins", role), text


def _check_drivers(
    target: str, actuators: Mapping[str, ActuatorSettings], used: Mapping[int, tuple[str, str]]
) -> Iterator[Finding]:
    """Check that the board supports stepper drivers, at free pins, each with its own address."""
    board = BOARD_TARGETS[target]
    drivers = {
        name: one.driver
        for name, one in actuators.items()
        if isinstance(one, Stepper) and one.driver is not None
    }
    owners: dict[int, str] = {}
    for name, driver in drivers.items():
        path: Path = ("actuators", name, "driver")
        if not board.driver_uart:
            able = ", ".join(one for one, its in BOARD_TARGETS.items() if its.driver_uart)
            yield path, f"{target} cannot talk to stepper drivers; {able} can"
            return
        if (owner := owners.setdefault(driver.address, name)) != name:
            yield (*path, "address"), f"{driver.address} is already the driver of {owner}"
        sense_ohm = driver.sense_ohm or board.sense_ohm
        if sense_ohm is None:
            text = f"{target} can have any drivers: give the sense resistor, 0.11 on most"
            yield (*path, "sense_ohm"), text
        else:
            yield from driver.check_current(path, sense_ohm)
    for pin, does in board.driver_uart.items() if drivers else ():
        if pin in used:
            name, role = used[pin]
            text = f"pin {pin} {does} what the stepper drivers are told"
            yield ("actuators", name, "pins", role), text


def _check_speeds(
    profile: RobotProfile, board: BoardTarget, used: Mapping[int, tuple[str, str]]
) -> Iterator[Finding]:
    most = board.max_steps_per_s
    motors = profile.actuators_of(Stepper)
    for name in dict.fromkeys(name for name, _ in used.values() if name in motors):
        for key, speed in motors[name].highest_speeds.items():
            if speed <= most:
                continue
            text = (
                f"{speed} steps/s: a program on the Pi wakes too irregularly for more than "
                f"{most}. Lower it, or drive this motor with an Arduino"
                if board.is_pi
                else f"this board makes at most {most} steps/s, not {speed}"
            )
            yield ("actuators", name, *key), text


def _check_pi(
    profile: RobotProfile, board: BoardTarget, used: Mapping[int, tuple[str, str]]
) -> Iterator[Finding]:
    """Yield pins of the Raspberry Pi that exclude each other."""
    hanging = {name for pin in used if (name := board.servo_board(pin)) is not None}
    for pin, (name, role) in used.items():
        path: Path = ("actuators", name, "pins", role)
        for servo_board in sorted(hanging & board.buses.keys()):
            if line := board.buses[servo_board].get(pin):
                text = f"GPIO {pin} is {line} of the {servo_board.upper()}'s bus"
                yield path, text
        for key, gpio in _gpios(profile):
            if gpio == pin:
                yield path, f"GPIO {pin} is already {'.'.join(key)}"


def _gpios(profile: RobotProfile) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the pins of panel and display with the paths of their keys."""
    buttons = profile.display.buttons if profile.display else None
    for section, settings in (
        (("panel",), profile.panel),
        (("display",), profile.display),
        (("display", "buttons"), buttons),
    ):
        for key, gpio in settings.model_dump().items() if settings else ():
            if key.endswith("_gpio") and gpio is not None:
                yield (*section, key), gpio


def _check_gpios(profile: RobotProfile) -> Iterator[Finding]:
    used: dict[int, tuple[str, ...]] = {}
    for path, gpio in _gpios(profile):
        other = used.setdefault(gpio, path)
        if other != path:
            name = other[-1] if other[:-1] == path[:-1] else ".".join(other)
            yield path, f"GPIO {gpio} is already {name}"


def _check_display(display: DisplaySettings | None) -> Iterator[Finding]:
    if display is not None and display.is_on_spi and display.dc_gpio is None:
        yield (
            ("display", "dc_gpio"),
            f"a {display.controller} needs it: its line D/C",
        )
    buttons = display.buttons if display is not None else None
    if buttons is not None and _presses(buttons.pull, buttons.active):
        yield ("display", "buttons", "pull"), _PRESSED.format(buttons.active)


_TOWARDS = {"up": "high", "down": "low"}
_PRESSED = "pulls to {}, the level that counts as pressed: pull the other way, or none"


def _presses(pull: str | None, active: str) -> bool:
    """Return true if a resistor alone makes an input look pressed."""
    return pull is not None and _TOWARDS.get(pull) == active


def _check_pulls(panel: PanelSettings) -> Iterator[Finding]:
    """Yield inputs that would act if not connected, and an emergency stop that would not."""
    for name, active, pull in (
        ("start_button", panel.start_button_active, panel.start_button_pull),
        ("pads", panel.pads_active, panel.pads_pull),
    ):
        if _presses(pull, active):
            yield ("panel", f"{name}_pull"), _PRESSED.format(active)
    if _TOWARDS.get(panel.estop_pull or "none", panel.estop_active) != panel.estop_active:
        text = f"a broken wire would not stop the robot: pull towards {panel.estop_active}"
        yield ("panel", "estop_pull"), text


def _check_cameras(cameras: Sequence[CameraSettings]) -> Iterator[Finding]:
    """Check that each camera has its own name and, if it can be plugged in, its own device."""
    names: set[str] = set()
    devices: dict[tuple[str, int | str], str] = {}
    for index, camera in enumerate(cameras):
        if camera.name in names:
            yield ("cameras", index, "name"), f"another camera is already called {camera.name}"
        names.add(camera.name)
        kind = camera_kind(camera.kind)
        for key in sorted(camera.options.keys() - kind.options):
            yield ("cameras", index, key), f"cameras of kind {camera.kind} have none: leave it out"
        if kind.numbered and not str(camera.device).isdecimal():
            yield ("cameras", index, "device"), f"a {camera.kind} camera is a number, 0 or more"
        if not kind.plugged_in:
            continue
        owner = devices.setdefault((camera.kind, camera.device), camera.name)
        if owner != camera.name:
            yield ("cameras", index, "device"), f"{camera.kind} {camera.device} is already {owner}"


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
            yield (*path, "when", name), no_such("actuator", profile.actuators)
            continue
        known = actuator.position_names
        for position in sorted(set(allowed) - known):
            yield (*path, "when", name), f"{position}: {no_such('position', known)}"
    for index, place in enumerate(view.hidden):
        if place > profile.cube.size**2:
            text = f"a face has {profile.cube.size**2} stickers, not {place}"
            yield (*path, "hidden", index), text


def _convex(view: View) -> bool:
    """Return true if the quad turns clockwise (y down) at all four corners and is not tiny."""
    quad = view.quad
    for i in range(4):
        (ax, ay), (bx, by), (cx, cy) = quad[i], quad[(i + 1) % 4], quad[(i + 2) % 4]
        if (bx - ax) * (cy - by) - (by - ay) * (cx - bx) <= 1e-4:
            return False
    return True
