"""The pictures of a run: its collage, and its time-lapse as other programs play it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from robot.records.collage import MOST_BYTES, draw_collage
from robot.records.run_record import RunRecord
from robot.records.runs import RunStore
from robot.records.storage import NOT_STORED, StorageError
from robot.records.time_lapse import LONGEST_S, MOST_KEPT, WIDTH, TimeLapse
from solver.cube.cube import Cube

CORNERS = [(0.3, 0.2), (0.8, 0.3), (0.75, 0.9), (0.25, 0.8)]
CELL, FIRST = 248, 16
PLACES = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
"""Column and row of the faces of an unfolded cube."""


def photograph(face: str) -> NDArray[np.uint8]:
    """Return a photograph (BGR) of a face whose top right quarter is brighter than the rest."""
    image = np.full((480, 640, 3), 90, np.uint8)
    corners = np.array(CORNERS) * (640, 480)
    shade = 40 + 20 * "URFDLB".index(face)
    cv2.fillConvexPoly(image, corners.round().astype(np.int32), (0, shade, 0))
    middle = corners.mean(axis=0)
    quarter = [corners[:2].mean(axis=0), corners[1], corners[1:3].mean(axis=0), middle]
    cv2.fillConvexPoly(image, np.array(quarter).round().astype(np.int32), (0, shade + 90, 0))
    return image


def load(name: str) -> bytes:
    return bytes(cv2.imencode(".png", photograph(name[-5]))[1].tobytes())


def record(**more: Any) -> RunRecord:
    names = [f"scanning-{number}-{face}.jpg" for number, face in enumerate("URFDLB", start=1)]
    known: dict[str, Any] = {
        "photos": [*names, "checking-1-U.jpg", "reading.png"],
        "corners": dict.fromkeys(names, CORNERS),
        "facelets": Cube.solved().apply("R U F2").facelets(),
        "moves": "F2 U' R'",
    }
    at = datetime(2026, 11, 26, tzinfo=UTC)
    return RunRecord(id="000012", kind="solve", robot="toy", started_at=at, **(known | more))


def drawn(run: RunRecord) -> NDArray[np.uint8]:
    data = draw_collage(run, load)
    assert len(data) <= MOST_BYTES
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def test_faces_stand_upright_in_their_places_with_the_colours_read():
    run = record()
    image = drawn(run)
    for face, (column, row) in PLACES.items():
        left, top = FIRST + CELL * column, FIRST + CELL * row
        shade = 40 + 20 * "URFDLB".index(face)
        # Between the dots, in the bright quarter and in the opposite one.
        assert image[top + 20, left + 165, 1] == pytest.approx(shade + 90, abs=12), face
        assert image[top + 220, left + 75, 1] == pytest.approx(shade, abs=12), face
        first = 9 * "URFDLB".index(face)
        dots = [image[top + 40 + 80 * (n // 3), left + 40 + 80 * (n % 3)] for n in range(9)]
        colours = {bytes(dot // 64): run.facelets[first + n] for n, dot in enumerate(dots)}
        assert len(set(colours.values())) == len(set(run.facelets[first : first + 9])), face


@pytest.mark.parametrize(
    "odd",
    [
        {"facelets": ""},
        {"facelets": "UR"},
        {"facelets": "?" * 54},
        {"moves": "R " * 5000},
        {"corners": {"scanning-1-U.jpg": [(0.5, 0.5)] * 4}},
    ],
)
def test_a_strange_record_has_a_collage_all_the_same(odd):
    assert drawn(record(**odd)).shape == (768, 1016, 3)


def test_a_run_without_photographs_has_no_collage():
    with pytest.raises(StorageError, match="photographs") as error:
        draw_collage(record(photos=["reading.png", "time-lapse.webp"]), load)
    assert error.value.code == NOT_STORED


def test_a_run_under_way_shows_photographs_that_its_record_does_not_name_yet(tmp_path):
    store = RunStore(tmp_path)
    writer = store.begin("solve", "toy", datetime(2026, 11, 26, tzinfo=UTC))
    writer.save_photo("scanning-1-F.jpg", load("scanning-1-F.jpg"))
    data = draw_collage(writer.record, partial(store.photo, writer.record.id))
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert image[FIRST + CELL + 120, FIRST + CELL + 4, 1] == pytest.approx(90, abs=12)


BLUE, RED = (200, 40, 20), (20, 40, 200)


def jpeg(colour: tuple[int, int, int], size: tuple[int, int] = (640, 480)) -> bytes:
    image = np.full((size[1], size[0], 3), colour, np.uint8)
    return bytes(cv2.imencode(".jpg", image)[1].tobytes())


def played(lapse: TimeLapse) -> tuple[list[Image.Image], list[int]]:
    """Return the animation's pictures as another library reads them, and their milliseconds."""
    shown = Image.open(io.BytesIO(lapse.animate()))
    assert shown.format == "WEBP" and getattr(shown, "is_animated", False)
    pictures, times = [], []
    for number in range(getattr(shown, "n_frames", 1)):
        shown.seek(number)
        pictures.append(shown.convert("RGB"))
        times.append(shown.info["duration"])
    return pictures, times


def test_an_animation_shows_each_picture_for_its_part_of_the_time():
    lapse = TimeLapse()
    for at_s, colour, size in (
        (0.0, BLUE, (640, 480)),
        (0.4, RED, (800, 600)),
        (0.5, BLUE, (8, 6)),
    ):
        lapse.add(at_s, jpeg(colour, size))
    lapse.add(0.7, b"no picture")
    pictures, times = played(lapse)
    assert {picture.size for picture in pictures} == {(WIDTH, 240)}
    reds = [picture.getpixel((9, 9))[0] > 128 for picture in pictures]
    assert reds == [False, True, False]
    assert times[:2] == [400, 100]


@pytest.mark.parametrize("lasts_s", [3.0, 30.0, 600.0])
def test_a_run_of_any_length_is_shown_whole_evenly_and_in_little_room(lasts_s):
    lapse, at_s, one = TimeLapse(), 0.0, jpeg(BLUE, (64, 48))
    while at_s < lasts_s:
        lapse.add(at_s, one)
        at_s += lapse.interval_s
    times = [picture.at_s for picture in lapse.kept]
    assert times[0] == 0.0 and lasts_s - times[-1] <= lapse.interval_s
    assert len(times) <= MOST_KEPT
    gaps = np.diff(times)
    assert gaps.max() <= 2.01 * gaps.min()
    assert sum(played(lapse)[1]) <= 1000 * LONGEST_S + MOST_KEPT, "each is whole milliseconds"


def test_one_picture_is_no_animation():
    lapse = TimeLapse()
    assert lapse.animate() == b""
    lapse.add(0.0, jpeg(BLUE))
    assert lapse.animate() == b""
