"""Where everything stands in the picture that explains a reading, and in which colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.rig.scans import synthetic_scan
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.explain.drawing import Canvas, text_width
from vision.explain.explain import colour_names, explain
from vision.frame import Frame
from vision.measure.sticker_colours import FACES, linear_to_srgb

BRIGHT, QUIET, BODY = (236, 239, 244), (150, 156, 168), (13, 14, 17)
FAINT, PANEL, DOUBT = (70, 75, 86), (34, 37, 44), (255, 64, 200)
GOOD, UNSURE, BAD = (126, 211, 138), (247, 201, 86), (248, 113, 113)
NET = {"U": (236, 0), "L": (36, 200), "F": (236, 200), "R": (436, 200), "B": (636, 200)}
NET["D"] = (236, 400)
"""Left and top of the faces of the unfolded cube, 190 wide each."""


class Drawn:
    """What was drawn: ``(parameters, options)`` of every call, by kind."""

    KINDS = ("box", "frame", "outline", "line", "dot", "text", "paste")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}
        for kind in self.KINDS:
            self.calls[kind] = []
            monkeypatch.setattr(Canvas, kind, self._noted(kind, getattr(Canvas, kind)))

    def _noted(self, kind: str, draw: Any) -> Any:
        def noted(canvas: Canvas, *args: Any, **options: Any) -> Any:
            self.calls[kind].append((args, options))
            return draw(canvas, *args, **options)

        return noted

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [args for args, _ in self.calls[kind]]

    def words(self) -> dict[str, tuple[tuple[float, float], Any]]:
        """Place and colour of each text, the last of those alike."""
        return {words: (place, colour) for place, words, colour, *_ in self.of("text")}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Drawn]:
    yield Drawn(monkeypatch)


def near(place: tuple[float, float]) -> Any:
    return pytest.approx(place, abs=0.01)


def key(place: tuple[float, float]) -> tuple[float, float]:
    """A place to look up, in hundredths."""
    return round(float(place[0]), 2) + 0.0, round(float(place[1]), 2) + 0.0


def test_the_words_stand_in_their_places(drawn: Drawn) -> None:
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    shown = CubeReading(3, reading.facelets, reading.cube, 5.0, False, ("F3", "U1"))
    explain(colours, shown)
    words = drawn.words()
    start = 36 + text_width("3x3x3", 24, bold=True) + 18
    expected = {
        "3x3x3": ((36, 58), BRIGHT),
        "unsure": ((start + 14, 54.5), BODY),
        f"margin 5.0  |  {reading.facelets}  |  doubtful: F3, U1".replace("  ", " "): (
            (36, 88),
            QUIET,
        ),
        "outside: decided": ((444, 24), QUIET),
        "inside: measured": ((444, 44), QUIET),
        "letters: colours": ((444, 64), QUIET),
        "ringed: doubtful": ((444, 84), DOUBT),
        "colours": ((912, 32), BRIGHT),
        "right: more red, up: more blue, whatever the brightness": ((1000, 32), QUIET),
    }
    for text, (place, colour) in expected.items():
        assert words[text] == (near(place), colour), text
    at, size, colour = drawn.of("box")[0]
    assert (at, size, colour) == (
        near((start, 34)),
        near((text_width("unsure", 13, bold=True) + 28, 28)),
        UNSURE,
    )
    assert [args[3] for args in drawn.of("text")[:3]] == [24, 13, 12]
    assert [options.get("bold", False) for _, options in drawn.calls["text"][:3]] == [1, 1, 0]


@pytest.mark.parametrize(
    ("confident", "word", "colour"), [(True, "confident", GOOD), (False, "unsure", UNSURE)]
)
def test_what_is_not_drawn(drawn: Drawn, confident: bool, word: str, colour: Any) -> None:
    """No rings where nothing is doubtful; the facelets of large cubes are left out."""
    colours = synthetic_scan(1, 4).colours
    reading = read_cube(colours)
    explain(colours, CubeReading(4, reading.facelets, reading.cube, 5.0, confident))
    assert "ringed: doubtful" not in drawn.words()
    assert not drawn.of("frame") and not drawn.of("paste") and not drawn.of("outline")
    assert drawn.words()["margin 5.0"] == (near((36, 88)), QUIET)
    assert word in drawn.words() and drawn.of("box")[0][2] == colour


def test_at_most_three_lines_of_a_refusal_one_below_the_other(drawn: Drawn) -> None:
    colours = synthetic_scan(1, 3).colours
    reason = " ".join(["nothing like a cube is here"] * 40)
    explain(colours, Unreadable(reason, ("R1",), "R"))
    lines = [(args[0], args[2]) for args in drawn.of("text") if "like a cube" in args[1]]
    assert lines == [((36, 88), QUIET), ((36, 110), QUIET), ((36, 132), QUIET)]
    assert drawn.of("box")[0][2] == BAD
    assert not any(word.startswith("letters") for word in drawn.words())


@pytest.mark.parametrize(("height", "width"), [(120, 160), (300, 150)])
def test_photographs_stand_in_a_row_with_their_grids(drawn: Drawn, height: int, width: int) -> None:
    colours = synthetic_scan(1, 2).colours
    reading = read_cube(colours)
    order = (20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 21, 22, 23)
    shown = CubeReading(2, reading.facelets, reading.cube, 5.0, False, ("U1", "F3"), order=order)
    quads = np.array([[0, 0], [20, 0], [20, 20], [0, 20]]) + 20.0 * np.array(
        [[[1, 2]], [[2, 2]], [[1, 3]], [[2, 3]]]
    )
    image = np.full((height, width, 3), 90, np.uint8)
    looks = SimpleNamespace(
        frames={face: Frame(image, face, 0) for face in FACES},
        grids={
            face: SimpleNamespace(quads=quads, fit=number / 10) for number, face in enumerate(FACES)
        },
    )
    explain(colours, shown, looks)
    room = 234.6667, 180.0
    scale = min(room[0] / width, room[1] / height)
    size = (width * scale, height * scale)
    assert len(drawn.of("paste")) == 6
    outlines = [args for args in drawn.of("outline") if len(args[0]) == 4]
    rings = [args for args in outlines if args[1] == DOUBT]
    # Facelet U1 was seen as sticker 20, B1; F3 as itself.
    doubtful = {("B", 0), ("F", 2)}
    assert len(rings) == 2 and all(args[2] == 3.0 for args in rings)
    under = {args[2] for args in outlines if args[1] == BODY}
    over = {args[2] for args in outlines if args[1] == BRIGHT}
    assert (under, over) == ({2.5}, {1.0})
    for number, face in enumerate(FACES):
        x = 36 + number * (room[0] + 16)
        at, pasted, pixels = drawn.of("paste")[number]
        assert pixels is image
        assert pasted == near(size)
        assert at == near((x + (room[0] - size[0]) / 2, 172 + (room[1] - size[1]) / 2))
        places = [args[0] for args in drawn.of("text") if args[2] == BRIGHT and args[1] == face]
        assert near((x, 160)) in places
        assert drawn.words()[f"fit {number / 10:.2f}"] == (near((x + 24, 160)), QUIET)
        for cell, quad in enumerate(quads):
            found = [c for quad_at, c, _ in outlines if np.allclose(quad_at, quad * scale + at)]
            assert found == ([DOUBT] if (face, cell) in doubtful else [BODY, BRIGHT])


@pytest.mark.parametrize(("size", "gap"), [(3, 59.333 * 0.06), (7, 2.0)])
def test_stickers_of_the_net_have_outside_inside_letter_and_ring(
    drawn: Drawn, size: int, gap: float
) -> None:
    scan = synthetic_scan(1, size)
    colours = scan.colours
    reading = read_cube(colours)
    explain(colours, CubeReading(size, reading.facelets, reading.cube, 5.0, False, ("F2", "B4")))
    light = colours.linear_rgb.astype(float)
    level = 0.9 / np.quantile(light.max(axis=1), 0.95)
    letters = np.array(list(reading.facelets))
    typical = {
        face: linear_to_srgb(level * np.median(light[letters == face], axis=0)) for face in FACES
    }
    boxes = {
        (key(at), key(shape)): (colour, options["radius"])
        for (at, shape, colour), options in drawn.calls["box"]
    }
    texts = {
        (key(args[0]), args[1]): (args[2], args[3], options["bold"])
        for args, options in drawn.calls["text"]
        if len(args[1]) == 1
    }
    rings = []
    pitch = 178 / size
    side = pitch - gap
    names = colour_names(colours, np.arange(len(light)), reading.facelets)

    for number, face in enumerate(FACES):
        left, top = NET[face]
        assert boxes[key((left, top)), key((190, 190))] == (BODY, 12)
        for cell in range(size * size):
            row, column = divmod(cell, size)
            sticker = number * size * size + cell
            x, y = left + 6 + column * pitch + gap / 2, top + 6 + row * pitch + gap / 2
            outside, radius = boxes[key((x, y)), key((side, side))]
            assert outside == tuple(typical[letters[sticker]])
            assert radius == pytest.approx(0.16 * side, abs=0.01)
            inner = key((x + 0.2 * side, y + 0.2 * side))
            inside, radius = boxes[inner, key((0.6 * side, 0.6 * side))]
            assert inside == tuple(linear_to_srgb(level * light[sticker]))
            assert radius == pytest.approx(0.1 * side, abs=0.01)
            if face + str(cell + 1) in ("F2", "B4"):
                rings.append((near((x, y)), near((side, side)), DOUBT))
            name = names[letters[sticker]]
            high = 0.2 * side
            width = text_width(name, high, bold=True)
            place = key((x + (side - width) / 2, y + (side + high) / 2))
            red, green, blue = inside
            ink = BODY if 0.3 * red + 0.59 * green + 0.11 * blue > 110 else BRIGHT
            assert texts[place, name] == (ink, pytest.approx(high), True)
    assert set(names) == set(FACES)
    assert [args[:3] for args in drawn.of("frame")] == rings
    assert all(args[3] == pytest.approx(max(2.0, 0.07 * side)) for args in drawn.of("frame"))
    assert all(
        options["radius"] == pytest.approx(0.16 * side, abs=0.01)
        for _, options in drawn.calls["frame"]
    )


def test_clusters_have_axes_dots_links_and_tags(drawn: Drawn) -> None:
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    explain(colours, CubeReading(3, reading.facelets, reading.cube, 5.0, False, ("F2",)))
    assert ((890, 0), (634, 590), PANEL) in drawn.of("box")
    lines = drawn.of("line")
    assert lines[0] == ((914, 560), (1500, 560), FAINT, 1)
    assert lines[1] == ((914, 560), (914, 56), FAINT, 1)
    dots = drawn.of("dot")
    rings, insides = dots[::2], dots[1::2]
    assert len(insides) == 54 and {args[1] for args in insides} == {6.0}
    doubtful = FACES.index("F") * 9 + 1
    for sticker, (place, radius, colour) in enumerate(rings):
        wanted = (8.5, DOUBT) if sticker == doubtful else (7.5, BODY)
        assert (radius, colour) == wanted
        assert insides[sticker][0] == place
    # Out of the room that is left for dots, and no farther.
    places = np.array([args[0] for args in insides])
    assert places.min(axis=0) == pytest.approx((954, 104))
    assert places.max(axis=0) == pytest.approx((1460, 522))
    light = colours.linear_rgb.astype(float)
    light = light * 0.9 / np.quantile(light.max(axis=1), 0.95)
    red, blue = (np.log2((light[:, c] + 0.015) / (light[:, 1] + 0.015)) for c in (0, 2))
    assert places[:, 0] == pytest.approx(954 + 506 * (red - red.min()) / np.ptp(red))
    assert places[:, 1] == pytest.approx(522 - 418 * (blue - blue.min()) / np.ptp(blue))
    letters = np.array(list(reading.facelets))
    for face, name in zip(FACES, "WRGYOB", strict=True):
        mine = places[letters == face]
        x, y = np.median(mine, axis=0)
        links = {tuple(np.round(end, 3)) for start, end, *_ in lines if start == near((x, y))}
        assert links == {tuple(np.round(place, 3)) for place in mine}
        typical = tuple(linear_to_srgb(np.median(light[letters == face], axis=0)))
        assert {args[2] for args in lines[2:] if args[0] == near((x, y))} == {typical}
        boxes = [args for args in drawn.of("box") if args[0] == near((x - 12, y - 42))]
        assert [args[1:] for args in boxes] == [((24, 24), typical)]
        assert (near((x - 14, y - 44)), (28, 28), PANEL) in drawn.of("box")
        width = text_width(name, 12, bold=True)
        assert any(
            args[0] == near((x - width / 2, y - 24)) and args[1] == name and args[3] == 12
            for args in drawn.of("text")
        )


def test_what_was_not_seen_has_no_dot_and_one_hue_one_place(drawn: Drawn) -> None:
    colours = synthetic_scan(1, 2).colours
    valid = np.arange(24) < 5
    grey = np.full_like(colours.linear_rgb, 0.3)
    explain(replace(colours, linear_rgb=grey, valid=valid), Unreadable("one colour", ("U2",), "U"))
    places = [args[0] for args in drawn.of("dot")]
    assert places == [near((954, 522))] * 10
    assert [args[1] for args in drawn.of("dot")[::2]] == [7.5, 8.5, 7.5, 7.5, 7.5]
    assert len(drawn.of("line")) == 2
    # Only what was seen has an inside, of as bright a grey as a screen shows well.
    shown = linear_to_srgb(0.9)
    insides = [args for args in drawn.of("box") if args[1] == near((0.6 * 83.66, 0.6 * 83.66))]
    assert len(insides) == 5 and {args[2] for args in insides} == {(shown, shown, shown)}


def test_a_scan_of_nothing_is_drawn_dark(drawn: Drawn) -> None:
    colours = synthetic_scan(1, 2).colours
    nothing = replace(
        colours,
        linear_rgb=np.full_like(colours.linear_rgb, 0.5),
        valid=np.zeros(24, dtype=bool),
    )
    picture = explain(nothing, Unreadable("nothing was seen", (), "U"))
    assert picture.shape == (768, 1560, 3)
    assert not drawn.of("dot")
    outer = {args[2] for args in drawn.of("box") if args[1] == near((83.66, 83.66))}
    level = linear_to_srgb(0.45)
    assert outer == {(level, level, level)}
