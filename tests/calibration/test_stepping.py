"""``cubist calibrate stepper``, on a daemon whose motor loses steps above a speed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from robot.api.endpoints import Endpoint
from robot.calibration.step import Confirmation, Session, next_of
from robot.calibration.steps.steppers import Backlash, Direction, Limit, Ramp, TurnSteps
from robot.calibration.trials.stepper_trials import SpeedTried
from robot.cli.main import run
from robot.settings import load_profile
from solver.errors import InvalidRequest
from tests.rig.state_folder import answered

LIMIT = 2400
KEY = "actuators.table"
TABLE = {"actuator": "table"}

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]


class Daemon:
    """Answers as the daemon of a flipper would, whose table is a stepper."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sees, self.turn_steps = True, 3200
        self.turns: list[bool] = []

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> dict[str, Any]:
        method, path = endpoint.method, endpoint.target(**more)
        if path == "/calibration":
            self.values |= body["values"] if method == "PUT" else {}
            return answered("mindcuber", self.values)
        return dict(getattr(self, path.rpartition("/")[2])(body))

    @contextlib.contextmanager
    def maintenance(self, place: str = "") -> Iterator[None]:
        yield

    def turn(self, body: Any) -> dict[str, Any]:
        self.turns.append(body["inverted"])
        values = {f"{KEY}.invert_direction": body["inverted"]}
        return TABLE | {"steps": 400, "inverted": body["inverted"], "values": values}

    def steps(self, body: Any) -> dict[str, Any]:
        found = self.turn_steps if self.sees else None
        turns = {"steps": 1600 * body["turns"], "turn_steps": 1600}
        return TABLE | turns | {"found_steps": found, "values": {}}

    def speed(self, body: Any) -> dict[str, Any]:
        speed = body.get("speed_steps_per_s", 1600)
        return TABLE | {
            "speed_steps_per_s": speed,
            "steps": 1600,
            "acceleration_steps_per_s2": body.get("acceleration_steps_per_s2", 8000),
            "reached_steps_per_s": min(speed, 3000),
            "lost": speed > LIMIT if self.sees else None,
            "seen_by": "camera",
            "square": True,
        }

    def play(self, body: Any) -> dict[str, Any]:
        play = 12 if self.sees else None
        return TABLE | {"play_steps": play, "within_steps": 4, "seen_by": "camera", "values": {}}


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Daemon:
    fake = Daemon()
    monkeypatch.setattr("robot.calibration.step.ControlClient", lambda **_: fake)
    return fake


