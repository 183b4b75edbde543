"""A demo's conversation with its daemon, one that is all pretence, and what it shows of it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.text import Text

from robot.api.endpoints import RobotState
from robot.cli.simulate import exit_code
from robot.records.run_record import FaultRecord, LinkRecord, RunRecord
from robot.settings import load_profile
from robot.simulate import session
from robot.simulate.display import (
    LiveDisplay,
    display_for,
    print_outcome,
)
from robot.simulate.processes import SimulationError
from robot.simulate.progress import DemoProgress, SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoOutcome
from robot.text.outcomes import Outcome
from robot.twin.cube import scrambled
from robot.twin.violations import Violation
from solver.errors import ExitCode

SOLVED = "".join(letter * 9 for letter in "URFDLB")
CLEAN = "nothing went wrong"
SOLVED_BUT = "Solved, as the simulated robot confirms. What went wrong"


def run_record(**more: Any) -> RunRecord:
    usual: dict[str, Any] = {
        "id": "000001",
        "kind": "solve",
        "robot": "cubotino",
        "started_at": datetime(2024, 1, 1, tzinfo=UTC),
        "outcome": "solved",
        "moves": "R U2 F'",
        "planned_us": 70_000_000,
        "executed_us": 70_000_000,
        "timings_s": {"search": 1.0},
    }
    return RunRecord(**usual | more)


def outcome(
    solved: bool = True, violations: int = 0, ended: str = "solved", **more: Any
) -> DemoOutcome:
    reason = "" if ended == "solved" else "the lid is jammed"
    record = run_record(outcome=ended, reason=reason, **more)
    found = tuple(Violation(1, "flip-held", "the cube was flipped") for _ in range(violations))
    return DemoOutcome(solved, found, record, scan_s=12.5, turn_s=70.0, facelets=SOLVED)


def test_last_line_has_what_was_promised():
    assert outcome(recoveries=["looked again"]).good
    assert not outcome(violations=1).good and not outcome(solved=False).good
    document = json.loads(json.dumps(outcome(violations=1, warnings=["slow"]).as_dict()))
    assert document == {
        "solved": True,
        "violations": [{"time_us": 1, "kind": "flip-held", "text": "the cube was flipped"}],
        "moves": "R U2 F'",
        "length": 3,
        "scan_s": 12.5,
        "solve_s": 1.0,
        "turn_s": 70.0,
        "planned_us": 70_000_000,
        "executed_us": 70_000_000,
        "outcome": "solved",
        "reason": "",
        "recoveries": ["slow"],
        "robot": "cubotino",
        "facelets": SOLVED,
    }


JAMMED: dict[str, Any] = {"solved": False, "ended": "jammed"}
FREE_IT = FaultRecord(code="not-in-place", cause="the lid is jammed", remedy="free it")


@pytest.mark.parametrize(
    ("ending", "title", "words"),
    [
        ({}, "Solved. The simulated robot confirms it", [CLEAN]),
        ({"violations": 1}, "Solved, but", ["at 0.00 s: the cube was flipped"]),
        ({"recoveries": ["looked again at F"]}, SOLVED_BUT, ["looked again at F"]),
        ({"link": LinkRecord(sent=99, resent=2)}, SOLVED_BUT, ["2 messages"]),
        ({"warnings": ["the line is bad"]}, SOLVED_BUT, ["the line is bad"]),
        (
            JAMMED | {"faults": [FREE_IT], "recoveries": ["looked again: the lid is jammed"]},
            "Not solved.",
            ["ended with jammed: the lid is jammed", "what to do: free it"],
        ),
        ({"solved": False}, "Not solved, although the daemon reports solved", []),
        (
            {"ended": "unreadable"},
            "The simulated robot reports a solved cube, but the daemon does not.",
            ["ended with unreadable"],
        ),
        (
            {"solved": False, "violations": 1, "ended": "fault"},
            "Not solved.",
            ["flipped", "jammed"],
        ),
    ],
)
def test_the_verdict_says_what_really_happened(ending, title, words):
    stream = io.StringIO()
    print_outcome(outcome(**ending), stream)
    text = " ".join(stream.getvalue().replace("│", " ").split())
    assert title in text
    assert all(word in text for word in words)
    assert (CLEAN in text) == (CLEAN in words)


@pytest.mark.parametrize("ended", [str(one) for one in Outcome])
def test_only_a_success_is_called_solved(ended):
    """Only a run that the daemon calls a success may be called solved without more."""
    stream = io.StringIO()
    print_outcome(outcome(ended=ended), stream)
    praised = "Solved. The" in stream.getvalue()
    assert praised == (exit_code(outcome(ended=ended)) == ExitCode.DONE)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on_a_terminal(progress: DemoProgress) -> str:
    """What a terminal gets, colours included."""
    stream = Terminal()
    display = display_for(stream)
    assert isinstance(display, LiveDisplay)
    display.show(progress)
    drawn = stream.getvalue()
    display.close()
    return drawn


def test_stages_are_timed_by_the_robots_clock_but_for_thinking_and_tables():
    real = 10.0
    progress = DemoProgress("demo", real_clock=lambda: real)
    progress.step = "making tables in /folder"
    progress.fraction, progress.remaining_s = 0.25, 6.0
    real = 12.5
    text = Text.from_ansi(shown_on_a_terminal(progress)).plain
    for word in ("● prepare", "2.50 s", "making tables in /folder", "25 %, 6 s left"):
        assert word in text
    states = [RobotState.HOMING, RobotState.SCANNING, RobotState.SCANNING, RobotState.SOLVING]
    for state, clock_s in zip(states, (1.0, 3.0, 3.0, 10.0), strict=True):
        progress.clock_s = clock_s
        progress.enter(state)
    progress.clock_s, real = 60.0, 13.0
    progress.enter(RobotState.TURNING)
    took = [progress.took_s(one) for one in (*states[1:], RobotState.HOMING, RobotState.TURNING)]
    assert took == [7.0, 7.0, 0.5, 2.0, 0.0]
    assert progress.spent_s(progress.stages[0]) == 2.5


HALF_S = {"duration_us": 500_000}
OPERATIONS: list[dict[str, Any]] = [
    {"op": "lid", "arm": "lid", "to": "close", "start_us": 0} | HALF_S,
    {"op": "turn", "site": "D", "quarter_turns": -1, "start_us": 500_000} | HALF_S,
    {"op": "rotate", "axis": "x", "quarter_turns": 1, "start_us": 1_000_000} | HALF_S,
    {"op": "turn", "site": "D", "quarter_turns": 2, "start_us": 1_500_000} | HALF_S,
]


@pytest.mark.parametrize(
    ("state", "fraction", "words"),
    [
        (RobotState.SCANNING, None, ("● look", "looking at F")),
        (RobotState.SOLVING, None, ("R U2", "think")),
        (RobotState.TURNING, 0.3, ("Turn the bottom layer", "30 %")),
        (RobotState.TURNING, 0.6, ("Flip the cube", "60 %")),
        (RobotState.CHECKING, None, ("check",)),
    ],
)
def test_live_picture_shows_cube_plan_and_stages(monkeypatch, state, fraction, words):
    """The camera's picture is beside the cube while the robot looks."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    progress = DemoProgress("CUBOTino", facelets=SOLVED, moves="R U2", violations=2)
    progress.operations, progress.planned_us = OPERATIONS, 2_000_000
    progress.picture, progress.step = np.full((48, 64, 3), (200, 30, 40), np.uint8), "looking at F"
    progress.enter(state)
    progress.fraction = fraction
    drawn = shown_on_a_terminal(progress)
    text = Text.from_ansi(drawn).plain
    assert text.count("██") % 54 == 0 < text.count("██")
    assert ("38;2;200;30;40" in drawn) == (fraction is None and state is not RobotState.SOLVING)
    for word in ("CUBOTino", "2 violations", *words):
        assert word in text


