"""From which figure on a view is advised about, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from vision.frame import Frame
from vision.locate import advice
from vision.locate.advice import Advice, Matter, advise, edge_width, flatness
from vision.locate.face import FaceGrid
from vision.measure.sticker_colours import FaceColours

PICTURE = Frame(np.zeros((500, 1000, 3), np.uint8), "top", 0)


def upright(left: float, top: float, width: float, height: float, size: int = 3) -> FaceGrid:
    corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return FaceGrid.of_corners(corners, size)


@pytest.mark.parametrize(
    ("grid", "told", "figure"),
    [
        (upright(100, 100, 42, 42), "", 0),
        (upright(100, 100, 41.7, 41.7), "the stickers are only 14 pixels wide: bring", 0.1 / 14),
        (upright(100, 100, 21, 21), "the stickers are only 7 pixels wide: bring the camera", 0.5),
        # A fiftieth of the width is 20 pixels, of the height 10.
        (upright(20, 100, 300, 300), "", 0),
        (upright(19, 100, 300, 300), "the face touches the left edge of the picture", 0.05),
        (upright(680, 100, 300, 300), "", 0),
        (upright(681, 100, 300, 300), "the face touches the right edge of the picture", 0.05),
        (upright(100, 10, 300, 300), "", 0),
        (upright(100, 5, 300, 300), "the face touches the top edge of the picture", 0.5),
        (upright(100, 190, 300, 300), "", 0),
        (upright(100, 195, 300, 300), "the face touches the bottom edge of the picture", 0.5),
        (upright(-20, 100, 300, 300), "left edge of the picture: move the camera", 2.0),
        (upright(100, 100, 300, 234.1), "", 0),
        (upright(100, 100, 300, 233.9), "the camera sees the face at too steep an angle", 0.22),
        (upright(100, 100, 150, 300), "point it more squarely at the face", 0.5),
    ],
)
def test_a_face_has_to_be_large_whole_and_seen_squarely(
    grid: FaceGrid, told: str, figure: float
) -> None:
    found = advice._framing(PICTURE, grid)
    assert len(found) == bool(told)
    if told:
        assert told in found[0].text and found[0].matter is Matter.FRAMING
        assert found[0].figure == pytest.approx(figure, abs=1e-3)


def test_a_tilt_is_measured_in_the_middle_of_the_face() -> None:
    assert flatness(upright(0, 0, 90, 90)) == pytest.approx(1)
    assert (
        flatness(upright(0, 0, 90, 60)) == flatness(upright(0, 0, 60, 90)) == pytest.approx(2 / 3)
    )
    # Leaning like a parallelogram: axes of the ellipse that a circle becomes.
    leaning = FaceGrid.of_corners([[0, 0], [90, 0], [180, 90], [90, 90]], 2)
    long, short = np.linalg.svd(np.array([[1.0, 1.0], [0.0, 1.0]]), compute_uv=False)
    assert flatness(leaning) == pytest.approx(short / long)
    away = FaceGrid(3, np.array([[30.0, 0, 0], [0, 30.0, 0], [0, 0.2, 1.0]]), 1.0, 1.0)
    w = 1 + 0.2 * 1.5
    right, down = 30 * 0.5 / w, 30 * (2.0 / (1 + 0.2 * 2.0) - 1.5 / w)
    aside = 30 * 1.5 * (1 / (1 + 0.2 * 2.0) - 1 / w)
    axes = np.linalg.svd(np.array([[right, 0], [aside, down]]), compute_uv=False)
    assert flatness(away) == pytest.approx(axes[1] / axes[0])


def seen(light: float = 0.5, saturated: int = 0, dark: int = 0) -> FaceColours:
    """Twenty stickers as bright, of which some clip; further ones are dark and not valid."""
    count = 20 + dark
    rgb = np.full((count, 3), 0.01, np.float32)
    rgb[:20, 1] = light
    flags = np.arange(count) < saturated
    return FaceColours(rgb, np.zeros_like(rgb), flags, np.arange(count) < 20)


def lit(
    monkeypatch: pytest.MonkeyPatch, colours: FaceColours, shading: np.ndarray | None = None
) -> list[Advice]:
    even = np.ones((3, 3)) if shading is None else shading
    monkeypatch.setattr(advice, "falloff", lambda frame, grid: even)
    return advice._light(PICTURE, upright(100, 100, 300, 300), colours)


@pytest.mark.parametrize(("count", "told"), [(3, ""), (4, "20% of the stickers are too bright")])
def test_some_stickers_may_clip(monkeypatch: pytest.MonkeyPatch, count: int, told: str) -> None:
    found = lit(monkeypatch, seen(saturated=count))
    assert [one.text[: len(told)] for one in found] == ([told] if told else [])
    assert all(one.figure == 0.2 and one.matter is Matter.LIGHT for one in found)


def test_the_brighter_stickers_have_to_be_bright(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lit(monkeypatch, seen(0.061)) == []
    (dark,) = lit(monkeypatch, seen(0.03))
    assert dark.text.startswith("the face is dark: use more light")
    assert dark.figure == pytest.approx(0.5)
    assert lit(monkeypatch, seen(0.1, dark=200)) == [], "what was not measured tells nothing"
    few = seen(0.01)
    few.linear_rgb[:5, 2] = 0.5  # a quarter of them
    assert lit(monkeypatch, few) == []
    few.linear_rgb[:2, 2] = 0.01
    few.linear_rgb[2:5, 2] = 0.5  # fewer than a fifth
    assert len(lit(monkeypatch, few)) == 1


@pytest.mark.parametrize(
    ("row", "column", "place"),
    [
        (0, 0, "upper left"),
        (0, 1, "top"),
        (0, 2, "upper right"),
        (1, 0, "left"),
        (1, 1, "middle"),
        (1, 2, "right"),
        (2, 0, "lower left"),
        (2, 1, "bottom"),
        (2, 2, "lower right"),
    ],
)
def test_a_shadow_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch, row: int, column: int, place: str
) -> None:
    shading = np.ones((3, 3))
    shading[row, column] = 0.551
    assert lit(monkeypatch, seen(), shading) == []
    shading[row, column] = 0.5
    (found,) = lit(monkeypatch, seen(), shading)
    assert found.text == f"the {place} is in shadow (50% darker): light the face more evenly"
    assert found.figure == pytest.approx(0.5)


@pytest.mark.parametrize(("width", "figure"), [(0.07, None), (0.08, 0.08), (3.0, 1.0)])
def test_a_narrow_border_is_sharp_enough(
    monkeypatch: pytest.MonkeyPatch, width: float, figure: float | None
) -> None:
    monkeypatch.setattr(advice, "edge_width", lambda frame, grid: width)
    found = advice._focus(PICTURE, upright(100, 100, 300, 300))
    assert [one.figure for one in found] == ([] if figure is None else [figure])
    assert all(one.matter is Matter.FOCUS and "blurred" in one.text for one in found)


def test_the_worst_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "_framing", lambda *_, **__: [Advice(Matter.FRAMING, "a", 0.2)])
    monkeypatch.setattr(advice, "_light", lambda *_: [Advice(Matter.LIGHT, "b", 0.9)])
    monkeypatch.setattr(advice, "_focus", lambda *_: [Advice(Matter.FOCUS, "c", 0.5)])
    found = advise(PICTURE, upright(100, 100, 300, 300))
    assert [one.text for one in found] == ["b", "c", "a"]


def borders(ramp: int, upright_only: bool = False) -> Frame:
    """A face of 3 x 3 stickers of 40 pixels that go over into each other within ``ramp``."""
    levels = np.array([60.0, 200.0, 90.0])
    place = np.arange(120)
    row = np.interp(
        place,
        [0, 40 - ramp / 2, 40 + ramp / 2, 80 - ramp / 2, 80 + ramp / 2, 120],
        [levels[0], levels[0], levels[1], levels[1], levels[2], levels[2]],
    )
    flat = np.repeat(row[None], 120, axis=0)
    image = flat if upright_only else (flat + flat.T) / 2
    return Frame(np.repeat(image[..., None], 3, axis=2).astype(np.uint8), "", 0)


@pytest.mark.parametrize("ramp", [4, 8, 16])
@pytest.mark.parametrize("upright_only", [False, True])
def test_the_width_of_borders_is_a_part_of_a_sticker(ramp: int, upright_only: bool) -> None:
    grid = FaceGrid(3, np.array([[40.0, 0, -0.5], [0, 40.0, -0.5], [0, 0, 1]]), 1.0, 1.0)
    width = edge_width(borders(ramp, upright_only), grid)
    assert width == pytest.approx(ramp / 40, rel=0.15)


def test_where_no_border_shows_the_picture_is_taken_to_be_blurred() -> None:
    grid = upright(100, 100, 300, 300)
    assert edge_width(PICTURE, grid) == 1.0
    step = np.zeros((80, 80, 3))
    for rise, count in ((40.0, 0), (41.0, 2)):
        step[:, 40:] = rise
        assert len(advice._widths(step, 2, 40)) == count


def test_borders_are_looked_at_in_a_band_of_rows() -> None:
    """A scratch along the row where the band begins, or ends, is none of a border's slope."""
    for row in (20 - 5, 20 + 5):
        flat = np.zeros((80, 80, 3))
        flat[:, 40:] = 60.0
        flat[row] = 0.0
        (width, _) = advice._widths(flat, 2, 40)
        assert width == pytest.approx(1 / 40)
        scratched = np.zeros((80, 80, 3))
        scratched[row, 40:] = 60.0
        assert advice._widths(scratched, 2, 40) == []


