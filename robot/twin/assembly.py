"""Puts a simulated robot together from a robot profile: motors on pins, parts on motors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robot.settings import RobotProfile
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import CubeBody
from robot.twin.registry import (
    MOTORS,
    EdgeHandler,
    EndStop,
    Scale,
    SimulatedMechanism,
    SimulatedMotor,
    parts_of,
    scale_of,
)
from robot.twin.violations import Reporter


@dataclass(frozen=True)
class Assembly:
    """Motors by name, what each pin does, end stops by pin, and the mechanism they move."""

    motors: Mapping[str, SimulatedMotor]
    edges: Mapping[int, tuple[EdgeHandler, ...]]
    end_stops: Mapping[int, tuple[EndStop, SimulatedMotor]]
    scales: Mapping[str, Scale]
    mechanism: SimulatedMechanism


def assemble(profile: RobotProfile, body: CubeBody, report: Reporter) -> Assembly:
    """The robot of ``profile`` holding ``body``, at rest where it is switched on."""
    motors: dict[str, SimulatedMotor] = {}
    edges: dict[int, tuple[EdgeHandler, ...]] = {}
    end_stops: dict[int, tuple[EndStop, SimulatedMotor]] = {}
    parts = parts_of(profile)
    for name, settings in profile.actuators.items():
        if not settings.drivable:
            continue
        physics = profile.simulation.actuators.get(name, SimulatedActuator())
        start = parts.start_places.get(name)
        wired = MOTORS[settings.kind].wire(name, settings, physics, start, report)
        motors[name] = wired.motor
        for pin, handler in wired.edges.items():
            edges[pin] = (*edges.get(pin, ()), handler)
        for pin, end_stop in wired.end_stops.items():
            end_stops[pin] = (end_stop, wired.motor)
    scales = {name: scale_of(profile, name, angles) for name, angles in parts.rotations.items()}
    return Assembly(motors, edges, end_stops, scales, parts.around(body, report))
