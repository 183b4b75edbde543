"""The whole automatic calibration: from a roughly right profile to a proven calibration."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from statistics import mean

from robot.api.client import DaemonError, RequestError
from robot.calibration.auto.film import AGREEING, FILMING, FilmedTravel, find_travel, travel_us
from robot.calibration.auto.finder import (
    RENEWING,
    FilmedServo,
    Finder,
    Finding,
    finder_for,
    obstacle_for,
)
from robot.calibration.auto.motors import check_motors, common_speeds, fit_to_board
from robot.calibration.auto.proof import PROVING, Proof, fault_chance
from robot.calibration.step import STEPS, Measurement, Result, Row, Script, Session, Step
from robot.calibration.steps.colours import LOOKING
from robot.calibration.steps.travel import rate_of, too_few, travel_values
from robot.calibration.trials.stepper_trials import BOARD_RATE
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, confirmable
from robot.settings import RobotProfile
from robot.settings.actuators import Servo, TravelRow
from robot.settings.board_table import FRAME_US
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError, RobotError, ScanError
from solver.errors import CubistError, InvalidRequest
from solver.files import JsonMapping, JsonObject

MARGIN = 1.04
"""Factor by which kept travel times exceed the measured ones: too short a time spoils a solve."""

NOT_FOR_TIMES = frozenset({RequestError.code, "emergency-stop", "calibration-stopped"})
"""Codes of errors that say nothing about times: a person stopped the robot, or the daemon refused
the request although the robot did not fail."""

AS_FAST = 0.03
"""Maximum relative excess of a time over the profile's at which it still counts as equal."""

STEP = 0.05
"""Reduction of times from one trial to the next, as a fraction of the original times."""

FEWEST_PROOFS, MOST_PROOFS = 2, 12
COMING, MOST_CHANCE = 20, 0.05
"""A number of operations, and the maximum chance of a fault in them at which proofs end."""
APART_DEGREES = 5.0
"""Maximum turn between two pulses of servos that turn the cube together: one may lag by this angle,
besides its slack. The middle of the cube follows each by half. If they are 10 degrees apart, a
layer is 5 off square, which is too much."""
FILMS = 6
"""Maximum number of films of a motion while too few pictures show it moving."""


CAMERA, TIMES, COLOURS = "camera", "times", "colours"


def stages_of(profile: RobotProfile) -> tuple[str, ...]:
    """Return the stages that can be measured again on their own: the positions of each actuator,
    camera, times and colours.

    Times are a stage only if servos turn the cube, because the camera films only those.
    """
    turning = {part.motor for part in profile.mechanism.rotating}
    times = (TIMES,) if turning & profile.actuators_of(Servo).keys() else ()
    return (*profile.actuators, CAMERA, *times, COLOURS)


def require_finder(profile: RobotProfile) -> type[Finder]:
    """Return the finder of this robot's positions. Raise ``CalibrationError`` if there is none."""
    try:
        profile.require_drivable()
    except InvalidRequest as error:
        raise CalibrationError(str(error)) from error
    found = finder_for(profile)
    if found is None:
        raise CalibrationError(_why_not(profile))
    return found


def stage_of(key: str) -> str:
    """Return the stage of the calibrated value with this key."""
    room, *rest = key.split(".")
    if room != "actuators":
        return {"cameras": CAMERA}.get(room, room)
    return TIMES if rest[1] in {"travel", "settle_ms", "held_settle_ms"} else rest[0]


