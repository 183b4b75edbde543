"""The whole description of a robot: :class:`RobotProfile` and its smaller sections."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, TypeVar

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from robot.panel.gpio import Pull
from robot.settings.actuators import ActuatorSettings
from robot.settings.base import Gpio, Level, Name, OneOf, Settings, Site
from robot.settings.boards import BOARD_TARGETS
from robot.settings.complaints import complaints_of
from robot.settings.document import BadProfile, Complaint, Path, ProfileDocument, dotted_path
from robot.settings.mechanisms import MechanismSettings
from solver.errors import CubistError, ExitCode, InvalidRequest
from solver.files import JsonMapping, JsonObject
from solver.processors import MOST_THREADS, search_processors
from vision.cameras import registry as cameras

Own = TypeVar("Own", bound=ActuatorSettings)

OTHER_CUBES = "other_cubes"


Fraction = Annotated[
    float, Field(ge=0, le=1, description="a fraction of the picture's width or height, 0..1")
]
Point = tuple[Fraction, Fraction]


CubeSize = Annotated[int, Field(strict=True, ge=2, le=7, description="2 to 7 layers")]
OtherSize = Annotated[int, Field(ge=2, le=7, description="2 to 7 layers")]
"""A size as a key, which is text in YAML."""

LARGEST_FACE = 7 * 7
"""Maximum stickers of a face."""


class CubeSettings(Settings):
    """The puzzle the robot was built for. Sizes are millimetres."""

    size: CubeSize
    edge_mm: float = Field(default=57.0, ge=20, le=120)


class View(Settings):
    """A robot site as a camera sees it.

    ``quad``: the face's corners in the picture, x to the right and y down as fractions of width and
    height, in the order of the site's own drawing (Kociemba's): top left, top right, bottom right,
    bottom left. ``when``: actuator positions in which it can be seen; ``hidden``: stickers (row by
    row from 1) that something always covers.
    """

    site: Site
    quad: tuple[Point, Point, Point, Point]
    when: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)
    hidden: tuple[Annotated[int, Field(ge=1, le=LARGEST_FACE)], ...] = ()


class CameraSettings(Settings):
    """A camera and the sites it sees. ``device`` is a V4L2 number or path, a camera number or a
    folder.

    ``lens_position`` and ``sensor_size`` are for Raspberry Pi cameras: the fixed position of the
    lens in dioptres, and a sensor mode that crops the view.
    """

    name: Name
    kind: Annotated[str, OneOf(cameras.camera_kinds)]
    device: int | str = 0
    resolution: tuple[
        Annotated[int, Field(ge=64, le=8192)], Annotated[int, Field(ge=64, le=8192)]
    ] = (640, 480)
    lens_position: Annotated[float, Field(ge=0, le=32)] | None = None
    sensor_size: (
        tuple[Annotated[int, Field(ge=64, le=16384)], Annotated[int, Field(ge=64, le=16384)]] | None
    ) = None
    settle_ms: Annotated[float, Field(ge=0, le=5000)] = 150.0
    capture_ms: Annotated[float, Field(ge=0, le=5000)] = 50.0
    views: tuple[View, ...] = Field(min_length=1)

    @property
    def options(self) -> dict[str, object]:
        """The given keys that only one kind of camera has."""
        given = {"lens_position": self.lens_position, "sensor_size": self.sensor_size}
        return {key: value for key, value in given.items() if value is not None}


Light = Annotated[float, Field(ge=0, le=10, description="linear light, 1 is white")]


LogLight = Annotated[float, Field(ge=-3, le=0, description="log light, 0 is the brightest place")]


class ColourSettings(Settings):
    """Colours of this robot's cube: linear red, green and blue of the stickers of each face.

    With ``policy.learn_colours``: ``light`` by camera and site, of the stickers there row by row,
    and the number of ``solves`` from which it was learned, ``since`` a date.
    """

    linear_rgb: dict[Site, tuple[Light, Light, Light]] = Field(min_length=6)
    light: dict[Name, dict[Site, tuple[tuple[LogLight, LogLight, LogLight], ...]]] = Field(
        default_factory=dict
    )
    solves: Annotated[int, Field(strict=True, ge=0)] = 0
    since: date | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_trust(cls, stored: object) -> object:
        """Drop ``trust`` from calibrations of earlier versions; it never had an effect."""
        if isinstance(stored, dict):
            return {key: value for key, value in stored.items() if key != "trust"}
        return stored


class FirmwareSettings(Settings):
    """The board whose pins the profile may use: a microcontroller board; ``linux``, the Raspberry
    Pi itself; ``host``, no board, for robots that are only simulated."""

    target: Annotated[str, OneOf(lambda: tuple(BOARD_TARGETS))] = "host"
    baud: Literal[115200, 250000, 500000, 1000000] = 500000


class LinkSettings(Settings):
    """The port of the microcontroller: a device, or ``auto`` to look for one."""

    port: str = "auto"


class BoardSettings(FirmwareSettings):
    """A further board, beside that of ``firmware`` and ``link``: its kind and its device.

    Boards of one kind look alike to the computer, so it never searches for ``port``.
    """

    port: str = Field(
        min_length=1,
        description="its device, as under /dev/serial/by-path/; auto works with one board only",
    )


FIRST_BOARD = "first"
"""Name of the board of ``firmware`` and ``link``, if there are others beside it."""


class PanelSettings(Settings):
    """GPIO (BCM) numbers of button, light, buzzer, emergency stop and touch pads.

    ``..._active``: the level of a pin while the button is pressed, the emergency stop is hit, a
    hand lies on the pad or the light is on. ``..._pull``: the resistor of an input. By default
    button and pads are pulled to their resting level and the emergency stop to the level that
    stops. Lifting both hands off the pads starts a solve, after ``inspection_s`` seconds.
    """

    start_button_gpio: Gpio | None = None
    start_button_active: Level = "low"
    start_button_pull: Pull | None = None
    led_gpio: Gpio | None = None
    led_active: Level = "high"
    buzzer_gpio: Gpio | None = None
    buzzer_active: Level = "high"
    estop_gpio: Gpio | None = None
    estop_active: Level = "high"
    estop_pull: Pull | None = None
    left_pad_gpio: Gpio | None = None
    right_pad_gpio: Gpio | None = None
    pads_active: Level = "high"
    pads_pull: Pull | None = None
    inspection_s: Annotated[float, Field(ge=0, le=60)] = 0


Offset = Annotated[int, Field(strict=True, ge=0, le=320)]

PANEL_OFFSETS = {("st7789", 240, 135): (40, 53)}
"""Offsets of panels smaller than their controller's memory that do not begin in its corner."""


