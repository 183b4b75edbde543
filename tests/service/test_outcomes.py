"""How a job may end, as people and programs are told: what is in view, jams, cubes that slip."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from robot.twin.cube import scrambled
from robot.twin.studio import OddScene

Bench = Any
MakeBench = Any
NAMES = {
    OddScene.NO_CUBE: "no-cube",
    OddScene.TWO_CUBES: "two-cubes",
    OddScene.WRONG_SIZE: "wrong-size",
    OddScene.HAND: "face-covered",
}


async def asked(bench: Bench, *arguments: str) -> tuple[int, str, str]:
    """What a command prints."""
    process = await asyncio.create_subprocess_exec(
        *bench.command(*arguments),
        env=bench.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_what_is_in_view_is_told_and_then_the_cube_is_solved(make_bench: MakeBench) -> None:
    async with make_bench(speed=100) as bench, bench.firmware(), bench.daemon():
        for odd, name in NAMES.items():
            bench.studio.disturbances.odd = odd
            code, out, err = await asked(bench, "start", "--json")
            record = json.loads(out)
            assert (code, record["outcome"], record["moves"]) == (1, name, None), err
            fault = record["faults"][-1]
            assert (fault["code"], bool(fault["remedy"])) == (name, True)
        code, out, _ = await asked(bench, "start")
        assert code == 1
        assert "face-covered in" in out
        assert "What to do: take your hands" in out
        code, out, _ = await asked(bench, "status")
        assert code == 1
        assert "take your hands" in out.lower()
        bench.studio.disturbances.odd = None
        assert json.loads((await asked(bench, "start", "--json"))[1])["outcome"] == "solved"
        assert json.loads((await asked(bench, "start", "--json"))[1])["outcome"] == "already-solved"
        assert (bench.robot.solved, bench.robot.violations) == (True, [])


async def test_a_motor_that_is_jammed_is_told_and_once_free_the_cube_is_solved(
    make_bench: MakeBench,
) -> None:
    async with make_bench(speed=100) as bench, bench.firmware(), bench.daemon():
        bench.robot.jam("holder")
        code, out, _ = await asked(bench, "start", "--json")
        record = json.loads(out)
        assert (code, record["outcome"], record["attempts"]) == (3, "slipped", 2)
        assert "no motor is jammed" in record["faults"][-1]["remedy"]
        bench.robot.jam("holder", jammed=False)
        code, out, _ = await asked(bench, "start", "--json")
        assert (code, json.loads(out)["outcome"]) == (0, "solved")
        assert bench.robot.solved


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
async def test_a_cube_that_slips_is_solved_after_all(make_bench: MakeBench, seed: int) -> None:
    async with make_bench(seed=seed, speed=50) as bench, bench.firmware(), bench.daemon():
        for number in range(4):
            bench.robot.insert(scrambled(3, 10 * seed + number))
            bench.robot.slip_cube()
            code, out, err = await asked(bench, "start", "--json")
            assert (code, json.loads(out)["outcome"]) == (0, "solved"), err
            assert (bench.robot.solved, bench.robot.violations) == (True, [])