def status(**more: Any) -> Any:
    known = {"state": RobotState.IDLE, "starting": False}
    known |= dict.fromkeys(("fault", "preparation", "job", "last_run"))
    return SimpleNamespace(**known | more)


def happened(event: str, state: RobotState, at_s: float, **more: Any) -> Any:
    return SimpleNamespace(
        **{"event": event, "state": state, "text": "", "run": None, "at_s": at_s} | more
    )


class Daemon:
    """Says what it is told to, its last status again and again; its robot's time goes on."""

    def __init__(self, demo: Demo, *statuses: Any, events: tuple[Any, ...] = ()) -> None:
        self.statuses = list(statuses)
        self.told = events
        self.demo = demo

    async def status(self) -> Any:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    ready = status

    async def run(self, number: str) -> RunRecord:
        operations = [
            {"op": "turn", "site": site, "quarter_turns": 1, "start_us": at, "duration_us": 9}
            for at, site in enumerate("RU")
        ]
        return run_record(
            id=number, moves="R U", operations=operations, orientation="UF", planned_us=700
        )

    @contextlib.asynccontextmanager
    async def events(self) -> AsyncIterator[Any]:
        async def tell() -> AsyncIterator[Any]:
            for one in self.told:
                self.demo.robot.pin_changed(one.at_s * 1e6, 17, True)
                yield one

        yield tell()