class DisplayButtonSettings(Settings):
    """GPIO (BCM) numbers of the buttons beside the display, which open its menu.

    ``active``: the level of a pin while its button is pressed. ``pull``: the resistor (default: to
    the resting level).
    """

    next_gpio: Gpio
    select_gpio: Gpio
    previous_gpio: Gpio | None = None
    active: Level = "low"
    pull: Pull | None = None


class DisplaySettings(Settings):
    """A small display on the robot, shown by ``cubist-display``.

    ``st7735`` and ``st7789`` are on an SPI bus, where ``dc_gpio`` is needed; ``ssd1306`` is at an
    I2C ``address``. ``width`` and ``height`` are in pixels; ``rotate`` counts quarter turns.
    ``x_offset``, ``y_offset``: the start of the panel in its controller's memory, in pixels
    (default: :data:`PANEL_OFFSETS`).
    """

    controller: Literal["st7735", "st7789", "ssd1306"]
    width: Annotated[int, Field(strict=True, ge=64, le=480)]
    height: Annotated[int, Field(strict=True, ge=32, le=480)]
    rotate: Annotated[int, Field(strict=True, ge=0, le=3)] = 0
    bus: Annotated[int, Field(strict=True, ge=0, le=20)] | None = None
    chip_select: Annotated[int, Field(strict=True, ge=0, le=2)] = 0
    address: Annotated[int, Field(strict=True, ge=0x08, le=0x77)] = 0x3C
    dc_gpio: Gpio | None = None
    reset_gpio: Gpio | None = None
    backlight_gpio: Gpio | None = None
    x_offset: Offset | None = None
    y_offset: Offset | None = None
    buttons: DisplayButtonSettings | None = None

    @property
    def offset(self) -> tuple[int, int]:
        """The start of the panel in its controller's memory: column and row."""
        x, y = PANEL_OFFSETS.get((self.controller, self.width, self.height), (0, 0))
        return x if self.x_offset is None else self.x_offset, (
            y if self.y_offset is None else self.y_offset
        )

    @property
    def is_on_spi(self) -> bool:
        """True if it is on an SPI bus, false if on I2C."""
        return self.controller != "ssd1306"


class IdleSettings(Settings):
    """Actuators to ``release`` after ``after_s`` seconds without a job; all others hold."""

    after_s: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    release: tuple[Name, ...] = ()


