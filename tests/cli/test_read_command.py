"""``cubist read`` as scripts use it: documents, exit codes, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from robot.cli.main import run
from solver.cube.cube import Cube
from tests.rig.corner_scenes import render_corners
from tests.rig.scenes import SCHEMES, render_cube


@pytest.fixture
def read(ask: Any, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs ``cubist read --json``: exit code, documents, errors.

    With ``text`` it reads a file of that text.
    """

    def call(*options: str, text: str | None = None) -> Any:
        if text is not None:
            (tmp_path / "scan.json").write_text(text)
            options = ("--colours", str(tmp_path / "scan.json"), *options)
        return ask("read", *options)

    return call


def scan(seed: int) -> tuple[str, Any]:
    """Return a cube and its measured colours."""
    rng = np.random.default_rng(seed)
    facelets = Cube.random(rng).facelets()
    rgb = np.array([SCHEMES["classic"][letter] for letter in facelets]) + rng.normal(0, 2, (54, 3))
    return facelets, np.clip(rgb, 0, 255).round(1)


def document(rgb: Any) -> str:
    return json.dumps({"size": 3, "rgb": rgb.tolist()}, indent=1)


def test_colours_of_several_cubes_in_one_file(read):
    cubes = [scan(seed) for seed in (1, 2)]
    code, found, _ = read(text="\n".join(document(rgb) for _, rgb in cubes))
    assert (code, [answer["facelets"] for answer in found]) == (0, [cube for cube, _ in cubes])
    assert list(found[0]) == ["facelets", "confident", "margin", "doubtful", "read_s"]


def test_what_was_put_right_is_told(read, tmp_path, capfd):
    facelets, rgb = scan(3)
    faces = rgb.reshape(6, 9, 3)
    faces[2] = np.rot90(faces[2].reshape(3, 3, 3), -1).reshape(9, 3)
    told = "face F was seen rotated by a quarter turn clockwise"
    _, (answer,), _ = read(text=document(faces.reshape(54, 3)))
    assert (answer["facelets"], answer["corrections"]) == (facelets, [told])
    assert run(["read", "--colours", str(tmp_path / "scan.json")]) == 0
    assert capfd.readouterr() == (facelets + "\n", told + "\n")


def test_a_scan_that_is_no_cube_is_refused_with_exit_code_1(read):
    _, rgb = scan(4)
    rgb[9:18] = rgb[0:9]
    code, (answer,), _ = read(text=document(rgb))
    assert (code, answer["error"], bool(answer["reason"])) == (1, "unreadable", True)


def test_photographs_are_read_and_explained_or_refused(read, tmp_path):
    assert read("--faces", str(tmp_path / "none"))[0] == 2
    for face in "URFDLB":
        (tmp_path / f"{face}.png").write_bytes(b"not a picture")
    code, _, err = read("--faces", str(tmp_path))
    assert code == 2 and "U.png" in err
    for face in "URFDLB":
        table = np.full((240, 320, 3), (90, 120, 60), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f"{face}.png"), table)
    code, (answer,), _ = read("--faces", str(tmp_path))
    assert code == 1 and "no cube is in view" in answer["reason"]
    cube, picture = render_cube(11, 3), tmp_path / "explained.png"
    for face, frame in cube.frames.items():
        cv2.imwrite(str(tmp_path / f"{face}.png"), frame.image[..., ::-1])
    code, (answer,), _ = read("--faces", str(tmp_path), "--explain", str(picture))
    assert (code, answer["facelets"], answer["confident"]) == (0, cube.facelets, True)
    assert cv2.imread(str(picture)) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "cubist: "),
        ('{"rgb": 3}', "cubist: "),
        ('{"size": 3, "rgb": [[1, 2, 3]]}', "cubist: "),
        ('{"size": 9, "rgb": []}', "cubist: "),
        (json.dumps({"rgb": [[1, 2, 3]] * 53 + [[1, 2]]}), "cubist: "),
        (json.dumps({"rgb": [[1, 2, 3]] * 53 + [[1, 2, None]]}), "cubist: "),
        ('{"rgb": [' + ", ".join(["[1, 2, 1e999]"] * 54) + "]}", "cubist: "),
        ('{"size": "3", "rgb": [[1, 2, 3]]}', 'the size in the file is "3": write a whole number'),
        ('{"size": true, "rgb": [[1, 2, 3]]}', "in the file is true: write a whole number"),
        ('{"rgb": [' + ", ".join(["[1, 2, " + "9" * 29 + "]"] * 54) + "]}", "cubist: "),
    ],
)
def test_a_file_of_colours_that_is_wrong_is_bad_usage(read, text, said):
    code, _, err = read(text=text)
    assert code == 2
    assert said in err and "internal error" not in err and len(err) < 300


def test_options_that_contradict_each_other_or_the_file_are_bad_usage(read):
    assert read()[0] == read("--faces", ".", "--colours", "-")[0] == 2
    assert read("--corners", "a.png", "b.png", "--faces", ".")[0] == 2
    assert read("--corners", "a.png", "b.png", "--size", "6")[0] == 2
    assert read("--size", "4", text=document(scan(5)[1]))[0] == 2


def test_two_photographs_of_corners(read, tmp_path):
    cube, paths = render_corners(3, 3), [str(tmp_path / f"{name}.png") for name in "ab"]
    for path, frame in zip(paths, cube.frames, strict=True):
        assert cv2.imwrite(path, frame.image[..., ::-1])
    code, (found,), _ = read("--corners", *paths, "--explain", str(tmp_path / "out.png"))
    assert (code, found["confident"]) == (0, True)
    assert found["facelets"] in cube.held
    refused = read("--corners", *paths, "--size", "4")[1][0]["reason"]
    assert refused == "first picture: a 3x3x3 is in view where a 4x4x4 is expected"
    assert cv2.imread(str(tmp_path / "out.png")) is not None
