"""First contact with a robot: nothing is driven further than somebody has seen it go.

A position counts as confirmed when the calibration has it: a person kept it. Between confirmed
positions an actuator moves freely. Beyond them it goes in small steps, each of which somebody asked
for and watched; what was reached that way is remembered as long as the daemon runs.

A hobby servo does not say where it stands: its first pulse turns it there at full speed, from
wherever it is. For one without a confirmed position somebody has to say which pulse that may be.
"""

from __future__ import annotations

from robot.documents import JsonMapping
from robot.faults import Refused
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings

LARGEST_STEP_US = 50
"""Of a servo beyond what is confirmed: four or five degrees."""

PARTS_OF_TRAVEL = 32
"""A stepper that goes to and fro makes steps of this part of its way."""

Range = tuple[int, int]


class Confirmations:
    """How far actuators may go; ``values`` are those of the calibration."""

    def __init__(self) -> None:
        self._walked: dict[str, Range] = {}

    def range(self, name: str, actuator: ActuatorSettings, values: JsonMapping) -> Range | None:
        """Lowest and highest place that is confirmed, in microseconds of pulse or in steps."""
        keys = (f"actuators.{name}.{actuator.positions_key}.{one}" for one in actuator.places)
        kept = [values[key] for key in keys if key in values]
        places = [*kept, *self._walked.get(name, ())]
        return (min(places), max(places)) if places else None

    def note(self, name: str, place: int) -> None:
        """It has gone there, and somebody watched."""
        low, high = self._walked.get(name, (place, place))
        self._walked[name] = (min(low, place), max(high, place))

    def require_step(
        self, name: str, actuator: ActuatorSettings, within: Range, target: int
    ) -> None:
        """Raise :class:`Refused` for a target too far beyond what is confirmed."""
        low, high = within
        step = largest_step(actuator)
        if step is None or low - step <= target <= high + step:
            return
        unit = actuator.unit
        edge = low - step if target < low else high + step
        raise Refused(
            f"{name}: {target} {unit} is too far beyond {low}..{high} {unit}, which is what was "
            f"confirmed. Go {step} {unit} at a time and watch: {edge} next."
        )


def largest_step(actuator: ActuatorSettings) -> int | None:
    """How far it may go at a time beyond what is confirmed; None: it turns round."""
    if actuator.limits is not None:
        return LARGEST_STEP_US
    places = actuator.places.values()
    return max(1, (max(places) - min(places)) // PARTS_OF_TRAVEL) if places else None


def require_begin(name: str, limits: Range, begin_at: int | None) -> int:
    """The first pulse of a servo without a confirmed position, as somebody has said; raises
    :class:`Refused` where nobody has, or beyond its limits."""
    low, high = limits
    if begin_at is not None and low <= begin_at <= high:
        return begin_at
    raise Refused(
        f"servo {name} has no confirmed position, and its first pulse turns it there at full speed "
        "from wherever it stands. Take its arm off, or see that nothing is in its way, then say "
        f"which pulse is to be the first: --from {(low + high) // 2} is the middle of its limits."
    )


def direction_key(name: str) -> str:
    """The calibration's key of a stepper's direction; it is confirmed when it is there."""
    return f"actuators.{name}.invert_direction"


def require_direction(name: str, values: JsonMapping) -> None:
    """Raise :class:`Refused` for a stepper that may turn the wrong way."""
    if direction_key(name) not in values:
        raise Refused(
            f"nobody has confirmed which way {name} turns: `cubist calibrate stepper direction "
            f"{name}` first"
        )


def require_confirmed(profile: RobotProfile, values: JsonMapping) -> None:
    """Raise :class:`Refused` unless all that homing goes by is confirmed."""
    for name, actuator in profile.actuators.items():
        if actuator.limits is None:
            require_direction(name, values)
        for position in actuator.places:
            if f"actuators.{name}.{actuator.positions_key}.{position}" not in values:
                raise Refused(
                    f"position {position} of {name} is not confirmed: set the positions first "
                    f"(`cubist calibrate`), which moves it there in small steps. "
                    "`cubist calibrate home --as-profile` trusts the profile and goes at full speed"
                )
