"""Reasons why a cube cannot be read with certainty, by code so that they can be translated.

:mod:`robot.text.languages` has the translations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from solver.errors import Coded


class ViewTrouble(StrEnum):
    """Obstacles to seeing one whole face with its colours.

    The values are stable names for programs.
    """

    NO_CUBE = "no-cube"
    TWO_CUBES = "two-cubes"
    WRONG_SIZE = "wrong-size"
    COVERED = "face-covered"
    REFLECTION = "reflection"
    TOO_BRIGHT = "too-bright"
    TOO_DARK = "too-dark"
    BLURRED = "blurred"
    CUT_OFF = "cut-off"


REASONS: Mapping[str, str] = {
    "in-picture": "picture {faces}: {what}",
    # Troubles in a picture, with and without their position.
    "seen-no-cube": "no cube is in view, or not a whole face of one, in focus and lit",
    "seen-no-cube-alone": (
        "no cube is in view, or not a whole face of one; the other pictures show it: take this "
        "one again"
    ),
    "seen-two-cubes": (
        "more than one cube is in view: leave only the one to be solved in the picture"
    ),
    "seen-other-size": (
        "a {seen}x{seen}x{seen} is in view where a {size}x{size}x{size} is expected"
    ),
    "seen-other-size-alone": (
        "a {seen}x{seen}x{seen} is in view, but a {size}x{size}x{size} in the other pictures: "
        "take all pictures of the same cube"
    ),
    "seen-cover": "a hand, or something else, is in front of the cube: take it away",
    "seen-cover-at": (
        "a hand, or something else, is in front of row {rows}, column {columns} of the face: take "
        "it away"
    ),
    "seen-cover-count": (
        "{count} of the face's {total} stickers cannot be seen: a hand, or something else, is in "
        "front of the cube"
    ),
    "seen-reflection": (
        "a reflection lies on the face, {x} % from the left and {y} % from the top of the picture: "
        "move the lamp, or tilt or shade the cube"
    ),
    "seen-reflection-at": (
        "a reflection lies on row {rows}, column {columns} of the face: move the lamp, or tilt or "
        "shade the cube"
    ),
    "seen-bright": (
        "the picture is too bright, its colours are clipped: use less light or a shorter exposure"
    ),
    "seen-bright-at": (
        "row {rows}, column {columns} of the face are too bright, their colours are clipped: use "
        "less light or a shorter exposure"
    ),
    "seen-dark": "the picture is too dark: use more light or a longer exposure",
    "seen-blur": (
        "the picture is blurred: focus the camera, clean its lens, and hold camera and cube still"
    ),
    "seen-cut-left": "the face is cut off by the left edge of the picture: show the whole face",
    "seen-cut-right": "the face is cut off by the right edge of the picture: show the whole face",
    "seen-cut-top": "the face is cut off by the upper edge of the picture: show the whole face",
    "seen-cut-bottom": "the face is cut off by the lower edge of the picture: show the whole face",
    # Cubes that are assembled wrongly.
    "put-wrongly": "the cube seems to be put together wrongly: {what}",
    "put-wrongly-more": ("the cube seems to be put together wrongly in {count} places: {what}"),
    "edge-flipped": "edge {piece} is flipped (now at {place})",
    "edge-flipped-perhaps": "one edge is flipped, perhaps {piece} (now at {place})",
    "corner-twisted": "corner {piece} is twisted (now at {place})",
    "corner-twisted-perhaps": "one corner is twisted, perhaps {piece} (now at {place})",
    "edges-exchanged": "edges {piece} and {other} are swapped (now at {place})",
    "corners-exchanged": "corners {piece} and {other} are swapped (now at {place})",
    "two-exchanged": "two corners or two edges are swapped",
    "turn-piece": "take it out and turn it, or look at its stickers again",
    "exchange-pieces": "take out two edges and swap them",
    # Findings of a camera check.
    "camera-in-use": "{device} is in use, by cubistd if that is running",
    "camera-unlocked": "{device}: its driver does not lock {settings}",
    "keep-light-even": (
        "Colours may change between faces: keep the light even, or use another camera."
    ),
    "plug-camera-in": "Plug the camera in; `ls /dev/v4l/by-id` shows the connected ones.",
    "join-video": "sudo usermod -aG video $USER, then log in again.",
    "install-picamera2": (
        "sudo apt install python3-picamera2 --no-install-recommends; if it is already "
        "installed, reinstall Cubist"
    ),
    "no-pi-camera": "the Pi sees no camera {number}",
    "check-ribbon": (
        "Check the ribbon cable (power off first), then `rpicam-hello --list-cameras`."
    ),
    "no-folder": "{device} is not a folder",
    "correct-profile": "Correct it in the profile.",
}
"""English by code. ``what`` and ``remedy`` are codes of other reasons with the same parameters."""


class Reason(Coded):
    """The reason a cube cannot be read, or a finding about a camera."""

    __slots__ = ()
    ENGLISH = REASONS

    @classmethod
    def name_pictures(cls, faces: str, what: str) -> Reason:
        """Return the reason, prefixed with the pictures it is about, for example ``UR``."""
        names = ", ".join(faces)
        if not isinstance(what, Reason):
            return cls.of("in-picture", f"picture {names}: {what}", faces=names)
        return cls.nest("in-picture", faces=names, what=what.code, **what.parameters)
