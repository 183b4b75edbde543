"""Real colour scans are read right."""

from __future__ import annotations

import json

import pytest

from solver.cube.sticker_cube import StickerCube
from solver.search import solve
from vision.decide.reader import Unreadable, read_cube
from vision.decide.schemes import rotations
from vision.measure.sticker_colours import FACES, StickerColours


def scans(folder, size):
    paths = sorted((folder / "colors" / f"{size}x{size}x{size}").glob("*.json"))
    assert paths
    return [json.loads(path.read_text()) | {"name": path.stem} for path in paths]


@pytest.mark.parametrize("size", [2, 3])
def test_scans_are_read_right(vision_data, size):
    wrong = []
    for scan in scans(vision_data, size):
        expected = scan.get("expected_dbl_normalised", scan["expected"])
        if expected is None:
            continue
        reading = read_cube(StickerColours.from_srgb(size, scan["rgb"]))
        if reading.facelets != expected or not reading.confident:
            wrong.append((scan["name"], reading))
    assert not wrong


def test_corrupt_scans_are_refused_and_the_face_named(vision_data):
    """One face read a row off: no legal cube, and the face that spoils it is told."""
    corrupt = [scan for scan in scans(vision_data.parent / "vision_more", 3) if scan["corrupt"]]
    assert len(corrupt) == 2
    for scan in corrupt:
        with pytest.raises(Unreadable, match="no legal cube fits the colours seen") as refusal:
            read_cube(StickerColours.from_srgb(3, scan["rgb"]))
        assert refusal.value.look_again in FACES


def agreeing(found, expected):
    """Stickers alike, however a cube without centres was held."""
    return max(
        sum(FACES[turned[FACES.index(a)]] == b for a, b in zip(found, expected, strict=True))
        for turned in rotations().tolist()
    )


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_larger_cubes_are_read_at_least_as_well_as_by_others(vision_data, size):
    worse = []
    for scan in scans(vision_data, size):
        reading = read_cube(StickerColours.from_srgb(size, scan["rgb"]))
        ours = agreeing(reading.facelets, scan["expected"])
        theirs = agreeing(scan["peer_resolver_output"], scan["expected"])
        # A derived answer is the other decoder's own output.
        if not scan["derived"] and ours < theirs:
            worse.append((scan["name"], ours, theirs))
        if reading.confident:
            assert ours == 6 * size * size, scan["name"]
    assert not worse


OVEREXPOSED = "4x4x4-random-05-rcr-3a2ca"
"""Two faces of one colour each, white and a yellow that is as white as the other."""


def assert_solved(scan, size):
    """What was read is a legal cube, and the solution found for it solves it."""
    reading = read_cube(StickerColours.from_srgb(size, scan["rgb"]))
    cube = StickerCube.from_facelets(reading.facelets, size)
    solution = solve(cube, algorithm="reduction", metric="obtm", time_limit=0.05)
    assert cube.apply(" ".join(solution.moves)).is_solved, scan["name"]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_larger_cubes_that_were_read_are_legal_and_solved(vision_data, size):
    for scan in scans(vision_data, size)[:3]:
        assert_solved(scan, size)


@pytest.mark.long
@pytest.mark.parametrize("folder", ["vision", "vision_more"])
@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_every_larger_cube_is_read_legal_and_solved(vision_data, folder, size):
    for scan in scans(vision_data.parent / folder, size):
        if scan["name"] == OVEREXPOSED:
            with pytest.raises(Unreadable, match="pictures U and D show the same face"):
                assert_solved(scan, size)
        else:
            assert_solved(scan, size)
