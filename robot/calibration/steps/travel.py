"""The step "travel": the time servos really take, measured by the camera, else by eye.

Hobby servos do not report their position. The servo jumps from one named position to another while
the camera takes pictures as fast as it can. The motion lasts from the first picture that differs
from the one before it to the last.

For a slower camera, the motion is repeated several times, as with a stroboscope. Each repetition
starts a larger fraction of the picture period after a picture. Pictures at rest along the path
show where the servo was in each picture. A line through times and positions gives the time of the
whole path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robot.calibration.step import (
    STEPS,
    Bench,
    Item,
    Measurement,
    Result,
    Script,
    Session,
    Step,
    Trial,
)
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.records.documents import ApiDocument, ApiRequest
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from solver.errors import InvalidRequest
from solver.files import JsonObject

if TYPE_CHECKING:
    from robot.machine.assembly import Machine

AT_ONCE_US = 20_000
"""The pulse jumps within one of its periods; the servo then follows at its own speed."""

PATIENCE = 2.0
"""Time to watch, as a multiple of the planned travel."""

STILL_PICTURES = 6
NOISE_FACTOR = 3.0
LEAST_CHANGE = 0.25
"""Smallest mean change of grey levels between two pictures that is more than noise."""

FEWEST_CHANGES = 4
LONGEST_GAP = 2
"""Largest number of pictures from one change to the next while a motion is fully visible."""

STROBES = 12
"""Number of motions with the stroboscope."""

STOPS = 16
"""Number of positions along the path, besides the first, with a picture at rest."""

ON_WAY = (0.08, 0.92)
"""The part of the path with constant speed. Servos accelerate before it and brake after it."""

FEWEST_ON_WAY = 6
SHORTEST_SPAN = 0.4
"""Smallest part of the path between the first and last position the stroboscope sees."""

COARSE = 0.2
"""Relative uncertainty of a motion's time above which the stroboscope is tried."""

LARGEST_ERROR = 0.1
"""Largest relative standard error of the time."""

LEAST_MARGIN = 0.04
"""Smallest relative uncertainty of the time, because of accelerating and braking."""

FINE_MS = 10
"""Step for setting a travel time by eye."""

Grey = NDArray[np.float32]


class TravelRequest(ApiRequest):
    """A servo to watch, and two named positions."""

    actuator: str = Field(min_length=1, max_length=64)
    between: Annotated[list[str], Field(min_length=2, max_length=2)]


class Travel(ApiDocument):
    """The time that a servo took, to ``within_us``; None, and the reason ``why``, if the camera
    cannot see it.
    ``motions``: number of motions that were watched. ``values``: calibrated values with the
    measured time plus its uncertainty.
    """

    actuator: str
    between: tuple[str, str]
    planned_us: int
    measured_us: int | None = None
    within_us: int | None = None
    motions: int = 1
    why: str = ""
    values: JsonObject = Field(default_factory=dict)


@dataclass(frozen=True)
class Motion:
    """Begin and end of a motion in us of the camera's clock; ``within_us``: their joint error."""

    began_us: int
    ended_us: int
    within_us: int


def measured_travel(bench: Bench, asked: TravelRequest) -> Travel:
    """Home, go to the first position, then as fast as possible to the second, and watch.

    Raises ``RobotError``, and ``InvalidRequest`` if there is no such servo or position.
    """
    machine, name, way = bench.machine, asked.actuator, (asked.between[0], asked.between[1])
    slew = slew_between(bench.profile, name, way)
    planned_us = slew.planned_us
    machine.motion.home()
    pictures = watch_slew(machine, slew, machine.scanner.glance)
    seen, motions = motion_in(pictures), 1
    why = "" if seen is not None else why_unseen(pictures, planned_us)
    if is_coarse(seen) or (seen is None and is_too_fast(pictures, planned_us)):
        motions += STROBES
        strobed = strobed_motion(machine, slew, [time for time, _ in pictures])
        if isinstance(strobed, Motion):
            seen = strobed
        else:
            why = strobed
    machine.motion.home()
    found = Travel(actuator=name, between=way, planned_us=planned_us, motions=motions, why=why)
    if seen is None:
        return found
    measured_us = seen.ended_us - seen.began_us
    servo = bench.profile.actuators_of(Servo)[name]
    values = travel_values(name, servo, way, (measured_us + seen.within_us) / 1e3)
    more = {"measured_us": measured_us, "within_us": seen.within_us, "values": values, "why": ""}
    return found.model_copy(update=more)


