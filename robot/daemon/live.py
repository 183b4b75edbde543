"""What somebody who watches sees: the cube as far as it is known, the motion under way, its clock.

It is sent as events, and as a whole to whoever comes later (``GET /live``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from robot.api.models import LiveActuator, LiveCube, LiveMotion, LiveScan, LiveState
from robot.machine.scanner import FaceImage
from robot.mechanism.graph import ActuatorMotion, Operation
from robot.planner import FaceView, move_ends_us
from solver.cost import merge_moves
from solver.cube.facelets import FACES
from solver.cube.orientation import Orientation
from solver.files import JsonObject
from vision.measure.sticker_colours import linear_to_srgb

CLOCK_PERIOD_S = 0.2
"""At most so often the motion's clock is told; the board reports it at each heartbeat."""

Positions = Mapping[str, str | int]
"""Where actuators are: the name of a position, or quarter turns."""

UNKNOWN = "?"
"""Stands for a sticker whose colour is not known yet, where else a face's letter stands."""


class Moving(Protocol):
    """What of a plan is told."""

    @property
    def duration_us(self) -> int:
        """When it is over."""

    @property
    def moves(self) -> Sequence[str]:
        """The turns of layers."""

    @property
    def operations(self) -> Sequence[Operation]:
        """What the mechanism does."""

    @property
    def motions(self) -> Iterable[tuple[int, ActuatorMotion]]:
        """What each actuator does, with when that starts."""

    @property
    def initial_orientation(self) -> Orientation:
        """How the cube is held before it."""

    @property
    def initial_positions(self) -> Positions:
        """Where the actuators are before it."""

    @property
    def final_orientation(self) -> Orientation:
        """How the cube is held after it."""

    @property
    def final_positions(self) -> Positions:
        """Where the actuators are after it."""


def operations_of(parts: Iterable[Moving]) -> Iterator[JsonObject]:
    """What is done, one part after the other, each with when it starts."""
    before_us = 0
    for part in parts:
        for operation in part.operations:
            yield {**operation.as_dict(), "start_us": operation.start_us + before_us}
        before_us += part.duration_us


def _motions_of(parts: Iterable[Moving]) -> Iterator[LiveActuator]:
    """What each actuator does, one part after the other."""
    before_us = 0
    for part in parts:
        for start_us, motion in part.motions:
            yield LiveActuator(
                actuator=motion.actuator,
                start_us=start_us + before_us,
                duration_us=motion.duration_us,
                to=motion.end,
                quarter_turns=motion.quarters,
            )
        before_us += part.duration_us


class Publish(Protocol):
    """Hands on one event of a kind with what belongs to it."""

    def __call__(self, event: str, text: str, **more: object) -> None:
        """One event of this kind."""