class PolicySettings(Settings):
    """Seconds to search, numbers of retries, pictures for viewers, and the release when idle."""

    search_s: Annotated[float, Field(gt=0, le=600)] = 1.0
    search_threads: Annotated[int, Field(strict=True, ge=1, le=MOST_THREADS)] = Field(
        default_factory=search_processors
    )
    stop_early: bool = True
    improve_while_turning: bool = True
    end_scan_early: bool = False
    scan_retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 2
    solve_retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 1
    check_after: bool = True
    check_view: bool = True
    wait_for_clear_view_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    self_adjust: bool = False
    learn_colours: bool = False
    live_video: bool = True
    time_lapse: bool = True
    idle: IdleSettings = IdleSettings()


class SimulatedActuator(Settings):
    """The physical limits of a simulated actuator.

    A servo follows its pulse at no more than ``max_speed_us_per_s``; a stepper loses steps above
    ``stall_speed_steps_per_s`` or ``stall_acceleration_steps_per_s2``, and moves its load after
    ``play_steps`` (default: the ``backlash_steps`` that are compensated). An arm that rolls the
    cube does not touch it in the first ``slack_part`` of its path. ``friction``: the fraction of a
    stepper's torque that its load takes, as a driver measures it.
    """

    max_speed_us_per_s: float | None = Field(default=None, gt=0)
    stall_speed_steps_per_s: float | None = Field(default=None, gt=0)
    stall_acceleration_steps_per_s2: float | None = Field(default=None, gt=0)
    power_on_steps: int = 0
    play_steps: int | None = Field(default=None, ge=0)
    slack_part: float = Field(default=0.2, ge=0, le=0.5)
    friction: float = Field(default=0.2, ge=0, lt=1)


class SimulationSettings(Settings):
    """Physics of the simulated robot; a real one ignores it.

    ``corner_cutting_degrees``: the angle by which two crossing layers may both be off square while
    motors hold them (``direct``). Any cube tolerates the default.
    """

    actuators: dict[Name, SimulatedActuator] = Field(default_factory=dict)
    tolerance_degrees: Annotated[float, Field(gt=0, le=45)] = 12.0
    corner_cutting_degrees: Annotated[float, Field(gt=0, le=45)] = 10.0
    picture_noise: Annotated[float, Field(ge=0, le=50)] = 2.0


class UnsupportedSize(CubistError, ValueError):
    """A robot has no settings for a cube of this size. The text lists the sizes that it has."""

    code = "not-its-cube"
    exit_code = ExitCode.USAGE


