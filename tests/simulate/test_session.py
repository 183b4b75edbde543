"""A demo's conversation with its daemon, with a daemon that is all pretence."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.records.runs import RunRecord, utc_now
from robot.settings import RobotProfile, load_profile
from robot.simulate import session
from robot.simulate.processes import SimulationError
from robot.simulate.progress import DemoProgress, SilentDisplay
from robot.simulate.session import Demo, DemoOptions
from robot.text.outcomes import Outcome
from robot.twin.cube import scrambled

JOB = SimpleNamespace(progress=0.25, remaining_s=4.0)
PREPARATION = SimpleNamespace(step="making tables", progress=0.5, remaining_s=3.0)


def status(**more: Any) -> Any:
    known = {"state": RobotState.IDLE} | dict.fromkeys(("fault", "preparation", "job", "last_run"))
    return SimpleNamespace(**known | more)


def happened(event: str, state: RobotState, **more: Any) -> Any:
    return SimpleNamespace(
        **{"event": event, "state": state, "text": "", "run": None, "at_s": 0.0} | more
    )


class Daemon:
    """Says what it is told to, its last status again and again."""

    def __init__(self, *statuses: Any, events: tuple[Any, ...] = ()) -> None:
        self.statuses = list(statuses)
        self.told = events
        self.asked = 0
        self.demo: Demo | None = None
        self.seen_before: list[tuple[float | None, float | None]] = []

    async def status(self) -> Any:
        self.asked += 1
        if self.demo is not None:
            progress = self.demo._progress
            self.seen_before.append((progress.fraction, progress.remaining_s))
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    ready = status

    async def run(self, number: str) -> RunRecord:
        return RunRecord(
            id=number,
            kind="solve",
            robot="cubotino-uno",
            started_at=utc_now(),
            outcome=Outcome.SOLVED,
            moves="R U",
            operations=[
                {"op": "turn", "site": site, "quarter_turns": 1, "start_us": at, "duration_us": 9}
                for at, site in enumerate("RU")
            ],
            orientation="UF",
            planned_us=700,
        )

    @contextlib.asynccontextmanager
    async def events(self) -> AsyncIterator[Any]:
        async def tell() -> AsyncIterator[Any]:
            for one in self.told:
                if self.demo is not None:
                    self.demo.robot.pin_changed(one.at_s * 1e6, 17, True)
                yield one

        yield tell()


class Watcher(SilentDisplay):
    """Notes what is shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.clock: list[tuple[float, int]] = []

    def show(self, progress: DemoProgress) -> None:
        self.seen.append((progress.step, progress.moves))
        self.clock.append((progress.clock_s, progress.edges))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(session, "REFRESH_S", 0.0)
    monkeypatch.setattr(session, "PRESS_LIMIT_S", 0.05)
    yield


def options(name: str = "cubotino-uno", **more: Any) -> DemoOptions:
    profile: RobotProfile = load_profile(name)
    body = scrambled(profile.cube.size, 1)
    return replace(DemoOptions(profile, None, body, profile.title), **more)


@pytest.fixture
def presses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []

    async def press(_: Any, pin: int, held_s: float) -> None:
        assert held_s == session.PRESS_S
        made.append(pin)

    monkeypatch.setattr(session.SimulatedPanel, "press", press)
    return made


def on_stage(daemon: Daemon) -> Any:
    entered: list[RobotState] = []
    return SimpleNamespace(daemon=daemon, injection=SimpleNamespace(enter=entered.append)), entered


async def test_a_demo_waits_for_tables_presses_once_and_follows_to_the_end(
    presses: list[int],
) -> None:
    watcher = Watcher()
    demo = Demo(options(), watcher)
    demo._progress.real_clock = lambda: 0.0
    daemon = Daemon(
        status(preparation=PREPARATION),
        status(preparation=PREPARATION),
        status(),
        status(job=JOB),
        status(job=JOB),
        status(last_run=SimpleNamespace(id="000001")),
        events=(
            happened("state", RobotState.SCANNING, text="looking", at_s=1.0),
            happened("progress", RobotState.SCANNING, text="not told", at_s=2.0),
            happened("state", RobotState.TURNING, run="000001", at_s=5.5),
        ),
    )
    daemon.demo = demo
    stage, entered = on_stage(daemon)
    result = await demo._solve(stage)
    assert presses == [demo._options.profile.panel.start_button_gpio]
    assert entered == [RobotState.SCANNING, RobotState.SCANNING, RobotState.TURNING]
    assert watcher.seen == [("looking", ""), ("looking", "R U")]
    assert watcher.clock == [(1.0, 1), (5.5, 3)]
    assert (result.scan_s, result.turn_s) == (4.5, 0.0)
    assert (result.record.id, result.solved, result.violations) == ("000001", False, ())
    assert result.facelets == scrambled(3, 1).facelets()
    assert demo._progress.planned_us == 700
    assert demo._progress.state is RobotState.IDLE, "the last stage is over"


async def test_a_press_that_does_nothing_is_made_again_and_then_said(presses: list[int]) -> None:
    stage, _ = on_stage(Daemon(status()))
    with pytest.raises(SimulationError, match="nothing happened"):
        await Demo(options(), Watcher())._solve(stage)
    assert len(presses) == session.PRESSES


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"state": RobotState.FAULT, "fault": SimpleNamespace(cause="it broke")}, "it broke"),
        ({"state": RobotState.HOMING}, "it is homing"),
    ],
)
async def test_a_daemon_that_is_not_ready_is_said(now: dict[str, Any], told: str) -> None:
    stage, _ = on_stage(Daemon(status(**now)))
    with pytest.raises(SimulationError, match=f"not ready: {told}"):
        await Demo(options(), Watcher())._solve(stage)


@pytest.mark.parametrize(("name", "boards"), [("cubotino-uno", {}), ("soltvvo", {"second"})])
def test_the_daemon_gets_the_profile_with_every_board_s_port(
    tmp_path: Path, name: str, boards: set[str]
) -> None:
    demo = Demo(options(name), SilentDisplay())
    command = demo._daemon_command(tmp_path, tmp_path / "twin")
    command.remove("--page-calibrates")  # the only one without a value
    given = dict(zip(command[3::2], command[4::2], strict=True))
    written = load_profile(Path(given.pop("--profile")))
    assert given == {
        "--size": str(load_profile(name).cube.size),
        "--runtime-dir": f"{tmp_path}/run",
        "--state-dir": f"{tmp_path}/state",
        "--port": f"{tmp_path}/link",
        "--twin": f"{tmp_path}/twin",
    }
    assert (tmp_path / "run").is_dir() and (tmp_path / "state").is_dir()
    assert {board: its.port for board, its in written.boards.items()} == {
        board: f"{tmp_path}/link-{board}" for board in boards
    }
    assert written.actuators == load_profile(name).actuators
