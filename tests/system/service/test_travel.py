"""A servo's travel measured with the camera, on a simulated one whose true speed is known."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

MakeBench = Any
PULSE_PERIOD_US = 20_000
LAG_US = 2 * PULSE_PERIOD_US
"""A servo follows from its next pulse on, and pulses come every 20 ms."""


async def measured(bench: Any, *way: str) -> tuple[int, dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *bench.command("calibrate", "travel", *way, "--save", "--json"),
        env=bench.environment,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, json.loads(out)


@pytest.mark.long
async def test_travel_is_seen(make_bench: MakeBench) -> None:
    # Slower than real: however busy the computer is, there are pictures of the motion.
    async with make_bench(speed=0.2) as bench, bench.firmware(), bench.daemon():
        await bench.confirm()
        code, seen = await measured(bench, "holder", "home", "cw")
        servo = bench.profile.actuators["holder"]
        distance_us = servo.positions_us["cw"] - servo.positions_us["home"]
        speed = bench.profile.simulation.actuators["holder"].max_speed_us_per_s
        assert (code, seen["saved"]) == (0, True)
        assert abs(seen["measured_us"] - distance_us / speed * 1e6) <= seen["within_us"] + LAG_US
        rows = {tuple(row["between"]): row for row in seen["values"]["actuators.holder.travel"]}
        kept_us = 1e3 * rows["home", "cw"]["ms"]
        assert kept_us == pytest.approx(seen["measured_us"] + seen["within_us"], abs=100)
        assert bench.robot.violations == []