class RobotProfile(Settings):
    """A robot: its parts, its connections and its calibration.

    ``boards``: those beside the first one, by the names that actuators give as their ``board``.
    ``other_cubes``: the changes for cubes of other sizes, by layers.
    """

    format: Literal[1]
    name: Name
    title: str = Field(min_length=1, max_length=80)
    cube: CubeSettings
    other_cubes: dict[OtherSize, JsonObject] = Field(default_factory=dict)
    mechanism: MechanismSettings
    actuators: dict[Name, ActuatorSettings] = Field(min_length=1, max_length=16)
    cameras: tuple[CameraSettings, ...] = ()
    colours: ColourSettings | None = None
    firmware: FirmwareSettings = FirmwareSettings()
    link: LinkSettings = LinkSettings()
    boards: dict[Name, BoardSettings] = Field(default_factory=dict, max_length=3)
    panel: PanelSettings = PanelSettings()
    display: DisplaySettings | None = None
    policy: PolicySettings = PolicySettings()
    simulation: SimulationSettings = SimulationSettings()

    _document: ProfileDocument | None = PrivateAttr(default=None)

    def model_post_init(self, context: object, /) -> None:
        """Set the actuators' delays from their boards, and the angles of parts that they rotate."""
        super().model_post_init(context)
        for actuator in self.actuators.values():
            board = self.board_of(actuator)
            if board is not None:
                actuator.set_frame_us(BOARD_TARGETS[board.target].frame_us)
        for part in self.mechanism.rotating:
            if part.motor in self.actuators:
                self.actuators[part.motor].set_angles(part.angles)

    def board_of(self, actuator: ActuatorSettings) -> FirmwareSettings | None:
        """Return the board that drives an actuator; None if it names one that does not exist."""
        return self.firmware if actuator.board is None else self.boards.get(actuator.board)

    def board_name_of(self, actuator: str) -> str:
        """Return the name of the board that drives an actuator, in :attr:`every_board`."""
        return self.actuators[actuator].board or FIRST_BOARD

    def actuators_at(self, board: str) -> dict[str, ActuatorSettings]:
        """Return the actuators that a board drives, by name."""
        everywhere = self.actuators.items()
        return {name: one for name, one in everywhere if self.board_name_of(name) == board}

    @property
    def every_board(self) -> dict[str, BoardSettings]:
        """All boards by name, the one of ``firmware`` and ``link`` as :data:`FIRST_BOARD`."""
        own = self.firmware
        first = BoardSettings(target=own.target, baud=own.baud, port=self.link.port)
        return {FIRST_BOARD: first, **self.boards}

    def with_board(
        self, target: str, pins: Mapping[str, Mapping[str, int | str]] | None = None
    ) -> RobotProfile:
        """Return a copy of the robot on another board, for simulations. Pins keep their numbers,
        except for actuators whose pins by role are in ``pins``.
        """
        document = self.model_dump(mode="json", exclude_unset=True)
        for name, others in (pins or {}).items():
            document["actuators"][name]["pins"] |= others
        document["firmware"] = document.get("firmware", {}) | {"target": target}
        return RobotProfile.model_validate(document)

    def described_by(self, document: ProfileDocument) -> RobotProfile:
        """Note the document it was read from, for complaints with file and line. Return itself."""
        self._document = document
        return self

    @property
    def is_drivable(self) -> bool:
        """True if every actuator can be driven; otherwise it is planned for only."""
        return all(one.drivable for one in self.actuators.values())

    def require_drivable(self) -> None:
        """Raise :class:`InvalidRequest` unless every actuator can be driven."""
        timed = [name for name, one in self.actuators.items() if not one.drivable]
        if timed:
            raise InvalidRequest(
                f"{self.name} only gives the times of motions: it can be planned for, not "
                f"driven or simulated. To drive it, describe {', '.join(timed)} with kind and "
                "pins",
                code="not-drivable",
            )

    def actuators_of(self, kind: type[Own]) -> dict[str, Own]:
        """Return the actuators of one kind, by name."""
        return {name: one for name, one in self.actuators.items() if isinstance(one, kind)}

    def complaint(self, path: Path, text: str) -> Complaint:
        """Return a complaint about the value at ``path``, found after the profile was read."""
        if self._document is None:
            return Complaint(self.name, 0, dotted_path(path), text)
        return self._document.complaint(path, text)

    def __eq__(self, other: object) -> bool:
        """Return true if both describe the same robot, even if read from different files."""
        if not isinstance(other, RobotProfile):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # mappings are part of it


def sizes_of(profile: RobotProfile) -> tuple[int, ...]:
    """Return the layers of the cubes that the robot can take, ascending."""
    return tuple(sorted({profile.cube.size, *profile.other_cubes}))


def for_cube(profile: RobotProfile, size: int | None) -> RobotProfile:
    """Return the robot set up for a cube of ``size`` layers (default: its own size).

    Raise :class:`UnsupportedSize`, or BadProfile if the changes for it are inconsistent.
    """
    if size is None or size == profile.cube.size:
        return profile
    if size not in profile.other_cubes:
        *most, last = (str(one) for one in sizes_of(profile))
        known = f"{', '.join(most)} and {last}" if most else last
        raise UnsupportedSize(
            f"{profile.name} takes cubes of {known} layers, not of {size}: its profile has no "
            f"{OTHER_CUBES} entry for that size"
        )
    document = profile.model_dump(mode="json", exclude_unset=True)
    changed = _merge(document, document.pop(OTHER_CUBES)[str(size)])
    if isinstance(changed["cube"], dict):  # otherwise the complaint is about the value itself
        changed["cube"] = changed["cube"] | {"size": size}
    return read_document(ProfileDocument(f"{profile.name} for {size} layers", changed, {}))


def read_document(document: ProfileDocument) -> RobotProfile:
    """Return the robot that a document describes; raises :class:`BadProfile`."""
    try:
        return RobotProfile.model_validate(document.data)
    except ValidationError as error:
        raise BadProfile(complaints_of(error, document, RobotProfile)) from None


def _merge(document: JsonObject, changes: JsonMapping) -> JsonObject:
    """Return ``document`` with ``changes``: mappings key by key, all else replaced."""
    changed = dict(document)
    for key, value in changes.items():
        old = changed.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            changed[key] = _merge(dict(old), value)
        else:
            changed[key] = value
    return changed
