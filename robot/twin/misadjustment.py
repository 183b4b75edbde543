"""Deviations of a simulated robot from its profile, for a robot that was not built as drawn.

One seed is one robot. Each part draws its own deviations from the seed and its name, so that they
do not depend on the robot's other parts. The modules that simulate the parts apply them: servos and
steppers in their own, arms and jaws in :mod:`robot.twin.flipper` and :mod:`robot.twin.grippers`,
cameras and light in :mod:`robot.twin.studio`.

Nothing outside the simulation may read this, because calibration must find the deviations.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest

ZERO_DEGREES = 12.0
"""Maximum error of a servo's zero: the horn's spline, and differences between servos."""
GAIN = 0.10
"""Maximum relative deviation of a servo's travel per pulse from the profile."""
SLACK_DEGREES = (0.3, 1.5)
"""Range of dead band and gear play together: a servo stops short by half of it on either side."""
SPEED = 0.25
STALL = 0.25
STEPS_OF_TURN = (0.5, 1.0, 1.0, 2.0)
"""Steps of a true turn relative to the profile's, for other settings of the driver's switches."""
MOTOR_PLAY_DEGREES = 1.5
"""Maximum play of a stepper's load."""
LID_PLAY_DEGREES = (0.2, 1.0)
"""Range of a held cube's play within an arm, to either side."""
TOLERANCE_DEGREES = 5.0
"""Maximum deviation from square before a part jams."""
SOFTNESS_DEGREES = {"plastic": (0.4, 1.0), "belt": (1.0, 2.2), "foam": (2.0, 3.5)}
"""Travel of an arm or jaws from touching an ordinary cube to holding it against a turn."""
STIFFNESS = (0.7, 1.5)
"""Range of the friction of a cube's layers; 1 for an ordinary cube."""
MAGNETISM = 0.6
"""Maximum pull of a cube's magnets, in the same unit."""
GRIP_DEGREES = (3.0, 15.0)
"""Range of an arm's travel beyond its position until it presses too hard."""
STOP_DEGREES = (8.0, 16.0)
"""Travel from an outermost position to the mechanical stop."""
CAMERA_ROTATED_DEGREES = 8.0
CAMERA_TILTED_DEGREES = 4.0
CAMERA_SHIFT = 0.05
"""Maximum shift, as a fraction of the picture's width."""
CAMERA_DISTANCE = 0.10
LENS_DISTORTION = (-0.10, 0.02)
"""Relative displacement by a wide-angle lens one focal length off the middle; < 0: inwards."""
PICTURE_NOISE = (2.0, 6.0)
"""Standard deviation in grey levels. At scale 0 the profile's value applies."""
BLUR_PX = 3.0
"""Maximum blur of a lens out of focus, as a standard deviation; rarely reached."""
WOBBLE_PX = 0.4
"""Maximum amplitude of a camera arm's shaking."""
BREATHING = (-0.02, 0.008)
"""Relative change of a picture's size by autofocus; negative draws count as a fixed focus."""
REEXPOSED = 0.4
"""Maximum degree to which automatic exposure compensates the picture's brightness."""
FLICKER = 0.05
"""Maximum amplitude of LED flicker, as a fraction of the brightness."""
GLARE = 0.25
HUNTING_DEGREES = 0.2
"""Maximum trembling of a servo that holds its position, to either side."""
CREEP_DEGREES = 0.8
"""Maximum last distance over which a servo only creeps."""
LOOSE_DEGREES = 0.25
"""Maximum random error of rest, to either side, of a horn with play on its shaft."""
SAG = 0.03
"""Maximum fraction of speed that a servo loses for each other moving one: the supply sags."""
COLOUR_GAIN = 0.10
LIGHT_GAIN = 0.12
LIGHT_SLOPE = 0.2
END_STOP_PART = 0.10
"""Maximum distance of an end stop below its drawn place, as a fraction of the part's travel. It is
only ever below: its builder made sure that the part stops clear of its work."""
FLOOR_PART = 0.02
"""Maximum distance of a cube below its drawn place, as a fraction of the elevator's travel."""
ENTERS_PART = (0.05, 0.25)
"""Range of the fraction of a row that must be in a frame to turn with it."""
FRAME_PLAY_DEGREES = 0.3
"""Maximum play of a cube within such a frame, to either side."""
LID_COVERS_DEGREES = (3.0, 9.0)
"""Travel of a lid from entering the picture to hiding the cube."""
LID_SHADE = 0.6
"""Maximum fraction of light that a lid takes from the cube beside it."""

