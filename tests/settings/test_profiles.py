"""Complaints about wrong profiles, and their places."""

from __future__ import annotations

import pytest

from robot.settings import BadProfile, Complaint, load_profile, parse_profile, profile_path
from robot.settings.base import Kinds
from robot.settings.profile import UnsupportedSize, for_cube
from solver.errors import InvalidRequest, printable

UNO = "cubotino-uno"
TEXT = profile_path(UNO).read_text()


def complaints(robot: str, old: str, new: str) -> tuple[tuple[Complaint, ...], list[str]]:
    """Return the complaints about a robot's changed profile, and its lines."""
    text = profile_path(robot).read_text()
    assert old in text
    changed = text.replace(old, new, 1)
    with pytest.raises(BadProfile) as caught:
        parse_profile(changed, "mine.yaml")
    return caught.value.complaints, changed.splitlines()


WRONG = [
    (UNO, "settle_ms: {close: 200}", "settle_s: {close: 0.2}", "actuators.lid.settle_s", "_ms"),
    (UNO, "held_settle_ms", "held_setle_ms", "actuators.holder.held_setle_ms", "did you mean"),
    (UNO, "ms: 300", "ms: 0.3", "actuators.lid.travel[0].ms", "milliseconds"),
    (UNO, "ms: 300", "ms: 300 ms", "actuators.lid.travel[0].ms", "milliseconds"),
    (UNO, "flip: {rolls: x}", "flip: {rolls: q}", "mechanism.arms[0].positions.flip.rolls", "'x2'"),
    (UNO, "close: hold", "close: shut", "mechanism.arms[0].positions.close", "'hold'"),
    (UNO, "open: 1335, close", "open: 2200, close", "actuators.lid.positions_us.open", "900..2100"),
    (UNO, "open: 1335, close", "open: 2600, close", "actuators.lid.positions_us.open", "to 2500"),
    (UNO, "open: 1335, close", "open: 1500, close", "actuators.lid.positions_us.close", "differ"),
    (UNO, "home: 1500, cw: 2000", "home: 1500, cw: 1200", "mechanism.turntable.angles", "nor fall"),
    (UNO, "cw: 1}", "cw: 0}", "mechanism.turntable.angles", "same angle"),
    (UNO, "actuator: holder", "actuator: hodler", "mechanism.turntable.actuator", "no actuator n"),
    (UNO, "pulse: 10", "pulse: 1", "actuators.lid.pins.pulse", "serial port"),
    (UNO, "pulse: 10", "pulse: 55", "actuators.lid.pins.pulse", "atmega328p has pins 2..19"),
    (UNO, "pulse: 10", "pulse: 99", "actuators.lid.pins.pulse", "2..87"),
    (UNO, "kind: servo", "kind: motor", "actuators.holder", "'servo'"),
    (UNO, "kind: flipper", "kind: flapper", "mechanism", "'flipper'"),
    (UNO, "[open, flip], ms", "[open, flop], ms", "actuators.lid.travel[1].between", "flop"),
    (UNO, "led_gpio: 27", "led_gpio: 17", "panel.led_gpio", "already start_button_gpio"),
    (UNO, "led_gpio: 27", "start_button_pull: down", "panel.start_button_pull", "counts as pre"),
    (UNO, "led_gpio: 27", "pads_pull: up", "panel.pads_pull", "counts as pressed"),
    (UNO, "led_gpio: 27", "estop_pull: down", "panel.estop_pull", "broken wire"),
    (UNO, "led_gpio: 27", "start_button_active: up", "panel.start_button_active", "'low'"),
    (UNO, "when: {lid: [open]}", "when: {lid: [up]}", "cameras[0].views[0].when.lid", "up"),
    (UNO, "when: {lid: [open]}", "hidden: [10]", "cameras[0].views[0].hidden[0]", "9"),
    (UNO, "name: cubotino-uno\n", "", "name", "missing"),
    (UNO, "format: 1", "format: 1\nformat: 1", "format", "twice"),
    ("four-arm", "target: atmega2560", "target: atmega328p", "actuators.right.pins.step", "2..19"),
    ("two-arm", "square_degrees: 5", "square_degrees: 90", "mechanism.square_degrees", "0..10"),
    ("two-arm", "square_degrees: 5", "square_degree: 5", "mechanism.square_degree", "unknown"),
    ("two-arm", "clear_part: 0.8", "clear_part: 0.3", "mechanism.grippers.R.clear_part", "0.5"),
    ("two-arm", "rotation: right, ", "", "mechanism.grippers.R.rotation", "missing"),
    ("six-motor", "name: lower", "name: upper", "cameras[1].name", "already"),
    ("six-motor", "device: 1", "device: 0", "cameras[1].device", "already"),
    (UNO, "size: 3", "size: 4", "cube.size", "turns only outer layers"),
    ("crane", "  2:\n", "  3:\n", "other_cubes.3", "leave it out"),
    ("crane", "  2:\n", "  8:\n", "other_cubes.8", "less than or equal to 7"),
    ("crane", "row-1, row-2]}", "row-1, row-2, row-3]}", "other_cubes.2", "needs 3 positions"),
    ("crane", "row-1: 500, row-2: 1000", "row-1: 500, row-2: 400", "other_cubes.2", "nor fall"),
    ("crane", "edge_mm: 50.0", "edge_mm: 500.0", "other_cubes.2", "less than or equal to 120"),
    ("crane", "edge_mm: 50.0", "edge: 50.0", "other_cubes.2", "write edge_mm"),
    ("crane", "{edge_mm: 50.0}", "", "other_cubes.2", "cube: "),
    ("crane", "row-2, row-3]}", "row-2, row-9]}", "mechanism.elevator.rows", "no position row-9"),
    ("crane", "{actuator: squisher}", "{actuator: press}", "mechanism.squisher.actuator", "no act"),
]