@pytest.fixture
def ask(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> Ask:
    def call(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        capfd.readouterr()
        code = run(["calibrate", "stepper", *arguments, "--json"])
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return call


def test_a_wrong_direction_is_turned_round(daemon: Daemon, ask: Ask) -> None:
    code, (told,), _ = ask("direction", "table")
    assert (code, told["went"], told["saved"]) == (1, None, False)
    assert ask("direction", "table", "--went", "right")[1][0]["inverted"] is False
    assert daemon.values == {f"{KEY}.invert_direction": False}  # somebody has confirmed it
    assert ask("direction", "table", "--went", "wrong")[1][0]["saved"] is True
    assert daemon.values == {f"{KEY}.invert_direction": True}
    assert daemon.turns == [False, False, False, True]


def test_the_ramp_ends_where_steps_are_lost(daemon: Daemon, ask: Ask) -> None:
    code, told, _ = ask("speed", "table", "--from", "2000")
    assert code == 0
    assert [(one["tried"], one["lost"]) for one in told[:-1]] == [
        (2000, False),
        (2300, False),
        (2645, True),
    ]
    assert (told[-1]["last_good"], told[-1]["after"], told[-1]["saved"]) == (2300, 1840, True)
    assert daemon.values == {f"{KEY}.max_speed_steps_per_s": 1840}


def test_limits_under_load_are_kept_together(daemon: Daemon, ask: Ask) -> None:
    code, _, _ = ask("acceleration", "table", "--held", "--last-good", "10000")
    assert code == 0
    assert daemon.values == {
        f"{KEY}.held": {"max_speed_steps_per_s": 1000.0, "max_acceleration_steps_per_s2": 8000}
    }


def test_what_nobody_sees_is_asked_for(daemon: Daemon, ask: Ask) -> None:
    daemon.sees = False
    assert ask("speed", "table")[0] == 2
    assert ask("steps", "table")[0] == 1
    assert ask("backlash", "table")[0] == 1
    assert ask("steps", "table", "--turned", "180")[1][0]["found_steps"] == 3200
    assert ask("backlash", "table", "--to", "7", "--try")[1][0]["saved"] is False
    assert daemon.values == {f"{KEY}.steps_per_turn": 3200}


def tried(speed: int, reached: int, *, lost: bool = False) -> SpeedTried:
    """What came of a speed of MindCuber's table, in steps per second."""
    return SpeedTried(
        actuator="table",
        speed_steps_per_s=speed,
        acceleration_steps_per_s2=8000,
        reached_steps_per_s=reached,
        steps=1600,
        lost=lost,
        seen_by="camera",
        square=True,
    )


def conducted(daemon: Daemon, answers: Sequence[bool] = (), **asked: Any) -> Limit:
    """A limit that was measured; ``answers`` to what nobody sees."""
    limit = Limit(Session(daemon), "table", **asked)  # type: ignore[arg-type]
    script, given = limit.measure(), iter(answers)
    shown = next_of(script, None)
    while shown is not None:
        shown = next_of(script, next(given) if isinstance(shown, Confirmation) else None)
    return limit


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"what": "speed", "begin": 2500}, None),
        ({"what": "speed", "begin": 2000, "end": 2300}, 1840),
        ({"what": "speed", "last_good": 3000}, 2400),
    ],
)
def test_a_limit_is_four_fifths_of_what_was_good(
    daemon: Daemon, asked: Any, value: float | None
) -> None:
    limit = conducted(daemon, **asked)
    assert limit.is_found is (value is not None)
    assert limit.values.get(f"{KEY}.max_speed_steps_per_s") == value


@pytest.mark.parametrize(
    ("answers", "good", "lost_at"), [([True, False], 2000, 2300), ([False], None, 2000)]
)
def test_what_a_person_says_counts_where_nothing_sees_it(
    daemon: Daemon, answers: list[bool], good: int | None, lost_at: int
) -> None:
    daemon.sees = False
    limit = conducted(daemon, answers, what="speed", begin=2000)
    assert limit.document["last_good"] == good
    assert f"lost at {lost_at}; set table and the cube square by hand" in limit.text


@pytest.mark.parametrize(
    ("end", "wanted", "ended"),
    [(920, 920, ""), (919, None, "no steps were lost at all"), (None, 920, "")],
)
def test_a_ramp_ends_where_it_should(end: float | None, wanted: float | None, ended: str) -> None:
    ramp = Ramp(load_profile("mindcuber"), "table", "speed", end=end)
    assert (ramp.wanted, ramp.end, ramp.present) == (800, end or 6400, 1600)
    assert ramp.body() == {"actuator": "table", "held": False, "speed_steps_per_s": 800}
    assert (ramp.safe, ramp.values()) == (None, {})
    ramp.note(tried(800, reached=784), lost=False)
    assert (ramp.wanted, ramp.ended) == (pytest.approx(wanted) if wanted else None, ended)
    # Where nothing was lost there is no reason to make it slower; where something was, there is.
    assert ramp.values() == {"actuators.table.max_speed_steps_per_s": 1600}
    ramp.wanted = 920
    ramp.note(tried(920, reached=920), lost=True)
    assert ramp.values() == {"actuators.table.max_speed_steps_per_s": 640}


def first_row(measurement: Any, choice: str = "", answers: Sequence[bool] = ()) -> Any:
    """A measurement that was made; ``answers`` to what it asks."""
    script, given = measurement.measure(choice), iter(answers)
    shown = next_of(script, None)
    while shown is not None:
        shown = next_of(script, next(given, None))
    return measurement


