"""What a job does now: each step with a code and parameters, for people of any language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

STEPS: Mapping[str, str] = {
    "start": "starting",
    "home": "finding the home positions",
    "plan-looks": "planning the looks",
    "look": "looking at {faces} ({seen} of {count})",
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


class Step(str):
    """The English text of a step, which also has its ``code`` and ``parameters``."""

    __slots__ = ("code", "parameters")
    code: str
    parameters: dict[str, str]

    @classmethod
    def of(cls, code: str, english: str | None = None, **parameters: object) -> Self:
        """The step with this code of :data:`STEPS`.

        ``english`` says more than the table, or says it better.
        """
        values = {name: str(value) for name, value in parameters.items()}
        made = cls(STEPS[code].format_map(values) if english is None else english)
        made.code, made.parameters = code, values
        return made


def coded(text: str) -> dict[str, object]:
    """The fields of a document that go with the text of a step; none for any other text."""
    if not isinstance(text, Step):
        return {}
    return {"step_code": text.code, "step_parameters": text.parameters}
