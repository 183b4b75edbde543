"""Schemes, the colours on a cube's faces, and names for colours that no centre names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import permutations

import numpy as np

from solver.cube.orientation import all_orientations
from vision.decide.assignment import matching
from vision.frame import Floats, Ints
from vision.measure.colour_space import USUAL, LightFeatures
from vision.measure.sticker_colours import FACES

NAMES = "WRGYOB"
"""The usual colours white, red, green, yellow, orange, blue, as they are numbered in ``USUAL``."""

SOLD = ("WRGYOB", "WRGBOY")
"""Colours of the faces URFDLB on cubes that are sold: the usual scheme and the Japanese one."""

_UNLIKE = 1.06
"""Root mean square distance, in log light, from which colours are not the usual ones."""

_HUE_SD = 0.35
"""How much further apart or closer than usual two colours of a cube are, per channel in log light:
they share the light, so less than colours of one name on different cubes differ."""

_UNSOLD = 8.0
"""Most that the usual colours in an order that nobody sells speak cost_of it, in log odds."""


@cache
def rotations() -> Ints:
    """The 24 ways letters change when a cube is held differently, int[24, 6]."""
    held = [[FACES.index(o.face_at(site)) for site in FACES] for o in all_orientations()]
    return np.array(held, dtype=np.intp)


@cache
def schemes() -> Ints:
    """The 30 ways to put six colours on a cube, up to holding it, int[30, 6]; the first is 0..5.

    Entry ``[s, letter]`` is the colour that scheme ``s`` has on the face of that letter.
    """
    seen: set[tuple[int, ...]] = set()
    found = []
    for order in permutations(range(6)):
        if order not in seen:
            found.append(order)
            seen.update(tuple(row) for row in np.array(order)[rotations()].tolist())
    return np.array(found, dtype=np.intp)


@cache
def all_namings() -> Ints:
    """All ways to give six colours letters, int[720, 6]; the first is 0..5."""
    return np.array(list(permutations(range(6))), dtype=np.intp)


def recognise_colours(mean: Floats, features: LightFeatures) -> Ints | None:
    """Return the usual colour (index in ``USUAL``) of each of six colours, int[6].

    None if they are not the usual ones.

    ``mean`` float[6, 3] are features; a tint of the light is allowed for.
    """
    usual = features.to_features(USUAL)
    tint = mean.mean(axis=0) - usual.mean(axis=0)
    distance = ((mean[:, None] - usual[None] - tint) ** 2).sum(axis=2)
    rows, names = matching(distance)
    unlike = float(np.sqrt(distance[rows, names].mean()))
    return names.astype(np.intp) if unlike < _UNLIKE else None


def known_orders(
    mean: Floats, features: LightFeatures, scheme: str | None = None
) -> list[Ints] | None:
    """Return the schemes that the six colours can have, int[6] each: the colour of every letter.

    For the usual colours those that are sold (or ``scheme``, six letters of :data:`NAMES` for the
    faces URFDLB); None when the colours are not the usual ones.
    """
    names = recognise_colours(mean, features)
    if names is None:
        return None
    colour = np.argsort(names)
    wanted = SOLD if scheme is None else (scheme,)
    return [colour[[NAMES.index(name) for name in one]] for one in wanted]


def scheme_costs(
    mean: Floats, features: LightFeatures, scheme: str | None = None
) -> Callable[[Ints], Floats]:
    """Log odds cost_of the six colours standing so on a cube's faces.

    The answer is a function of int[n, 6], the colour on each face, to float[n]: 0 for what fits the
    schemes that are sold (or ``scheme``) best; 0 for all where the colours are not the usual ones.
    """
    if recognise_colours(mean, features) is None:
        return lambda colours: np.zeros(len(colours))
    wanted = SOLD if scheme is None else (scheme,)
    usual = features.to_features(USUAL)
    sold = np.array([[NAMES.index(name) for name in one] for one in wanted], dtype=np.intp)
    # Squared distances less what all orders share: a tint, and how long the features are.
    unlike = -2 * (mean - mean.mean(axis=0)) @ (usual - usual.mean(axis=0)).T
    least = unlike[matching(unlike)].sum()
    held = sold[:, rotations()].reshape(-1, 6)

    def cost_of(colours: Ints) -> Floats:
        distance = unlike[colours[:, None], held].sum(axis=2).min(axis=1)
        return np.asarray(np.minimum((distance - least) / (2 * _HUE_SD**2), _UNSOLD))

    return cost_of


def is_held(letters_of: Ints, orders: list[Ints]) -> bool:
    """True if a naming (the colour of every letter) is one of ``orders``, held in any way."""
    held = {tuple(row) for order in orders for row in order[rotations()].tolist()}
    return tuple(letters_of.tolist()) in held


def usual_naming(mean: Floats, features: LightFeatures) -> Ints:
    """The way to hold the cube that brings its colours closest to the usual ones, int[6].

    ``mean`` float[6, 3] are the features of the colours now called 0..5; the answer names, for
    every letter, the colour it should stand for. A tint of the light adds the same to all.
    """
    distance = ((mean[rotations()] - features.to_features(USUAL)) ** 2).sum(axis=(1, 2))
    best: Ints = rotations()[int(distance.argmin())]
    return best
