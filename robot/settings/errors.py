"""What is wrong with a profile, said so that a person can repair it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solver.errors import CubistError


@dataclass(frozen=True, slots=True)
class Complaint:
    """One fault of a profile: ``key`` is a dotted path, ``line`` counts from 1 (0: unknown)."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.text}" if self.key else f"{place}: {self.text}"


class BadProfile(CubistError, ValueError):
    """A robot's description that cannot be used; ``complaints`` lists every fault found."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__("\n".join(map(str, complaints)))
        self.complaints = tuple(complaints)


class UnknownProfile(CubistError, LookupError):
    """No profile of that name exists; the text lists those that do."""