@pytest.mark.parametrize(
    ("went", "answers", "turns", "inverted", "text"),
    [
        (None, [True], [False], False, "table: right"),
        (None, [False, True], [False, True], True, "table: turned round"),
        (None, [False, False, True], [False, True, False], False, "table: right"),
        ("right", [], [False], False, "table: right"),
        ("wrong", [], [False, True], True, "table: turned round"),
    ],
)
def test_a_direction_is_what_somebody_saw(
    daemon: Daemon,
    went: str | None,
    answers: list[bool],
    turns: list[bool],
    inverted: bool,
    text: str,
) -> None:
    found = first_row(Direction(Session(daemon), "table", went), answers=answers)  # type: ignore[arg-type]
    assert daemon.turns == turns
    assert found.values == {f"{KEY}.invert_direction": inverted}
    assert (found.text, found.is_found, found.name) == (text, True, "table direction")
    told = "wrong" if inverted else "right"
    assert found.document == {"actuator": "table", "went": told, "inverted": inverted}


@pytest.mark.parametrize(
    ("turned", "turns", "found"),
    [(180, 1, 3200), (360, 1, 1600), (720, 2, 1600), (359, 1, 1604), (None, 1, 3200)],
)
def test_steps_of_a_turn_by_what_was_seen(
    daemon: Daemon, turned: float | None, turns: int, found: int
) -> None:
    daemon.sees = turned is None
    one = first_row(TurnSteps(Session(daemon), "table", turns, turned))  # type: ignore[arg-type]
    assert (one.number, one.value, one.document["found_steps"]) == (found, found, found)
    assert one.document["steps"] == 1600 * turns
    same = found == 1600
    assert one.values == ({} if same else {f"{KEY}.steps_per_turn": found})
    assert one.text == f"table: {found} steps are a turn" + ("" if same else ", not 1600")
    assert one.is_found


def test_steps_of_a_turn_are_doubled_and_halved_by_eye(daemon: Daemon) -> None:
    daemon.sees = False
    one = first_row(TurnSteps(Session(daemon), "table"))  # type: ignore[arg-type]
    assert (one.is_found, one.number, one.values) == (False, 1600, {})
    assert "cannot tell" in one.text
    for steps, number in ((1, 3200), (10, 6400), (-1, 3200), (-10, 1600)):
        one.adjust(steps)
        assert one.number == number
    one.choose(4)
    one.adjust(-1)
    assert one.number == 4, "no turn has two steps"
    one.choose(8)
    one.adjust(-1)
    assert (one.number, one.values) == (4, {f"{KEY}.steps_per_turn": 4})
    one.choose(20)
    one.adjust(-1)
    assert one.number == 20, "nor ten"


@pytest.mark.parametrize(
    ("found", "turned", "steps"), [(1600, 180, None), (1600, 356, 1616), (3200, 180, 3200)]
)
def test_a_person_does_not_overrule_what_the_camera_has_just_counted(
    daemon: Daemon, found: int, turned: float, steps: int | None
) -> None:
    daemon.turn_steps = found
    measurement = TurnSteps(Session(daemon), "table", 1, turned)  # type: ignore[arg-type]
    if steps is None:
        with pytest.raises(InvalidRequest, match="camera saw table make whole turns of 1600 steps"):
            list(measurement.measure())
        return
    list(measurement.measure())
    assert measurement.document["found_steps"] == steps


def test_play_is_measured_said_or_set_by_eye(daemon: Daemon) -> None:
    one = first_row(Backlash(Session(daemon), "table"))  # type: ignore[arg-type]
    assert one.text == "table: 0 -> 12 steps of play, within 4, by the camera"
    assert one.values == {f"{KEY}.backlash_steps": 12}
    assert (one.document["before"], one.document["play_steps"]) == (0, 12)
    one.adjust(-10)
    assert (one.value, one.values) == (2, {f"{KEY}.backlash_steps": 2})
    one.adjust(-10)
    assert (one.value, one.values) == (0, {})
    said = first_row(Backlash(Session(daemon), "table", 7))  # type: ignore[arg-type]
    assert said.text == "table: 0 -> 7 steps of play, within 0, by the person"
    daemon.sees = False
    unseen = first_row(Backlash(Session(daemon), "table"))  # type: ignore[arg-type]
    assert (unseen.is_found, unseen.values, unseen.value) == (False, {}, 0)
    assert "neither a sensor nor the camera" in unseen.text
