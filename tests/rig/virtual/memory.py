"""Jobs that run in the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def kept_memory() -> Iterator[None]:
    """Jobs return no memory to the system: to look through all that pytest holds takes 80 ms.

    ``tests/system/service`` watches what daemons hold that are processes of their own.
    """
    with patch("robot.daemon.job_control.give_back"):
        yield