class AutomaticCalibration(Measurement):
    """The calibration that a robot does by itself. Its values are kept only after they are proven.

    Until then they are only tried out, and discarded when maintenance ends, so that the old
    calibration survives any interruption. ``clock``: seconds of the robot's time. ``only``: one of
    :func:`stages_of`; other values found on the way are not changed. ``faster``: maximum fraction
    by which to shorten times that are known to be enough, while cubes are still solved.
    """

    name = "auto"
    guidance = (
        "Put a scrambled cube in, square to the robot, with the lid open or the grippers closed, "
        "and keep clear. Choose Measure: the robot finds its positions, times and colours by "
        "watching the cube, and proves them by solving. Keep saves them."
    )
    columns = ("stage", "")
    how = "auto"

    def __init__(
        self,
        session: Session,
        clock: Callable[[], float] = time.monotonic,
        only: str | None = None,
        faster: float = 0.0,
    ) -> None:
        super().__init__(session)
        self._faster = faster
        self._clock = clock
        self._only = only
        self._began: float | None = None
        self._found: JsonObject = {}
        self._uncertain: JsonObject = {}
        self._proofs: list[Proof] = []
        self._slower: list[str] = []
        self._advice: list[str] = []

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        self._began = self._clock()
        self.result = Result()
        self._found, self._uncertain, self._proofs = {}, {}, []
        self._slower, self._advice = [], []
        error: CubistError | None = None
        is_interrupted = False
        try:
            yield from self._rows()
        except CubistError as broken_off_by:
            error = broken_off_by
        except KeyboardInterrupt:
            is_interrupted = True  # the next request to the robot must be the one to stop
            raise
        finally:
            if not is_interrupted:
                with contextlib.suppress(CubistError):  # the end of maintenance discards them too
                    self.session.try_out({})
        self.end(error)
        if isinstance(error, DaemonError):
            raise error

    @property
    def tried_values(self) -> JsonObject:
        """Return the values found so far, proven or not."""
        return self._found

    def end(self, error: CubistError | None = None) -> None:
        """Set the result: all values, found and proven, or none if ``error`` ended it early."""
        took_s = 0.0 if self._began is None else round(self._clock() - self._began, 1)
        values, gain = self._found if error is None else {}, self._gain()
        document: JsonObject = {
            "calibrated": error is None,
            "solved": len(self._proofs),
            "took_s": took_s,
            **gain,
            "values": values,
            "uncertain": self._uncertain,
            "slower": self._slower,
        }
        if error is not None:
            because = str(error)
            if self._advice and isinstance(error, CalibrationError | ScanError | RequestError):
                stop = "" if because.endswith("?") else "."
                because += f"{stop} The picture was poor from the start: {'; '.join(self._advice)}"
            document["because"] = because
            text = f"calibration failed: {because}"
        else:
            text = (
                f"calibrated in {took_s:.0f} s: {len(self._proofs)} cubes solved, the chance of a "
                f"fault in {COMING} turns is below {100 * gain['fault_chance']:.1f} %; average "
                f"planned time {gain['planned_s']:.1f} s, {gain['planned_before_s']:.1f} s with "
                "the previous values"
            )
            if self._slower and gain["planned_s"] > gain["planned_before_s"]:
                text = f"{text}. Slower: {'. '.join(self._slower)}"
        self.result = Result(values, self._uncertain, document, text, error is None, error)

    def _gain(self) -> dict[str, float]:
        """Return mean planned times of the solved cubes, with the found and with the kept values,
        the number of operations and the chance of a fault."""
        if not self._proofs:
            return {}
        operations = sum(proof.operations for proof in self._proofs)
        return {
            "operations": operations,
            "fault_chance": math.ceil(1e3 * fault_chance(operations, COMING)) / 1e3,
            "planned_before_s": round(mean(p.planned_before_us for p in self._proofs) / 1e6, 2),
            "planned_s": round(mean(p.planned_us for p in self._proofs) / 1e6, 2),
        }

    def _rows(self) -> Iterator[Row]:
        for finding in self._findings():
            self._found |= self._wanted_of(finding.values)
            self._uncertain |= self._wanted_of(finding.uncertain)
            self._slower += [finding.slower] if finding.slower else []
            self._advice += finding.evidence.get("advice", [])
            yield finding.row

    def _wanted_of(self, values: JsonMapping) -> JsonObject:
        return {key: value for key, value in values.items() if self._wants(stage_of(key))}

    def _wants(self, stage: str) -> bool:
        return self._only in {None, stage}

    def _findings(self) -> Iterator[Finding]:
        session = self.session
        suitable = require_finder(session.profile)
        self._require_rest()
        filmed: Collection[str] = ()
        if self._only != COLOURS:
            finder = suitable(session)
            filmed = finder.seen_moving.keys()
            yield from self._positions(finder)
            if self._wants(TIMES):
                yield from self._travel(finder)
            session.try_out(self._found)
        if self._wants(COLOURS):
            seen = session.perform(LOOKING, facelets=None)
            evidence = {"facelets": seen.facelets}
            yield Finding("colours", "learned from the cube", seen.values, evidence=evidence)
            session.try_out(self._found)
        if not self._found:
            raise CalibrationError(
                f"--only {self._only}: the camera has shown nothing to measure. Is a scrambled "
                "cube in the robot?"
            )
        while not is_proven(self._proofs):
            yield self._proof(len(self._proofs) + 1)
        if self._faster:
            yield self._shorten_times(filmed)

    def _require_rest(self) -> None:
        """Raise ``CalibrationError`` if a value that ``only`` leaves alone was never confirmed,
        because no cube could then be solved as a proof."""
        if self._only is None:
            return
        places = confirmable(self.session.profile)
        found = {key: place for key, place in places.items() if self._wants(stage_of(key))}
        confirmed = self.session.calibration.confirmed | found
        try:
            ConfirmedRange(confirmed).require_all(self.session.profile)
        except NotConfirmed as error:
            raise CalibrationError(
                f"--only {self._only} leaves the rest unchanged, but {error.cause}: run `cubist "
                "calibrate auto` without --only first"
            ) from error

    def _positions(self, finder: Finder) -> Iterator[Finding]:
        """Find all positions, because each depends on others. For times, only find the face."""
        if self._only == TIMES:
            yield next(finder.find())
            return
        session = self.session
        yield from finder.find()
        yield from common_speeds(session.profile, self._found)
        session.try_out(self._found)
        yield from fit_to_board(session, self._found)
        session.try_out(self._found)
        yield from check_motors(session)
        session.try_out(self._found)

    def _proof(self, number: int) -> Finding:
        proof = self.session.perform(PROVING, solved=bool(self._proofs))
        if not proof.solved:
            raise CalibrationError(
                f"with the new values the robot did not solve cube {number}: it read "
                f"{proof.facelets} and turned {proof.moves}"
            )
        self._proofs.append(proof)
        planned_s, executed_s = proof.planned_us / 1e6, proof.executed_us / 1e6
        return Finding(
            "proof",
            f"cube {number} read and solved in {executed_s:.1f} s of turning",
            evidence={
                "planned_s": round(planned_s, 2),
                "executed_s": round(executed_s, 2),
                "operations": proof.operations,
            },
        )

    def _shorten_times(self, filmed: Collection[str]) -> Finding:
        """Shorten times step by step, while cubes are solved even with times a margin below these.

        If one is not solved, return to the previous step and prove that again.
        """
        base = self.session.calibrated
        good = [0.0]
        for number in range(1, math.ceil(self._faster / STEP - 1e-9) + 1):
            part = min(number * STEP, self._faster)
            reserve = 1 - (1 - part) / MARGIN
            self.session.try_out(self._found | shorten_times(base, filmed, reserve))
            if not self._is_faultless():
                self.session.try_out(self._found | shorten_times(base, filmed, good[-1]))
                if not self._is_faultless():
                    raise CalibrationError(
                        "the robot lost the cube while it tried shorter times: put the cube in "
                        "again, and omit --faster or lower it"
                    )
                break
            good.append(part)
        percent = 100 * good[-1]
        values = shorten_times(base, filmed, good[-1]) if percent else {}
        self.session.try_out(self._found | values)
        text = f"times that no camera sees are {percent:.0f} % shorter, and cubes are still solved"
        return Finding("faster", text, values, evidence={"percent": round(percent, 1)})

    def _is_faultless(self) -> bool:
        """Return whether the robot solves cubes with the values tried out. If so, note the
        proofs."""
        proofs: list[Proof] = []
        while not is_proven(proofs):
            try:
                proofs.append(self.session.perform(PROVING, solved=bool(proofs)))
            except (RobotError, ScanError, RequestError) as error:
                if error.code in NOT_FOR_TIMES:
                    raise
                return False
            if not proofs[-1].solved:
                return False
        self._proofs = proofs
        return True

    def _travel(self, finder: Finder) -> Iterator[Finding]:
        """Find times between positions of servos that the camera sees move. Say why others stay."""
        for name, servo in self.session.profile.actuators_of(Servo).items():
            key = f"actuators.{name}.travel"
            if name not in finder.seen_moving:
                kept = "as in the profile, because the camera does not see it move"
                yield Finding("times", f"{name}: its times are {kept}", uncertain={key: kept})
                continue
            yield from self._film_travels(finder.seen_moving[name], servo.travel)
        for names in finder.turning_together:
            yield self._equal_times({name: finder.seen_moving[name] for name in names})

    def _equal_times(self, servos: Mapping[str, FilmedServo]) -> Finding:
        """Give servos that turn the cube together the times of the slowest, because one that
        arrives first would turn its layer alone.

        The pulses of one servo begin up to a frame after those of the other, and it lags by as
        much. Its turn within a frame twists the cube between them, which limits their speed.
        """
        ways = [
            (name, row, abs(round(seen.turn_degrees(row.between))))
            for name, seen in servos.items()
            for row in self._servo_with_times(name).travel
        ]
        values: JsonObject = {f"actuators.{name}.travel": [] for name in servos}
        for name, row, degrees in ways:
            alike = [other for _, other, far in ways if far == degrees]
            least_ms = round(degrees / APART_DEGREES * FRAME_US / 1000, 1)
            document = row.model_dump(mode="json")
            document["ms"] = max(least_ms, *(one.ms for one in alike))
            if row.held_ms is not None:
                document["held_ms"] = max(least_ms, *(one.held_ms or one.ms for one in alike))
            values[f"actuators.{name}.travel"].append(document)
        text = (
            f"{' and '.join(servos)} turn the cube together, at the speed of the slower one and at "
            f"most {APART_DEGREES:g} degrees per pulse"
        )
        return Finding("times", text, values)

    def _film_travels(self, seen: FilmedServo, rows: Sequence[TravelRow]) -> Iterator[Finding]:
        """Film the motions of a servo. One that no film shows well enough gets its time from the
        lowest speed of the others, if any."""
        name, slowest_ms = seen.rotation.name, 0.0
        left: list[tuple[TravelRow, str, str]] = []
        for row in rows:
            measured, shown, rate = self._film_way(seen, row.between)
            if measured is None:
                left.append((row, f"{rate:.0f} pictures/s are too few", too_few(shown, rate)))
                continue
            slowest_ms = max(slowest_ms, measured[0] / abs(seen.turn_degrees(row.between)))
            yield self._time_finding(seen, row, measured, "", shown)
        for row, said, why in left:
            took_ms = slowest_ms * abs(seen.turn_degrees(row.between))
            if took_ms:
                measured = took_ms, took_ms * AGREEING
                yield self._time_finding(
                    seen, row, measured, " at the speed of its other motions", 0
                )
            else:
                text = f"{name}, {row.between[0]} to {row.between[1]}: unchanged; {said}"
                yield Finding("times", text, uncertain={f"actuators.{name}.travel": why})

    def _film_way(
        self, seen: FilmedServo, way: tuple[str, str]
    ) -> tuple[tuple[float, float] | None, int, float]:
        """Film a motion until two films agree.

        Return its time and that time's uncertainty in ms, or None if no films agree; the number of
        pictures that show it; and the camera's pictures per second.
        """
        degrees = seen.turn_degrees(way)
        travels: list[FilmedTravel] = []
        rate = 0.0
        for _ in range(FILMS):
            film = self.session.perform(
                FILMING, actuator=seen.rotation.name, between=list(way), aside=dict(seen.aside)
            )
            travel = find_travel(seen.rotation.read_film(film, degrees), degrees)
            travels += [] if travel is None else [travel]
            rate = rate_of([picture.time_us for picture in film.pictures])
            measured = travel_us(travels)
            if measured is not None:
                took_ms, within_ms = (part / 1e3 for part in measured)
                return (took_ms, within_ms), sum(len(one.times) for one in travels), rate
        return None, max((len(one.times) for one in travels), default=0), rate

    def _time_finding(
        self,
        seen: FilmedServo,
        row: TravelRow,
        measured: tuple[float, float],
        how: str,
        pictures: int,
    ) -> Finding:
        """Return the time of a motion, with its margin, as a finding.

        ``measured``: time and uncertainty in ms. ``how`` says if it was not filmed.
        """
        name, way, (took_ms, within_ms) = seen.rotation.name, row.between, measured
        kept_ms = took_ms * MARGIN + within_ms
        return Finding(
            "times",
            f"{name}, {way[0]} to {way[1]}: {took_ms:.0f} ms{how}",
            travel_values(name, self._servo_with_times(name), way, kept_ms),
            {f"actuators.{name}.travel": round(within_ms, 1)},
            {"took_ms": round(took_ms, 1), "pictures_of_it": pictures},
            _say_slower(name, row, kept_ms),
        )

    def _servo_with_times(self, name: str) -> Servo:
        """Return the servo with the times found so far. Other times are those of the profile or, if
        only one stage is measured, those of the calibration."""
        kept = self.session.profile if self._only is None else self.session.calibrated
        servo = kept.actuators_of(Servo)[name]
        found = self._found.get(f"actuators.{name}.travel")
        return (
            servo
            if found is None
            else servo.model_validate(servo.model_dump(mode="json") | {"travel": found})
        )


