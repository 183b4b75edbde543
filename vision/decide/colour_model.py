"""A model of the six colours of this cube and of the light on each face.

A sticker's features are ``mean[colour] + light + noise``. ``light`` consists of a gain for each
channel per face (exposure and white balance may drift between pictures), a gradient across each
face (lamps are at one side), and a falloff towards the borders of the picture, common to all faces.
The noise is Gaussian per colour, with wide tails and a small share of outliers (glare, dirt,
logos). Light and covariances have priors, so a few stickers cannot distort the model much. Means,
covariances and light are estimated together from responsibilities (the M step of
expectation-maximisation; the E step is in ``vision.decide.assignment``). The native kernel computes
the sums over the stickers (``solver/native/decode/colour_model.hpp``).

The first models come from references, the cube's centres, the usual colours, or the most different
stickers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from solver import _native
from vision.decide.assignment import (
    Orbit,
    free_orbits,
    kernel_pieces,
    orbits,
    relaxed_cost,
    relaxed_costs,
)
from vision.decide.schemes import all_namings, schemes
from vision.frame import Floats, Ints
from vision.measure.colour_space import USUAL, ColourReferences, LightFeatures, cell_places

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
"""Expected difference of brightness between stickers that the gradient does not explain."""
_PRIOR_STICKERS = 8.0
"""Weight of the expected covariance, in stickers."""
_WIDE_SHARE = 0.03
_WIDER = 5.0
"""Share of stickers affected by glare, shade or dirt, and the factor of their wider scatter."""
_GLARE_SHARE = 0.02
_GLARE = 0.3
"""Share of stickers with a reflection, and how bright it may be relative to white."""
_DAZZLE_SHARE = 0.005
_DAZZLE = 1.2
"""Share of stickers whose colour a reflection nearly drowns, and how bright it may be."""
_STRANGE_SHARE = 0.003
_STRANGE_DENSITY = -9.0
"""Share of stickers that show something else altogether, and its log density."""
_STRICT_LIMIT = -12.0
"""Log density below which a sticker is no evidence for any colour in a strict evaluation."""
_TERMS = 5
"""Number of light parameters per face: three gains, two gradients."""


@dataclass(frozen=True, eq=False)
class Light:
    """The light on the faces, in log light.

    ``faces`` float[6, 5]: three gains and the gradients to the right and down of each face;
    ``falloff``: the loss from the middle of the picture to its corners, the same for all.
    """

    faces: Floats
    falloff: float


@dataclass(frozen=True, eq=False)
class CubeModel:
    """``mean`` float[6, 3], ``covariance`` float[6, 3, 3] of the colours, and the light."""

    mean: Floats
    covariance: Floats
    light: Light

    @property
    def separation(self) -> float:
        """The distance of the two closest colours in standard deviations."""
        first, second = np.triu_indices(len(self.mean), 1)
        apart = self.mean[first] - self.mean[second]
        wide = (self.covariance[first] + self.covariance[second]) / 2
        squared = (apart * np.linalg.solve(wide, apart[..., None])[..., 0]).sum(axis=1)
        return float(np.sqrt(squared.min()))

    def relabel(self, order: Ints) -> CubeModel:
        """Return the model with colour ``order[i]`` as number ``i``."""
        return CubeModel(self.mean[order], self.covariance[order], self.light)


@dataclass(frozen=True, eq=False)
class ColourEvidence:
    """The cost of each colour on each sticker, and its share that is no outlier, float[n, 6]."""

    cost: Floats
    inlier: Floats


@cache
def _priors() -> Floats:
    """Return the constants above in the order of the kernel's ``ColourPriors``."""
    numbers = (
        _FALLOFF_SD**-2,
        _STICKER_SD**2,
        _DARK_SD,
        _SHADE_SD**2,
        _PRIOR_STICKERS,
        np.log(_WIDE_SHARE),
        _WIDER,
        np.log(_GLARE_SHARE),
        _GLARE,
        np.log(_DAZZLE_SHARE),
        _DAZZLE,
        np.log(_STRANGE_SHARE) + _STRANGE_DENSITY,
        _STRICT_LIMIT,
    )
    return np.array(numbers, dtype=np.float64)


