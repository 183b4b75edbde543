"""Firmware, link and robot in simulated time: as fast as can be computed, and every run the same.

A board grants the firmware's process its time through the socket of the pins; an event loop whose
clock is that time runs the link. Nothing depends on how busy the computer is.
"""

from tests.rig.virtual.board import PinListener, VirtualBoard
from tests.rig.virtual.damage import (
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
from tests.rig.virtual.link import VirtualLink
from tests.rig.virtual.loop import VirtualLoop
from tests.rig.virtual.port import VirtualPort

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
