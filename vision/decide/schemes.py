"""Schemes, the colours on a cube's faces, and names for colours without a centre."""

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
"""The usual colours white, red, green, yellow, orange, blue, in the order of ``USUAL``."""

SOLD = ("WRGYOB", "WRGBOY")
"""Colours of the faces URFDLB on cubes that are sold: the usual scheme and the Japanese one."""

_UNLIKE = 1.06
"""Root mean square distance, in log light, from which colours are not the usual ones."""

_HUE_SD = 0.35
"""Standard deviation of the difference between two colours of a cube, per channel in log light.
They share the light, so it is less than that of one colour between cubes."""

_UNSOLD = 8.0
"""Maximum log odds against the usual colours in an order that is not sold."""


@cache
def rotations() -> Ints:
    """Return the 24 permutations of letters when a cube is held differently, int[24, 6]."""
    held = [[FACES.index(o.face_at(site)) for site in FACES] for o in all_orientations()]
    return np.array(held, dtype=np.intp)


@cache
def schemes() -> Ints:
    """Return the 30 ways to put six colours on a cube, up to rotation, int[30, 6]; first 0..5.

    Entry ``[s, letter]`` is the colour of the face with that letter in scheme ``s``.
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
    """Return all ways to give six colours letters, int[720, 6]; the first is 0..5."""
    return np.array(list(permutations(range(6))), dtype=np.intp)


def recognise_colours(mean: Floats, features: LightFeatures) -> Ints | None:
    """Return the usual colour (index in ``USUAL``) of each of six colours, int[6].

    None if they are not the usual ones. ``mean`` float[6, 3] are features. Any tint of the light is
    allowed.
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
    """Return the possible schemes of the six colours, int[6] each: the colour of every letter.

    For the usual colours these are the schemes that are sold (or ``scheme``, six letters of
    :data:`NAMES` for the faces URFDLB). None if the colours are not the usual ones.
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
    """Return a function for the log odds against an order of the six colours on a cube's faces.

    It maps int[n, 6], the colour on each face, to float[n]. The result is 0 for the best match of
    the schemes that are sold (or ``scheme``), and for all orders if the colours are not the usual
    ones.
    """
    if recognise_colours(mean, features) is None:
        return lambda colours: np.zeros(len(colours))
    wanted = SOLD if scheme is None else (scheme,)
    usual = features.to_features(USUAL)
    sold = np.array([[NAMES.index(name) for name in one] for one in wanted], dtype=np.intp)
    # Squared distances without the terms that all orders share: the tint and the squares.
    unlike = -2 * (mean - mean.mean(axis=0)) @ (usual - usual.mean(axis=0)).T
    least = unlike[matching(unlike)].sum()
    held = sold[:, rotations()].reshape(-1, 6)

    def cost_of(colours: Ints) -> Floats:
        distance = unlike[colours[:, None], held].sum(axis=2).min(axis=1)
        return np.asarray(np.minimum((distance - least) / (2 * _HUE_SD**2), _UNSOLD))

    return cost_of


def is_held(letters_of: Ints, orders: list[Ints]) -> bool:
    """Return True if a naming (each letter's colour) is one of ``orders``, held in any way."""
    held = {tuple(row) for order in orders for row in order[rotations()].tolist()}
    return tuple(letters_of.tolist()) in held


def usual_naming(mean: Floats, features: LightFeatures) -> Ints:
    """Return the way to hold the cube that is closest to the usual scheme, int[6].

    ``mean`` float[6, 3] are the features of the colours now called 0..5. The result is the colour
    for every letter. A tint of the light adds the same to all ways.
    """
    distance = ((mean[rotations()] - features.to_features(USUAL)) ** 2).sum(axis=(1, 2))
    best: Ints = rotations()[int(distance.argmin())]
    return best
