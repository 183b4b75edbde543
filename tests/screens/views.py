"""What the daemon shows to those who watch, for screens in tests."""

from __future__ import annotations

from typing import Any

from robot.daemon.live import LiveBoard
from robot.planner import build_mechanism, plan_solve
from robot.settings import load_profile
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube


def cube_view(cube: StickerCube, **more: Any) -> dict[str, Any]:
    return {"size": cube.size, "facelets": cube.letters, "seen": [], "palette": {}} | more


def turning(profile: str, cube: Cube, at: float = 0.0) -> dict[str, Any]:
    """A view of a robot that has performed a share of the motion that solves a cube."""
    plan = plan_solve(cube, build_mechanism(load_profile(profile)), time_limit=0.1)
    board = LiveBoard(lambda event, text, **more: None)
    board.forget_cube(3)
    board.read(cube.facelets())
    board.move("turn", [plan])
    board.advance(at)
    view: dict[str, Any] = board.view.model_dump(mode="json")
    return view
