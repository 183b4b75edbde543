"""Hands for a simulated robot: `cubist simulate scramble` and similar commands, from the page."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

from robot.records.documents import ApiRequest, WholeNumber
from robot.web.access import Refusal
from solver.errors import InvalidRequest
from solver.files import BadFile, JsonObject, parse_object

ANSWER_LIMIT_S = 30.0
LONGEST_ANSWER = 64 * 1024


class HandRequest(ApiRequest):
    """An action of a person at the robot.

    A ``scramble`` has ``moves`` from the solved cube, or else a ``seed``. A ``fault`` has its name,
    as in `cubist simulate fault`.
    """

    do: Literal["scramble", "insert", "remove", "fault", "mend"]
    moves: str | None = None
    seed: WholeNumber | None = None
    fault: str | None = None


async def perform(socket: Path, request: JsonObject) -> JsonObject:
    """Have the simulation at ``socket`` perform a request and return its answer.

    Raises :class:`Refusal`, and :class:`InvalidRequest` if it names something that does not exist.
    """
    try:
        async with asyncio.timeout(ANSWER_LIMIT_S):
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=LONGEST_ANSWER)
            try:
                writer.write(json.dumps(request).encode() + b"\n")
                await writer.drain()
                answer = parse_object(await reader.readline(), "its answer")
            finally:
                writer.close()
    except (OSError, ValueError, TimeoutError, BadFile) as error:
        raise Refusal(503, "no-simulation", f"the simulation does not answer: {error}") from error
    if "error" not in answer:
        return answer
    if answer.get("exists", True):
        raise Refusal(409, "refused", str(answer["error"]))
    raise InvalidRequest(str(answer["error"]))
