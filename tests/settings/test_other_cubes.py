"""One robot for cubes of several sizes: what is changed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from robot.settings import BadProfile, load_profile, parse_profile, profile_path
from robot.settings.other_cubes import UnsupportedSize, for_cube, sizes_of


def crane(old: str = "", new: str = "") -> str:
    text = profile_path("crane").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


def complaints(text: str) -> dict[str, str]:
    with pytest.raises(BadProfile) as caught:
        parse_profile(text)
    return {complaint.key: complaint.text for complaint in caught.value.complaints}


def test_only_what_is_named_is_different() -> None:
    usual = load_profile("crane")
    large = for_cube(usual, 7)
    assert (large.cube.size, large.cube.edge_mm) == (7, 69.0)
    assert large.actuators["elevator"].places["row-7"] == 1380
    assert large.actuators["elevator"].places["down"] == 0
    assert large.actuators["turntable"] == usual.actuators["turntable"]
    assert large.cameras == usual.cameras and large.other_cubes == {}


def test_its_own_size_is_the_profile_itself() -> None:
    usual = load_profile("crane")
    assert for_cube(usual, 3) is usual and for_cube(usual, None) is usual
    assert sizes_of(usual) == (2, 3, 4, 5, 6, 7)
    assert sizes_of(load_profile("cubotino")) == (3,)


def test_another_size_than_it_knows_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedSize, match="cubotino takes cubes of 3 layers, not of 4"):
        for_cube(load_profile("cubotino"), 4)
    with pytest.raises(UnsupportedSize, match="crane takes cubes of 2, 3, 4, 5, 6 and 7 layers"):
        for_cube(load_profile("crane"), 9)


def test_a_copy_in_a_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(crane(), encoding="utf-8")
    assert for_cube(load_profile(path), 5) == for_cube(load_profile("crane"), 5)


WRONG = [
    ("  2:\n", "  3:\n", "other_cubes.3", "leave it out"),
    ("  2:\n", "  8:\n", "other_cubes.8", "less than or equal to 7"),
    (
        "rows: [down, row-1, row-2]}",
        "rows: [down, row-1, row-2, row-3]}",
        "other_cubes.2",
        "needs 3 positions",
    ),
    ("row-1: 500, row-2: 1000", "row-1: 500, row-2: 400", "other_cubes.2", "neither rise nor fall"),
    ("edge_mm: 50.0", "edge_mm: 500.0", "other_cubes.2", "less than or equal to 120"),
    ("edge_mm: 50.0", "edge: 50.0", "other_cubes.2", "write edge_mm"),
    ("row-2, row-3]}", "row-2, row-9]}", "mechanism.elevator.rows", "no position row-9"),
    ("rolls: x}", "rolls: y}", "mechanism.flipper.rolls", "about x or z"),
    ("second: back", "second: front", "mechanism.flipper.second", "another position"),
    ("{actuator: squisher}", "{actuator: press}", "mechanism.squisher.actuator", "no actuator"),
]


@pytest.mark.parametrize(("old", "new", "key", "text"), WRONG)
def test_what_cannot_be_is_told_with_the_key(old: str, new: str, key: str, text: str) -> None:
    assert text in complaints(crane(old, new))[key]


def test_a_robot_of_outer_layers_alone_takes_no_larger_cube() -> None:
    text = profile_path("cubotino").read_text(encoding="utf-8").replace("size: 3", "size: 4")
    assert "turns outer layers alone" in complaints(text)["cube.size"]
