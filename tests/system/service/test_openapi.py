"""Schemathesis against the control socket of a daemon whose simulated robot does what is asked."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from robot.simulate.processes import running

Bench = Any
CONFIG = Path(__file__).with_name("schemathesis.toml")
ENDLESS = ("/events", "/maintenance")
"""Paths whose answers go on for ever."""

CHUNK = 65536


@contextlib.asynccontextmanager
async def at_tcp_port(path: Path) -> AsyncIterator[str]:
    """Carry bytes between a port of this computer and a Unix socket; the port's URL."""
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        task.add_done_callback(talks.discard)
        ours, theirs = await asyncio.open_unix_connection(str(path))
        there = asyncio.create_task(carry(reader, theirs))
        back = asyncio.create_task(carry(ours, writer))
        try:
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            theirs.close()
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


async def assert_nothing_found(bench: Bench, *options: str) -> None:
    """Run schemathesis with all its checks."""
    async with at_tcp_port(bench.folder / "control.sock") as url:
        command = [
            # It keeps what it found in the current folder.
            *("env", "--chdir", str(bench.folder)),
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)),
            *("run", f"{url}/openapi.json", "--warnings", "off", "--continue-on-failure"),
            *(word for path in ENDLESS for word in ("--exclude-path", path)),
            *("--exclude-path", "/shutdown", "--request-timeout", "240", *options),
        ]
        async with running("schemathesis", command, bench.folder) as child:
            code = await child.process.wait()
            assert code == 0, child.log.read_text()


async def assert_well(bench: Bench, view: Any) -> None:
    """The robot still does what it is for, and did nothing it must not do."""
    await asyncio.to_thread(bench.client().stop)
    run_id = await asyncio.to_thread(bench.client().start, "home")
    assert (await bench.ended(view, run_id)).outcome == "done"
    assert bench.robot.violations == []


async def test_nothing_is_found(bench: Bench) -> None:
    async with bench.daemon() as (_, view):
        await assert_nothing_found(bench, "--max-examples", "5", "--seed", "1")
        await assert_well(bench, view)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
async def test_nothing_is_found_by_many_at_once(bench: Bench, seed: int) -> None:
    async with bench.daemon() as (_, view):
        options = ("--max-examples", "100", "--seed", str(seed), "--workers", "4")
        await assert_nothing_found(bench, *options)
        await assert_well(bench, view)


@pytest.mark.long
async def test_nothing_is_found_in_maintenance(bench: Bench) -> None:
    async with bench.daemon() as (_, view):
        await bench.confirm()
        with bench.client().maintenance():
            await assert_nothing_found(
                bench,
                *("--max-examples", "40", "--seed", "1"),
                *(
                    "--include-path-regex",
                    "^/(calibration|maintenance/(home|move|picture|turn|steps|speed|play))",
                ),
            )
        await assert_well(bench, view)
