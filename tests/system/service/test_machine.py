"""A robot is driven by its machine alone: no daemon, no control socket."""

from __future__ import annotations

import asyncio
import threading

from robot.machine.assembly import Machine, make_machine
from robot.machine.confirmed_range import ConfirmedRange
from tests.rig.workbench import Bench


def solve(machine: Machine) -> str:
    """Open, home, scan, plan, perform; what the cameras see at the end."""
    machine.motion.open()
    machine.motion.home()
    images, state = machine.scan()
    cube = machine.scanner.read(images).cube
    assert cube is not None and not cube.is_solved
    plan = machine.planner.plan(cube, state, threading.Event(), lambda _: None)
    took_us = machine.motion.perform(plan.schedule(), lambda _: None)
    assert took_us >= plan.duration_us
    images, _ = machine.scan(plan.end)
    return machine.scanner.read(images).facelets


async def test_a_machine_needs_no_daemon(bench: Bench) -> None:
    port, twin = str(bench.folder / "link"), str(bench.server.daemon_path)
    contact = ConfirmedRange({}, simulated=True)
    machine = await asyncio.to_thread(make_machine, bench.profile, contact, port, twin)
    try:
        facelets = await asyncio.to_thread(solve, machine)
    finally:
        await asyncio.to_thread(machine.motion.close)
        await asyncio.to_thread(machine.scanner.close)
    assert facelets == "".join(face * 9 for face in "URFDLB")
    assert (bench.robot.solved, bench.robot.violations) == (True, [])
