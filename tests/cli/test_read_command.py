"""``cubist read`` as scripts use it: documents, exit codes, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from robot.cli.main import run
from solver.cube.cube import Cube
from tests.rig.scenes import render_cube

PALETTE = {
    "U": (235, 235, 232),
    "R": (178, 22, 34),
    "F": (12, 138, 62),
    "D": (240, 212, 24),
    "L": (238, 98, 18),
    "B": (14, 70, 168),
}


def document(seed: int) -> tuple[str, dict[str, object]]:
    rng = np.random.default_rng(seed)
    facelets = Cube.random(rng).facelets()
    rgb = np.array([PALETTE[letter] for letter in facelets]) + rng.normal(0, 2, (54, 3))
    return facelets, {"size": 3, "rgb": np.clip(rgb, 0, 255).round(1).tolist()}


def answers(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_colours_of_several_cubes_in_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cubes = [document(seed) for seed in (1, 2)]
    file = tmp_path / "scans.json"
    file.write_text("\n".join(json.dumps(scan, indent=1) for _, scan in cubes))
    assert run(["read", "--colours", str(file), "--json"]) == 0
    found = answers(capsys)
    assert [answer["facelets"] for answer in found] == [facelets for facelets, _ in cubes]
    assert {"confident", "margin", "doubtful", "read_s"} <= set(found[0])


def test_what_was_put_right_is_told_where_something_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facelets, scan = document(3)
    file = tmp_path / "scan.json"
    file.write_text(json.dumps(scan))
    assert run(["read", "--colours", str(file), "--json"]) == 0
    assert "corrections" not in answers(capsys)[0]
    faces = np.array(scan["rgb"]).reshape(6, 9, 3)
    faces[2] = np.rot90(faces[2].reshape(3, 3, 3), -1).reshape(9, 3)
    file.write_text(json.dumps({"size": 3, "rgb": faces.reshape(54, 3).tolist()}))
    told = "face F was seen a quarter turn clockwise from how it should be"
    assert run(["read", "--colours", str(file), "--json"]) == 0
    (answer,) = answers(capsys)
    assert (answer["facelets"], answer["corrections"]) == (facelets, [told])
    assert run(["read", "--colours", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (facelets + "\n", told + "\n")


def test_a_scan_that_is_no_cube_is_refused_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, scan = document(4)
    rgb = np.array(scan["rgb"])
    rgb[9:18] = rgb[0:9]
    file = tmp_path / "scan.json"
    file.write_text(json.dumps({"size": 3, "rgb": rgb.tolist()}))
    assert run(["read", "--colours", str(file), "--json"]) == 1
    (answer,) = answers(capsys)
    assert answer["error"] == "unreadable"
    assert answer["reason"]


def test_photographs_that_are_none_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["read", "--faces", str(tmp_path / "none")]) == 2
    for face in "URFDLB":
        (tmp_path / f"{face}.png").write_bytes(b"not a picture")
    assert run(["read", "--faces", str(tmp_path)]) == 2
    assert "U.png" in capsys.readouterr().err


def test_photographs_without_a_cube_are_unreadable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = np.full((240, 320, 3), (90, 120, 60), dtype=np.uint8)
    for face in "URFDLB":
        cv2.imwrite(str(tmp_path / f"{face}.png"), table)
    assert run(["read", "--faces", str(tmp_path), "--json"]) == 1
    (answer,) = answers(capsys)
    assert "no cube is in view" in str(answer["reason"])


def test_rendered_photographs_are_read_and_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cube = render_cube(11, 3)
    for face, frame in cube.frames.items():
        cv2.imwrite(str(tmp_path / f"{face}.png"), frame.image[..., ::-1])
    picture = tmp_path / "explained.png"
    assert run(["read", "--faces", str(tmp_path), "--explain", str(picture), "--json"]) == 0
    (answer,) = answers(capsys)
    assert answer["facelets"] == cube.facelets
    assert answer["confident"] is True
    assert cv2.imread(str(picture)) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ("[1, 2]", "cubist: "),
        ('{"rgb": 3}', "cubist: "),
        ('{"size": 3, "rgb": [[1, 2, 3]]}', "cubist: "),
        ('{"size": 9, "rgb": []}', "cubist: "),
        ('{"size": "3", "rgb": [[1, 2, 3]]}', 'size "3" in the file: a whole number'),
        ('{"size": true, "rgb": [[1, 2, 3]]}', "size true in the file: a whole number"),
        ('{"rgb": [' + ", ".join(["[1, 2, " + "9" * 29 + "]"] * 54) + "]}", "cubist: "),
        ("[" * 100_000, "nested more than"),
    ],
)
def test_a_file_of_colours_that_is_wrong_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    file = tmp_path / "scan.json"
    file.write_text(text)
    assert run(["read", "--colours", str(file), "--json"]) == 2
    err = capsys.readouterr().err
    assert said in err and "internal error" not in err and len(err) < 300


def test_options_that_contradict_each_other_or_the_file_are_bad_usage(tmp_path: Path) -> None:
    file = tmp_path / "scan.json"
    file.write_text(json.dumps(document(5)[1]))
    for options in (
        [],
        ["--faces", str(tmp_path), "--colours", "-"],
        ["--colours", str(file), "--size", "4"],
    ):
        assert run(["read", *options]) == 2
