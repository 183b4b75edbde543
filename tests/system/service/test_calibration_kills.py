"""`cubist calibrate auto` killed at any moment: the old calibration stays, byte for byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from typing import Any

import pytest

from robot.api.client import DaemonError
from robot.api.endpoints import CALIBRATION, Endpoint, RobotState
from robot.twin.misadjustment import Misadjustment
from solver.errors import ExitCode

Bench = Any
MakeBench = Any
LIMIT_S = 240.0
SPEED = 5
ARGUMENTS = ("calibrate", "auto", "--real", "--robot", "cubotino", "--json")


async def broken_off(bench: Bench, findings: int, number: signal.Signals) -> tuple[int, list[str]]:
    """Let it find so much, and send it a signal; its exit code, and the stages it came to."""
    command = await asyncio.create_subprocess_exec(
        *bench.command(*ARGUMENTS),
        env=bench.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert command.stdout is not None
    stages: list[str] = []
    async with asyncio.timeout(LIMIT_S):
        while len(stages) < findings:
            line = await command.stdout.readline()
            assert line, "it ended by itself"
            stages.append(json.loads(line).get("stage", "the end"))
        command.send_signal(number)
        await command.communicate()
    assert command.returncode is not None
    return command.returncode, stages


async def out_of_maintenance(bench: Bench) -> None:
    """Wait until the daemon has noticed."""
    async with bench.view() as view, asyncio.timeout(LIMIT_S):
        while (await view.status()).state is RobotState.MAINTENANCE:
            await asyncio.sleep(0.02)


def versions_of(bench: Bench) -> dict[str, bytes]:
    """All that is kept, byte for byte."""
    folder = bench.state_dir / "calibration"
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


async def assert_old_calibration_stays(
    make_bench: MakeBench, findings: int, number: signal.Signals
) -> None:
    async with (
        make_bench(speed=SPEED, misadjusted=Misadjustment(7)) as bench,
        bench.firmware(),
        bench.daemon(),
    ):
        await bench.confirm()
        before = versions_of(bench)
        values = await asyncio.to_thread(bench.client().call, CALIBRATION)
        code, stages = await broken_off(bench, findings, number)
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else ExitCode.STOPPED)
        await out_of_maintenance(bench)
        assert versions_of(bench) == before
        assert await asyncio.to_thread(bench.client().call, CALIBRATION) == values
        # And it can be begun again.
        assert (await broken_off(bench, 1, signal.SIGKILL))[1] == stages[:1]
        await out_of_maintenance(bench)
        assert versions_of(bench) == before
        assert bench.robot.violations == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_after_its_first_look(make_bench: MakeBench, number: signal.Signals) -> None:
    await assert_old_calibration_stays(make_bench, 1, number)


@pytest.mark.long
@pytest.mark.parametrize("findings", [2, 3, 4])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_with_more_and_more_found(
    make_bench: MakeBench, findings: int, number: signal.Signals
) -> None:
    await assert_old_calibration_stays(make_bench, findings, number)


async def test_after_a_power_cut_motors_that_may_stand_askew_are_asked_for(
    make_bench: MakeBench,
) -> None:
    """Nobody could turn them back, and nothing has counted on."""
    async with make_bench("six-motor") as bench:
        async with bench.firmware(), bench.daemon() as (child, _):
            await bench.confirm()

            def turn_and_end() -> None:
                client = bench.client()
                with contextlib.suppress(DaemonError), client.maintenance():
                    client.call(
                        Endpoint("POST", "/maintenance/move"), {"actuator": "right", "to": 30}
                    )
                    child.process.kill()

            await asyncio.to_thread(turn_and_end)
        assert bench.robot.place("right") is None
        async with bench.firmware(), bench.daemon() as (_, view):
            first = await bench.ended(view, await asyncio.to_thread(bench.client().start))
            assert first.outcome == "fault"
            assert "calibration broke off" in first.faults[-1].cause
            assert "right" in first.faults[-1].remedy
            bench.robot.set_square()
            again = await bench.ended(view, await asyncio.to_thread(bench.client().start))
            assert again.outcome == "solved"
        async with bench.firmware(), bench.daemon() as (_, view):
            third = await bench.ended(view, await asyncio.to_thread(bench.client().start))
            assert third.outcome == "already-solved"
        assert bench.robot.violations == []
