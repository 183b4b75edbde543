"""Cubist's part of a Raspberry Pi's config.txt: servos at the Pi's own pins.

The firmware reads config.txt once, at start. Only these lines matter here:

    [pi4]                       what follows is for that model; [all] ends it
    dtparam=audio=on            a switch of the board, or a parameter of the overlay before it
    dtoverlay=pwm-2chan,pin=12  a piece of the device tree; without a name it ends the one before

Filters by monitor, pin or serial number cannot be decided here. Lines below them count as possible:
they may conflict with something, but nothing relies on them.

Source: Raspberry Pi's documentation of config.txt, and the README of the kernel's overlays.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from robot.records.storage import remove_leftovers, write_atomically
from robot.settings import RobotProfile
from robot.settings.boards import BOARD_TARGETS, SHARED_CHANNELS
from robot.text.messages import Note
from solver.errors import CubistError
from solver.files import read_file

_FUNCTIONS: Mapping[int, int] = {12: 4, 13: 4, 18: 2, 19: 2}
"""GPIOs of the Pi's own PWM -> the alternative function that puts the channel there."""
_PWM = ("pwm", "pwm-2chan")
_AT_ANY_GPIO = ("pwm-gpio", "pwm-pio")
_EXPANDER = "i2c-pwm-pca9685a"
_DEFAULTS: Mapping[str, Mapping[str, int]] = {
    "pwm": {"pin": 18, "func": 2},
    "pwm-2chan": {"pin": 18, "func": 2, "pin2": 19, "func2": 2},
    "pwm-gpio": {"gpio": 4},
    "pwm-pio": {"gpio": 4},
    _EXPANDER: {"addr": 0x40},
}
"""Default parameters of the overlays that make pulses."""
_I2C = {"i2c": "i2c_arm", "i2c1": "i2c_arm"}
"""Other names of the bus at GPIO 2 and 3."""
_MODELS: Sequence[tuple[str, AbstractSet[str]]] = (
    (r"Zero 2", {"pi0", "pi02"}),
    (r"Zero W", {"pi0", "pi0w"}),
    (r"Zero", {"pi0"}),
    (r"Compute Module 3", {"pi3", "cm3"}),
    (r"Compute Module 4", {"pi4", "cm4"}),
    (r"Compute Module 5", {"pi5", "cm5"}),
    (r"Pi 400", {"pi4", "pi400"}),
    (r"Pi 500", {"pi5", "pi500"}),
    (r"Pi 3 .*Plus", {"pi3", "pi3+"}),
    (r"Pi 3", {"pi3"}),
    (r"Pi 4", {"pi4"}),
    (r"Pi 5", {"pi5"}),
)
"""Name of a model -> the filters that let it through; the first match counts."""


@dataclass(frozen=True)
class Need:
    """Something that config.txt lacks: the problem, and the line that solves it.

    Without ``line``, a person has to change a line that somebody else wrote, as ``remedy`` says.
    """

    text: str
    line: str = ""
    remedy: str = ""


@dataclass
class Overlay:
    """A ``dtoverlay`` line: its number, parameters, and whether it certainly takes effect."""

    name: str
    line: int
    certain: bool
    parameters: dict[str, str] = field(default_factory=dict)

    def number(self, key: str) -> int | None:
        """Return a parameter, or its default; None if it is not a number."""
        given = self.parameters.get(key)
        if given is None:
            return _DEFAULTS[self.name].get(key)
        try:
            return int(given, 0)
        except ValueError:
            return None

    def takes(self, key: str) -> bool:
        """Return whether a ``dtparam`` below the overlay is its own, not the board's."""
        # The same name switches a monitor's sound and the analogue output.
        return key in _DEFAULTS.get(self.name, {}) or (
            key == "audio" and self.name.startswith("vc4-")
        )