def is_proven(proofs: Sequence[Proof]) -> bool:
    """Return whether enough cubes were solved without a fault."""
    if len(proofs) < FEWEST_PROOFS:
        return False
    operations = sum(proof.operations for proof in proofs)
    return len(proofs) >= MOST_PROOFS or fault_chance(operations, COMING) <= MOST_CHANCE


def _say_slower(name: str, row: TravelRow, kept_ms: float) -> str:
    """Return text on how much slower a servo is than in the profile and what to do, or ""."""
    if kept_ms <= row.ms * (1 + AS_FAST):
        return ""
    way = f"from {row.between[0]} to {row.between[1]}"
    return (
        f"{name} needs {kept_ms:.0f} ms {way}, {row.ms:.0f} in the profile: check that its supply "
        "voltage holds while it turns, raise the voltage if the servo is rated for more, or use a "
        "faster servo"
    )


def _why_not(profile: RobotProfile) -> str:
    """Return text on why no finder supports this robot, and what to do instead."""
    sensed = [name for name, one in profile.actuators_of(Stepper).items() if one.homing is not None]
    if obstacle := obstacle_for(profile):
        why = f"cannot find its positions itself, because {obstacle}"
    elif sensed:
        names = ", ".join(sensed)
        why = f"homes {names} by sensors rather than by watching the cube"
    else:
        why = "is of a kind that cannot find its positions itself yet"
    return f"{profile.name} {why}. Use `cubist calibrate all`, see docs/calibration.md"


