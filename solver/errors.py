"""Errors a person can act on; those Cubist raises on purpose derive from :class:`CubistError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CubistError(Exception):
    """Root of Cubist's errors. ``str(error)`` says what is wrong, where, and what to do."""


class BadNotation(CubistError, ValueError):
    """A text that is neither a cube state nor a move sequence in any notation we read."""


class IllegalCube(CubistError, ValueError):
    """A cube that no sequence of turns can reach.

    ``reason`` is one sentence that names the piece (``edge UR is flipped``); ``detail`` holds the
    same facts for programs, with a ``kind`` of ``count``, ``centre``, ``impossible-piece``,
    ``duplicate-piece``, ``twist``, ``flip``, ``parity``, ``scheme`` or ``mirrored-scheme``.
    """

    def __init__(self, reason: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = dict(detail or {})


class SearchFailed(CubistError, RuntimeError):
    """A search ended without any solution: deadline, cancellation or limit reached first."""


def shortened(text: str, most: int = 40) -> str:
    """``text`` to be quoted in a message: its beginning and its length, where it is long."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
