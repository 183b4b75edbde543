"""The purposes of named positions, by code: a description of a part that is where it belongs.

A kind of mechanism names the code for each of its positions and for each measurement of its motors
(:meth:`robot.settings.mechanisms.MechanismSettings.purpose_of`, ``measured_purpose``). Motors on
the faces have no positions: their zero is where they are at power-on. Terminal, page and
``docs/calibration.md`` show the same sentence and drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CubeText(StrEnum):
    """Sentences on whether the cube is in the robot."""

    IN = "The cube is in."
    OUT = "The cube is out."


class TouchText(StrEnum):
    """Sentences on how hard the part touches the cube."""

    FREE = "The part touches nothing."
    AXLES = "Each axle holds the centre of its face, and nothing else touches the cube."
    CARRIES = "The part carries the cube, and nothing else touches it."
    PUSHES = "The part pushes until the cube tips over, and no further."
    HOLDS = (
        "The part presses just hard enough that the cube does not slip, and the servo does not hum."
    )


@dataclass(frozen=True)
class Purpose:
    """A position's purpose: the ``right`` position, whether the ``cube`` is in, and its ``touch``.

    ``watch``: a sign to look for in the live picture. ``drawing``: ▒ is the cube, █ the robot.
    """

    right: str
    cube: CubeText
    touch: TouchText
    watch: str
    drawing: str


_LEVEL = "The edges of the face are as straight as before the turn."

PURPOSES: Mapping[str, Purpose] = {
    "table-start": Purpose(
        "The cube stands square to the robot, seen from above.",
        CubeText.IN,
        TouchText.CARRIES,
        "The whole face is in view, and its edges are square to the robot.",
        """\
██             ██
██   ▒▒▒▒▒▒▒   ██
██   ▒▒▒▒▒▒▒   ██
██   ▒▒▒▒▒▒▒   ██
██             ██""",
    ),
    "table-quarter": Purpose(
        "The cube has turned by a quarter (cw: clockwise seen from below) and is square again.",
        CubeText.IN,
        TouchText.CARRIES,
        _LEVEL,
        """\
██      ↻      ██
██   ▒▒▒▒▒▒▒   ██
██   ▒▒▒▒▒▒▒   ██
██   ▒▒▒▒▒▒▒   ██
██             ██""",
    ),
    "arm-open": Purpose(
        "The cube lies free, turns without touching the part, and can be taken out.",
        CubeText.OUT,
        TouchText.FREE,
        "The part does not hide where the face will be.",
        """\
██
 ██
  ██  ▒▒▒▒▒▒▒
      ▒▒▒▒▒▒▒
      ▒▒▒▒▒▒▒
   ███████████""",
    ),
    "arm-hold": Purpose(
        "The upper layers are held: when the table turns, only the lowest layer turns with it.",
        CubeText.IN,
        TouchText.HOLDS,
        "The part lies flat on the cube, not at a slant.",
        """\
    ███████████
    ██▒▒▒▒▒▒▒██
    ██▒▒▒▒▒▒▒██
      ▒▒▒▒▒▒▒
   █████████████""",
    ),
    "arm-roll": Purpose(
        "The cube has tipped onto its next side, and lies flat when the part has gone back.",
        CubeText.IN,
        TouchText.PUSHES,
        "When the part has gone back, another face is in view.",
        """\
       ▒
     ▒▒▒▒▒   ↷
██ ▒▒▒▒▒▒▒▒▒
 ██  ▒▒▒▒▒
  ██   ▒
   ███████████""",
    ),
    "gripper-start": Purpose(
        "The gripper stands square, and the cube between its jaws is square to the others.",
        CubeText.IN,
        TouchText.HOLDS,
        "The edges of the cube are square to the robot.",
        """\
  ███████████
    ▒▒▒▒▒▒▒
    ▒▒▒▒▒▒▒
    ▒▒▒▒▒▒▒
  ███████████""",
    ),
    "gripper-quarter": Purpose(
        "The gripper has turned by a quarter (cw: clockwise seen from outside) and is square.",
        CubeText.IN,
        TouchText.HOLDS,
        _LEVEL,
        """\
        ↻
 ██ ▒▒▒▒▒▒▒ ██
 ██ ▒▒▒▒▒▒▒ ██
 ██ ▒▒▒▒▒▒▒ ██""",
    ),
    "jaws-open": Purpose(
        "The jaws are just far enough open for the cube to turn past without touching them.",
        CubeText.OUT,
        TouchText.FREE,
        "A gap is visible between each jaw and the place of the cube.",
        """\
     █████████
             █
▒▒▒▒▒▒▒      █
▒▒▒▒▒▒▒      ████
▒▒▒▒▒▒▒      █
             █
     █████████""",
    ),
    "jaws-closed": Purpose(
        "The jaws hold the cube so that it does not slip when this gripper turns a layer.",
        CubeText.IN,
        TouchText.HOLDS,
        "The cube comes to rest square when the jaws close.",
        """\
  █████████
▒▒▒▒▒▒▒   █
▒▒▒▒▒▒▒   ████
▒▒▒▒▒▒▒   █
  █████████""",
    ),
    "lift-down": Purpose(
        "The cube stands below the turntable and can be rolled without touching it.",
        CubeText.IN,
        TouchText.CARRIES,
        "The whole face is in view.",
        """\
  ███     ███
     ▒▒▒▒▒
     ▒▒▒▒▒
     ▒▒▒▒▒
    ███████""",
    ),
    "lift-row": Purpose(
        "The turntable holds as many rows as the name says, and a gap of the cube is at its edge.",
        CubeText.IN,
        TouchText.CARRIES,
        "The gap between two rows lies along the edge of the turntable.",
        """\
     ▒▒▒▒▒
  ███▒▒▒▒▒███
     ─────
     ▒▒▒▒▒
    ███████""",
    ),
    "swing-end": Purpose(
        "The flipper lies against the side of the cube, which stands flat and square.",
        CubeText.IN,
        TouchText.CARRIES,
        "The whole face is in view, and its edges are straight.",
        """\
     ▒▒▒▒▒█
     ▒▒▒▒▒█
     ▒▒▒▒▒█
  █████████""",
    ),
    "face-zero": Purpose(
        "All faces are square: the position of the motors at power-up is their zero.",
        CubeText.IN,
        TouchText.AXLES,
        "The edges of the cube are straight across all layers.",
        """\
       █
    ▒▒▒▒▒▒▒
  ██▒▒▒▒▒▒▒██
    ▒▒▒▒▒▒▒
       █""",
    ),
    "face-direction": Purpose(
        "One face turned a quarter clockwise, seen from outside, and came back.",
        CubeText.IN,
        TouchText.AXLES,
        "Only this face turns, and its edges are straight again afterwards.",
        """\
  ▒▒▒↻▒▒▒
  ▒▒███▒▒
  ▒▒▒▒▒▒▒""",
    ),
    "face-turn": Purpose(
        "One face made exactly one turn and came back.",
        CubeText.IN,
        TouchText.AXLES,
        "After the turn each sticker is where it was before.",
        """\
  ▒▒▒⟳▒▒▒
  ▒▒███▒▒
  ▒▒▒▒▒▒▒""",
    ),
}
