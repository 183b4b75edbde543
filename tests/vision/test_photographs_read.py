"""From photographs to cubes, rendered and real: right at the first look, never sure of a wrong one.

``CUBIST_STRESS_CUBES`` sets how many cubes the long campaign renders.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from robot.cli.read import read
from tests.rig.pictures import Exposure, expose, random_room
from tests.rig.scans import FOLDERS, known_sets, mistakes, outcome, photo_sets, reading_of, scans
from tests.rig.scenes import FACES, SCENES, RenderedCube, is_true, read_outcome, render_cube
from vision.cameras.photographs import face_files, load_photo
from vision.decide.reader import Unreadable, read_cube
from vision.frame import Frame
from vision.locate.face import locate_grids
from vision.locate.six_faces import scan_folder, scan_frames
from vision.locate.view_check import OddView

real = pytest.mark.skipif(len(FOLDERS) < 2, reason="no real scans beside the checkout")


def outcomes(cubes: Iterable[RenderedCube]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong = []
    for cube in cubes:
        result = read_outcome(cube)
        counts[result] += 1
        if result == "wrong":
            wrong.append(cube.about)
    return counts, wrong


@pytest.mark.parametrize(("size", "least"), [(2, 11), (3, 11), (4, 3), (5, 3)])
def test_cubes_are_read_from_photographs(size: int, least: int) -> None:
    count = 12 if size < 4 else 6
    counts, wrong = outcomes(render_cube(10_000 + seed, size) for seed in range(count))
    assert not wrong
    assert counts["right"] >= least, counts


@pytest.mark.long
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("size", [3, 2])
def test_campaign(size: int) -> None:
    count = int(os.environ.get("CUBIST_STRESS_CUBES", "2000"))
    counts, wrong = outcomes(render_cube(20_000 + seed, size) for seed in range(count))
    assert not wrong
    assert counts["right"] >= 0.98 * count, counts


ON_A_STAND = replace(SCENES["shine"], hand_held=False)


@pytest.fixture(scope="module")
def shining() -> RenderedCube:
    """A 2x2x2 with so much reflection on L that nothing like a face shows there."""
    return render_cube(312, 2, at=ON_A_STAND)


def without(cube: RenderedCube, face: str) -> RenderedCube:
    """The cube's pictures, that of ``face`` of an empty room."""
    room = random_room(np.random.default_rng(1), (640, 480))
    image = expose(room, Exposure(), np.random.default_rng(2))
    return replace(cube, frames={**cube.frames, face: Frame(image, face, 0)})


def saved(cube: RenderedCube, folder: Path) -> str:
    for face in FACES:
        pixels = cv2.cvtColor(cube.frames[face].image, cv2.COLOR_RGB2BGR)
        assert cv2.imwrite(str(folder / f"{face}.png"), pixels)
    return str(folder)


def test_a_face_under_reflections_is_measured_where_the_others_are(shining: RenderedCube) -> None:
    with pytest.raises(OddView, match="picture L: no cube is in view"):
        scan_frames(shining.frames)
    looks = scan_frames(shining.frames, may_doubt=True)
    assert looks.doubt is not None and "picture L" in str(looks.doubt)
    reading = read_cube(looks.colours)
    assert reading.confident and is_true(shining, reading.facelets)


def test_a_command_reads_it_and_still_names_a_picture_of_something_else(
    shining: RenderedCube, tmp_path: Path
) -> None:
    found = CliRunner().invoke(read, ["--faces", saved(shining, tmp_path), "--json"])
    assert is_true(shining, json.loads(found.stdout)["facelets"])
    empty = without(render_cube(2002, 2, max_tilt=5), "F")
    missed = CliRunner().invoke(read, ["--faces", saved(empty, tmp_path), "--json"])
    assert "picture F" in missed.output
    assert "facelets" not in missed.stdout or json.loads(missed.stdout).get("facelets") is None


def test_two_pictures_of_something_else_are_never_measured() -> None:
    cube = without(without(render_cube(2002, 2, max_tilt=5), "F"), "B")
    with pytest.raises(OddView, match="picture F"):
        scan_frames(cube.frames, may_doubt=True)


