"""What is said about profiles that are wrong, and where."""

import pytest

from robot.settings import (
    BadProfile,
    list_profiles,
    load_profile,
    parse_profile,
    profile_path,
)
from solver.errors import printable

TEXT = profile_path("cubotino-uno").read_text()


def complaints(old, new):
    assert old in TEXT
    with pytest.raises(BadProfile) as caught:
        parse_profile(TEXT.replace(old, new, 1), "mine.yaml")
    return caught.value.complaints


@pytest.mark.parametrize("name", [*list_profiles(), *list_profiles(reference=True)])
def test_shipped_profiles_load(name):
    assert load_profile(name).name == name.replace("/", "-")


WRONG = [
    ("settle_ms: {close: 200}", "settle_s: {close: 0.2}", "actuators.lid.settle_s", "settle_ms"),
    ("held_settle_ms", "held_setle_ms", "actuators.holder.held_setle_ms", "did you mean"),
    ("ms: 300", "ms: 0.3", "actuators.lid.travel[0].ms", "milliseconds"),
    ("ms: 300", "ms: 300 ms", "actuators.lid.travel[0].ms", "milliseconds"),
    ("flip: {rolls: x}", "flip: {rolls: q}", "mechanism.arms[0].positions.flip.rolls", "'x2'"),
    ("close: hold", "close: shut", "mechanism.arms[0].positions.close", "'hold'"),
    ("open: 1335, close", "open: 2200, close", "actuators.lid.positions_us.open", "900..2100"),
    ("open: 1335, close", "open: 2600, close", "actuators.lid.positions_us.open", "equal to 2500"),
    ("open: 1335, close", "open: 1500, close", "actuators.lid.positions_us.close", "must differ"),
    ("open: 1335, close", "open: 1490, close", "actuators.lid.positions_us.close", "20 at the"),
    ("home: 1500, cw: 2000", "home: 1500, cw: 1200", "mechanism.turntable.angles", "nor fall"),
    ("pulse: 10", "pulse: 1", "actuators.lid.pins.pulse", "serial port"),
    ("pulse: 10", "pulse: 55", "actuators.lid.pins.pulse", "atmega328p has pins 2..19"),
    ("pulse: 9", "pulse: 20", "actuators.holder.pins.pulse", "atmega328p has pins 2..19"),
    ("pulse: 10", "pulse: 9", "actuators.lid.pins.pulse", "already the pulse of holder"),
    ("pulse: 10", "pulse: 99", "actuators.lid.pins.pulse", "2..87"),
    ("size: 3", "size: 4", "cube.size", "2 or 3"),
    ("kind: servo", "kind: motor", "actuators.holder", "'servo'"),
    ("kind: flipper", "kind: flapper", "mechanism", "'flipper'"),
    ("cw: 1}", "cw: 0}", "mechanism.turntable.angles", "same angle"),
    ("actuator: holder", "actuator: hodler", "mechanism.turntable.actuator", "no actuator named"),
    ("flip: {rolls: x}", "flip: open", "mechanism.arms", "four faces"),
    ("close: hold", "close: open", "mechanism.arms", "no position holds"),
    ("[open, flip], ms", "[open, flop], ms", "actuators.lid.travel[1].between", "flop"),
    ("limits_us: [900, 2100]", "limits_us: [2100, 900]", "actuators.holder.limits_us", "below"),
    ("led_gpio: 27", "led_gpio: 17", "panel.led_gpio", "already start_button_gpio"),
    ("led_gpio: 27", "start_button_pull: down", "panel.start_button_pull", "counts as pressed"),
    ("led_gpio: 27", "pads_pull: up", "panel.pads_pull", "counts as pressed"),
    ("led_gpio: 27", "estop_pull: down", "panel.estop_pull", "broken wire"),
    ("led_gpio: 27", "start_button_active: up", "panel.start_button_active", "'low'"),
    ("when: {lid: [open]}", "when: {lid: [up]}", "cameras[0].views[0].when.lid", "up"),
    ("when: {lid: [open]}", "hidden: [10]", "cameras[0].views[0].hidden[0]", "9"),
    ("name: cubotino-uno\n", "", "name", "missing"),
]


