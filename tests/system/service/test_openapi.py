"""Schemathesis against the control socket of a daemon whose simulated robot obeys every request."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from robot.simulate.processes import running
from robot.simulate.progress import DaemonFollower
from tests.rig.workbench import Bench

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXCLUDED = ("/events", "/maintenance", "/shutdown")
"""Paths whose answers never end, and the one that ends the daemon."""

CHUNK = 65536


@contextlib.asynccontextmanager
async def at_tcp_port(path: Path) -> AsyncIterator[str]:
    """Carry bytes between a port of this computer and a Unix socket; yield the port's URL."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ours, theirs = await asyncio.open_unix_connection(str(path))
        await asyncio.gather(carry(reader, theirs), carry(ours, writer))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def assert_nothing_found(bench: Bench, *options: str) -> None:
    """Run schemathesis with all its checks."""
    async with at_tcp_port(bench.folder / "control.sock") as url:
        command = [
            # Schemathesis keeps its findings in the current folder.
            *("env", "--chdir", str(bench.folder)),
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)),
            *("run", f"{url}/openapi.json", "--warnings", "off", "--continue-on-failure"),
            *(word for path in EXCLUDED for word in ("--exclude-path", path)),
            *("--request-timeout", "240", *options),
        ]
        async with running("schemathesis", command, bench.folder) as child:
            code = await child.process.wait()
            assert code == 0, child.log.read_text()


async def assert_well(bench: Bench, view: DaemonFollower) -> None:
    """Check that the robot still works and did no harm."""
    await asyncio.to_thread(bench.client().stop)
    assert (await bench.perform(view, "home")).outcome == "done"
    assert bench.robot.violations == []


LONG = pytest.mark.long, pytest.mark.timeout(1800)


@pytest.mark.parametrize(
    "options",
    [
        ("--max-examples", "3", "--seed", "1"),
        *(pytest.param(("--max-examples", "100", "--seed", seed), marks=LONG) for seed in "012"),
    ],
)
async def test_schemathesis_finds_nothing_while_idle(bench, options):
    async with bench.daemon() as (_, view):
        await assert_nothing_found(bench, *options)
        await assert_well(bench, view)


@pytest.mark.long
async def test_schemathesis_finds_nothing_in_maintenance(bench):
    paths = "^/(calibration|maintenance/(home|move|picture|turn|steps|speed|play))"
    async with bench.daemon() as (_, view):
        await bench.confirm()
        with bench.client().maintenance():
            options = ("--max-examples", "40", "--seed", "1", "--include-path-regex", paths)
            await assert_nothing_found(bench, *options)
        await assert_well(bench, view)