def motion_in(pictures: Sequence[tuple[int, Grey]]) -> Motion | None:
    """Return the motion in a series of pictures that begins with a few pictures at rest.

    None if nothing moves, if it still moves at the end, or if it was hidden on the way: a part of a
    motion must not be mistaken for all of it.
    """
    moved = _find_changes(pictures)
    if len(moved) < FEWEST_CHANGES or moved[-1] == len(pictures) - 2:
        return None
    if any(later - sooner > LONGEST_GAP for sooner, later in pairwise(moved)):
        return None
    times = [time for time, _ in pictures]
    first, last = moved[0], moved[-1]
    # The motion began between two pictures, and ended between two others.
    earliest, latest = times[first], times[first + 1]
    sooner, later = times[last], times[last + 1]
    return Motion(
        began_us=(earliest + latest) // 2,
        ended_us=(sooner + later) // 2,
        within_us=(latest - earliest + later - sooner + 1) // 2,
    )


def why_unseen(pictures: Sequence[tuple[int, Grey]], planned_us: int) -> str:
    """Return the reason why :func:`motion_in` finds no motion of about ``planned_us``."""
    moved = _find_changes(pictures)
    if moved and moved[-1] == len(pictures) - 2:
        return f"the picture still changes after {PATIENCE * planned_us / 1e3:.0f} ms"
    rate = rate_of([time for time, _ in pictures])
    if len(moved) >= FEWEST_CHANGES:
        return "the picture stops changing during the motion: something hides the moving part"
    if moved or rate * planned_us / 1e6 < FEWEST_CHANGES:
        return too_few(len(moved), rate)
    return "nothing in the picture moves"


def is_coarse(seen: Motion | None) -> bool:
    """Return whether too few pictures show a motion to know its time well."""
    return seen is not None and seen.within_us > COARSE * (seen.ended_us - seen.began_us)


def is_too_fast(pictures: Sequence[tuple[int, Grey]], planned_us: int) -> bool:
    """Return whether a motion was over within two or three pictures."""
    moved = _find_changes(pictures)
    rate = rate_of([time for time, _ in pictures])
    if moved and moved[-1] == len(pictures) - 2:
        return False
    return len(moved) < FEWEST_CHANGES and (bool(moved) or rate * planned_us / 1e6 < FEWEST_CHANGES)


def strobed_motion(machine: Machine, slew: Slew, times_us: Sequence[int]) -> Motion | str:
    """Return the motion that several films show, each begun at another time between two pictures,
    or the reason why they show none, with numbers.

    ``times_us``: the times of a series of pictures.
    """
    period_us = round((times_us[-1] - times_us[0]) / max(1, len(times_us) - 1))
    rests = [_rest_at(machine, slew, stop / STOPS) for stop in range(STOPS + 1)]
    films: list[list[tuple[float, float]]] = []
    for number in range(STROBES):
        delay_us = number * period_us // STROBES
        pictures = watch_slew(machine, slew, machine.scanner.glance, delay_us)
        began_us = pictures[STILL_PICTURES - 1][0] + delay_us
        places = [
            (part_of_way(picture, rests), float(time_us - began_us))
            for time_us, picture in pictures[STILL_PICTURES:]
        ]
        films.append([place for place in places if ON_WAY[0] < place[0] < ON_WAY[1]])
    return fit_motion(films, period_us)


def _rest_at(machine: Machine, slew: Slew, part: float) -> Grey:
    """Return the picture of a servo at rest after this part of its path."""
    place = round(slew.start_us + part * (slew.end_us - slew.start_us))
    machine.motion.jog(slew.motion.actuator, place)
    machine.scanner.settle()
    return machine.scanner.glance()[1]


def part_of_way(picture: Grey, rests: Sequence[Grey]) -> float:
    """Return the position along the path, 0 to 1, where pictures at rest are most like this one."""
    best = (float("inf"), 0.0)
    for number, (before, after) in enumerate(pairwise(rests)):
        change = after - before
        size = float((change * change).sum())
        part = float(((picture - before) * change).sum()) / size if size else 0.0
        part = min(1.0, max(0.0, part))
        off = picture - before - part * change
        best = min(best, (float((off * off).sum()), (number + part) / (len(rests) - 1)))
    return best[1]