@pytest.mark.parametrize(("old", "new", "key", "text"), WRONG)
def test_a_fault_is_named_with_line_key_and_what_is_allowed(old, new, key, text):
    found = next(complaint for complaint in complaints(old, new) if complaint.key == key)
    assert text in found.text
    if new:
        line = TEXT.replace(old, new, 1).splitlines()[found.line - 1]
        assert key.rsplit(".", 1)[-1].split("[")[0] in line or key == "mechanism.arms"
    assert str(found).startswith(f"mine.yaml:{found.line}: {key}: ")


def test_a_quad_that_crosses_itself_is_refused():
    lines = [line for line in TEXT.splitlines() if "quad:" in line]
    found = complaints(lines[0], "        quad: [[0.1, 0.1], [0.9, 0.9], [0.9, 0.1], [0.1, 0.9]]")
    assert found[0].key == "cameras[0].views[0].quad"


def test_all_faults_are_listed_at_once():
    text = TEXT.replace("ms: 300", "ms: 0.3").replace("pulse: 9", "pulse: nine")
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "mine.yaml")
    assert len(caught.value.complaints) == 2


def test_a_key_given_twice_is_refused():
    found = complaints("format: 1", "format: 1\nformat: 1")
    first = TEXT.splitlines().index("format: 1") + 1
    assert (found[0].key, found[0].line) == ("format", first + 1)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: \x00"])
def test_what_is_no_profile_is_refused(text):
    with pytest.raises(BadProfile):
        parse_profile(text, "mine.yaml")


def test_names_that_do_not_exist_list_those_that_do():
    with pytest.raises(BadProfile, match="cubotino-uno"):
        load_profile("cubotimo")
    with pytest.raises(BadProfile, match="cannot be read"):
        load_profile("nowhere.yaml")


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
    found = complaints(old, new)
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    assert any("control characters" in one.text and one.line == line for one in found)
    for complaint in found:
        assert "\n" not in str(complaint) and str(complaint) == printable(str(complaint))


STEPPER_TEXT = profile_path("four-arm").read_text()

WRONG_STEPPER = [
    ("step: 22,", "step: 70,", "actuators.right.pins.step", "2..69"),
    ("step: 24,", "step: 22,", "actuators.left.pins.step", "already the step of right"),
    (
        "enable: 30}\n    steps",
        "endstop: 23}\n    steps",
        "actuators.right.pins.endstop",
        "already",
    ),
    ("start_speed_steps_per_s: 200", "start_speed_steps_per_s: 20", "start_speed", "50..83333"),
    ("s_per_s: 8000", "s_per_s: 90000", "actuators.right.max_speed_steps_per_s", "50..83333"),
    ("target: atmega2560", "target: atmega328p", "actuators.right.pins.step", "2..19, not 22"),
    ("closed: 1250, open: 1600", "closed: 1250, open: 1250", "positions_us.open", "must differ"),
]


@pytest.mark.parametrize(("old", "new", "key", "text"), WRONG_STEPPER)
def test_steppers_and_their_pins_are_checked(old, new, key, text):
    assert old in STEPPER_TEXT
    with pytest.raises(BadProfile) as caught:
        parse_profile(STEPPER_TEXT.replace(old, new, 1), "mine.yaml")
    found = [one for one in caught.value.complaints if key in one.key and text in one.text]
    assert found
    assert all(one.line > 0 for one in found)


WRONG_GRIPPERS = [
    ("square_degrees: 5", "square_degrees: 90", "mechanism.square_degrees", 9),
    ("square_degrees: 5", "square_degree: 5", "mechanism.square_degree", 9),
    ("clear_part: 0.75", "clear_part: 0.3", "mechanism.grippers.R.clear_part", 12),
    ("rotation: right, ", "", "mechanism.grippers.R.rotation", 12),
]


@pytest.mark.parametrize(("old", "new", "key", "line"), WRONG_GRIPPERS)
def test_a_kind_that_is_also_the_name_of_a_key_hides_no_other(old, new, key, line):
    text = profile_path("two-arm").read_text()
    assert old in text
    with pytest.raises(BadProfile) as caught:
        parse_profile(text.replace(old, new, 1), "mine.yaml")
    assert [(one.key, one.line) for one in caught.value.complaints] == [(key, line)]


SIX_TEXT = profile_path("six-motor").read_text()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [("name: lower", "name: upper", "name"), ("device: 1", "device: 0", "device")],
)
def test_two_cameras_are_two(old, new, key):
    with pytest.raises(BadProfile, match=rf"cameras\[1\]\.{key}: .*already"):
        parse_profile(SIX_TEXT.replace(old, new, 1), "mine.yaml")
