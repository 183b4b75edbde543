"""Firmware, link and robot in simulated time: as fast as can be computed, and every run the same.

A board grants the firmware's process its time through the socket of the pins; an event loop whose
clock is that time runs the link. Nothing depends on how busy the computer is.
"""

from robot.simulate.virtual.board import PinListener, VirtualBoard
from robot.simulate.virtual.damage import (
    Damage,
    Line,
    drop,
    flip,
    insert,
    nothing,
    reorder,
    repeat,
    silence,
)
from robot.simulate.virtual.link import VirtualLink
from robot.simulate.virtual.loop import VirtualLoop
from robot.simulate.virtual.port import VirtualPort

__all__ = [
    "Damage",
    "Line",
    "PinListener",
    "VirtualBoard",
    "VirtualLink",
    "VirtualLoop",
    "VirtualPort",
    "drop",
    "flip",
    "insert",
    "nothing",
    "reorder",
    "repeat",
    "silence",
]