def fit_motion(films: Sequence[Sequence[tuple[float, float]]], period_us: int) -> Motion | str:
    """Return the motion that all ``films`` show, or the reason why they show none.

    A film has pairs: part of the path, and us after the command. The slope of a line through all
    pairs is the time. Another fit allows each film an offset of its own, as a busy computer sends
    its commands late by varying times. The fit with the smaller error counts.
    """
    rate = 1e6 / period_us if period_us else 0.0
    about = f"{len(films)} motions at the camera's {rate:.0f} pictures/s"
    found = np.array([point for film in films for point in film]).reshape(-1, 2)
    if len(found) < FEWEST_ON_WAY or np.ptp(found[:, 0]) < SHORTEST_SPAN:
        count = f"{len(found)} pictures"
        return f"{about} gave {count} of the motion itself; {FEWEST_ON_WAY} are needed"
    several = [np.array(film) for film in films if len(film) > 1]
    alone = np.concatenate([film - film.mean(axis=0) for film in several] or [found[:0]])
    slopes = [_slope_of(found - found.mean(axis=0), 2), _slope_of(alone, len(several) + 1)]
    took_us, error_us = min(slopes, key=lambda slope: slope[1])
    if error_us > LARGEST_ERROR * took_us:
        return f"{about} do not agree: their time is known only to {error_us / 1e3:.0f} ms"
    within_us = max(2 * error_us, LEAST_MARGIN * took_us)
    return Motion(0, round(took_us), round(within_us))


def _slope_of(points: NDArray[np.float64], unknowns: int) -> tuple[float, float]:
    """Return the us for the whole path by a line through the origin, and their standard error."""
    parts, times = points.T
    size = float(parts @ parts)
    if len(points) <= unknowns or size == 0:
        return 0.0, float("inf")
    took_us = float(parts @ times) / size
    off = times - took_us * parts
    return took_us, float(np.sqrt(off @ off / (len(points) - unknowns) / size))


def too_few(pictures: int, rate: float) -> str:
    """Return the text for a motion that was over within two or three pictures."""
    count = f"{pictures} picture{'' if pictures == 1 else 's'}"
    return f"only {count} during the motion: the camera's {rate:.0f} pictures/s are too few for it"


def rate_of(times_us: Sequence[int]) -> float:
    """Return the pictures per second of a series of times."""
    took_us = times_us[-1] - times_us[0] if times_us else 0
    return (len(times_us) - 1) * 1e6 / took_us if took_us else 0.0


def _find_changes(pictures: Sequence[tuple[int, Grey]]) -> list[int]:
    """Return the indices of pictures that differ from the next one."""
    changes = [
        float(np.abs(after - before).mean()) for (_, before), (_, after) in pairwise(pictures)
    ]
    threshold = max(LEAST_CHANGE, NOISE_FACTOR * max(changes[: STILL_PICTURES - 1], default=0.0))
    return [number for number, change in enumerate(changes) if change > threshold]


Picture = TypeVar("Picture")


@dataclass(frozen=True)
class Slew:
    """The fastest motion of a servo, whose ``motion`` lasts far longer than ``planned_us``."""

    start_us: int
    end_us: int
    motion: MotionProfile
    planned_us: int


def watch_slew(
    machine: Machine, slew: Slew, take: Callable[[], Picture], delay_us: int = 0
) -> list[Picture]:
    """Slew a servo, and return the pictures taken before, during and after the motion.

    The motion begins ``delay_us`` after its command, which follows the last picture at rest.
    """
    motion = slew.motion
    machine.motion.jog(motion.actuator, slew.start_us)
    schedule = Schedule((motion,), (TimedTurn(delay_us, 0),), delay_us + motion.duration_us)
    machine.scanner.settle()
    pictures = [take() for _ in range(STILL_PICTURES)]
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(machine.motion.perform, schedule, lambda _: None)
        while not moving.done():
            pictures.append(take())
        moving.result()
    return pictures


def slew_between(profile: RobotProfile, name: str, way: tuple[str, str]) -> Slew:
    """Return the fastest motion of a servo between two positions; raises ``InvalidRequest``."""
    servo, (start_us, end_us) = servo_between(profile, name, way)
    planned = servo.transition_us(*way)
    if planned is None:
        raise InvalidRequest(f"{name}: the profile has no travel from {way[0]} to {way[1]}")
    watch_us = round(PATIENCE * planned[0])
    return Slew(
        start_us, end_us, servo_slew(name, start_us, end_us, AT_ONCE_US, watch_us), planned[0]
    )