@dataclass
class BootConfig:
    """The overlays of a config.txt, and the values that each switch of the board may have."""

    overlays: list[Overlay] = field(default_factory=list)
    switches: dict[str, frozenset[bool]] = field(default_factory=dict)

    def set(self, key: str, value: str, *, certain: bool) -> None:
        """Record that a switch is set, or may be set."""
        now = frozenset({value.lower() not in {"off", "no", "false", "0", "n"}})
        name = _I2C.get(key, key)
        before = frozenset() if certain else self.switches.get(name, frozenset({False}))
        self.switches[name] = before | now

    def may_be(self, key: str) -> frozenset[bool]:
        """Return the values a switch may have: both if the file is ambiguous; off by default."""
        return self.switches.get(key, frozenset({False}))


def read_boot_config(data: bytes, model: str) -> BootConfig:
    """Read config.txt as a Pi of this ``model`` does (empty: unknown)."""
    found = BootConfig()
    ours = filters_of(model)
    of_model: bool | None = True  # None: unknown
    other_filter = False
    overlay: Overlay | None = None
    for number, line in enumerate(data.decode("latin-1").split("\n"), 1):
        text = line.partition("#")[0].strip()
        if match := re.fullmatch(r"\[(.*)\]", text):
            name = match[1].strip().lower()
            if name == "all":
                of_model, other_filter = True, False
            elif re.fullmatch(r"(pi|cm)\d.*", name):
                of_model = name in ours if ours else None
            else:
                other_filter = True
            continue
        key, _, value = (part.strip() for part in text.partition("="))
        if of_model is False:
            continue
        certain = of_model is True and not other_filter
        if key == "dtoverlay":
            overlay = _overlay(value, number, certain=certain)
            found.overlays += [overlay] if overlay else []
        elif key == "dtparam":
            for name, setting in _parameters(value):
                if overlay is not None and overlay.takes(name):
                    overlay.parameters[name] = setting
                else:
                    found.set(name, setting, certain=certain)
    return found


def filters_of(model: str) -> AbstractSet[str]:
    """Return the filters of config.txt that let a model through; empty if it is unknown."""
    return next((names for pattern, names in _MODELS if re.search(pattern, model)), frozenset())


def pi_board(profile: RobotProfile) -> str | None:
    """Return the name of the board that is the Raspberry Pi itself; None if none is."""
    boards = profile.every_board.items()
    return next((name for name, board in boards if BOARD_TARGETS[board.target].is_pi), None)


def needs(profile: RobotProfile, data: bytes, model: str) -> list[Need]:
    """Return what config.txt lacks for a robot's servos, in an order in which lines may be added.

    Empty if none are at the Pi's pins. ``model`` is the name that the Pi gives its model, empty if
    unknown.
    """
    name = pi_board(profile)
    if name is None:
        return []
    board = BOARD_TARGETS[profile.every_board[name].target]
    pins = {
        pin
        for actuator in profile.actuators_at(name).values()
        for role, pin in actuator.connections.items()
        if role == "pulse"
    }
    config = read_boot_config(data, model)
    anywhere = {o.number("gpio") for o in config.overlays if o.certain and o.name in _AT_ANY_GPIO}
    at_header = {pin for pin in pins if board.servo_board(pin) is None} - anywhere
    own = sorted(at_header & _FUNCTIONS.keys())
    found: list[Need] = []
    if any(board.servo_board(pin) == "pca9685" for pin in pins):
        found += _expander(config)
    if own:
        found += _own_channels(own, config, is_pi5="pi5" in filters_of(model))
    for pin in sorted(at_header - set(own)):
        found.append(Need(Note.of("no-pwm", gpios=pin), f"dtoverlay=pwm-gpio,gpio={pin}"))
    # Switches below an overlay could be taken for its parameters.
    return sorted(found, key=lambda need: not need.line.startswith("dtparam="))