class Watcher(SilentDisplay):
    """Notes what is shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, float, int]] = []

    def show(self, progress: DemoProgress) -> None:
        self.seen.append((progress.step, progress.moves, progress.clock_s, progress.edges))


def demo_of(name: str = "cubotino-uno", watcher: SilentDisplay | None = None, **panel: Any) -> Demo:
    profile = load_profile(name)
    profile = profile.model_copy(update={"panel": profile.panel.model_copy(update=panel)})
    body = scrambled(profile.cube.size, 1)
    return Demo(DemoOptions(profile, None, body, profile.title), watcher or SilentDisplay())


@pytest.fixture
def presses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(session, "REFRESH_S", 0.0)
    made: list[int] = []

    async def press(_: Any, pin: int, held_s: float) -> None:
        assert held_s == session.PRESS_S
        made.append(pin)

    monkeypatch.setattr(session.SimulatedPanel, "press", press)
    return made


async def test_a_demo_waits_for_tables_presses_once_and_follows_to_the_end(presses):
    watcher = Watcher()
    demo = demo_of(watcher=watcher, start_button_gpio=17)
    preparation = SimpleNamespace(step="making tables", progress=0.5, remaining_s=3.0)
    job = SimpleNamespace(progress=0.25, remaining_s=4.0)
    daemon: Any = Daemon(
        demo,
        status(preparation=preparation),
        status(preparation=preparation),
        status(),
        status(),
        *[status(starting=True)] * (2 * session.PRESS_ANSWERS),
        status(job=job),
        status(job=job),
        status(last_run=SimpleNamespace(id="000001")),
        events=(
            happened("state", RobotState.SCANNING, 1.0, text="looking"),
            happened("progress", RobotState.SCANNING, 2.0, text="not told"),
            happened("state", RobotState.TURNING, 5.5, run="000001"),
        ),
    )
    entered: list[RobotState] = []
    stage: Any = SimpleNamespace(daemon=daemon, injection=SimpleNamespace(enter=entered.append))
    result = await demo.solve(stage)
    assert presses == [17]
    assert entered == [RobotState.SCANNING, RobotState.SCANNING, RobotState.TURNING]
    assert watcher.seen == [("looking", "", 1.0, 1), ("looking", "R U", 5.5, 3)]
    assert (result.scan_s, result.turn_s) == (4.5, 0.0)
    assert (result.record.id, result.solved, result.violations) == ("000001", False, ())
    assert result.facelets == scrambled(3, 1).facelets()


@pytest.mark.parametrize(
    ("panel", "now", "told", "pressed"),
    [
        ({}, {}, "nothing happened", session.PRESSES),
        ({"start_button_gpio": None}, {}, r"no start button: set panel\.start_button_gpio", 0),
        (
            {},
            {"state": RobotState.FAULT, "fault": SimpleNamespace(cause="it broke")},
            "not ready: it broke",
            0,
        ),
        ({}, {"state": RobotState.HOMING}, "not ready: it is homing", 0),
    ],
)
async def test_why_a_demo_does_not_begin_is_said(presses, panel, now, told, pressed):
    demo = demo_of(**panel)
    stage: Any = SimpleNamespace(daemon=Daemon(demo, status(**now)))
    stage.injection = SimpleNamespace(enter=lambda state: None)
    with pytest.raises(SimulationError, match=told):
        await demo.solve(stage)
    assert len(presses) == pressed


async def test_a_start_that_fails_before_its_job_is_told_with_the_fault(presses):
    fault = SimpleNamespace(cause="the board does not answer")
    told = [status(), status(), status(starting=True), status(state=RobotState.FAULT, fault=fault)]
    demo = demo_of(start_button_gpio=17)
    stage: Any = SimpleNamespace(daemon=Daemon(demo, *told))
    stage.injection = SimpleNamespace(enter=lambda state: None)
    with pytest.raises(SimulationError, match="no job began: the board does not answer"):
        await demo.solve(stage)
    assert presses == [17]


@pytest.mark.parametrize(("name", "boards"), [("cubotino-uno", {}), ("soltvvo", {"second"})])
def test_the_daemon_gets_the_profile_with_every_board_s_port(tmp_path, name, boards):
    command = demo_of(name).daemon_command(tmp_path, tmp_path / "twin")
    for flag in ("--page-calibrates", "--page-manages", "--supervised"):  # without a value
        command.remove(flag)
    given = dict(zip(command[3::2], command[4::2], strict=True))
    written = load_profile(Path(given.pop("--profile")))
    assert given == {
        "--size": str(load_profile(name).cube.size),
        "--runtime-dir": f"{tmp_path}/run",
        "--state-dir": f"{tmp_path}/state",
        "--port": f"{tmp_path}/link",
        "--twin": f"{tmp_path}/twin",
    }
    assert {board: its.port for board, its in written.boards.items()} == {
        board: f"{tmp_path}/link-{board}" for board in boards
    }
    assert written.actuators == load_profile(name).actuators