def test_light_that_falls_off_downwards_is_measured_as_well() -> None:
    """Of one colour everywhere, so that nothing but light changes."""
    rows, columns = np.mgrid[0:300, 0:300] / 300.0
    for across, down in ((0.5, 0.0), (0.0, 0.5), (-0.3, 0.4)):
        light = 0.6 * np.exp(-across * columns - down * rows)
        srgb = np.round(255 * (1.055 * light ** (1 / 2.4) - 0.055)).astype(np.uint8)
        frame = Frame(np.repeat(srgb[..., None], 3, axis=2), "", 0)
        for size in (2, 3, 5):
            grid = FaceGrid.of_corners(
                [[-0.5, -0.5], [299.5, -0.5], [299.5, 299.5], [-0.5, 299.5]], size
            )
            found = advice.falloff(frame, grid)
            at = np.array([1 / 6, 1 / 2, 5 / 6])
            expected = np.exp(-across * at[None, :] - down * at[:, None])
            assert found == pytest.approx(expected / expected.max(), rel=0.03)


def test_a_spot_of_light_makes_a_curve_and_glare_on_a_sticker_none() -> None:
    rows, columns = np.mgrid[0:400, 0:400] / 400.0 - 0.5
    light = 0.6 * np.exp(-1.5 * (columns**2 + rows**2) + 0.8 * columns * rows)
    image = np.round(255 * (1.055 * light ** (1 / 2.4) - 0.055)).astype(np.uint8)
    image = np.repeat(image[..., None], 3, axis=2)
    grid = FaceGrid.of_corners([[-0.5, -0.5], [399.5, -0.5], [399.5, 399.5], [-0.5, 399.5]], 7)
    at = np.array([1 / 6, 1 / 2, 5 / 6]) - 0.5
    expected = np.exp(
        -1.5 * (at[None, :] ** 2 + at[:, None] ** 2) + 0.8 * at[None, :] * at[:, None]
    )
    found = advice.falloff(Frame(image, "", 0), grid)
    assert found == pytest.approx(expected / expected.max(), abs=0.04)
    spoilt = image.copy()
    spoilt[20:50, 20:35] = 255
    assert advice.falloff(Frame(spoilt, "", 0), grid) == pytest.approx(found, abs=0.04)
