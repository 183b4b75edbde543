"""The time-lapse of a run: which pictures are kept, and an animation that others can play."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from robot.records.time_lapse import LONGEST_S, MOST_KEPT, WIDTH, TimeLapse

BLUE, RED = (200, 40, 20), (20, 40, 200)


def jpeg(colour: tuple[int, int, int], size: tuple[int, int] = (640, 480)) -> bytes:
    """A picture of one colour (BGR)."""
    image = np.full((size[1], size[0], 3), colour, np.uint8)
    return bytes(cv2.imencode(".jpg", image)[1].tobytes())


def played(lapse: TimeLapse) -> tuple[list[Image.Image], list[int]]:
    """The pictures of the animation as another library reads them, and their milliseconds."""
    shown = Image.open(io.BytesIO(lapse.animate()))
    assert shown.format == "WEBP" and getattr(shown, "is_animated", False)
    pictures, times = [], []
    for number in range(getattr(shown, "n_frames", 1)):
        shown.seek(number)
        pictures.append(shown.convert("RGB"))
        times.append(shown.info["duration"])
    return pictures, times


def test_an_animation_shows_each_picture_for_its_part_of_the_time() -> None:
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
    reds = [picture.getpixel((9, 9))[0] > 128 for picture in pictures]  # type: ignore[index]
    assert reds == [False, True, False]
    assert times[:2] == [400, 100]


@pytest.mark.parametrize("lasts_s", [3.0, 30.0, 600.0])
def test_a_run_of_any_length_is_shown_whole_evenly_and_in_little_room(lasts_s: float) -> None:
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


def test_large_pictures_are_kept_small() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (720, 960, 3), dtype=np.uint8)
    lapse = TimeLapse()
    lapse.add(0.0, cv2.imencode(".jpg", noise)[1].tobytes())
    assert len(lapse.kept[0].jpeg) < 100_000


def test_one_picture_is_no_animation() -> None:
    lapse = TimeLapse()
    assert lapse.animate() == b""
    lapse.add(0.0, jpeg(BLUE))
    assert lapse.animate() == b""
