"""Calibration by commands: killed at any moment it changes nothing; servo and stepper measured."""

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

STALL = 2400
"""Steps per second at which the simulated motor loses steps."""

LAG_US = 40_000
"""A servo follows from its next pulse on, and pulses come every 20 ms."""


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


@pytest.mark.long
async def test_travel_is_seen(make_bench: MakeBench) -> None:
    # Slower than real: however busy the computer is, there are pictures of the motion.
    async with make_bench(speed=0.2) as bench, bench.firmware(), bench.daemon():
        await bench.confirm()
        code, seen = await bench.run_json(
            *("calibrate", "travel", "holder", "home", "cw", "--save")
        )
        servo = bench.profile.actuators["holder"]
        distance_us = servo.positions_us["cw"] - servo.positions_us["home"]
        speed = bench.profile.simulation.actuators["holder"].max_speed_us_per_s
        assert (code, seen["saved"]) == (0, True)
        assert abs(seen["measured_us"] - distance_us / speed * 1e6) <= seen["within_us"] + LAG_US
        rows = {tuple(row["between"]): row for row in seen["values"]["actuators.holder.travel"]}
        kept_us = 1e3 * rows["home", "cw"]["ms"]
        assert kept_us == pytest.approx(seen["measured_us"] + seen["within_us"], abs=100)
        assert bench.robot.violations == []


async def told(bench: Any, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Return exit code and documents of a command that calibrates a stepper."""
    code, out, _ = await bench.run("calibrate", "stepper", *arguments, "--json")
    return code, [json.loads(line) for line in out.splitlines()]


@pytest.mark.long
async def test_steps_speed_and_play_of_a_stepper_are_measured(make_bench: MakeBench) -> None:
    async with make_bench("mindcuber") as bench, bench.firmware(), bench.daemon() as (_, view):
        await bench.confirm()
        code, (steps,) = await told(bench, "steps", "table")
        assert (code, steps["found_steps"]) == (0, 1600)
        code, speeds = await told(bench, "speed", "table", "--from", "1700")
        assert (code, speeds[-2]["lost"], speeds[-1]["saved"]) == (0, True, True)
        assert speeds[-1]["last_good"] <= STALL < speeds[-2]["tried"]
        code, (play,) = await told(bench, "backlash", "table")
        assert (code, play["play_steps"]) == (0, 0)
        assert {violation.kind for violation in bench.robot.violations} == {"lost-steps"}
        bench.robot.violations.clear()
        run = await asyncio.to_thread(bench.client().start)
        assert (await bench.ended(view, run)).outcome == "solved"
        assert bench.robot.violations == []