def shorten_times(profile: RobotProfile, filmed: Collection[str], part: float) -> JsonObject:
    """Return the times of the profile's servos, shortened by a fraction, as calibrated values.

    A profile's times are those of its author's servos. The only way to learn how long a lid takes
    is to see that everything still works with less time. So the times are shortened in steps, and
    after each step cubes are scrambled and solved. For ``filmed`` servos, only the additional time
    for the cube's friction and the settling times get shorter.
    """
    values: JsonObject = {}
    left = 1 - part
    for name, servo in profile.actuators_of(Servo).items():
        key = f"actuators.{name}"
        rows = [row.model_dump(mode="json") for row in servo.travel]
        for row in rows:
            if name not in filmed:
                row["ms"] = round(row["ms"] * left, 1)
            if row["held_ms"] is not None:
                row["held_ms"] = max(row["ms"], round(row["held_ms"] * left, 1))
        values[f"{key}.travel"] = rows
        values[f"{key}.settle_ms"] = {
            position: round(ms * left, 1) for position, ms in servo.settle_ms.items()
        }
        values[f"{key}.held_settle_ms"] = round(servo.held_settle_ms * left, 1)
    return values


STEPS["auto"] = Step(
    name="auto",
    title="Automatic: positions, times and colours, found by watching the cube",
    trials=[FILMING, BOARD_RATE, PROVING, RENEWING],
    begin=AutomaticCalibration,
    on_request=True,
    keeps=lambda _, source: source.how == "auto",
    is_needed=lambda profile: finder_for(profile) is not None,
)
