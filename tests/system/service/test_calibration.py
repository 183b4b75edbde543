"""Calibration by commands: killed at any moment it changes nothing; servo and stepper measured."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal

import pytest

from robot.api.client import DaemonError
from robot.api.endpoints import CALIBRATION, Endpoint
from robot.twin.misadjustment import Misadjustment
from solver.errors import ExitCode
from tests.rig.workbench import LIMIT_S, Bench

STALL = 2400
"""Steps per second at which the simulated motor loses steps."""


async def break_off(bench: Bench, findings: int, number: signal.Signals) -> tuple[int, list[str]]:
    """Signal calibration after some findings; return its exit code and the stages it reported."""
    command = await bench.spawn("calibrate", "auto", "--real", "--robot", "cubotino", "--json")
    assert command.stdout is not None
    stages: list[str] = []
    async with asyncio.timeout(LIMIT_S), bench.view() as view:
        while len(stages) < findings:
            line = await command.stdout.readline()
            assert line, "it ended by itself"
            stages.append(json.loads(line).get("stage", "the end"))
        command.send_signal(number)
        await command.communicate()
        await bench.end_of_maintenance(view)
    assert command.returncode is not None
    return command.returncode, stages


def read_versions(bench: Bench) -> dict[str, bytes]:
    """Return all stored files, byte for byte."""
    folder = bench.state_dir / "calibration"
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "findings", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3, 4))]
)
async def test_calibration_that_is_broken_off_changes_nothing_and_can_be_begun_again(
    make_bench, findings
):
    async with make_bench(speed=5, misadjusted=Misadjustment(7)) as bench, bench.working():
        await bench.confirm()
        before = read_versions(bench)
        values = await asyncio.to_thread(bench.client().call, CALIBRATION)
        expected = {signal.SIGINT: ExitCode.STOPPED, signal.SIGKILL: -signal.SIGKILL}
        found = []
        for number, code in expected.items():
            ended, stages = await break_off(bench, findings, number)
            found.append(stages)
            assert ended == code
            assert read_versions(bench) == before
            assert await asyncio.to_thread(bench.client().call, CALIBRATION) == values
        assert found[0] == found[1]
        assert bench.robot.violations == []


async def test_after_a_power_cut_motors_that_may_stand_askew_are_asked_for(make_bench):
    """Ask about motors that nobody could turn back, and whose steps nobody has counted since."""
    move = Endpoint[dict[str, object]]("POST", "/maintenance/move")
    async with make_bench("six-motor") as bench:
        async with bench.firmware(), bench.daemon() as (child, _):
            await bench.confirm()

            def turn_and_end() -> None:
                client = bench.client()
                with contextlib.suppress(DaemonError), client.maintenance():
                    client.call(move, {"actuator": "right", "to": 30})
                    child.process.kill()

            await asyncio.to_thread(turn_and_end)
        assert bench.robot.place("right") is None
        async with bench.working() as view:
            first = await bench.perform(view)
            assert first.outcome == "fault"
            assert "calibration was interrupted" in first.faults[-1].cause
            assert "right" in first.faults[-1].remedy
            bench.robot.set_square()
            assert (await bench.perform(view)).outcome == "solved"
        async with bench.working() as view:
            assert (await bench.perform(view)).outcome == "already-solved"
        assert bench.robot.violations == []
