"""What the six colours look like on this cube, and how light falls on each face.

A sticker's features are ``mean[colour] + light + noise``. ``light`` is, per face, a gain for each
channel (exposure and white balance may drift between looks) and a gradient across the face (lamps
stand to one side); the noise is Gaussian per colour, with wide tails and a small share of outliers
(glare, dirt, logos). Gains, gradients and covariances have priors, so a few stickers cannot bend
the model far. Means, covariances and light are estimated together from responsibilities (the M step
of expectation-maximisation; the E step is in ``vision.assign_soft``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vision.colours import LightFeatures

Floats = NDArray[np.float64]

_EXPOSURE_SD = 0.30
"""Expected difference of exposure between faces, in log light."""
_TINT_SD = 0.05
"""Expected difference of white balance between faces, per channel."""
_GRADIENT_SD = 0.15
"""Expected change of light from the middle of a face to its border."""
_STICKER_SD = 0.08
"""Expected noise of a well lit sticker's channel."""
_DARK_SD = 0.18
"""Additional noise of a channel near the floor."""
_SHADE_SD = 0.12
"""Brightness that differs from sticker to sticker, not explained by the gradient."""
_PRIOR_STICKERS = 8.0
"""How many stickers the expected covariance counts as."""
_WIDE_SHARE = 0.03
_WIDER = 5.0
"""Share of stickers that glare, shade or dirt has moved, and how much wider those scatter."""
_GLARE_SHARE = 0.02
_GLARE = 0.3
"""Share of stickers with a reflection on them, and how bright it may be against white."""
_STRANGE_SHARE = 0.003
_STRANGE_DENSITY = -9.0
"""Share of stickers that show something else altogether, and its log density."""
_STRICT_LIMIT = -12.0
"""Log density below which a sticker is no evidence for any colour, strictly taken."""
_LOG_2PI = float(np.log(2 * np.pi))
_TERMS = 5
"""Parameters of light per face: three gains, two gradients."""


@dataclass(frozen=True, eq=False)
class CubeModel:
    """``mean`` float[6, 3], ``covariance`` float[6, 3, 3], ``light`` float[6, 5] per face."""

    mean: Floats
    covariance: Floats
    light: Floats

    def relabelled(self, order: NDArray[np.intp]) -> CubeModel:
        """The same model with colour ``order[i]`` as number ``i``."""
        return CubeModel(self.mean[order], self.covariance[order], self.light)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Cost of each colour on each sticker and how much of it is not an outlier, float[n, 6]."""

    cost: Floats
    inlier: Floats


@cache
def _places(size: int) -> Floats:
    """Places of a face's stickers, -1..1 across and down, float[size * size, 2]."""
    steps = (2 * np.arange(size) - (size - 1)) / size
    return np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)


@cache
def _light_precision() -> Floats:
    """Prior precision of one face's light terms, float[5, 5]."""
    precision = np.zeros((_TERMS, _TERMS))
    gains = _EXPOSURE_SD**2 * np.ones((3, 3)) + _TINT_SD**2 * np.eye(3)
    precision[:3, :3] = np.linalg.inv(gains)
    precision[3:, 3:] = np.eye(2) / _GRADIENT_SD**2
    return precision


