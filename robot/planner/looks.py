"""What the cameras see of the cube in every state of a mechanism.

A face may be seen whole, or without the stickers that jaws hide; then several looks in different
states complete it. Every *part* of a face that some look shows (and no other look of that face
shows more of) is one bit of a set; a face is complete when its parts seen so far leave nothing out
that could be seen at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import Configuration, Mechanism
from robot.settings.base import microseconds
from robot.settings.profile import View
from solver.cube.facelets import FACES
from solver.cube.orientation import Orientation, site_facelets
from solver.errors import CubistError

Stickers = frozenset[int]


class CannotSee(CubistError, ValueError):
    """No tour shows the cameras the faces that are wanted; the text names the faces."""


@dataclass(frozen=True, slots=True)
class FaceView:
    """A picture to take: ``face`` of the cube is at ``site`` of the robot, before ``camera``.

    ``orientation`` is how the cube is held; ``hidden`` are the stickers of the *site*, row by row
    from 1, that something covers.
    """

    camera: str
    site: str
    face: str
    orientation: Orientation
    hidden: Stickers = frozenset()

    def shown(self, size: int) -> Stickers:
        """Numbers of the cube's facelets (in its facelet string) that can be seen."""
        block = size * size
        first = FACES.index(self.site) * block
        facelets = site_facelets(self.orientation, size)[first : first + block].tolist()
        return frozenset(f for number, f in enumerate(facelets, 1) if number not in self.hidden)


@dataclass(frozen=True, eq=False)
class Places:
    """The nodes from which something wanted is seen.

    ``nodes`` int64[P]; ``looks`` at each; ``parts`` int64[P]: set of the parts seen there, as bits;
    ``costs`` int64[P]: microseconds that the looks take; ``faces``: each wanted face with the
    stickers of its parts by bit.
    """

    nodes: NDArray[np.int64]
    looks: tuple[tuple[FaceView, ...], ...]
    parts: NDArray[np.int64]
    costs: NDArray[np.int64]
    faces: tuple[tuple[str, dict[int, Stickers]], ...]

    @property
    def bits(self) -> int:
        """How many parts there are."""
        return sum(len(parts) for _, parts in self.faces)

    def complete(self, seen: int) -> bool:
        """Whether the parts in ``seen`` leave out nothing that could be seen of any face."""
        return all(_union(parts, seen) == _union(parts, -1) for _, parts in self.faces)


def _union(parts: dict[int, Stickers], seen: int) -> Stickers:
    return frozenset().union(*(shown for bit, shown in parts.items() if seen >> bit & 1))


def find_places(mechanism: Mechanism, nodes: Iterable[int], faces: Iterable[str]) -> Places:
    """Those of ``nodes`` in which the cameras see something of ``faces``.

    Raises :class:`CannotSee` when a face is seen in none of them.
    """
    wanted = [face for face in FACES if face in set(faces)]
    everywhere = {
        node: looks for node in nodes if (looks := tuple(_looks(mechanism, node, wanted)))
    }
    parts = _parts(mechanism, wanted, everywhere.values())
    bit_of = {(face, shown): bit for face, sets in parts for bit, shown in sets.items()}
    masks = {
        node: sum(
            1 << bit_of[key]
            for key in {(look.face, look.shown(mechanism.size)) for look in looks}
            if key in bit_of
        )
        for node, looks in everywhere.items()
    }
    good = [node for node, mask in masks.items() if mask]
    return Places(
        nodes=np.array(good, dtype=np.int64),
        looks=tuple(everywhere[node] for node in good),
        parts=np.array([masks[node] for node in good], dtype=np.int64),
        costs=np.array([_look_us(mechanism, everywhere[node]) for node in good], dtype=np.int64),
        faces=parts,
    )


def _looks(mechanism: Mechanism, node: int, wanted: list[str]) -> Iterator[FaceView]:
    number, held = divmod(node, ORIENTATIONS)
    orientation = Orientation(held)
    for camera, view, hidden in _views(mechanism, mechanism.configurations[number]):
        face = orientation.face_at(view.site)
        if face in wanted:
            yield FaceView(camera, view.site, face, orientation, hidden)


def _views(
    mechanism: Mechanism, configuration: Configuration
) -> Iterator[tuple[str, View, Stickers]]:
    """Camera, view and hidden stickers of everything seen in a configuration."""
    places = configuration.positions
    for camera in mechanism.profile.cameras:
        for view in camera.views:
            if all(str(places.get(name)) in allowed for name, allowed in view.when.items()):
                covered = configuration.covered.get(view.site, frozenset())
                yield camera.name, view, covered | frozenset(view.hidden)


def _parts(
    mechanism: Mechanism, wanted: list[str], looks: Iterable[tuple[FaceView, ...]]
) -> tuple[tuple[str, dict[int, Stickers]], ...]:
    """The parts of each wanted face that no other look shows more of, numbered through."""
    shown: dict[str, set[Stickers]] = {face: set() for face in wanted}
    for look in (look for there in looks for look in there):
        shown[look.face].add(look.shown(mechanism.size))
    missing = [face for face, sets in shown.items() if not any(sets)]
    if missing:
        raise CannotSee(
            f"{mechanism.name}: no camera ever sees the faces {', '.join(missing)}; "
            "check the cameras' views, what hides them and how the cube gets there"
        )
    bit = 0
    found = []
    for face, sets in shown.items():
        most = sorted((s for s in sets if not any(s < other for other in sets)), key=sorted)
        found.append((face, {bit + number: stickers for number, stickers in enumerate(most)}))
        bit += len(most)
    return tuple(found)


def _look_us(mechanism: Mechanism, looks: tuple[FaceView, ...]) -> int:
    """Cameras look at the same time."""
    names = {look.camera for look in looks}
    return max(
        microseconds(camera.settle_ms + camera.capture_ms)
        for camera in mechanism.profile.cameras
        if camera.name in names
    )
