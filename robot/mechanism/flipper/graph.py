"""Flippers: a table below turns the cube or, if an arm holds the rest, its bottom layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from robot.mechanism.clearance import clear_place, look_place, with_clear_place, with_look_place
from robot.mechanism.durations import Rotary, travel_us
from robot.mechanism.flipper import ArmRole, ArmSettings, FlipperSettings, Roll
from robot.mechanism.graph import (
    ActuatorMotion,
    Configuration,
    Mechanism,
    Operation,
    State,
    Transition,
    signed_quarters,
)
from robot.mechanism.registry import MECHANISMS, MechanismKind
from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation

Pose = tuple[int, tuple[str, ...]]
"""Quarter turns of the table (always 0 if it turns without limit) and each arm's position."""


def build_flipper(profile: RobotProfile, flipper: FlipperSettings) -> Mechanism:
    """Return the graph of a flipper: one configuration for each table angle and arms' positions."""
    poses = _poses(profile, flipper)
    start = (Rotary(profile, flipper.turntable).start, tuple(arm.start for arm in flipper.arms))
    mechanism = _graph(profile, flipper, poses, start)
    wider = _with_clear_places(profile, flipper)
    if wider is None:
        return mechanism
    known = set(poses)
    everywhere = [*poses, *(pose for pose in _poses(*wider) if pose not in known)]
    return replace(mechanism, wider=_graph(*wider, everywhere, start))


def _poses(profile: RobotProfile, flipper: FlipperSettings) -> list[Pose]:
    angles = Rotary(profile, flipper.turntable).angles
    return list(product(angles, product(*(arm.positions for arm in flipper.arms))))


def _graph(
    profile: RobotProfile, flipper: FlipperSettings, poses: list[Pose], start: Pose
) -> Mechanism:
    table = Rotary(profile, flipper.turntable)
    index = {pose: number for number, pose in enumerate(poses)}
    steps = [
        step
        for pose in poses
        for step in (
            *_arm_moves(profile, flipper, pose, index),
            *_table_moves(table, flipper, pose, index),
        )
    ]
    return Mechanism(
        profile=profile,
        configurations=tuple(_configuration(table, flipper, pose) for pose in poses),
        transitions=tuple(steps),
        start=State(index[start], Orientation(0)),
    )


def _with_clear_places(
    profile: RobotProfile, flipper: FlipperSettings
) -> tuple[RobotProfile, FlipperSettings] | None:
    """Return the robot whose arms may stop early on the way back from a roll; None if none may."""
    arms = list(flipper.arms)
    for number, arm in enumerate(flipper.arms):
        roles, start = dict(arm.positions), arm.start
        if arm.lifts is not None and arm.clear_part < 1:
            profile = with_clear_place(profile, arm.actuator, arm.lifts, start, arm.clear_part)
            roles[clear_place(start)] = arm.positions[start]
        if arm.lifts is not None and arm.look_part is not None:
            profile = with_look_place(profile, arm.actuator, arm.lifts, start, arm.look_part)
            roles[look_place(start)] = arm.positions[start]
        arms[number] = arm.model_copy(update={"positions": roles})
    wider = flipper.model_copy(update={"arms": tuple(arms)})
    return None if wider == flipper else (profile, wider)


def _effect(arm: ArmSettings, place: str) -> str:
    """Return an arm's effect on the cube while it stays in place: open, hold or block."""
    if place == look_place(arm.start):
        return "block"
    role: ArmRole = arm.positions[place]
    return role.then if isinstance(role, Roll) else role


def _arm_moves(
    profile: RobotProfile, flipper: FlipperSettings, pose: Pose, index: dict[Pose, int]
) -> Iterator[Transition]:
    """Yield every movement of one arm; to roll the cube, the other arms must be open."""
    angle, positions = pose
    placed = list(zip(flipper.arms, positions, strict=True))
    for number, (arm, start) in enumerate(placed):
        others = placed[:number] + placed[number + 1 :]
        free = all(_effect(other, place) == "open" for other, place in others)
        for end, role in arm.positions.items():
            if start == end or (isinstance(role, Roll) and not free):
                continue
            duration = travel_us(profile, arm.actuator, start, end, held=False)
            if duration is not None:
                after = (angle, (*positions[:number], end, *positions[number + 1 :]))
                yield _arm_move(arm, start, end, duration, (index[pose], index[after]))


def _arm_move(
    arm: ArmSettings, start: str, end: str, duration: int, ends: tuple[int, int]
) -> Transition:
    role = arm.positions[end]
    motion = ActuatorMotion(arm.actuator, duration, start=start, end=end)
    fields = {"arm": arm.actuator, "to": end}
    if not isinstance(role, Roll):
        return Transition(*ends, duration, (motion,), (Operation("lid", duration, fields=fields),))
    axis, quarters = role.rolls[0], {"": 1, "2": 2, "'": 3}[role.rolls[1:]]
    way = signed_quarters(quarters)
    rolled = Operation("rotate", duration, axis=axis, quarter_turns=way, fields=fields)
    return Transition(*ends, duration, (motion,), (rolled,), rotation=(axis, quarters))


def _table_moves(
    table: Rotary, flipper: FlipperSettings, pose: Pose, index: dict[Pose, int]
) -> Iterator[Transition]:
    """Yield turns of the table: of the cube if all arms are open, of a layer if one holds."""
    angle, positions = pose
    effects = [_effect(arm, place) for arm, place in zip(flipper.arms, positions, strict=True)]
    if "block" in effects:
        return
    held = "hold" in effects
    for other, quarters in table.turns(angle):
        motion = table.motion(angle, other, quarters, held)
        if motion is not None:
            yield _table_move((index[pose], index[other, positions]), motion)


def _table_move(ends: tuple[int, int], motion: ActuatorMotion) -> Transition:
    """Return a turn of the table, whose direction is that of D and opposite to ``y``."""
    takes_us, quarters = motion.duration_us, motion.quarters
    if motion.held:
        way = signed_quarters(quarters)
        turned = Operation("turn", takes_us, site="D", quarter_turns=way)
        turns = (("D", quarters % 4),)
        return Transition(*ends, takes_us, (motion,), (turned,), turns=turns)
    way, table = signed_quarters(-quarters), {"table": motion.actuator}
    spun = Operation("rotate", takes_us, axis="y", quarter_turns=way, fields=table)
    return Transition(*ends, takes_us, (motion,), (spun,), rotation=("y", -quarters % 4))


def _configuration(table: Rotary, flipper: FlipperSettings, pose: Pose) -> Configuration:
    angle, positions = pose
    arms = {arm.actuator: place for arm, place in zip(flipper.arms, positions, strict=True)}
    return Configuration({table.actuator: table.position(angle), **arms})


MECHANISMS["flipper"] = MechanismKind(build_flipper)
