"""Live state for viewers: the cube as far as it is known, the motion under way, and pictures.

The daemon sends changes as events, and the whole state on request (``GET /live``).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from robot.api.models import LiveActuator, LiveCube, LiveMotion, LiveScan, LiveState
from robot.machine.scanner import FaceImage
from robot.planner import FaceView, Plan, move_ends_us
from solver.cost import merge_moves
from solver.cube.facelets import FACES
from solver.files import JsonObject
from vision.measure.sticker_colours import linear_to_srgb

CLOCK_PERIOD_S = 0.2
"""Minimum time between two events of the motion's clock. The board reports it more often."""

Positions = Mapping[str, str | int]
"""Positions of actuators: the name of a position, or quarter turns."""

UNKNOWN = "?"
"""Letter of a sticker whose colour is not known yet."""


def operations_of(parts: Iterable[Plan]) -> Iterator[JsonObject]:
    """Yield the operations of successive parts, with start times from the first part's start."""
    before_us = 0
    for part in parts:
        for operation in part.operations:
            yield {**operation.as_dict(), "start_us": operation.start_us + before_us}
        before_us += part.duration_us


def _motions_of(parts: Iterable[Plan]) -> Iterator[LiveActuator]:
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
    """A callback that publishes an event with its fields."""

    def __call__(self, event: str, text: str, **more: object) -> None:
        """Publish one event of this kind."""


class LiveBoard:
    """Follows a job and publishes what it does. Use it in the event loop's thread only.

    ``publish`` receives the kind of event (``cube``, ``look``, ``motion``, ``clock``) and its
    document. ``clock`` returns seconds. ``mechanism``: that section of the robot's profile.
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
        """Forget the cube of ``size`` layers and the actuators' positions."""
        count = 6 * size**2
        self._measured = np.full((count, 3), np.nan, np.float32)
        cube = LiveCube(size=size, facelets=UNKNOWN * count, seen=[None] * count)
        self._set_cube(cube, None)

    def home(self, positions: Positions) -> None:
        """Note that the robot is homed and the actuators are at ``positions``."""
        if self.view.cube is not None:
            self._set_cube(self.view.cube, positions)

    def look(self, view: FaceView, image: FaceImage, picture: int) -> None:
        """Show a picture of a face. The robot may already be moving on."""
        known = self.view.cube
        if known is None:
            raise RuntimeError("a job homes before it looks")
        count = known.size**2
        first = FACES.index(view.face) * count
        valid = image.colours.valid[:, None]
        before = self._measured[first : first + count]
        self._measured[first : first + count] = np.where(valid, image.colours.linear_rgb, before)
        seen = [_hex(colour) for colour in self._measured]
        cube = known.model_copy(update={"seen": seen})
        look = LiveScan(
            face=view.face,
            site=view.site,
            camera=view.camera,
            picture=picture,
            corners=image.corners,
        )
        self.view = self.view.model_copy(update={"cube": cube, "look": look})
        self._publish("look", "", cube=cube, look=look)

    def read(self, facelets: str) -> None:
        """Show the cube that was read."""
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
        parts: Sequence[Plan],
        at_us: int = 0,
        greedy_us: int | None = None,
    ) -> None:
        """Show a motion of these parts that begins, or that has a new plan after ``at_us``.

        ``greedy_us``: the time its moves would take if each were planned by itself.
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
        """Show the progress of the motion, 0..1."""
        if (motion := self.view.motion) is not None:
            at_us = round(min(max(fraction, 0.0), 1.0) * motion.duration_us)
            self.view = self.view.model_copy(update={"at_us": at_us})
            if self._clock() - self._told_at >= CLOCK_PERIOD_S:
                self._told_at = self._clock()
                self._publish("clock", "", at_us=at_us)

    def arrive(self, moved: Plan, facelets: str | None) -> None:
        """Show the end of a motion and the cube after it, if known."""
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
    """Return linear light as #rrggbb; None if it was not measured."""
    if np.isnan(linear).any():
        return None
    red, green, blue = linear_to_srgb(linear).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


PICTURE_PERIOD_S = 0.2
"""Minimum time between two pictures taken for viewers while the robot is at rest."""

VIDEO_PERIOD_S = 0.08
"""Minimum time between two pictures for viewers while the robot turns. The page asks ten times a
second, but not exactly: a request that comes a little early still gets a new picture."""

UNKNOWN_TAKE_S, LEAST_MARGIN_S = 0.15, 0.03
"""Expected duration of the first picture, and minimum time left before the job's next picture."""


@dataclass(frozen=True)
class NumberedJpeg:
    """A JPEG, its unique number, and the time in seconds when it was taken."""

    number: int
    jpeg: bytes
    at: float


class JpegCache:
    """The last picture of each camera, encoded once for all viewers.

    A picture is taken only when a viewer asks for one, and one at a time for each camera. A slow
    viewer misses pictures. Use it in the event loop's thread only. ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown: dict[str, NumberedJpeg] = {}
        self._taking: dict[str, asyncio.Lock] = {}
        self._number = 0
        self._latest = ""
        self._take_s = UNKNOWN_TAKE_S

    @property
    def margin_s(self) -> float:
        """Seconds for which a camera has to be free, so that a picture is finished well before."""
        return LEAST_MARGIN_S + 1.5 * self._take_s

    def age_s(self, shown: NumberedJpeg) -> float:
        """Return the seconds since a picture was taken."""
        return max(0.0, self._clock() - shown.at)

    def show(self, camera: str, jpeg: bytes, at: float | None = None) -> int:
        """Show a picture taken at the second ``at`` (default: now), and return its number."""
        self._number += 1
        self._shown[camera] = NumberedJpeg(self._number, jpeg, self._clock() if at is None else at)
        self._latest = camera
        return self._number

    def latest(self, camera: str | None) -> NumberedJpeg | None:
        """Return the last picture of a camera; of any camera if None."""
        return self._shown.get(self._latest if camera is None else camera)

    async def fresh(
        self, camera: str, take: Callable[[], bytes], period_s: float = PICTURE_PERIOD_S
    ) -> NumberedJpeg:
        """Return a picture no older than ``period_s``, taken by ``take`` if necessary."""
        shown = await self.fresh_while(camera, take, lambda: True, period_s)
        assert shown is not None, "it was taken"
        return shown

    async def fresh_while(
        self,
        camera: str,
        take: Callable[[], bytes],
        is_free: Callable[[], bool],
        period_s: float = VIDEO_PERIOD_S,
    ) -> NumberedJpeg | None:
        """Return a picture no older than ``period_s`` if the camera ``is_free`` to take it.

        Otherwise return the last one, however old; None if there is none.
        """
        async with self._taking.setdefault(camera, asyncio.Lock()):
            shown = self._shown.get(camera)
            if (shown is None or self.age_s(shown) >= period_s) and is_free():
                begun = self._clock()
                jpeg = await asyncio.to_thread(take)
                # The slowest recent one; a picture that a busy computer delayed is forgotten.
                self._take_s = max(self._clock() - begun, 0.8 * self._take_s)
                self.show(camera, jpeg, begun)
            return self._shown.get(camera)
