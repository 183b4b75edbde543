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


IMPATIENT = {"wait_for_clear_view_s": 0.5}
PATIENT = {"wait_for_clear_view_s": 240.0}


async def test_what_is_in_view_is_told_and_then_the_cube_is_solved(make_bench: MakeBench) -> None:
    async with make_bench(speed=100, policy=IMPATIENT) as bench, bench.firmware(), bench.daemon():
        for odd, name in NAMES.items():
            bench.studio.disturbances.odd = odd
            code, out, err = await bench.run("start", "--json")
            record = json.loads(out)
            assert (code, record["outcome"], record["moves"]) == (1, name, None), err
            fault = record["faults"][-1]
            assert (fault["code"], bool(fault["remedy"])) == (name, True)
        code, out, _ = await bench.run("start")
        assert code == 1
        assert "face-covered after" in out
        assert "What to do: take your hands" in out
        code, out, _ = await bench.run("status")
        assert code == 1
        assert "take your hands" in out.lower()
        bench.studio.disturbances.odd = None
        assert json.loads((await bench.run("start", "--json"))[1])["outcome"] == "solved"
        assert json.loads((await bench.run("start", "--json"))[1])["outcome"] == "already-solved"
        assert (bench.robot.solved, bench.robot.violations) == (True, [])


async def start_and_disturb_the_check(bench: Bench, number: int, odd: OddScene) -> str:
    """The number of a run in whose check something else comes into view, sooner or later."""
    bench.robot.insert(scrambled(3, number))
    run = await asyncio.to_thread(bench.client().start)
    while not bench.robot.solved:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01 * (number % 5))
    bench.studio.disturbances.odd = odd
    return run


@pytest.mark.parametrize("retries", [0, 1])
async def test_what_comes_into_view_at_the_check_is_told(
    make_bench: MakeBench, retries: int
) -> None:
    """The cube is solved, so `slipped` would be wrong however often the robot may try."""
    policy = IMPATIENT | {"solve_retries": retries, "scan_retries": retries}
    async with (
        make_bench(speed=100, policy=policy) as bench,
        bench.firmware(),
        bench.daemon() as (_, view),
    ):
        for number, (odd, name) in enumerate(NAMES.items()):
            run = await start_and_disturb_the_check(bench, number, odd)
            record = await bench.ended(view, run)
            assert (record.outcome, record.attempts) == (name, 1), record.reason
            assert bench.robot.solved and not bench.robot.violations
            bench.studio.disturbances.odd = None


async def wait_with_the_hand_there(bench: Bench, view: Any) -> None:
    """Watch the robot's motors while it waits for the hand to go: they stay where they are."""
    async with asyncio.timeout(240):
        while (status := await view.status()).job is None or (
            status.job.step_code != "wait-for-hand"
        ):
            await asyncio.sleep(0.01)
    where = {name: bench.robot.place(name) for name in bench.profile.actuators}
    for _ in range(100):
        await asyncio.sleep(0.005)
        assert not bench.robot.moving
        assert {name: bench.robot.place(name) for name in bench.profile.actuators} == where


SEEDS = [pytest.param(seed, marks=pytest.mark.long) if seed > 2 else seed for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_moves_while_a_hand_is_in_view_at_the_check(
    make_bench: MakeBench, seed: int
) -> None:
    async with (
        make_bench(speed=100, policy=PATIENT) as bench,
        bench.firmware(),
        bench.daemon() as (_, view),
    ):
        run = await start_and_disturb_the_check(bench, seed, OddScene.HAND)
        await wait_with_the_hand_there(bench, view)
        bench.studio.disturbances.odd = None
        record = await bench.ended(view, run)
        assert (record.outcome, record.attempts) == ("solved", 1), record.reason
        assert (bench.robot.solved, bench.robot.violations) == (True, [])
        run = await start_and_disturb_the_check(bench, seed, OddScene.HAND)
        await wait_with_the_hand_there(bench, view)
        assert await asyncio.to_thread(bench.client().stop)
        assert (await bench.ended(view, run)).outcome == "stopped"


async def test_a_motor_that_is_jammed_is_told_and_once_free_the_cube_is_solved(
    make_bench: MakeBench,
) -> None:
    async with make_bench(speed=100) as bench, bench.firmware(), bench.daemon():
        bench.robot.jam("holder")
        code, out, _ = await bench.run("start", "--json")
        record = json.loads(out)
        assert (code, record["outcome"], record["attempts"]) == (3, "slipped", 2)
        assert "no motor is jammed" in record["faults"][-1]["remedy"]
        bench.robot.jam("holder", jammed=False)
        code, out, _ = await bench.run("start", "--json")
        assert (code, json.loads(out)["outcome"]) == (0, "solved")
        assert bench.robot.solved


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
async def test_a_cube_that_slips_is_solved_after_all(make_bench: MakeBench, seed: int) -> None:
    async with make_bench(seed=seed, speed=50) as bench, bench.firmware(), bench.daemon():
        for number in range(4):
            bench.robot.insert(scrambled(3, 10 * seed + number))
            bench.robot.slip_cube()
            code, out, err = await bench.run("start", "--json")
            assert (code, json.loads(out)["outcome"]) == (0, "solved"), err
            assert (bench.robot.solved, bench.robot.violations) == (True, [])