class LiveBoard:
    """Follows what a job does, and publishes it; used from the event loop's thread only.

    ``publish`` gets the kind of event (``cube``, ``look``, ``motion``, ``clock``) and its document.
    ``clock`` gives seconds. ``mechanism``: that section of the robot's profile.
    """

    def __init__(
        self,
        publish: Publish,
        clock: Callable[[], float] = time.monotonic,
        mechanism: JsonObject | None = None,
    ) -> None:
        self._publish = publish
        self._clock = clock
        self._told_at = -math.inf
        self._measured: NDArray[np.float32] = np.zeros((0, 3), np.float32)
        self.view = LiveState(mechanism=mechanism)

    def forget_cube(self, size: int) -> None:
        """Nothing is known of the cube of ``size`` layers, nor of where the actuators are."""
        count = 6 * size**2
        self._measured = np.full((count, 3), np.nan, np.float32)
        cube = LiveCube(size=size, facelets=UNKNOWN * count, seen=[None] * count)
        self._set_cube(cube, None)

    def home(self, positions: Positions) -> None:
        """The actuators are here; the cube is held as it always is then."""
        if self.view.cube is not None:
            self._set_cube(self.view.cube, positions)

    def look(self, view: FaceView, image: FaceImage, picture: int) -> None:
        """A face was looked at; perhaps the robot moves on already."""
        known = self.view.cube
        if known is None:
            raise RuntimeError("a job homes before it looks")
        count = known.size**2
        first = FACES.index(view.face) * count
        valid = image.colours.valid[:, None]
        before = self._measured[first : first + count]
        self._measured[first : first + count] = np.where(valid, image.colours.linear_rgb, before)
        height, width = image.frame.image.shape[:2]
        corners = (image.grid.corners / (width, height)).round(4).tolist()
        seen = [_hex(colour) for colour in self._measured]
        cube = known.model_copy(update={"seen": seen})
        look = LiveScan(
            face=view.face, site=view.site, camera=view.camera, picture=picture, corners=corners
        )
        self.view = self.view.model_copy(update={"cube": cube, "look": look})
        self._publish("look", "", cube=cube, look=look)

    def read(self, facelets: str) -> None:
        """The cube was read."""
        if self.view.cube is None:
            raise RuntimeError("a cube is seen before it is read")
        palette: dict[str, str] = {}
        for letter in sorted(set(facelets)):
            ours = self._measured[[letter == other for other in facelets]]
            ours = ours[~np.isnan(ours).any(axis=1)]
            if len(ours) and (colour := _hex(np.median(ours, axis=0))):
                palette[letter] = colour
        self._set_cube(
            self.view.cube.model_copy(
                update={"facelets": facelets, "seen": [], "palette": palette or self._palette}
            ),
            self.view.positions,
        )

    def move(
        self,
        purpose: Literal["look", "turn"],
        parts: Sequence[Moving],
        at_us: int = 0,
        greedy_us: int | None = None,
    ) -> None:
        """A motion of these parts begins, or goes on with another end ``at_us`` after its start.

        ``greedy_us``: what its moves would take without a plan.
        """
        operations = list(operations_of(parts))
        orientation = parts[0].initial_orientation.name
        moves = merge_moves(move for part in parts for move in part.moves)
        motion = LiveMotion(
            purpose=purpose,
            orientation=orientation,
            duration_us=sum(part.duration_us for part in parts),
            greedy_us=greedy_us,
            operations=operations,
            actuators=list(_motions_of(parts)),
            moves=" ".join(moves),
            move_ends_us=move_ends_us(operations, orientation, moves),
        )
        told = {"motion": motion, "at_us": at_us, "positions": dict(parts[0].initial_positions)}
        self.view = self.view.model_copy(update=told)
        self._told_at = -math.inf
        self._publish("motion", "", cube=self.view.cube, **told)

    def advance(self, fraction: float) -> None:
        """The motion is so far."""
        if (motion := self.view.motion) is not None:
            at_us = round(min(max(fraction, 0.0), 1.0) * motion.duration_us)
            self.view = self.view.model_copy(update={"at_us": at_us})
            if self._clock() - self._told_at >= CLOCK_PERIOD_S:
                self._told_at = self._clock()
                self._publish("clock", "", at_us=at_us)

    def arrive(self, moved: Moving, facelets: str | None) -> None:
        """The motion is over and has left the cube so; None: its state was not known before."""
        if (cube := self.view.cube) is not None:
            orientation = moved.final_orientation.name
            known = {"facelets": facelets or cube.facelets, "orientation": orientation}
            self._set_cube(cube.model_copy(update=known), dict(moved.final_positions))

    @property
    def _palette(self) -> dict[str, str]:
        return self.view.cube.palette if self.view.cube else {}

    def _set_cube(self, cube: LiveCube, positions: Positions | None) -> None:
        told = {"cube": cube, "positions": positions}
        self.view = self.view.model_copy(update={**told, "motion": None, "at_us": None})
        self._publish("cube", "", **told)


def _hex(linear: NDArray[np.float32]) -> str | None:
    """Linear light as #rrggbb; None where it was not measured."""
    if np.isnan(linear).any():
        return None
    red, green, blue = linear_to_srgb(linear).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"
