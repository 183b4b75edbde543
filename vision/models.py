"""What the six colours look like on this cube, and how light falls on each face.

A sticker's features are ``mean[colour] + light + noise``. ``light`` is, per face, a gain for each
channel (exposure and white balance may drift between looks) and a gradient across the face (lamps
stand to one side), and for all faces together what is lost towards the borders of the picture; the
noise is Gaussian per colour, with wide tails and a small share of outliers (glare, dirt, logos).
Light and covariances have priors, so a few stickers cannot bend the model far. Means, covariances
and light are estimated together from responsibilities (the M step of expectation-maximisation; the
E step is in ``vision.assign_soft``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from vision.colours import LightFeatures, cell_places

Floats = NDArray[np.float64]

_EXPOSURE_SD = 0.30
"""Expected difference of exposure between faces, in log light."""
_TINT_SD = 0.05
"""Expected difference of white balance between faces, per channel."""
_GRADIENT_SD = 0.15
"""Expected change of light from the middle of a face to its border."""
_FALLOFF_SD = 0.2
"""Expected change of light from the middle of the picture to its corners, beyond gradients."""
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
class Light:
    """How the faces are lit, in log light.

    ``faces`` float[6, 5]: three gains and the gradient to the right and down of each; ``falloff``
    what all lose from the middle of the picture to its corners.
    """

    faces: Floats
    falloff: float

    @property
    def cost(self) -> float:
        """Negative log prior, up to a constant."""
        faces = ((self.faces @ _light_precision()) * self.faces).sum()
        return 0.5 * float(faces + (self.falloff / _FALLOFF_SD) ** 2)


@dataclass(frozen=True, eq=False)
class CubeModel:
    """``mean`` float[6, 3], ``covariance`` float[6, 3, 3] of the colours, and the light."""

    mean: Floats
    covariance: Floats
    light: Light

    @cached_property
    def precision(self) -> Floats:
        """Inverses of the covariances, float[6, 3, 3]."""
        return np.asarray(np.linalg.inv(self.covariance))

    @cached_property
    def log_volume(self) -> Floats:
        """Logarithms of the covariances' determinants, float[6]."""
        return np.asarray(-np.log(np.linalg.det(self.precision)))

    def relabelled(self, order: NDArray[np.intp]) -> CubeModel:
        """The same model with colour ``order[i]`` as number ``i``."""
        return CubeModel(self.mean[order], self.covariance[order], self.light)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Cost of each colour on each sticker and how much of it is not an outlier, float[n, 6]."""

    cost: Floats
    inlier: Floats


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
        self._across = np.tile(cell_places(size), (6, 1))
        self._design[:, :, 3:] = features.sensitivity[:, :, None] * self._across[:, None, :]
        self._transposed = np.ascontiguousarray(self._design.transpose(0, 2, 1))
        # fading[i] float[3]: effect of the falloff on the features of sticker i
        self._fading = features.sensitivity * -features.remoteness[:, None]
        self._any_clipped = bool(features.clipped.any())

    def start(self, mean: Floats) -> CubeModel:
        """A first model from six colours: no differences of light, wide covariances."""
        return CubeModel(mean, 2.0 * self._expected(mean), Light(np.zeros((6, _TERMS)), 0.0))

    def evidence(self, model: CubeModel) -> Evidence:
        """Negative log likelihoods of the stickers; 0 for all colours where nothing was seen."""
        unlit = self.features.values - self._shift(model.light)
        good, distance = self._likelihood(model, unlit)
        wide = good + 0.5 * distance * (1 - _WIDER**-2) + np.log(_WIDE_SHARE * _WIDER**-3)
        glared = self._glared(model, unlit)
        # Only stickers far from a colour need the rest, and there the largest term is the sum.
        other = np.maximum(wide, np.log(_STRANGE_SHARE) + _STRANGE_DENSITY)
        other = np.maximum(other, glared + np.log(_GLARE_SHARE))
        return self._evidence(good, np.logaddexp(good, other))

    def strict_evidence(self, model: CubeModel) -> Evidence:
        """The same when what lies far from a colour says nothing about it."""
        good, _ = self._likelihood(model, self.features.values - self._shift(model.light))
        return self._evidence(good, np.logaddexp(good, _STRICT_LIMIT))

    def _likelihood(self, model: CubeModel, unlit: Floats) -> tuple[Floats, Floats]:
        """Log densities and squared distances of the stickers from each colour, float[6, n]."""
        residual = self._residual(unlit, model.mean)
        distance = np.einsum("cni,cni->cn", residual @ model.precision, residual)
        return -0.5 * (distance + model.log_volume[:, None] + 3 * _LOG_2PI), distance

    def _glared(self, model: CubeModel, unlit: Floats) -> Floats:
        """Log densities float[6, n] with a reflection: more or less light of the lamp is added.

        Its covariance is ``2 C + h h'`` for a colour's ``C`` and half the most it may be moved,
        inverted by Sherman and Morrison's formula.
        """
        light = np.maximum(np.exp(model.mean), self.features.floor)
        half = 0.5 * (np.log(light + _GLARE) - np.log(light))
        residual = self._residual(unlit, model.mean + half)
        pulled = residual @ (0.5 * model.precision)
        stretch = 1.0 + 0.5 * np.einsum("ci,cij,cj->c", half, model.precision, half)
        along = (pulled @ half[:, :, None])[:, :, 0]
        distance = np.einsum("cni,cni->cn", pulled, residual) - along**2 / stretch[:, None]
        log_volume = model.log_volume + 3 * np.log(2.0) + np.log(stretch)
        return np.asarray(-0.5 * (distance + log_volume[:, None] + 3 * _LOG_2PI))

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
        residual = self._residual(self.features.values - shift, model.mean) + shift
        light = self._light(model, share, residual)
        residual -= self._shift(light)
        total = share.sum(axis=0)
        change = (share.T[:, None, :] @ residual)[:, 0] / np.maximum(total, 1e-6)[:, None]
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
        ratio = model.precision @ self._expected(model.mean)
        stretch = np.trace(ratio, axis1=1, axis2=2) - 3 - np.log(np.linalg.det(ratio))
        prior = model.light.cost + 0.5 * _PRIOR_STICKERS * stretch.sum()
        return float(cost[np.arange(len(letters)), letters].sum() + prior)

    def brighter(self, model: CubeModel, letters: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which stickers are no darker in any channel than their letters' colours would be there:
        a reflection may lie on them, bool[n].
        """
        residual = self._residual(self.features.values - self._shift(model.light), model.mean)
        own = residual[letters, np.arange(len(letters))]
        return np.asarray((own > -_SHADE_SD).all(axis=1))

    def _shift(self, light: Light) -> Floats:
        """What the light does to the stickers' features, float[n, 3]."""
        faces = light.faces
        slope = faces[:, 3:] @ cell_places(self.size).T
        change = faces[:, None, :3] + slope[:, :, None]
        shift = self.features.sensitivity * change.reshape(-1, 3)
        return np.asarray(shift + light.falloff * self._fading)

    def _residual(self, unlit: Floats, mean: Floats) -> Floats:
        """Features without light minus what each colour should give, float[6, n, 3]."""
        residual = unlit[None] - mean[:, None, :]
        if self._any_clipped:
            # A clipped channel only says that there was at least so much.
            hidden = self.features.clipped & (residual < 0)
            residual[hidden] = 0.0
        return residual

    def _light(self, model: CubeModel, share: Floats, lit: Floats) -> Light:
        """The light by regularised least squares, each face's terms and then the falloff.

        ``lit`` float[6, n, 3] is how far the stickers are from each colour as it is unlit.
        """
        precision = model.precision
        weight = (share @ precision.reshape(6, 9)).reshape(-1, 3, 3)
        target = (share.T[:, :, None] * (lit @ precision)).sum(axis=0)[:, :, None]
        pull = target - model.light.falloff * (weight @ self._fading[:, :, None])
        normal = (
            (self._transposed @ weight @ self._design).reshape(6, -1, _TERMS, _TERMS).sum(axis=1)
        )
        right = (self._transposed @ pull).reshape(6, -1, _TERMS).sum(axis=1)
        faces = np.linalg.solve(normal + _light_precision(), right[:, :, None])[:, :, 0]
        # What all faces share belongs to the colours.
        faces[:, :3] -= faces[:, :3].mean(axis=0)
        left = target - weight @ self._shift(Light(faces, 0.0))[:, :, None]
        along = weight @ self._fading[:, :, None]
        stiffness = float((self._fading * along[:, :, 0]).sum()) + _FALLOFF_SD**-2
        falloff = float((self._fading * left[:, :, 0]).sum()) / stiffness
        return Light(faces, falloff)

    def _expected(self, mean: Floats) -> Floats:
        """Covariances expected around ``mean``: noise, dark noise, uneven shade; float[6, 3, 3]."""
        floor = self.features.floor
        light = np.maximum(np.exp(mean) - floor, 1e-4)
        sensitivity = light / (light + floor)
        noise = _STICKER_SD**2 + (_DARK_SD * (1 - sensitivity)) ** 2
        shade = _SHADE_SD**2 * sensitivity[:, :, None] * sensitivity[:, None, :]
        return noise[:, :, None] * np.eye(3) + shade
