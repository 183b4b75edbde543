"""Fit the constants of the colour model, the stated margin and the location of faces again.

``python -m tests.bench.fit_vision [--synthetic N] [--harsh H] [--pictures M] [--list]`` prints a
JSON line for each constant: its value, the likeliest value, and the gain in log likelihood of all
scans. It changes nothing: for a new value, the campaigns of ``tests/vision`` must show that no set
becomes unreadable or surely wrong. The scans are the real ones of the shared format and ``N``
synthetic ones of each of the sizes 2 and 3; ``--harsh`` multiplies the disturbances of these. The
present values are wider than the likeliest ones of good scans, so that scans in poor light are
readable, too.
``--list`` names the numbers in ``vision/`` that are neither fitted here nor explained by a
sentence.

Each constant of the colour model is fitted separately, with the others unchanged. The letters are
known, so the likelihood of the constant is the model's own penalised likelihood
(``ColourEstimator::total_cost``) with the normalisers of its priors, and with the light on the
faces integrated out by Laplace's method. Otherwise no light at all would always be the likeliest.
The margin's offset and slope are fitted by logistic regression.

Scores and cut-offs for locating faces are fitted to rendered pictures, ``M`` of each kind, and
rooms without a cube. The fits of grids count as likelihoods, as in the choice of a size by six
pictures: the likelihood of the right grid is its share of the sum of its fit, that of the best
wrong grid and ``WORST``, which stands for no face. A constant is only worth changing if it gains
much and then finds more faces in other pictures.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import cv2
import numpy as np

from tests.rig.pictures import Exposure, expose, random_room
from tests.rig.scans import scans, synthetic_scan
from tests.rig.scenes import (
    LIGHTS,
    SCENES,
    RenderedCube,
    is_right,
    is_true,
    render_cube,
    render_plain_face,
    render_scene,
)
from vision.decide import colour_model, reader
from vision.decide.colour_model import CubeModel, Observations
from vision.decide.reader import Unreadable, read_cube
from vision.frame import Image
from vision.locate import evidence, face, lattice, windows
from vision.measure.colour_space import USUAL, LightFeatures, cell_places
from vision.measure.sticker_colours import FACES, StickerColours

SHARES = ("_WIDE_SHARE", "_GLARE_SHARE", "_DAZZLE_SHARE", "_STRANGE_SHARE")
SPREADS = (
    *("_EXPOSURE_SD", "_TINT_SD", "_GRADIENT_SD", "_FALLOFF_SD"),
    *("_STICKER_SD", "_DARK_SD", "_SHADE_SD"),
)
FITTED = (*SPREADS, *SHARES, "_WIDER", "_GLARE", "_DAZZLE")
MARGIN = ("_ODDS_OFFSET", "_ODDS_SLOPE")
REACH = 8.0
STEPS = 13
"""Maximum factor between the old and a new value, in both directions, and number of steps."""

LOCATING: dict[ModuleType, Sequence[str]] = {
    face: ("EDGE_LEVELS", "_SURE", "_HOLDS"),
    lattice: ("_SOLIDITY", "_SAME_SIZE", "_ON_NODE", "_UPRIGHT", "_EQUAL"),
    evidence: ("_DARK", "_DIP", "_STEP", "_RISE", "_UNEVEN"),
    windows: ("_REGULAR", "_PATCH_BEYOND", "_SAME_AREA", "_NEAR_NODE", "_SEEN", "_LEAST_SHARE"),
}
FACTORS = (0.5, 0.71, 0.84, 1.0, 1.19, 1.41, 2.0)
"""Factors to try on each number of a constant for locating faces."""

Known = list[tuple[StickerColours, str]]
Pictures = list[tuple[Image, RenderedCube | None, str]]
"""Pictures with the cube in them, if there is one, and the letter of its face."""


def known_scans(synthetic: int, harsh: float = 1.0) -> Known:
    """Return scans with their facelets, except corrupt ones."""
    real = [(one.colours, one.facelets) for one in scans(2, 3) if not one.is_corrupt]
    made = (synthetic_scan(seed, size, harsh) for size in (2, 3) for seed in range(synthetic))
    return real + [(one.colours, one.facelets) for one in made]


def cost_of(known: Known) -> float:
    """Return the negative log likelihood of the scans with the current constants."""
    colour_model._priors.cache_clear()
    colour_model._light_precision.cache_clear()
    prior, falloff = colour_model._light_precision(), colour_model._FALLOFF_SD**-2
    plain = np.log1p(-sum(getattr(colour_model, name) for name in SHARES))
    total = 0.0
    for colours, facelets in known:
        features = LightFeatures.from_colours(colours)
        seen = Observations(features, colours.size)
        letters = np.array([FACES.index(letter) for letter in facelets])
        model = seen.fit(seen.start(features.to_features(USUAL)), letters, 4)
        total += seen.total_cost(model, letters) - plain * len(letters)
        faces, fading = light_information(features, colours.size, model, letters)
        # Half the log ratio of the precision of the light after and before the scan.
        total += 0.5 * (np.linalg.slogdet(prior + faces)[1] - np.linalg.slogdet(prior)[1]).sum()
        total += 0.5 * np.log1p(fading / falloff)
    return total


def light_information(
    features: LightFeatures, size: int, model: CubeModel, letters: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the information of the stickers about the light: precisions of the terms of each face,
    float64[6, 5, 5], and of the falloff.
    """
    places = np.tile(cell_places(size), (6, 1))
    gains = features.sensitivity[:, :, None] * np.eye(3)
    slopes = features.sensitivity[:, :, None] * places[:, None, :]
    terms = np.concatenate([gains, slopes], axis=2)
    inverse = np.linalg.inv(model.covariance)[letters] * features.weight[:, None, None]
    own = np.einsum("nij,nik,nkl->njl", terms, inverse, terms)
    fading = features.sensitivity * -features.remoteness[:, None]
    of_face = own.reshape(6, size * size, 5, 5).sum(axis=1)
    return of_face, float(np.einsum("ni,nij,nj->", fading, inverse, fading))