@cache
def _light_precision() -> Floats:
    """Return the prior precision of one face's light terms, float[5, 5]."""
    precision = np.zeros((_TERMS, _TERMS))
    gains = _EXPOSURE_SD**2 * np.ones((3, 3)) + _TINT_SD**2 * np.eye(3)
    precision[:3, :3] = np.linalg.inv(gains)
    precision[3:, 3:] = np.eye(2) / _GRADIENT_SD**2
    return precision


class Observations:
    """A scan's features, prepared for the estimation."""

    def __init__(self, features: LightFeatures, size: int) -> None:
        self.features = features
        self.size = size
        # The effect of the falloff on the features of each sticker.
        fading = features.sensitivity * -features.remoteness[:, None]
        self._native = _native.ScanEstimator(
            _priors(),
            _light_precision(),
            features.values,
            features.sensitivity,
            fading,
            features.clipped.view(np.uint8),
            features.weight,
            np.tile(cell_places(size), (6, 1)),
            features.floor,
        )

    def start(self, mean: Floats) -> CubeModel:
        """Return a first model from six colours: no differences of light, wide covariances."""
        return CubeModel(mean, 2.0 * self._covariance_of(mean), Light(np.zeros((6, _TERMS)), 0.0))

    def evidence(self, model: CubeModel, *, strict: bool = False) -> ColourEvidence:
        """Return negative log likelihoods of the stickers, 0 for stickers that were not seen.

        ``strict``: stickers far from a colour are no evidence about it.
        """
        cost, inlier = np.empty((2, len(self.features.values), 6))
        self._native.evidence(*_numbers(model), strict, cost, inlier)
        return ColourEvidence(cost, inlier)

    def fit(self, model: CubeModel, letters: Ints, rounds: int) -> CubeModel:
        """Estimate the model again with known colours.

        Starts from the colours' medians, which a bad sticker hardly affects.
        """
        estimate = self._native.fit
        return self._model_from(lambda *into: estimate(*_numbers(model), letters, rounds, *into))

    def estimate(self, model: CubeModel, where: Sequence[Orbit], patience: int = 0) -> CubeModel:
        """Run rounds of expectation-maximisation with the pieces of ``where``.

        In the first ``patience`` rounds no sticker counts as an outlier, so that a colour can move
        far. In all other rounds glare and dirt do not affect the model.
        """
        pieces, temperatures = kernel_pieces(tuple(where)), _temperatures()
        estimate = self._native.estimate
        return self._model_from(
            lambda *into: estimate(
                *_numbers(model), pieces, temperatures, _COOLING, _STILL, patience, *into
            )
        )

    def total_cost(self, model: CubeModel, letters: Ints) -> float:
        """Return the penalised negative log likelihood of a scan with these ``letters``."""
        return self._native.total_cost(*_numbers(model), letters)

    @staticmethod
    def _model_from(into: Callable[[Floats, Floats, Floats], float]) -> CubeModel:
        """Return the model whose numbers the kernel writes."""
        mean, covariance, faces = np.empty((6, 3)), np.empty((6, 3, 3)), np.empty((6, _TERMS))
        falloff = into(mean, covariance, faces)
        return CubeModel(mean, covariance, Light(faces, falloff))

    def deviation(self, model: CubeModel, letters: Ints) -> Floats:
        """Return squared distances of the stickers from their letters' colours, float[n], in
        standard deviations of the three channels.
        """
        own = self._residual(model, letters)
        scaled = np.linalg.solve(model.covariance[letters], own[..., None])[..., 0]
        return np.asarray((own * scaled).sum(axis=1))

    def _residual(self, model: CubeModel, letters: Ints) -> Floats:
        """Return the features minus the light and the colour, float[n, 3]."""
        return np.asarray(self.features.values - self._shift(model.light) - model.mean[letters])

    def _shift(self, light: Light) -> Floats:
        """Return the light's part of the stickers' features, float[n, 3]."""
        shift = np.empty_like(self.features.values)
        self._native.shift(light.faces, light.falloff, shift)
        return shift

    def _covariance_of(self, mean: Floats) -> Floats:
        """Return the covariances expected around ``mean``, float[6, 3, 3]: noise, dark noise and
        uneven shade.
        """
        covariance = np.empty((6, 3, 3))
        self._native.expected(np.ascontiguousarray(mean), covariance)
        return covariance