def _expander(config: BootConfig) -> Iterator[Need]:
    if config.may_be("i2c_arm") != {True}:
        yield Need(Note.of("i2c-off"), "dtparam=i2c_arm=on")
    boards = [o for o in config.overlays if o.certain and o.name == _EXPANDER]
    if not boards:
        yield Need(Note.of("no-pwm-pca9685"), f"dtoverlay={_EXPANDER},addr=0x40")


def _own_channels(pins: Sequence[int], config: BootConfig, *, is_pi5: bool) -> Iterator[Need]:
    if not is_pi5 and True in config.may_be("audio"):
        yield Need(Note.of("audio-on"), "dtparam=audio=off")
    others = [o for o in config.overlays if o.certain and o.name in _PWM]
    wanted = {(pin, None if is_pi5 else _FUNCTIONS[pin]) for pin in pins}
    if others and wanted <= set(_pins_of(others[-1], is_pi5=is_pi5)):
        return
    line = _line_for(pins)
    gpios = ", ".join(map(str, pins))
    if not others:
        yield Need(Note.of("no-pwm", gpios=gpios), line)
    for other in others:
        text = Note.of("other-pwm", line=other.line, gpios=gpios)
        yield Need(text, remedy=Note.of("replace-line", line=line))


def _pins_of(overlay: Overlay, *, is_pi5: bool) -> Iterator[tuple[int | None, int | None]]:
    """Yield the GPIOs of an overlay's channels, with their function (None on a Pi 5)."""
    for end in ("", "2") if overlay.name == "pwm-2chan" else ("",):
        yield overlay.number(f"pin{end}"), None if is_pi5 else overlay.number(f"func{end}")


def _line_for(pins: Sequence[int]) -> str:
    """Return the overlay for one GPIO, or for one of each channel in the order of the channels."""
    first, *rest = sorted(pins, key=lambda pin: pin in SHARED_CHANNELS[1])
    line = f"pin={first},func={_FUNCTIONS[first]}"
    if not rest:
        return f"dtoverlay=pwm,{line}"
    return f"dtoverlay=pwm-2chan,{line},pin2={rest[0]},func2={_FUNCTIONS[rest[0]]}"


def _overlay(value: str, line: int, *, certain: bool) -> Overlay | None:
    """Return the overlay of a line; None for a line without a name."""
    name, *rest = re.split(r"[,:]", value, maxsplit=1)
    if not name.strip():
        return None
    parameters = dict(_parameters(rest[0] if rest else ""))
    return Overlay(name.strip(), line, certain, parameters)


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    """Yield each name of ``a=1,b`` with its value, ``on`` if it has none."""
    for part in text.split(","):
        name, given, value = (piece.strip() for piece in part.partition("="))
        if name:
            yield name, value if given else "on"


LIMIT = 1 << 20
"""Maximum bytes of config.txt; the firmware of a Pi reads far fewer."""
CHANGED_MEANWHILE = "changed-meanwhile"
"""Code of a :class:`CubistError` if another program has changed the file."""

BACKUP_SUFFIX = ".before-cubist"

# No line is longer than 80 characters: older firmware does not read the rest.
BEGIN = b"# Cubist: begin (sudo cubist doctor --unfix removes this)"
BEGIN_JOINED = b"# Cubist: begin, below a line without end (sudo cubist doctor --unfix)"
END = b"# Cubist: end."


