"""Benches of :mod:`tests.rig.workbench` as fixtures."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from robot.twin.misadjustment import Misadjustment
from tests.rig.profiles import changed
from tests.rig.workbench import Bench, workbench

MakeBench = Callable[..., contextlib.AbstractAsyncContextManager[Bench]]


@pytest.fixture
def make_bench(short_folder: Path) -> MakeBench:
    """Return a function that makes a bench of a named profile.

    It takes a seed for the cube and a multiple of real time. ``policy`` overrides the profile's.
    """

    def make(
        name: str = "cubotino",
        seed: int = 5,
        speed: float = 30,
        misadjusted: Misadjustment | None = None,
        **policy: Any,
    ) -> contextlib.AbstractAsyncContextManager[Bench]:
        profile = changed(name, {f"policy.{key}": value for key, value in policy.items()})
        return workbench(profile, short_folder, seed, speed, misadjusted)

    return make


@pytest.fixture
async def bench(make_bench: MakeBench) -> AsyncIterator[Bench]:
    async with make_bench() as bench, bench.firmware():
        yield bench