def test_a_picture_of_something_else_makes_no_other_cube() -> None:
    for seed in range(3_000, 3_004):
        cube = without(render_cube(seed, 2 + seed % 2), FACES[seed % 6])
        try:
            reading = read_cube(scan_frames(cube.frames, may_doubt=True).colours)
        except (OddView, Unreadable):
            continue
        assert not reading.confident or is_true(cube, reading.facelets)


@pytest.fixture(scope="module")
def photo_folders(vision_data: Path) -> list[Path]:
    return sorted(path for path in (vision_data / "images").iterdir() if path.is_dir())


def test_grids_are_right_with_the_size_unknown(photo_folders: list[Path]) -> None:
    right = count = 0
    for folder in photo_folders:
        known = json.loads((folder / "expected.json").read_text())
        for face, path in face_files(folder).items():
            centres = known["sticker_centers_px"][face]
            if centres is None:
                continue
            count += 1
            grids = locate_grids(load_photo(path))
            if grids and grids[0].size == known["size"]:
                miss = np.linalg.norm(grids[0].centres - np.array(centres), axis=1).max()
                right += bool(miss < 0.25 * grids[0].pitch)
    assert count > 0
    assert right >= 0.95 * count, f"{right} of {count}"


@pytest.mark.parametrize(("shrunk", "width"), [(0.2, 1600), (0.15, 3200)])
def test_large_photographs_are_looked_at_as_large_as_they_must_be(
    tmp_path: Path, shrunk: float, width: int
) -> None:
    """A face 12 pixels a sticker is found at half the size; at 8 the whole pictures are needed."""
    cube = render_cube(500_051, 3)
    for face, frame in cube.frames.items():
        far = cv2.resize(frame.image, None, fx=shrunk, fy=shrunk, interpolation=cv2.INTER_AREA)
        picture = np.full((2400, 3200, 3), 90, np.uint8)
        picture[1000 : 1000 + far.shape[0], 1200 : 1200 + far.shape[1]] = far
        cv2.imwrite(str(tmp_path / f"{face}.png"), picture[:, :, ::-1])
    looks = scan_folder(tmp_path)
    assert looks.frames["U"].image.shape[1] == width
    assert read_cube(looks.colours).facelets == cube.facelets


@real
def test_photographs_are_read_right() -> None:
    found = {real.name: reading_of(real) for real in photo_sets(2, 3)}
    assert len(found) == 24
    assert sum(result == "right" for result in found.values()) >= 23, found
    assert set(found.values()) <= {"right", "unsure"}, found


@real
def test_scans_are_read_right_or_left_open() -> None:
    found = {real.name: reading_of(real) for real in scans(2, 3) if not real.corrupt}
    # In one of them red and orange cannot be told apart.
    assert Counter(found.values())["right"] >= len(found) - 4, found
    assert sum(result in ("right", "unsure") for result in found.values()) >= len(found) - 1, found
    assert "wrong" not in found.values(), found


@real
def test_a_shadowed_sticker_is_one_to_look_at_again() -> None:
    (real,) = (real for real in scans(3) if "random-11-rcr" in real.name)
    reading = read_cube(real.colours)
    assert (reading.facelets, reading.confident) == (real.truth, False)
    assert (reading.doubtful, reading.look_again) == (("B3",), "B")


@real
def test_altered_scans_are_never_surely_wrong() -> None:
    """Some mistakes for each scan, others for the next."""
    every = list(mistakes())
    counts: Counter[str] = Counter()
    for number, real in enumerate(real for real in scans(2, 3) if not real.corrupt):
        for mistake in islice(every, 7 * number % 37, None, 37):
            result = outcome(real.colours, real.truth, mistake)
            assert result != "wrong", (real.name, mistake.mistakes)
            counts[result] += 1
    assert counts["right"] > 0.7 * counts.total(), counts


@real
@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_every_set_with_every_mistake(size: int) -> None:
    counts: Counter[str] = Counter()
    for real in known_sets(size):
        for mistake in mistakes():
            result = outcome(real.colours, real.truth, mistake)
            assert result != "wrong", (real.name, mistake.mistakes)
            counts[result] += 1
    assert counts["right"] > 0.5 * counts.total(), counts
