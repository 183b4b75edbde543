"""One picture of six that hardly shows its face: read where the others have it, or named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from robot.cli.read import read
from tests.rig.pictures import Exposure, expose, random_room
from tests.rig.scenes import FACES, SCENES, RenderedCube, is_true, render_cube
from vision.decide.reader import Unreadable, read_cube
from vision.frame import Frame
from vision.locate.six_faces import look_at_frames
from vision.locate.view_check import OddView

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
        look_at_frames(shining.frames)
    looks = look_at_frames(shining.frames, may_doubt=True)
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
        look_at_frames(cube.frames, may_doubt=True)


def test_a_picture_of_something_else_makes_no_other_cube() -> None:
    for seed in range(3_000, 3_006):
        cube = without(render_cube(seed, 2 + seed % 2), FACES[seed % 6])
        try:
            reading = read_cube(look_at_frames(cube.frames, may_doubt=True).colours)
        except (OddView, Unreadable):
            continue
        assert not reading.confident or is_true(cube, reading.facelets)