@dataclass(frozen=True)
class BootChange:
    """A change of config.txt from ``before`` to ``after``; a person has to do what is ``left``."""

    path: Path
    before: bytes
    after: bytes
    left: Sequence[Need] = ()

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty if there is none."""
        old, new = (_lines_for_people(data) for data in (self.before, self.after))
        name = str(self.path)
        return "".join(difflib.unified_diff(old, new, name, name))

    @property
    def backup(self) -> Path:
        """The path of the file as it was before the first of our lines."""
        return self.path.with_name(self.path.name + BACKUP_SUFFIX)

    def write(self) -> None:
        """Replace the file as a whole; raises :class:`CubistError` and ``StorageError``.

        The backup is a copy: the file system of a Pi's boot partition has no links.
        """
        if read_file(self.path, LIMIT) != self.before:
            raise CubistError(
                f"{self.path}: another program has changed it meanwhile. Try again.",
                code=CHANGED_MEANWHILE,
            )
        remove_leftovers(self.path.parent)
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if remove_lines(self.before) == self.before:
            write_atomically(self.backup, self.before, mode=mode)
        write_atomically(self.path, self.after, mode=mode)
        if self.backup.exists() and read_file(self.backup, LIMIT) == self.after:
            self.backup.unlink()


def plan_fix(path: Path, profile: RobotProfile, model: str) -> BootChange:
    """Plan to add the lines that a robot needs and to remove those it no longer needs.

    Raises ``BadFile`` if the file cannot be read.
    """
    path = Path(os.path.realpath(path))
    before = read_file(path, LIMIT)
    theirs = remove_lines(before)
    found = needs(profile, theirs, model)
    lines = [need.line for need in found if need.line]
    left = [need for need in found if not need.line]
    # If our lines are there but lines below override them, ours move to the end.
    holds = lines == _lines_in(before) and needs(profile, before, model) == left
    return BootChange(path, before, before if holds else add_lines(theirs, lines), left)


def plan_undo(path: Path) -> BootChange:
    """Plan to remove our lines; raises ``BadFile`` if the file cannot be read."""
    path = Path(os.path.realpath(path))
    before = read_file(path, LIMIT)
    return BootChange(path, before, remove_lines(before))


def add_lines(data: bytes, lines: Sequence[str]) -> bytes:
    """Return ``data``, which has none of our lines, with these at its end.

    They are for every model (``[all]``). A ``dtoverlay`` without a name comes first; otherwise
    switches of the board would be taken for parameters of the last overlay.
    """
    if not lines:
        return data
    joined = bool(data) and not data.endswith(b"\n")
    end = b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"
    ours = [b"[all]", b"dtoverlay=", *(line.encode() for line in lines)]
    block = [BEGIN_JOINED if joined else BEGIN, *ours, END]
    return data + (end if joined else b"") + b"".join(line + end for line in block)


def remove_lines(data: bytes) -> bytes:
    """Return ``data`` without our lines, wherever they are."""
    while (place := _place(lines := data.splitlines(keepends=True))) is not None:
        first, last = place
        above, below = b"".join(lines[:first]), b"".join(lines[last + 1 :])
        end = b"\r\n" if lines[first].endswith(b"\r\n") else b"\n"
        if not below and lines[first].rstrip(b"\r\n") == BEGIN_JOINED:
            above = above.removesuffix(end)
        # Lines that somebody wrote below ours are for every model.
        filters = [line.strip() for line in lines[:first] if line.strip().startswith(b"[")]
        keep_all = below.strip() and filters and filters[-1].lower() != b"[all]"
        data = above + (b"[all]" + end if keep_all else b"") + below
    return data


def _lines_in(data: bytes) -> list[str]:
    """Return our lines without the marks and the lines that every block has."""
    lines = data.splitlines()
    place = _place(lines)
    if place is None:
        return []
    ours = [line.decode("latin-1") for line in lines[place[0] + 1 : place[1]]]
    return [line for line in ours if line not in {"[all]", "dtoverlay="}]


def _place(lines: Sequence[bytes]) -> tuple[int, int] | None:
    """Return the line numbers of the first pair of marks with none between them."""
    begin: int | None = None
    for number, line in enumerate(lines):
        text = line.rstrip(b"\r\n")
        if text in {BEGIN, BEGIN_JOINED}:
            begin = number
        elif text == END:
            if begin is not None:
                return begin, number
            begin = None
    return None


def _lines_for_people(data: bytes) -> list[str]:
    """Return the lines for people, with plain line ends."""
    text = data.decode("utf-8", "backslashreplace").removesuffix("\n")
    return [line.removesuffix("\r") + "\n" for line in text.split("\n")]
