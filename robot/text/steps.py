"""Steps of jobs, each with a code and parameters, for people of any language."""

from __future__ import annotations

from collections.abc import Mapping

from robot.text.notes import Coded

STEPS: Mapping[str, str] = {
    "start": "starting",
    "home": "finding the home positions",
    "plan-looks": "planning the looks",
    "look": "looking at {faces} ({seen} of {count})",
    "wait-for-hand": "waiting: take your hand away",
    "wait-for-cube": "waiting: put the cube in",
    "wait-for-one-cube": "waiting: leave only one cube in view",
    "wait-for-right-size": "waiting: put a cube of the right size in",
    "plan-scramble": "planning the scramble",
    "search": "searching for the fastest way",
    "load-tables": "loading the tables of the search",
    "make-tables": "making the tables of the search",
    "turn": "turning: {moves} moves in {seconds} s",
    "turn-once": "turning: 1 move in {seconds} s",
    "turn-faster": "turning: {moves} moves in {seconds} s, with a faster end",
    "recover": "recovering: {fault}",
}
"""English by code. A parameter ``fault`` is the code of a fault."""


class JobStep(Coded):
    """The English text of a step."""

    __slots__ = ()
    ENGLISH = STEPS


def coded(text: str) -> dict[str, object]:
    """The fields of a document that go with the text of a step; none for any other text."""
    if not isinstance(text, JobStep):
        return {}
    return {"step_code": text.code, "step_parameters": text.parameters}