def servo_between(
    profile: RobotProfile, name: str, way: tuple[str, str]
) -> tuple[Servo, tuple[int, int]]:
    """Return a servo and the pulses of two of its positions; raises ``InvalidRequest``."""
    servos = profile.actuators_of(Servo)
    if name not in servos:
        known = ", ".join(servos) or "none"
        raise InvalidRequest(f"actuator: {name!r} is not a servo; the profile has {known}")
    servo = servos[name]
    for position in way:
        if position not in servo.positions_us:
            known = ", ".join(servo.positions_us)
            raise InvalidRequest(f"between: {name} has no position {position!r}; it has {known}")
    return servo, (servo.positions_us[way[0]], servo.positions_us[way[1]])


def travel_values(name: str, servo: Servo, way: tuple[str, str], ms: float) -> JsonObject:
    """Return the servo's travel rows with a new time between two positions, as calibrated values.

    The time applies to both directions, unless a row is for one only. Times with a layer change in
    proportion.
    """
    milliseconds = round(ms, 1)
    rows = []
    for row in servo.travel:
        document = row.model_dump(mode="json")
        if row.between == way or (row.between[::-1] == way and not row.one_way):
            if row.held_ms is not None:
                document["held_ms"] = round(row.held_ms * milliseconds / row.ms, 1)
            document["ms"] = milliseconds
        rows.append(document)
    return {f"actuators.{name}.travel": rows}


WATCHING = Trial("travel", "Watch how long a servo takes", TravelRequest, Travel, measured_travel)


class TravelTime(Measurement):
    """The time of one servo from one named position to another."""

    guidance = (
        "Choose Measure: the servo makes this motion in one go while the camera watches. If it "
        "does not see all of the motion, set the milliseconds so that the robot waits long enough."
    )

    def __init__(self, session: Session, actuator: str, start: str, end: str) -> None:
        super().__init__(session)
        self.name = f"{actuator}: {start} to {end}"
        self._actuator, self._way = actuator, (start, end)
        self._servo = session.calibrated.actuators_of(Servo).get(actuator)
        planned = self._servo and self._servo.listed_us(start, end, held=False)
        self._ms = planned[0] / 1e3 if planned else None

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        seen = self.session.perform(WATCHING, actuator=self._actuator, between=list(self._way))
        text = f"{seen.why}; judge the time by eye"
        if seen.measured_us is not None and seen.within_us is not None:
            took_ms, within_ms = seen.measured_us / 1e3, seen.within_us / 1e3
            self._ms = round(took_ms + within_ms, 1)
            text = (
                f"took {took_ms:.0f} ms (within {within_ms:.0f} ms), "
                f"planned {seen.planned_us / 1e3:.0f} ms"
            )
        self.result = Result(
            values=seen.values,
            document=seen.model_dump(mode="json"),
            text=text,
            is_found=seen.measured_us is not None,
        )
        yield from ()

    @property
    def value(self) -> float | None:
        """The travel time in milliseconds."""
        return self._ms

    def adjust(self, steps: int) -> None:
        """Make the time longer or shorter."""
        if self._servo is not None and self._ms is not None:
            self._ms = max(FINE_MS, self._ms + FINE_MS * steps)
            values = travel_values(self._actuator, self._servo, self._way, self._ms)
            self.result = replace(self.result, values=values)


def _items(session: Session) -> Iterator[Item]:
    for name, servo in session.calibrated.actuators_of(Servo).items():
        for row in servo.travel:
            cells = (name, *row.between, f"{row.ms:g} ms")
            yield Item(cells, partial(TravelTime, session, name, *row.between))


STEPS["travel"] = Step(
    name="travel",
    title="Travel: how long servos really take",
    guidance=(
        "Choose a motion: the servo makes it as fast as it can, and the camera measures how long "
        "it takes. Keep clear."
    ),
    trials=[WATCHING],
    columns=("servo", "from", "to", "time"),
    items=_items,
    keeps=lambda key, _: key.endswith(".travel"),
    minutes=lambda profile, _: (
        0.5 * sum(len(one.travel) for one in profile.actuators_of(Servo).values())
    ),
    is_done=lambda profile, found: any(
        f"actuators.{name}.travel" in found.values for name in profile.actuators
    ),
    is_needed=lambda profile: bool(profile.actuators_of(Servo)),
)