class Observations:
    """A scan as the model sees it: features and the light terms each sticker responds to."""

    def __init__(self, features: LightFeatures, size: int) -> None:
        self.features = features
        self.size = size
        count = len(features.values)
        # design[i] float[3, 5]: effect of its face's light terms on the features of sticker i
        self._design = np.zeros((count, 3, _TERMS))
        self._design[:, range(3), range(3)] = features.sensitivity
        across = np.tile(_places(size), (6, 1))
        self._design[:, :, 3:] = features.sensitivity[:, :, None] * across[:, None, :]
        self._transposed = np.ascontiguousarray(self._design.transpose(0, 2, 1))
        self._any_clipped = bool(features.clipped.any())

    def start(self, mean: Floats) -> CubeModel:
        """A first model from six colours: no differences of light, wide covariances."""
        return CubeModel(mean, 2.0 * self._expected(mean), np.zeros((6, _TERMS)))

    def evidence(self, model: CubeModel) -> Evidence:
        """Negative log likelihoods of the stickers; 0 for all colours where nothing was seen."""
        good, distance = self._likelihood(model)
        wide = good + 0.5 * distance * (1 - _WIDER**-2) + np.log(_WIDE_SHARE * _WIDER**-3)
        glared, _ = self._likelihood(self._glared(model))
        # Only stickers far from a colour need the rest, and there the largest term is the sum.
        other = np.maximum(wide, np.log(_STRANGE_SHARE) + _STRANGE_DENSITY)
        other = np.maximum(other, glared + np.log(_GLARE_SHARE))
        return self._evidence(good, np.logaddexp(good, other))

    def strict_evidence(self, model: CubeModel) -> Evidence:
        """The same when what lies far from a colour says nothing about it."""
        good, _ = self._likelihood(model)
        return self._evidence(good, np.logaddexp(good, _STRICT_LIMIT))

    def _likelihood(self, model: CubeModel) -> tuple[Floats, Floats]:
        """Log densities and squared distances of the stickers from each colour, float[6, n]."""
        residual = self._residual(model.mean, self._shift(model.light))
        precision = np.linalg.inv(model.covariance)
        distance = ((residual @ precision) * residual).sum(axis=2)
        volume = np.log(np.linalg.det(model.covariance))[:, None]
        return -0.5 * (distance + volume + 3 * _LOG_2PI), distance

    def _glared(self, model: CubeModel) -> CubeModel:
        """The colours behind a reflection: light of the lamp is added, more or less of it."""
        light = np.maximum(np.exp(model.mean), self.features.floor)
        half = 0.5 * (np.log(light + _GLARE) - np.log(light))
        spread = 2.0 * model.covariance + half[:, :, None] * half[:, None, :]
        return CubeModel(model.mean + half, spread, model.light)

    def _evidence(self, good: Floats, likelihood: Floats) -> Evidence:
        weight = self.features.weight
        return Evidence(
            np.ascontiguousarray((-likelihood * weight).T),
            np.ascontiguousarray((np.exp(good - likelihood) * weight).T),
        )

    def update(self, model: CubeModel, share: Floats) -> CubeModel:
        """The model that fits best when ``share`` float[n, 6] of each sticker has each colour."""
        weight = share.T[:, :, None]
        shift = self._shift(model.light)
        # What a clipped channel hides is taken to be as the model has it so far.
        residual = self._residual(model.mean, shift) + shift
        light = self._light(model.covariance, share, residual)
        residual -= self._shift(light)
        total = share.sum(axis=0)
        change = (weight * residual).sum(axis=1) / np.maximum(total, 1e-6)[:, None]
        mean = model.mean + change
        residual -= change[:, None, :]
        scatter = residual.transpose(0, 2, 1) @ (weight * residual)
        prior = _PRIOR_STICKERS * self._expected(mean)
        covariance = (prior + scatter) / (_PRIOR_STICKERS + total)[:, None, None]
        return CubeModel(mean, covariance, light)

    def fitted(self, model: CubeModel, letters: NDArray[np.intp], rounds: int) -> CubeModel:
        """The model re-estimated with the colours taken as known.

        It starts from the colours' medians, which a bad sticker cannot hold far from the others.
        """
        known = np.eye(6)[letters]
        unlit = self.features.values - self._shift(model.light)
        unlit = np.where(self.features.weight[:, None] > 0, unlit, model.mean[letters])
        by_letter = unlit[np.argsort(letters, kind="stable")].reshape(6, -1, 3)
        model = replace(model, mean=np.median(by_letter, axis=1))
        for _ in range(rounds):
            model = self.update(model, known * self.evidence(model).inlier)
        return model

    def total_cost(self, model: CubeModel, letters: NDArray[np.intp]) -> float:
        """Penalised negative log likelihood of the scan when ``letters`` are its colours."""
        cost = self.evidence(model).cost
        light = ((model.light @ _light_precision()) * model.light).sum()
        ratio = np.linalg.solve(model.covariance, self._expected(model.mean))
        stretch = np.trace(ratio, axis1=1, axis2=2) - 3 - np.log(np.linalg.det(ratio))
        prior = 0.5 * light + 0.5 * _PRIOR_STICKERS * stretch.sum()
        return float(cost[np.arange(len(letters)), letters].sum() + prior)

    def brighter(self, model: CubeModel, letters: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which stickers are no darker in any channel than their letters' colours would be there:
        a reflection may lie on them, bool[n].
        """
        residual = self._residual(model.mean, self._shift(model.light))
        own = residual[letters, np.arange(len(letters))]
        return np.asarray((own > -_SHADE_SD).all(axis=1))

    def _shift(self, light: Floats) -> Floats:
        """What each face's light does to its stickers' features, float[n, 3]."""
        slope = light[:, 3:] @ _places(self.size).T
        change = light[:, None, :3] + slope[:, :, None]
        return np.asarray(self.features.sensitivity * change.reshape(-1, 3))

    def _residual(self, mean: Floats, shift: Floats) -> Floats:
        """Features minus what each colour should give, float[6, n, 3]."""
        residual = (self.features.values - shift)[None] - mean[:, None, :]
        if self._any_clipped:
            # A clipped channel only says that there was at least so much.
            hidden = self.features.clipped & (residual < 0)
            residual[hidden] = 0.0
        return residual

    def _light(self, covariance: Floats, share: Floats, lit: Floats) -> Floats:
        """Each face's light terms by regularised least squares, float[6, 5].

        ``lit`` float[6, n, 3] is how far the stickers are from each colour as it is unlit.
        """
        precision = np.linalg.inv(covariance)
        weight = (share @ precision.reshape(6, 9)).reshape(-1, 3, 3)
        target = (share.T[:, :, None] * (lit @ precision)).sum(axis=0)[:, :, None]
        normal = (
            (self._transposed @ weight @ self._design).reshape(6, -1, _TERMS, _TERMS).sum(axis=1)
        )
        right = (self._transposed @ target).reshape(6, -1, _TERMS).sum(axis=1)
        light = np.linalg.solve(normal + _light_precision(), right[:, :, None])[:, :, 0]
        # What all faces share belongs to the colours.
        light[:, :3] -= light[:, :3].mean(axis=0)
        return np.asarray(light)

    def _per_face(self, terms: Floats) -> Floats:
        """Sums over the stickers of each face."""
        return np.asarray(terms.reshape(6, self.size**2, *terms.shape[1:]).sum(axis=1))

    def _expected(self, mean: Floats) -> Floats:
        """Covariances expected around ``mean``: noise, dark noise, uneven shade; float[6, 3, 3]."""
        floor = self.features.floor
        light = np.maximum(np.exp(mean) - floor, 1e-4)
        sensitivity = light / (light + floor)
        noise = _STICKER_SD**2 + (_DARK_SD * (1 - sensitivity)) ** 2
        shade = _SHADE_SD**2 * sensitivity[:, :, None] * sensitivity[:, None, :]
        return noise[:, :, None] * np.eye(3) + shade
