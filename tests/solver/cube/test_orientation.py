from __future__ import annotations

import pytest

from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.orientation import NAMES, Orientation, all_orientations, site_facelets
from solver.errors import BadNotation


def test_there_are_24_and_the_first_is_the_reference():
    assert len(set(NAMES)) == 24
    first = Orientation(0)
    assert first.name == "UF"
    assert "".join(first.face_at(site) for site in FACES) == FACES


@pytest.mark.parametrize(("axis", "seen"), [("x", "FD"), ("y", "UR"), ("z", "LF")])
def test_rotations_turn_like_r_u_and_f(axis, seen):
    assert Orientation(0).rotated(axis, 1).name == seen
    assert Orientation(0).rotated(axis, 1).rotated(axis, -1).index == 0
    assert Orientation(0).rotated(axis, 2) == Orientation(0).rotated(axis, -2)


@pytest.mark.parametrize("size", [2, 3])
def test_what_is_seen_is_what_the_independent_model_shows_after_rotating(size, replay):
    letters = "".join(chr(65 + number) for number in range(6 * size * size))
    for orientation in all_orientations():
        for axis in "xyz":
            for quarters, suffix in ((1, ""), (2, "2"), (-1, "'")):
                turned = orientation.rotated(axis, quarters)
                before = "".join(letters[i] for i in site_facelets(orientation, size))
                after = "".join(letters[i] for i in site_facelets(turned, size))
                assert after == replay(before, axis + suffix, size)


def test_sites_and_faces_are_each_others_inverse():
    for orientation in all_orientations():
        assert orientation.name == orientation.face_at("U") + orientation.face_at("F")
        for face in FACES:
            assert orientation.face_at(orientation.site_of(face)) == face
        assert orientation.then(orientation.inverse).index == 0


def test_the_centres_seen_name_the_faces_at_the_sites():
    drawn = Cube.solved().facelets()
    for orientation in all_orientations():
        shown = "".join(drawn[i] for i in site_facelets(orientation, 3))
        assert [shown[9 * k + 4] for k in range(6)] == [orientation.face_at(s) for s in FACES]


@pytest.mark.parametrize("name", ["UU", "UD", "", "uf"])
def test_impossible_names_are_refused(name):
    with pytest.raises(BadNotation):
        Orientation.named(name)
