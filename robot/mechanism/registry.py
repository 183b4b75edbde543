"""From a profile to the graph of its mechanism."""

from __future__ import annotations

from robot.mechanism.compile.soundness import check_reachable, check_turnable
from robot.mechanism.direct.graph import build_direct
from robot.mechanism.flipper.graph import build_flipper
from robot.mechanism.graph import Mechanism
from robot.mechanism.grippers.graph import build_grippers
from robot.settings.mechanisms import DirectSettings, FlipperSettings
from robot.settings.profile import RobotProfile


def build_mechanism(profile: RobotProfile) -> Mechanism:
    """The mechanism that ``profile`` describes, as a graph.

    Raises :class:`ImpossibleRobot` with the reason if it could not turn every face it must, or
    never get somewhere it has a position for.
    """
    mechanism = profile.mechanism
    if isinstance(mechanism, DirectSettings):
        return build_direct(profile, mechanism)
    if isinstance(mechanism, FlipperSettings):
        graph = build_flipper(profile, mechanism)
    else:
        graph = build_grippers(profile, mechanism)
    check_turnable(graph)
    check_reachable(graph)
    return graph
