"""``cubist test``: what each cycle does and tells, and when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from robot.cli import control as cycles
from robot.cli.main import run
from solver.errors import ExitCode


class FakeClient:
    """A daemon whose jobs end as is said, one after the other."""

    def __init__(self, *outcomes: str) -> None:
        self.started: list[str] = []
        self.watched: list[tuple[int, str]] = []
        self.stopped = 0
        self._outcomes = outcomes

    def start(self, kind: str) -> int:
        self.started.append(kind)
        return len(self.started)

    def run(self, run_id: int) -> dict[str, Any]:
        outcome = self._outcomes[run_id - 1]
        return {
            "id": run_id,
            "kind": self.started[run_id - 1],
            "outcome": outcome,
            "reason": "" if outcome in ("done", "solved") else f"it {outcome}",
            "duration_s": 10.0 + run_id,
            "planned_us": 1_000_000,
            "executed_us": 2_000_000 + run_id,
            "moves": "R",
        }

    def stop(self) -> None:
        self.stopped += 1


Ask = Callable[..., tuple[int, list[str], FakeClient]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs ``cubist test`` where jobs end so; exit code and lines."""

    def asked(outcomes: str, *options: str, end: int | None = None) -> Any:
        client = FakeClient(*outcomes.split())

        def watch(_: Any, run_id: int, about: str) -> None:
            client.watched.append((run_id, about))
            if run_id == end:
                raise KeyboardInterrupt

        monkeypatch.setattr(cycles, "daemon_client", lambda: client)
        monkeypatch.setattr(cycles, "watch", watch)
        code = run(["test", *options])
        return code, capsys.readouterr().out.splitlines(), client

    return asked


def test_every_cycle_is_a_scramble_and_a_solve(ask: Ask) -> None:
    code, lines, client = ask("done solved done solved", "--cycles", "2")
    assert code == ExitCode.DONE
    assert client.started == ["scramble", "solve"] * 2
    assert client.watched == [
        (1, "1/2  scramble: "),
        (2, "1/2  solve: "),
        (3, "2/2  scramble: "),
        (4, "2/2  solve: "),
    ]
    assert lines == [
        "1/2  run 2 solved in 12.0 s",
        "2/2  run 4 solved in 14.0 s",
        "solved 2 of 2: mean 13.0 s, best 12.0 s, worst 14.0 s",
    ]


@pytest.mark.parametrize(("outcomes", "jobs"), [("done jammed", 2), ("jammed", 1)])
def test_the_first_failure_ends_it(ask: Ask, outcomes: str, jobs: int) -> None:
    code, lines, client = ask(outcomes, "--cycles", "3")
    assert code == ExitCode.FAILED
    assert len(client.started) == jobs
    assert lines == [f"1/3  run {jobs} jammed after {10 + jobs}.0 s: it jammed", "solved 0 of 1"]


def test_failures_may_be_counted_only(ask: Ask) -> None:
    code, lines, _ = ask("done jammed done solved", "--cycles", "2", "--keep-going", "--json")
    assert code == ExitCode.FAILED
    first, second, last = map(json.loads, lines)
    assert first == {
        "cycle": 1,
        "id": 2,
        "kind": "solve",
        "outcome": "jammed",
        "reason": "it jammed",
        "duration_s": 12.0,
        "planned_us": 1_000_000,
        "executed_us": 2_000_002,
    }
    assert second["cycle"] == 2 and second["outcome"] == "solved"
    assert (last["cycles"], last["solved"], last["mean_s"]) == (2, 1, 14.0)


def test_ctrl_c_stops_the_robot_and_tells_what_there_was(ask: Ask) -> None:
    code, lines, client = ask("done solved done solved", "--cycles", "2", end=3)
    assert (code, client.stopped) == (ExitCode.STOPPED, 1)
    assert lines[-1] == "solved 1 of 1: mean 12.0 s, best 12.0 s, worst 12.0 s"
    assert not ask("done solved", "--cycles", "1")[2].stopped
