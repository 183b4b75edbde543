"""Threads that wait for a link get an answer, whoever closes it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from robot.link import LinkThread
from robot.text.faults import LinkError


class Silent:
    """A link to a board that never answers."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def ask(self) -> None:
        self.asked.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def test_who_waits_when_another_thread_closes_the_link_is_told() -> None:
    thread = LinkThread(Silent)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: thread.wait(thread.link.ask()))
        assert thread.link.asked.wait(240)
        thread.close()
        with pytest.raises(LinkError, match="disconnected"):
            waiting.result(240)


def test_who_comes_after_that_is_told_and_closing_again_does_nothing() -> None:
    thread = LinkThread(Silent)
    thread.close()
    thread.close()
    with pytest.raises(LinkError, match="disconnected"):
        thread.wait(thread.link.ask())
