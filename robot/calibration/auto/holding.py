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
which is the margin. Whoever finds a place shows by quarter turns that it is enough, and goes on a
little where it is not.

Servos that hunt and horns with play make each part a little wrong. So all of them together say
where the two corners are: each pair of corners counts by how well its curve fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

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
BEFORE_US = 60
"""Way before the half held cube, beyond as much as after it, whose looks say how a free one
follows: further back jaws may hide another part of the face."""
MOST_LOOKS = 24
"""Additional looks at the corners of the curve, until they are known as exactly as a servo is."""
LEAST_ERROR = 0.02
"""Standard deviation of a part of a swing where everything is still."""
MOST_FURTHER = 1 / 8
"""Part of the softness by which a place lies further in at most because the looks scatter."""
MARGIN_ERROR = 0.3
"""Largest error of the margin, as a part of the softness: a stiff cube without magnets needs less
than twice the force of a swing, a smooth one with strong magnets more."""


@dataclass(frozen=True)
class HoldCurve:
    """Pulses at which something begins to hold the cube, and from which it is firm.

    ``follows``: the part of a swing above which the cube has followed. It is not always the same:
    jaws that hide a part of the face change what a look makes of its angle. ``error_us``: how far
    off, at most, the looks leave the place that holds.
    """

    begins: float
    firm: float
    follows: float = FOLLOWS
    error_us: float = 0.0

    @property
    def softness_us(self) -> float:
        """The way between the two, without its sign."""
        return abs(self.firm - self.begins)

    @property
    def step_us(self) -> float:
        """Return how much further to go where a place turns out not to hold."""
        return self.softness_us / 4 + FINE_US

    def place(self, towards: int) -> float:
        """Return the pulse that holds with twice the force that a small swing takes.

        What holds from one step on may be two of them soft. A place a little too far costs little,
        one that is not far enough lets the cube slip: it lies a standard deviation of the looks
        further in, a step at least. Of a soft hold that is mostly the roundness of its curve, which
        already makes it seem softer, so there is a limit. That a servo stops half its slack before
        a pulse is in the curve already: it was looked at from the same side.
        """
        softness_us = max(2 * FINE_US, self.softness_us)
        unsure_us = max(FINE_US, min(self.error_us / 2, MOST_FURTHER * softness_us))
        return self.firm + towards * (softness_us + FINE_US + unsure_us)

    def unsure_us(self, slack_us: float) -> float:
        """Return by how much that place may be off."""
        return FINE_US + slack_us / 2 + MARGIN_ERROR * self.softness_us + self.error_us


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
    seen = [(start, 1.0)]

    def look(pulse: float) -> float:
        if (farthest - pulse) * towards < 0:
            raise CalibrationError(
                f"{name} does not hold the cube even at {farthest:.0f} us: does it reach the cube?"
            )
        seen.append((pulse, followed(pulse)))
        return seen[-1][1]

    def nearer(pulse: float, step_us: float) -> float:
        """Return a step on from a pulse, or the rest of the way."""
        on = pulse + towards * step_us
        return farthest if (farthest - on) * towards < 0 else on

    free = start
    # Limits may end the way in the middle of a step. What trembles may lag behind once.
    while (pulse := nearer(free, coarse_us)) != free and (
        look(pulse) > FOLLOWS or look(pulse) > FOLLOWS
    ):
        free = pulse
    at = free
    recent = [1.0]
    while not (len(recent) > 2 and recent[-1] < lags and recent[-3] - recent[-1] < SAME_PART):
        if at == farthest and recent[-1] < lags:
            break  # as firm as it gets; whoever goes on by the margin finds the limit
        at = at + towards * STEP_US if at == farthest else nearer(at, STEP_US)
        recent.append(look(at))
    for _ in range(MOST_LOOKS // 2):
        curve = fit_curve(seen, towards)
        if curve.error_us <= FINE_US:
            break
        for corner in (curve.begins, curve.firm):
            look(min(round(corner) * towards, farthest * towards) * towards)
    return fit_curve(seen, towards)


def fit_curve(seen: Sequence[tuple[float, float]], towards: int) -> HoldCurve:
    """Return the curve through what the cube followed at pulses, as (pulse, part) in any order.

    Each pair of corners has the weight of its likelihood, by the squares of what it leaves of the
    parts. The place that holds is within twice the standard deviation.
    """
    pulses, parts = np.array(sorted((pulse * towards, part) for pulse, part in seen)).T
    half = (parts.max() + parts[-1]) / 2
    middle = pulses[np.flatnonzero(parts > half)[-1]]
    near = pulses >= 2 * middle - pulses[-1] - BEFORE_US
    pulses, parts = pulses[near], parts[near]
    corners = np.arange(pulses[0], pulses[-1] + FINE_US, FINE_US)
    first, last = (corners[each] for each in np.triu_indices(len(corners)))
    ramp = (pulses - first[:, None]) / np.maximum(last - first, FINE_US / 100)[:, None]
    ramp = np.clip(ramp, 0, 1)
    centred, rest = ramp - ramp.mean(axis=1, keepdims=True), parts - parts.mean()
    falls = np.minimum(0, centred @ rest) / np.maximum((centred**2).sum(axis=1), 1e-9)
    left = ((rest - falls[:, None] * centred) ** 2).sum(axis=1)
    error = max(LEAST_ERROR, (left.min() / max(1, len(parts) - 4)) ** 0.5)
    weights = np.exp((left.min() - left) / (2 * error**2))
    weights /= weights.sum()
    begins, firm = (float(weights @ corner) for corner in (first, last))
    free = min(1.0, float(weights @ (parts.mean() - falls * ramp.mean(axis=1))))
    place = 2 * last - first
    spread = float(weights @ (place - weights @ place) ** 2) ** 0.5
    return HoldCurve(begins * towards, firm * towards, free - (1 - FOLLOWS), 2 * spread)
