"""``cubist status --watch`` on a terminal: what its picture says, and that it fits."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from robot.cli.status_screen import performed_moves, picture, sticker_colours
from robot.text.terminal import FACE_COLOURS
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from tests.rig.documents import live_json, status_json
from tests.screens.views import cube_view, turning

IDLE = status_json(simulated=True)
NOTHING = live_json()
SCRAMBLED = Cube.solved().apply("R U2 F' L D")


def shown(now: dict[str, Any], view: dict[str, Any], width: int) -> list[str]:
    """The picture on a terminal of this width, as lines without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(picture(now, view, width))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_every_cube_fits_an_ordinary_terminal(size: int, width: int) -> None:
    view = NOTHING | {"cube": cube_view(StickerCube.solved(size))}
    lines = shown(IDLE, view, width)
    if size <= 3 or width >= 80:
        assert sum(line.count("██") for line in lines) == 6 * size * size
    assert max(map(len, lines)) <= min(width, 80)
    assert width < 80 or len(lines) <= 24


@pytest.mark.parametrize("profile", ["cubotino", "four-arm", "six-motor"])
def test_the_drawn_cube_follows_the_motion_until_it_is_solved(profile: str) -> None:
    """Whatever the robot: each move is struck off when its last turn has ended."""
    view = turning(profile, SCRAMBLED)
    moves = performed_moves(view)
    assert [name for name, _ in moves] == view["motion"]["moves"].split()
    ends = [end_us for _, end_us in moves]
    assert ends == sorted(ends)
    assert ends[0] > 0
    assert ends[-1] <= view["motion"]["duration_us"]
    drawn = sticker_colours(view["cube"], [name for name, _ in moves])
    assert all(len(set(drawn[first : first + 9])) == 1 for first in range(0, 54, 9))


def test_the_count_of_moves_follows_the_clock() -> None:
    counts = []
    for at in (0.0, 0.5, 1.0):
        view = turning("six-motor", SCRAMBLED, at)
        (title,) = [line for line in shown(IDLE, view, 80) if "moves " in line]
        counts.append(int(title.split()[2]))
    count = len(view["motion"]["moves"].split())
    assert counts[0] == 0 < counts[1] < counts[2] == count


words = st.lists(
    st.sampled_from([face + suffix for face in "URFDLB" for suffix in ("", "2", "'", "w", "w2")]),
    max_size=12,
)


@given(size=st.integers(4, 7), moves=words)
def test_moves_carry_the_stickers_along(size: int, moves: list[str]) -> None:
    """As on the model of stickers."""
    start = StickerCube.solved(size).apply("R U 2F L'")
    drawn = sticker_colours(cube_view(start), moves)
    turned = start.apply(" ".join(moves))
    assert drawn == [FACE_COLOURS[letter] for letter in turned.letters]


def test_measured_colours_come_before_usual_ones() -> None:
    seen: list[str | None] = [None] * 24
    seen[3] = "#123456"
    view = {"size": 2, "facelets": "?" * 24, "seen": seen, "palette": {}}
    assert sticker_colours(view) == seen
    known = cube_view(StickerCube.solved(2), palette={"R": "#abcdef"})
    assert sticker_colours(known)[4] == "#abcdef"
    assert sticker_colours(known)[0] == FACE_COLOURS["U"]


def test_a_fault_is_shown_with_its_remedy() -> None:
    fault = {"cause": "the lid is jammed", "remedy": "free it"}
    lines = shown(IDLE | {"state": "fault", "fault": fault, "warnings": ["dim light"]}, NOTHING, 80)
    text = "\n".join(lines)
    assert "FAULT" in text
    assert "the lid is jammed" in text
    assert "What to do: free it" in text
    assert "dim light" in text
