"""A dialog as data: the state that a screen shows, and the actions that a person can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from robot.guide.texts import GuideText
from robot.records.documents import ApiRequest
from robot.text.purposes import Purpose
from solver.files import JsonMapping

Mood = Literal["", "good", "bad"]
Part = Annotated[float, Field(ge=0, le=1)]
"""A distance as a fraction of a picture's width or height."""


@dataclass(frozen=True)
class Action:
    """Something a person can do: ``do`` goes into a :class:`DialogPress`, ``label`` on the button.

    ``key``: its name in browsers, with ``Shift+`` or ``Control+`` in front. ``moves``: the robot
    moves at once, so a button has to be held down. ``by_key``: only a key does it; without a label
    it repeats another action. ``short`` replaces the label where room is scarce.
    """

    do: str
    label: str
    key: str = ""
    moves: bool = False
    by_key: bool = False
    short: str = ""


class DialogPress(ApiRequest):
    """An action in the dialog of this number, with its parameters.

    ``open`` needs a ``row``; ``put`` needs a ``corner`` and its new place ``x``, ``y``.
    """

    do: str = Field(max_length=64)
    dialog: int
    row: int | None = Field(default=None, ge=0)
    corner: int | None = Field(default=None, ge=0, le=3)
    x: Part | None = None
    y: Part | None = None


@dataclass(frozen=True)
class DialogLine:
    """A line of a list or table.

    ``colour``: sRGB behind the first cell. ``opens``: a person can choose it.
    """

    cells: tuple[str, ...]
    colour: tuple[int, int, int] | None = None
    opens: bool = False


@dataclass(frozen=True)
class Setting:
    """A value that is being set. ``kept``: the confirmed value; ``original``: the profile's."""

    text: str
    unit: str = ""
    limits: tuple[int, int] | None = None
    kept: int | None = None
    original: int | None = None


@dataclass(frozen=True)
class Outline:
    """The frame of a face in a picture: corners as fractions of its width and height."""

    camera: str
    face: str
    corners: list[list[float]]
    chosen: int


@dataclass(frozen=True)
class Contents:
    """Everything a dialog shows besides its heading, guidance and actions.

    ``row``: the line that was opened last. ``purpose``: the right result, beside the live picture.
    """

    columns: Sequence[str] = ()
    lines: Sequence[DialogLine] = ()
    row: int = 0
    value: Setting | None = None
    question: str = ""
    outline: Outline | None = None
    advice: Sequence[str] = ()
    purpose: Purpose | None = None


@dataclass(frozen=True)
class Notice:
    """A message to the person. ``parameters`` fill its placeholders; ``about`` follows it and is
    the same in every language."""

    text: str = ""
    mood: Mood = ""
    parameters: JsonMapping = field(default_factory=dict)
    about: str = ""


@dataclass(frozen=True)
class DialogState:
    """Everything that a screen shows of the dialog on top.

    ``dialog``: its number, which changes whenever a dialog comes to the top. ``name``: the heading
    in a few words. ``parameters`` fill placeholders of the guidance. ``place``: number of the step
    and length of the series, if it is one of several.
    """

    dialog: int
    heading: str
    name: str
    guidance: str
    parameters: JsonMapping
    place: tuple[int, int] | None
    notice: Notice
    busy: bool
    actions: Sequence[Action]
    contents: Contents


UNDO = Action("undo", GuideText.UNDO, "Control+z")
BACK = Action("back", GuideText.BACK, "Escape")
NEXT = Action("next", GuideText.NEXT, "n")
