"""How fast a stepper may be: tried faster and faster until it loses steps, kept with a margin."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from robot.calibration.plausible import FASTER
from robot.calibration.step import (
    Command,
    Doubt,
    Measurement,
    NotPossible,
    Question,
    Row,
    Script,
    Session,
)
from robot.calibration.stepper_trials import SPEEDING, SpeedTried
from robot.calibration.trial import stepper_of
from robot.motion.stepper import stepper_limits
from robot.settings import RobotProfile
from solver.files import JsonObject

FIELDS = {"speed": "speed_steps_per_s", "acceleration": "acceleration_steps_per_s2"}
"""What is raised -> its name in requests; with ``max_`` in front in profiles."""

UNITS = {"speed": "steps/s", "acceleration": "steps/s^2"}

BEGIN, END, FACTOR = 0.5, FASTER, 1.15
"""From which part of the present value to how many times it, and by how much each time."""

SAFE = 0.8
"""Part of the last good value that is kept."""

REACHED = 0.98
"""Part of the speed tried that has to be reached for the trial to count."""


@dataclass
class Ramp:
    """One motor's speed or acceleration, raised until steps are lost.

    ``wanted`` is what to try next, None when there is nothing more to try; ``ended`` says why.
    ``limited``: whether something was found at which steps are lost. Raises :class:`NotPossible`
    where the first to try is above the last.
    """

    profile: RobotProfile
    motor: str
    what: str
    held: bool = False
    begin: float | None = None
    end: float | None = None
    good: float | None = None
    limited: bool = False
    ended: str = ""
    wanted: float | None = field(init=False)

    def __post_init__(self) -> None:
        present = self.present
        self.end = self.end or END * present
        self.wanted = self.begin or BEGIN * present
        if self.wanted > self.end:
            raise NotPossible(
                f"{self.motor} {self.what}: the first to try, {self.wanted:.0f} (--from), is above "
                f"the last, {self.end:.0f} (--up-to)"
            )

    @property
    def present(self) -> float:
        """The value that counts now."""
        limits = stepper_limits(stepper_of(self.profile, self.motor), self.held)
        return limits.max_speed if self.what == "speed" else limits.acceleration

    def body(self) -> JsonObject:
        """What to ask of the daemon."""
        assert self.wanted is not None
        return {"actuator": self.motor, "held": self.held, FIELDS[self.what]: round(self.wanted)}

    def note(self, tried: SpeedTried, lost: bool) -> None:
        """Go on from what was tried."""
        assert self.wanted is not None and self.end is not None
        value, self.wanted = round(self.wanted), None
        if lost:
            self.limited, self.ended = True, f"steps were lost at {value}"
            return
        self.good = value
        if self.what == "speed" and tried.reached_steps_per_s < REACHED * tried.speed_steps_per_s:
            self.ended = "its way is too short to be any faster"
        elif value * FACTOR > self.end:
            self.ended = "no steps were lost at all"
        else:
            self.wanted = value * FACTOR

    @property
    def safe(self) -> int | None:
        """Return the value to keep; None if nothing was good. Trials in which nothing was lost are
        no reason to make it slower."""
        if self.good is None:
            return None
        safe = round(SAFE * self.good)
        return safe if self.limited else max(safe, round(self.present))

    def values(self) -> JsonObject:
        """The safe value, as calibrated values."""
        if self.safe is None:
            return {}
        name = f"max_{FIELDS[self.what]}"
        if not self.held:
            return {f"actuators.{self.motor}.{name}": self.safe}
        limits = stepper_limits(stepper_of(self.profile, self.motor), held=True)
        document = {
            "max_speed_steps_per_s": limits.max_speed,
            "max_acceleration_steps_per_s2": limits.acceleration,
        }
        return {f"actuators.{self.motor}.held": document | {name: self.safe}}


class Limit(Measurement):
    """How fast a motor may be, or gain speed.

    ``last_good``: as somebody has found before. ``begin`` and ``end``: the first and last to try.
    """

    guidance = (
        "With Measure the motor goes half as fast as it may now, comes back gently, and again "
        "faster and faster until it loses steps. Where neither a sensor nor the camera sees that "
        "you are asked. Keep keeps four fifths of the last good value; Back ends it."
    )
    doubts = True

    def __init__(
        self,
        session: Session,
        actuator: str,
        what: str,
        held: bool = False,
        last_good: float | None = None,
        **limits: float | None,
    ) -> None:
        super().__init__(session)
        self.motor = actuator
        changed = what + (" under load" if held else "")
        self.name = f"{actuator} {changed}"
        self.columns = (changed, "result", "by")
        self._last_good = last_good
        begin, end = limits.get("begin"), limits.get("end")
        self._ramp = partial(Ramp, session.calibrated, actuator, what, held, begin, end)

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        ramp, to_do = self._ramp(), ""
        if self._last_good is not None:
            ramp.good, ramp.wanted, ramp.ended = self._last_good, None, "as you say"
            ramp.limited = True
        while ramp.wanted is not None:
            tried = self.session.perform(SPEEDING, **ramp.body())
            value: float = getattr(tried, FIELDS[ramp.what])
            lost, judge = tried.lost, tried.seen_by
            if lost is None:
                is_good = yield Doubt(f"Is {self.motor} exactly where it was, after {value:.0f}?")
                if is_good is None:
                    raise NotPossible(
                        f"neither a sensor nor the camera sees {self.motor}: try it with --from "
                        "and --up-to at one value, then say --last-good"
                    )
                lost, judge = not is_good, "you"
            if lost and (judge == "you" or not tried.square):
                to_do = f"; set {self.motor} and the cube square by hand now"
            document: JsonObject = {"tried": value, "lost": lost}
            document |= {"seen_by": tried.seen_by, "square": tried.square}
            yield Row((f"{value:.0f}", "lost steps" if lost else "good", judge or ""), document)
            ramp.note(tried, lost)
        self._conclude(ramp, to_do)

    def _conclude(self, ramp: Ramp, to_do: str) -> None:
        self.values = ramp.values()
        self.is_found = ramp.safe is not None
        self.document = {"actuator": self.motor, "held": ramp.held, "before": ramp.present}
        self.document |= {"last_good": ramp.good, "after": ramp.safe, "why": ramp.ended}
        self.text = f"{ramp.ended}{to_do}: nothing was good, begin lower (--from)"
        if ramp.safe is not None:
            change = f"{ramp.present:.0f} -> {ramp.safe} {UNITS[ramp.what]}"
            self.text = f"{ramp.ended}{to_do}; {self.motor}: {change}"


def limit_command(what: str) -> Command:
    """The command that finds how high a motor's ``what`` may be."""
    unit, limits = UNITS[what], (50, 10_000_000)
    return Command(
        what,
        f"Raise ACTUATOR's {what} until it loses steps; keep four fifths of the last that was good."
        "\n\nIts sensor tells, or the camera; else you are asked. After a loss that nothing can put"
        " right, set it square by hand.",
        [
            Question("actuator", str),
            Question("held", bool, "--held", "With a layer of the held cube as its load."),
            Question("begin", float, "--from", f"First, in {unit}.", limits),
            Question("end", float, "--up-to", f"Last, in {unit}.", limits),
            Question("last_good", float, "--last-good", "What you found: try nothing.", limits),
        ],
        partial(Limit, what=what),
    )
