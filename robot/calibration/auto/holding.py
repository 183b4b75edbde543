"""The hold of an arm or jaws on the cube, by how far it follows what turns below or beside it.

While nothing holds the cube it follows all of a swing. From the pulse on at which it is touched it
follows a smaller part, and from some pulse on no more than its play allows. Between the two lies
the softness: little for hard plastic, much for foam, a belt that stretches, or a stiff cube::

    followed  1 |-------.
                |        '.
                |          '.________
              0 +-------|---|---|----> pulse
                    begins firm  place

What holds a swing of a few degrees need not hold a quarter turn: midway the layer needs more force,
and so do magnets that pull it back. Twice the force is as much further in as it took to get firm,
which is the margin. Whoever finds a place shows by quarter turns that a little less is enough,
and goes on by that much where it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from robot.calibration.auto.stepwise_move import FINE_US
from robot.text.faults import CalibrationError

FOLLOWS = 0.9
"""The part of a swing from which the cube has followed, whatever moves in a picture at rest."""
SAME_PART = 0.06
"""Difference between parts of a swing that are the same, within what a look is off."""
LAGS = 0.7
"""The part below which the cube is held, if not firmly: play of less than a third of the swing."""
STEP_US = 10
"""Step of the pulse between where something begins to hold and where it is firm."""


@dataclass(frozen=True)
class HoldCurve:
    """Pulses at which something begins to hold the cube, and from which it is firm.

    ``follows``: the part of a swing above which the cube has followed. It is not always the same:
    jaws that hide a part of the face change what a look makes of its angle.
    """

    begins: float
    firm: float
    follows: float = FOLLOWS

    @property
    def softness_us(self) -> float:
        """The way between the two, without its sign."""
        return abs(self.firm - self.begins)

    @property
    def reserve_us(self) -> float:
        """Return by how much less a place is proven to be enough."""
        return self.softness_us / 4 + FINE_US

    def place(self, towards: int, slack_us: float) -> float:
        """Return the pulse that holds with twice the force that a small swing takes.

        A servo may stop half its slack before it, and the edges are that exact.
        """
        return 2 * self.firm - self.begins + towards * (FINE_US + slack_us / 2)


def find_hold(
    name: str,
    followed: Callable[[float], float],
    start: float,
    farthest: float,
    coarse_us: float = STEP_US,
    lags: float = LAGS,
) -> HoldCurve:
    """Close from ``start``, where the cube is free, towards ``farthest`` until it is held firmly.

    ``followed``: the part of a swing that the cube follows at a pulse; ``lags``: from which part
    down it may be held, with its play. Raises ``CalibrationError`` if nothing holds it by
    ``farthest``.
    """
    towards = 1 if farthest > start else -1
    parts = {start: 1.0}

    def look(pulse: float) -> float:
        if (farthest - pulse) * towards < 0:
            raise CalibrationError(
                f"{name} does not hold the cube even at {farthest:.0f} us: does it reach the cube?"
            )
        parts[pulse] = followed(pulse)
        return parts[pulse]

    def nearer(pulse: float, step_us: float) -> float:
        """Return a step on from a pulse, or the rest of the way."""
        on = pulse + towards * step_us
        return farthest if (farthest - on) * towards < 0 else on

    free = start
    # Limits may end the way in the middle of a step.
    while (pulse := nearer(free, coarse_us)) != free and look(pulse) > FOLLOWS:
        free = pulse
    at = free
    recent = [1.0]
    while not (len(recent) > 2 and recent[-1] < lags and recent[-3] - recent[-1] < SAME_PART):
        if at == farthest and recent[-1] < lags:
            break  # as firm as it gets; whoever goes on by the margin finds the limit
        at = at + towards * STEP_US if at == farthest else nearer(at, STEP_US)
        recent.append(parts[at] if at in parts else look(at))
    held = min(recent[-3:])
    # Before something holds it the cube follows as much at one pulse as at the next.
    levels = [parts[pulse] for pulse in sorted(parts, key=lambda pulse: -pulse * towards)]
    free_level = next(
        (one for one, freer in pairwise(levels) if one > lags and freer - one < SAME_PART), 1.0
    )
    follows = min(free_level, parts[start]) - (1 - FOLLOWS)

    def find_edge(is_before: Callable[[float], bool]) -> float:
        """Return the pulse up to which something is so, by halving."""
        ordered = sorted(parts, key=lambda pulse: pulse * towards)
        after = next(pulse for pulse in ordered if not is_before(parts[pulse]))
        before = max(
            (one for one in ordered if (after - one) * towards > 0), key=lambda one: one * towards
        )
        while abs(after - before) > FINE_US:
            middle = (after + before) / 2
            before, after = (middle, after) if is_before(look(middle)) else (before, middle)
        return (after + before) / 2

    return HoldCurve(
        begins=find_edge(lambda part: part > follows),
        firm=find_edge(lambda part: part > held + SAME_PART),
        follows=follows,
    )