def _numbers(model: CubeModel) -> tuple[Floats, Floats, Floats, float]:
    """Return a model as the kernel's arguments."""
    return model.mean, model.covariance, model.light.faces, model.light.falloff


_ROUNDS = 10
_COOLING = 4
_HOT = 2.0
"""Number of rounds of estimation, number of tempered rounds at first, and their temperature.
Tempering keeps early mistakes from being final."""
_STILL = 0.01
"""Movement of the colours in a round, in log light, below which a model is done."""

_NAMINGS = 12
"""Number of namings of the colours by the centres to compare on the whole cube."""


def starts(seen: Observations, references: ColourReferences | None) -> Iterator[CubeModel]:
    """Yield models to decide from, the most promising first, each from a different start."""
    if references is not None:
        yield _name_colours(seen, seen.start(seen.features.to_features(references.linear_rgb)))
    middles = centres(seen.size)
    if len(middles) and (seen.features.weight[middles] > 0).all():
        yield seen.estimate(seen.start(seen.features.values[middles]), orbits(seen.size))
    yield _name_colours(seen, seen.start(seen.features.to_features(USUAL)))
    yield _name_colours(seen, seen.start(_spread_out(seen.features)))
    yield _name_colours(seen, seen.start(seen.features.to_features(USUAL)), patience=2)


def centres(size: int) -> Ints:
    """Return the fixed centres' stickers in order of their letters, int[6]; none on even sizes."""
    if size % 2 == 0:
        return np.zeros(0, dtype=np.intp)
    return np.arange(6, dtype=np.intp) * size * size + size * size // 2


@cache
def _temperatures() -> Floats:
    """Return the temperatures of all rounds."""
    return np.maximum(1.0, _HOT * (1 - np.arange(_ROUNDS) / _COOLING))


def clusters(seen: Observations) -> CubeModel:
    """Estimate six equally frequent colours without knowledge of the pieces."""
    middles = centres(seen.size)
    where = free_orbits(seen.size)
    if len(middles):
        return seen.estimate(seen.start(seen.features.values[middles]), where)
    usual = seen.features.to_features(USUAL)
    first = [(usual, 0), (_spread_out(seen.features), 0), (usual, 2)]
    found = [seen.estimate(seen.start(mean), where, patience) for mean, patience in first]
    return min(found, key=lambda model: relaxed_cost(seen.evidence(model).cost, where))


def named_orders(cost: Floats, size: int) -> list[Ints]:
    """Return ways to give numbered colours letters, int[6] each: the colour of every letter.

    These are the likeliest by the centres if there are any, else one for each scheme.
    """
    middles = centres(size)
    if len(middles) == 0:
        return list(schemes())
    named = cost[middles][np.arange(6), all_namings()].sum(axis=1)
    return list(all_namings()[np.argsort(named, kind="stable")[:_NAMINGS]])


def _name_colours(seen: Observations, start: CubeModel, patience: int = 0) -> CubeModel:
    """Return the model from a start whose colours are only clusters, with the likeliest letters."""
    unnamed = seen.estimate(start, free_orbits(seen.size), patience)
    cost = seen.evidence(unnamed).cost
    size = seen.size
    telling = [orbit for orbit in orbits(size) if orbit.kind != "centre"]
    orders = named_orders(cost, size)
    best = orders[int(relaxed_costs(cost, np.array(orders), telling).argmin())]
    return seen.estimate(unnamed.relabel(best), orbits(size))


def _spread_out(features: LightFeatures) -> Floats:
    """Return the six most different stickers, float[6, 3], as a start without other hints."""
    values = features.values[features.weight > 0]
    # Brightness differs mostly because of the light, channel ratios mostly because of the colour.
    points = values - 0.6 * values.mean(axis=1, keepdims=True)
    chosen = [int(np.linalg.norm(points - np.median(points, axis=0), axis=1).argmax())]
    while len(chosen) < 6:
        gaps = np.linalg.norm(points[:, None] - points[chosen][None], axis=2).min(axis=1)
        chosen.append(int(gaps.argmax()))
    return np.asarray(values[chosen])