MOST_TRIES = 1000
LARGEST_SCALE = 5.0
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class ServoTruth:
    """The true effect of a servo's pulses (default: as in the profile).

    ``shaft`` returns the shaft's position in microseconds of the profile's pulse: a robot built as
    drawn has its positions there. ``slack_us`` is the total width of its dead band, ``loose_us`` a
    random error to either side, ``hunting_degrees`` the trembling while it holds its position, and
    ``creep_us`` the last distance, which it covers slowly. ``sag`` is the fraction of speed that it
    loses for each other moving servo.
    """

    middle_us: float = 1500.0
    zero_us: float = 0.0
    gain: float = 1.0
    slack_us: float = 0.0
    speed: float = 1.0
    hunting_degrees: float = 0.0
    loose_us: float = 0.0
    creep_us: float = 0.0
    sag: float = 0.0

    def shaft(self, pulse_us: float) -> float:
        """Return the shaft's position for a pulse."""
        return self.middle_us + self.gain * (pulse_us - self.middle_us) + self.zero_us

    def pulse(self, shaft_us: float) -> float:
        """Return the pulse for a position of the shaft."""
        return self.middle_us + (shaft_us - self.zero_us - self.middle_us) / self.gain


@dataclass(frozen=True)
class StepperTruth:
    """The wiring and build of a stepper (default: as in the profile).

    ``strength``: factor of its stall speed and acceleration. ``microsteps``: factor of the steps of
    a true turn. ``play_steps``: play of its load in the profile's steps (None: as in the profile).
    ``end_stop_lower``: additional steps to its end stop.
    """

    strength: float = 1.0
    is_reversed: bool = False
    microsteps: float = 1.0
    play_steps: int | None = None
    end_stop_lower: int = 0


@dataclass(frozen=True)
class TurntableTruth:
    """The fit of a cube to an elevator and to the frame above it that turns its rows.

    ``floor_part``: distance of the cube below its drawn place, as a fraction of the elevator's
    travel; ``enters_part``: fraction of a row that must be in the frame; ``play_degrees``: to
    either side.
    """

    floor_part: float
    enters_part: float
    play_degrees: float


@dataclass(frozen=True)
class ArmTruth:
    """The fit of an arm or jaws to the cube. Degrees of the servo's shaft, ``play`` of the cube.

    ``softness``: travel from touching an ordinary cube to holding it.
    """

    play_degrees: float
    grip_degrees: float
    stop_degrees: float
    softness_degrees: float


@dataclass(frozen=True)
class CubeTruth:
    """The forces of a cube's layers and magnets against turning; 1 and 0 for an ordinary cube."""

    stiffness: float = 1.0
    magnetism: float = 0.0


@dataclass(frozen=True)
class CameraTruth:
    """The deviation of a camera: rotated in its picture, tilted, shifted and farther away.

    ``tilted``: degrees about the robot's x and z axes. ``shift``: fractions of the picture's width.
    """

    rotated_degrees: float
    tilted_degrees: tuple[float, float]
    shift: tuple[float, float]
    distance: float


@dataclass(frozen=True)
class LensTruth:
    """The picture that a camera makes: ``distortion`` (barrel if negative), ``noise`` in grey
    levels (None: the profile's), ``blur_px``, ``wobble_px``, ``reexposed``, the degree of automatic
    exposure, and ``breathing``, the relative change of the picture's size by autofocus."""

    distortion: float = 0.0
    noise: float | None = None
    blur_px: float = 0.0
    wobble_px: float = 0.0
    reexposed: float = 0.0
    breathing: float = 0.0


@dataclass(frozen=True)
class LightTruth:
    """Factors of linear red, green and blue, and the change of light across the picture.

    ``flicker``: maximum relative change of a picture's brightness; ``glare``: strength of a
    reflection at ``glare_at``, in fractions of the picture.
    """

    gains: tuple[float, float, float]
    slope: tuple[float, float]
    flicker: float = 0.0
    glare: float = 0.0
    glare_at: tuple[float, float] = (0.5, 0.5)


@dataclass(frozen=True)
class LidTruth:
    """The path of a lid into the picture, from the side at ``from_degrees``, clockwise from above.

    ``covers_degrees``: travel of its shaft from the picture's border to hiding the cube; ``shade``:
    fraction of light that it takes from the cube beside it.
    """

    from_degrees: float = 0.0
    covers_degrees: float = 0.0
    shade: float = 0.0