@pytest.mark.parametrize(("robot", "old", "new", "key", "text"), WRONG)
def test_a_fault_is_named_with_line_key_and_what_is_allowed(robot, old, new, key, text):
    said, lines = complaints(robot, old, new)
    found = next(complaint for complaint in said if complaint.key == key)
    assert text in found.text
    assert str(found).startswith(f"mine.yaml:{found.line}: {key}: ")
    last = key.rsplit(".", 1)[-1].partition("[")[0]
    # Missing keys, and those wrong as a whole, have the line of their parent.
    assert last in lines[found.line - 1] or new == "" or key == "mechanism.arms"


def test_all_faults_are_listed_at_once():
    text = TEXT.replace("ms: 300", "ms: 0.3").replace("pulse: 9", "pulse: nine")
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "mine.yaml")
    assert len(caught.value.complaints) == 2


def test_a_quad_that_crosses_itself_is_refused():
    (quad, *_) = [line for line in TEXT.splitlines() if "quad:" in line]
    crossed = "        quad: [[0.1, 0.1], [0.9, 0.9], [0.9, 0.1], [0.1, 0.9]]"
    assert complaints(UNO, quad, crossed)[0][0].key == "cameras[0].views[0].quad"


def test_names_that_do_not_exist_list_those_that_do():
    with pytest.raises(BadProfile, match=UNO):
        load_profile("cubotimo")
    with pytest.raises(BadProfile, match="cannot be read"):
        load_profile("nowhere.yaml")
    kinds: Kinds[int] = Kinds("mechanism", built_in=("flipper",))
    kinds["crane"] = 1
    with pytest.raises(InvalidRequest, match="no mechanism lift; available: flipper, crane"):
        kinds["lift"]
    assert "lift" not in kinds


TITLE = "title: CUBOTino with an Arduino, a flipper with two servos\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TITLE, r'title: "\e]0;x\a"' + "\n"),
        (TITLE, r'title: "two\nlines"' + "\n"),
        (TITLE, r'"ti\ntle": x' + "\n"),
        ("pulse: 10", r'"pulse\x9b": 10'),
        ("kind: servo", r'kind: "\u202eservo"'),
        (TITLE, r'<<: {"\e[2J": 1}' + "\n"),
    ],
)
def test_a_text_that_would_steer_a_terminal_is_refused_with_its_place(old, new):
    found, _ = complaints(UNO, old, new)
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    assert any("control characters" in one.text and one.line == line for one in found)
    for complaint in found:
        assert "\n" not in str(complaint) and str(complaint) == printable(str(complaint))


def test_for_another_cube_only_what_is_named_is_different():
    usual = load_profile("crane")
    large = for_cube(usual, 7)
    assert (large.cube.size, large.cube.edge_mm) == (7, 69.0)
    assert large.actuators["elevator"].places["row-7"] == 1380
    assert large.actuators["elevator"].places["down"] == 0
    assert large.actuators["turntable"] == usual.actuators["turntable"]
    assert large.cameras == usual.cameras and large.other_cubes == {}
    assert for_cube(usual, 3) is usual and for_cube(usual, None) is usual
    assert for_cube(load_profile(profile_path("crane")), 7) == large


@pytest.mark.parametrize(
    ("robot", "size", "sizes"), [("cubotino", 4, "3"), ("crane", 9, "2, 3, 4, 5, 6 and 7")]
)
def test_another_size_than_it_knows_is_refused_by_name(robot, size, sizes):
    with pytest.raises(UnsupportedSize, match=f"{robot} takes cubes of {sizes} layers, not of "):
        for_cube(load_profile(robot), size)
