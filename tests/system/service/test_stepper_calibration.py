"""A stepper calibrated by commands, on a simulated one that loses steps and has play."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

MakeBench = Any
STALL = 2400


async def told(bench: Any, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    process = await asyncio.create_subprocess_exec(
        *bench.command("calibrate", "stepper", *arguments, "--json"),
        env=bench.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, [json.loads(line) for line in out.splitlines()]


@pytest.mark.long
async def test_all_of_a_table(make_bench: MakeBench) -> None:
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
