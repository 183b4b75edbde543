"""The hold of an arm or jaws on the cube, measured by how far the cube follows a turning part.

A free cube follows a swing completely. Beyond the pulse that touches it, it follows a smaller part,
and beyond a further pulse only its play. The distance between the two pulses is the softness: small
for hard plastic, large for foam, a belt that stretches, or a stiff cube::

    followed  1 |-------.
                |        '.
                |          '.________
              0 +-------|---|---|----> pulse
                    begins firm  place

A hold that resists a swing of a few degrees may not resist a quarter turn: midway the layer needs
more force, and so do magnets that pull it back. The margin therefore equals the softness, which
doubles the force. The caller proves the result by quarter turns, and closes further if they fail.

Servos that hunt and horns with play add errors to each measurement. So the two corners are fitted
to all of them: each pair of corners is weighted by how well its curve fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot.calibration.auto.stepwise_move import FINE_US
from robot.text.faults import CalibrationError

FOLLOWS = 0.9
"""Fraction of a swing above which the cube counts as following, despite noise in still pictures."""
SAME_PART = 0.06
"""Maximum difference of equal fractions, within the measurement error."""
LAGS = 0.7
"""Fraction below which the cube is held, if not firmly: play is less than a third of the swing."""
STEP_US = 10
"""Step of the pulse between the first contact and the firm hold."""
BEFORE_US = 60
"""Extra range of pulses of the fit, which uses as much before the half held cube as after it, plus
this. Further back, jaws may hide another part of the face."""
MOST_LOOKS = 24
"""Maximum number of extra measurements at the corners, until they are known to a fine step."""
LEAST_ERROR = 0.02
"""Minimum standard deviation of a measured fraction, reached when nothing trembles."""
MOST_FURTHER = 1 / 8
"""Maximum extra margin for scattered measurements, as a fraction of the softness."""
LEAST_MARGIN = 0.5
"""Minimum margin, as a fraction of the softness, if a limit allows no more."""
MARGIN_ERROR = 0.3
"""Maximum error of the margin, as a fraction of the softness: a stiff cube without magnets needs
less than twice the force of a swing, a smooth one with strong magnets more."""


@dataclass(frozen=True)
class HoldCurve:
    """The pulses at which something begins to hold the cube, and holds it firmly.

    ``follows``: fraction of a swing above which the cube has followed. It varies, because jaws that
    hide a part of the face affect its measured angle. ``error_us``: maximum error of the holding
    position, by the scatter of the measurements.
    """

    begins: float
    firm: float
    follows: float = FOLLOWS
    error_us: float = 0.0

    @property
    def softness_us(self) -> float:
        """The distance between the two pulses, without its sign."""
        return abs(self.firm - self.begins)

    @property
    def step_us(self) -> float:
        """Return the step by which to close further if a position does not hold."""
        return self.softness_us / 4 + FINE_US

    def place(self, towards: int, limits: tuple[int, int]) -> float:
        """Return the pulse that holds with twice the force that a small swing takes.

        If it is beyond the limits, return the limit, as long as that still leaves half the margin.

        A hold that seems firm after one fine step may be two of them soft. A position a little too
        far costs little, but one not far enough lets the cube slip. So it includes a standard
        deviation of the measurements, at least a step. For a soft hold that is mostly the roundness
        of its curve, which already makes it seem softer, so there is a limit. The curve already
        includes half the slack of a servo, because it was measured from the same side.
        """
        softness_us = max(2 * FINE_US, self.softness_us)
        unsure_us = max(FINE_US, min(self.error_us / 2, MOST_FURTHER * softness_us))
        wanted = self.firm + towards * (softness_us + FINE_US + unsure_us)
        limit = max(limits[0], min(limits[1], wanted))
        return limit if (limit - self.firm) * towards >= LEAST_MARGIN * softness_us else wanted

    def unsure_us(self, slack_us: float) -> float:
        """Return the microseconds by which :meth:`place` may be off."""
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

    ``followed``: returns the fraction of a swing that the cube follows at a pulse. ``lags``:
    fraction below which it may be held, including its play. Raise ``CalibrationError`` if nothing
    holds it up to ``farthest``.
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
        """Return the pulse one step closer, at most ``farthest``."""
        on = pulse + towards * step_us
        return farthest if (farthest - on) * towards < 0 else on

    free = start
    # Limits may cut the last step short. A cube that trembles may lag once by chance.
    while (pulse := nearer(free, coarse_us)) != free and (
        look(pulse) > FOLLOWS or look(pulse) > FOLLOWS
    ):
        free = pulse
    at = free
    recent = [1.0]
    while not (len(recent) > 2 and recent[-1] < lags and recent[-3] - recent[-1] < SAME_PART):
        if at == farthest and recent[-1] < lags:
            break  # as firm as it gets; the margin then exceeds the limit, which the caller reports
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
    """Fit the curve to pulses and the fractions followed there, as (pulse, part) in any order.

    Each pair of corners is weighted by its likelihood, from the sum of its squared residuals.
    ``error_us`` is twice the standard deviation of the holding position.
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