@dataclass(frozen=True)
class LookTruth:
    """The look of a cube: stickers or coloured plastic, a maker's logo, and a scramble that makes
    two neighbouring faces alike."""

    is_stickerless: bool = False
    has_logo: bool = False
    has_alike_faces: bool = False


class Misadjustment:
    """One robot's deviations, drawn from ``seed``; ``scale`` times as large as usual."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self.seed, self.scale = seed, scale

    def servo(self, name: str, settings: Servo, degree_us: float) -> ServoTruth:
        """Return a servo's deviations. Up to scale 1 all its positions are within its limits, since
        a builder chooses the horn's tooth for that."""
        random, part = self._random("servo", name), min(1.0, self.scale)
        ends = self._random("rest", name)
        loose, creep = ends.uniform(0, LOOSE_DEGREES), ends.uniform(0, CREEP_DEGREES)
        low, high = settings.limits_us
        for _ in range(MOST_TRIES):
            truth = ServoTruth(
                middle_us=(low + high) / 2,
                zero_us=self._spread(random, ZERO_DEGREES) * degree_us,
                gain=1 + self._spread(random, GAIN),
                slack_us=self.scale * random.uniform(*SLACK_DEGREES) * degree_us,
                speed=1 + max(-0.8, self._spread(random, SPEED)),
                hunting_degrees=part * self._random("hunting", name).uniform(0, HUNTING_DEGREES),
                loose_us=part * loose * degree_us,
                creep_us=part * creep * degree_us,
                sag=part * self._random("supply", "").uniform(0, SAG),
            )
            pulses = [truth.pulse(place) for place in settings.positions_us.values()]
            if self.scale > 1 or (min(pulses) >= low and max(pulses) <= high):
                return truth
        raise InvalidRequest(f"{name}: no horn lets it reach its positions within {low}..{high}")

    def stepper(self, name: str, settings: Stepper) -> StepperTruth:
        """Return a stepper's deviations. One with a sensor, or without full turns, has its steps
        and direction as in the profile, since its builder saw it turn."""
        random = self._random("stepper", name)
        strength = 1 + max(-0.8, self._spread(random, STALL))
        turn = settings.steps_per_turn
        sensed = settings.homing is not None or settings.turn_check is not None
        if turn is None and settings.homing is not None:
            places = settings.positions_steps.values()
            way = min(1.0, self.scale) * (max(places) - min(places))
            lower = self._random("end stop", name).uniform(0, END_STOP_PART) * way
            return StepperTruth(strength, end_stop_lower=round(lower))
        if turn is None or sensed or not self.scale:
            return StepperTruth(strength)
        play = self.scale * random.uniform(0, MOTOR_PLAY_DEGREES) * turn / 360
        return StepperTruth(
            strength=strength,
            is_reversed=bool(random.integers(2)),
            microsteps=float(random.choice(STEPS_OF_TURN)),
            play_steps=round(play),
        )

    def arm(self, name: str) -> ArmTruth:
        """Return the fit of an arm or jaws to the cube; a larger scale narrows the good range."""
        random = self._random("arm", name)
        play, grip, stop = (
            random.uniform(*of) for of in (LID_PLAY_DEGREES, GRIP_DEGREES, STOP_DEGREES)
        )
        hardest = SOFTNESS_DEGREES["plastic"][0]
        made_of = SOFTNESS_DEGREES[str(random.choice([*SOFTNESS_DEGREES]))]
        softer = random.uniform(*made_of) - hardest
        return ArmTruth(
            play_degrees=self.scale * play,
            grip_degrees=grip / max(1.0, self.scale),
            stop_degrees=stop,
            softness_degrees=hardest + min(1.0, self.scale) * softer,
        )

    def turntable(self, name: str) -> TurntableTruth:
        """Return the fit of the cube to the frame that a motor turns, and to the elevator."""
        random, part = self._random("frame", name), min(1.0, self.scale)
        return TurntableTruth(
            floor_part=part * random.uniform(0, FLOOR_PART),
            enters_part=random.uniform(*ENTERS_PART),
            play_degrees=part * random.uniform(0, FRAME_PLAY_DEGREES),
        )

    @cached_property
    def cube(self) -> CubeTruth:
        """The cube in the robot."""
        random = self._random("cube", "")
        usual, part = CubeTruth(), min(1.0, self.scale)
        return CubeTruth(
            stiffness=usual.stiffness + part * (random.uniform(*STIFFNESS) - usual.stiffness),
            magnetism=part * random.uniform(0, MAGNETISM),
        )

    def camera(self, name: str) -> CameraTruth:
        """Return the deviation of a camera."""
        random = self._random("camera", name)
        tilts = (self._spread(random, CAMERA_TILTED_DEGREES) for _ in range(2))
        shifts = (self._spread(random, CAMERA_SHIFT) for _ in range(2))
        return CameraTruth(
            rotated_degrees=self._spread(random, CAMERA_ROTATED_DEGREES),
            tilted_degrees=(next(tilts), next(tilts)),
            shift=(next(shifts), next(shifts)),
            distance=1 + self._spread(random, CAMERA_DISTANCE),
        )

    @cached_property
    def light(self) -> LightTruth:
        """The light in the room."""
        random = self._random("light", "")
        red, green, blue = (1 + self._spread(random, LIGHT_GAIN) for _ in "RGB")
        across, down = (self._spread(random, LIGHT_SLOPE) for _ in range(2))
        more, part = self._random("reflections", ""), min(1.0, self.scale)
        return LightTruth(
            gains=(red, green, blue),
            slope=(across, down),
            flicker=part * more.uniform(0, FLICKER),
            glare=part * max(0.0, more.uniform(-GLARE, GLARE)),
            glare_at=(more.uniform(0.2, 0.8), more.uniform(0.2, 0.8)),
        )

    def lens(self, name: str) -> LensTruth:
        """Return the picture that a camera makes."""
        if not self.scale:
            return LensTruth()
        random, part = self._random("lens", name), min(1.0, self.scale)
        return LensTruth(
            distortion=part * random.uniform(*LENS_DISTORTION),
            noise=random.uniform(*PICTURE_NOISE),
            blur_px=part * BLUR_PX * random.uniform(0, 1) ** 3,
            wobble_px=part * random.uniform(0, WOBBLE_PX),
            reexposed=part * random.uniform(0, REEXPOSED),
            breathing=part * max(0.0, self._random("focus", name).uniform(*BREATHING)),
        )

    @cached_property
    def lid(self) -> LidTruth:
        """The path of a lid into the picture."""
        random, part = self._random("lid", ""), min(1.0, self.scale)
        return LidTruth(
            from_degrees=90.0 * int(random.integers(4)),
            covers_degrees=part * random.uniform(*LID_COVERS_DEGREES),
            shade=part * random.uniform(0, LID_SHADE),
        )

    @cached_property
    def look(self) -> LookTruth:
        """The look of the cube."""
        random = self._random("look", "")
        if not self.scale:
            return LookTruth()
        three = (float(part) for part in random.random(3))
        return LookTruth(next(three) < 0.3, next(three) < 0.5, next(three) < 0.1)

    def colour(self, letter: str, srgb: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the sticker colour of a face of this cube."""
        random = self._random("colour", letter)
        red, green, blue = (
            round(min(250.0, level * (1 + self._spread(random, COLOUR_GAIN)))) for level in srgb
        )
        return red, green, blue

    def _random(self, kind: str, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(f"{kind} {name}".encode())])

    def _spread(self, random: np.random.Generator, most: float) -> float:
        return float(self.scale * random.uniform(-most, most))


BUILT_AS_DRAWN = Misadjustment(0, 0.0)
"""A robot without deviations, but with a cube that lies loosely if nothing holds it, for robots
that watch their cube. Without any misadjustment the cube springs square."""


def parse_misadjustment(text: str) -> Misadjustment:
    """Parse ``SEED`` or ``SEED:SCALE``, or raise :class:`InvalidRequest`."""
    seed, _, scale = text.partition(":")
    try:
        found = Misadjustment(int(seed), float(scale) if scale else 1.0)
    except ValueError:
        found = Misadjustment(-1)
    if not (0 <= found.seed <= LARGEST_SEED and 0 < found.scale <= LARGEST_SCALE):
        raise InvalidRequest(
            f"--misadjust {text}: write SEED or SEED:SCALE, a whole number from 0 and a number "
            f"above 0, up to {LARGEST_SCALE:g}, such as 7 or 7:0.5"
        )
    return found