def fit_constant(name: str, known: Known) -> dict[str, object]:
    """Return the likeliest value of a constant of the colour model, and its gain."""
    old = float(getattr(colour_model, name))

    def cost(log_value: float) -> float:
        with patch.object(colour_model, name, float(np.exp(log_value))):
            return cost_of(known)

    tried = np.log(old) + np.linspace(-np.log(REACH), np.log(REACH), STEPS)
    costs = np.array([cost(value) for value in tried])
    lowest = int(costs.argmin())
    row = {"constant": f"vision.decide.colour_model.{name}", "old": old}
    gain = {"log_likelihood_gain": round(float(costs[STEPS // 2] - costs[lowest]), 2)}
    if lowest in (0, STEPS - 1):
        why = f"the likelihood has no maximum within {REACH:.0f} times the value"
        return row | gain | {"new": None, "why": why}
    # The vertex of the parabola through the lowest value and its neighbours.
    low, mid, high = costs[lowest - 1 : lowest + 2]
    shift = 0.5 * (low - high) / (low - 2 * mid + high)
    found = np.exp(tried[lowest] + shift * (tried[1] - tried[0]))
    return row | {"new": round(float(found), 4)} | gain


def fit_margin(known: Known) -> Iterator[dict[str, object]]:
    """Yield offset and slope of the stated log odds by logistic regression on the readings."""
    old = np.array([getattr(reader, name) for name in MARGIN])
    margins, right = [], []
    for colours, facelets in known:
        try:
            found = read_cube(colours)
        except Unreadable:
            continue
        margins.append((found.margin - old[0]) / old[1] if found.margin > 0 else 0.0)
        right.append(is_true(found.facelets, facelets))
    sign = np.where(right, 1.0, -1.0)

    def cost(offset: float, slope: float) -> float:
        odds = np.maximum(offset + slope * np.array(margins), 0.0)
        return float(np.logaddexp(0.0, -sign * odds).sum())

    if all(right):
        yield {"constant": "vision.decide.reader", "at": "every reading was right: no fit"}
        return
    pairs = product(np.linspace(-3, 1, 41), np.linspace(0.05, 1.5, 59))
    best = min(pairs, key=lambda pair: cost(*pair))
    for name, before, after in zip(MARGIN, old, best, strict=True):
        yield {
            "constant": f"vision.decide.reader.{name}",
            "old": float(before),
            "new": round(float(after), 3),
            "log_likelihood_gain": round(cost(*old) - cost(*best), 2),
        }


def known_pictures(count: int) -> Pictures:
    """Render faces of every size in twice the usual range, every scene, faces of one colour, and a
    third as many rooms without a cube.
    """
    made: list[tuple[RenderedCube, str]] = []
    for seed in range(880_000, 880_000 + count):
        letter = FACES[seed % 6]
        plain = (render_cube(seed, size, harsh=2.0, faces=letter) for size in range(2, 8))
        posed = (render_scene(kind, seed, 2 + seed % 2, letter) for kind in SCENES)
        made += [(cube, letter) for cube in (*plain, *posed)]
        lights = zip(LIGHTS, (7, 8, 9, 8, 7), strict=True)
        made += [(render_plain_face(seed, *light), "F") for light in lights]
    pictures: Pictures = [(cube.frames[letter].image, cube, letter) for cube, letter in made]
    for seed in range(len(pictures) // 3):
        rng = np.random.default_rng([880_000, seed])
        room = expose(random_room(rng, (640, 480)), replace(Exposure(), gains=(0.7, 0.7, 0.7)), rng)
        pictures.append((room, None, ""))
    return pictures


def cost_of_pictures(pictures: Pictures) -> float:
    """Return the negative log likelihood of the right grids with the current constants."""
    total = 0.0
    for image, cube, letter in pictures:
        right, wrong = 0.01, 0.0
        for grid in face.locate_candidates(image):
            if cube is not None and is_right(grid, cube, letter):
                right = max(right, grid.fit)
            else:
                wrong = max(wrong, grid.fit)
        meant = face.WORST if cube is None else right
        total -= np.log(meant / (wrong + face.WORST + (cube is not None) * right))
    return float(total)


def fit_locating(module: ModuleType, name: str, pictures: Pictures) -> Iterator[dict[str, object]]:
    """Yield the likeliest value of each number of a constant for locating faces, and its gain."""
    old = getattr(module, name)
    values = list(old) if isinstance(old, tuple) else [old]
    for i, value in enumerate(values):
        costs = []
        for factor in FACTORS:
            tried = value * factor if isinstance(value, float) else round(value * factor)
            changed = (*values[:i], tried, *values[i + 1 :])
            with patch.object(module, name, changed if isinstance(old, tuple) else tried):
                costs.append(cost_of_pictures(pictures))
        lowest, usual = int(np.argmin(costs)), costs[FACTORS.index(1.0)]
        yield {
            "constant": f"{module.__name__}.{name}" + (f"[{i}]" if len(values) > 1 else ""),
            "old": value,
            "new": round(value * FACTORS[lowest], 4),
            "log_likelihood_gain": round(usual - costs[lowest], 2),
            "costs": [round(cost, 1) for cost in costs],
        }


def unexplained() -> Iterator[str]:
    """Yield the top-level numbers in modules of ``vision/`` without a sentence after them."""
    root = Path(reader.__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        waiting: list[str] = []
        for node in [*body, ast.Pass()]:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                waiting = []  # one sentence explains all numbers above it
            elif isinstance(node, ast.Assign) and _is_number(node.value):
                waiting += [ast.unparse(target) for target in node.targets]
            else:
                yield from (f"{path.relative_to(root.parent)}: {name}" for name in waiting)
                waiting = []


def _is_number(value: ast.expr) -> bool:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    plain = [part.operand if isinstance(part, ast.UnaryOp) else part for part in parts]
    return all(isinstance(p, ast.Constant) and isinstance(p.value, int | float) for p in plain)


def main() -> None:
    """Print the old value, the new value and the gain in likelihood of each constant."""
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--synthetic", type=int, default=40)
    parser.add_argument("--harsh", type=float, default=1.0)
    parser.add_argument("--pictures", type=int, default=3)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        known_names = {*FITTED, *MARGIN}
        print("\n".join(one for one in unexplained() if one.split()[-1] not in known_names))
        return
    known = known_scans(options.synthetic, options.harsh)
    for name in FITTED:
        print(json.dumps(fit_constant(name, known)), flush=True)
    for row in fit_margin(known):
        print(json.dumps(row), flush=True)
    pictures = known_pictures(options.pictures)
    for module, names in LOCATING.items():
        for name in names:
            for row in fit_locating(module, name, pictures):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
