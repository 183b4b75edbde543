"""The step "colours": the colours of the cube in the robot, used to read later cubes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from robot.calibration.step import (
    STEPS,
    Bench,
    Measurement,
    Result,
    Row,
    Script,
    Session,
    Step,
    Trial,
)
from robot.records.documents import ApiDocument, ApiRequest
from robot.text.faults import ScanError
from solver.cube.facelets import FACES
from solver.errors import InvalidRequest
from solver.files import JsonObject

if TYPE_CHECKING:
    from robot.machine.assembly import Machine
    from robot.machine.scanner import FaceImage
    from vision.locate.view_check import OddView
    from vision.measure.sticker_colours import FaceColours


COMMON = 4
"""Number of faces with the same sticker in doubt at which that is no coincidence."""


class ColoursRequest(ApiRequest):
    """The cube in the robot as facelets (default: as read with the present colours)."""

    facelets: str | None = Field(default=None, pattern="^[URFDLB]{24,54}$")


class MeasuredColours(ApiDocument):
    """The colours of the cube in the robot, as calibrated values."""

    facelets: str
    values: JsonObject


def measured_colours(bench: Bench, asked: ColoursRequest) -> MeasuredColours:
    """Home, scan all faces, and measure the colours of a cube with these ``facelets``.

    Without ``facelets`` the cube is read, which has to be beyond doubt. The reading uses the
    learned light; the colours are measured without it, because the result replaces it. Raises
    ``RobotError``, ``ScanError``, and ``CubistError`` for a colour that was not seen.
    """
    from robot.machine.scanner import as_values, scan_error
    from solver.errors import CubistError
    from vision.measure.colour_space import OTHER_CUBE, references_of
    from vision.measure.sticker_colours import StickerColours, merge_faces

    machine = bench.machine
    machine.motion.home()
    images, _ = machine.scan()
    facelets = asked.facelets or _certain_facelets(machine, images)
    faces: dict[str, list[FaceColours]] = defaultdict(list)
    for image in images:
        faces[image.face].append(image.raw or image.colours)
    merged = {face: merge_faces(seen) for face, seen in faces.items()}
    scan = StickerColours.from_faces(merged)
    try:
        return MeasuredColours(facelets=facelets, values=as_values(references_of(scan, facelets)))
    except CubistError as other:
        flaw = _flaw_behind(images, merged, facelets)
        if flaw is not None:
            raise scan_error(flaw, "") from other
        if other.code != OTHER_CUBE:
            raise
        raise ScanError(str(other), remedy=_remedy_for(facelets)) from other


def solved_facelets(size: int) -> str:
    """Return the letters of a solved cube."""
    return "".join(face * size**2 for face in FACES)


def _remedy_for(facelets: str) -> str:
    """Return the remedy for a cube that does not match these facelets."""
    if facelets == solved_facelets(round((len(facelets) / 6) ** 0.5)):
        return "put a solved cube in, or let the robot read the cube"
    return "give the facelets of the cube, in the order URFDLB, U above and F in front"


def _certain_facelets(machine: Machine, images: list[FaceImage]) -> str:
    from robot.machine.scanner import scan_error

    reading = machine.scanner.read(images)
    if not reading.confident:
        if reading.flaw is not None:
            raise scan_error(reading.flaw, reading.look_again or "")
        if len(reading.doubtful) >= COMMON and len({name[1:] for name in reading.doubtful}) == 1:
            raise ScanError(
                "the cube cannot be read with certainty: the same sticker is doubtful on "
                f"{len(reading.doubtful)} faces ({', '.join(reading.doubtful)}), probably because "
                "a lamp is reflected there",
                reading.look_again or "",
                remedy="move the lamp or the camera until no sticker in the picture is paler than "
                "others of its colour, and try again",
            )
        raise ScanError(
            "with the present colours the cube cannot be read with certainty",
            reading.look_again or "",
            remedy="light the cube evenly, without reflections, and try again; or put a solved "
            "cube in and say so, or name its facelets",
        )
    return reading.facelets


def _flaw_behind(
    images: list[FaceImage], seen: Mapping[str, FaceColours], facelets: str
) -> OddView | None:
    """Return the flaw of the pictures, such as a reflection, that falsifies the cube's colours.

    None if the pictures without the flaw show a different cube as well.
    """
    from robot.machine.scanner import searches_of
    from solver.errors import CubistError
    from vision.decide.causes import find_common_flaw
    from vision.measure.colour_space import require_named_cube
    from vision.measure.sticker_colours import StickerColours

    size = images[0].grid.size
    if sorted(facelets) != sorted(solved_facelets(size)):
        return None
    flaw = find_common_flaw(searches_of(images, size))
    hidden = "" if flaw is None else flaw.faces
    good = {face: colours for face, colours in seen.items() if face not in hidden}
    try:
        if good:
            require_named_cube(StickerColours.from_faces(good), facelets)
    except CubistError:
        return None
    return flaw


LOOKING = Trial(
    "colours",
    "Look at the cube and measure its colours",
    ColoursRequest,
    MeasuredColours,
    measured_colours,
)


class CubeColours(Measurement):
    """The colour of each face's stickers, measured on a cube that is read, known or solved."""

    name = "colours"
    guidance = (
        "Put a scrambled cube in and choose Measure: the robot looks at all faces and learns their "
        "colours. If it cannot read the cube yet, put a solved one in and choose Solved cube."
    )
    columns = ("face", "colour")
    choices: Mapping[str, str] = {"s": "Solved cube"}

    def __init__(self, session: Session, facelets: str | None = None, solved: bool = False) -> None:
        super().__init__(session)
        if solved and facelets:
            raise InvalidRequest(
                "the cube is either solved or has these facelets: give only one of the two"
            )
        self._facelets, self._solved = facelets, solved

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`; ``choice`` s: the cube is solved."""
        facelets = self._facelets
        if self._solved or choice == "s":
            facelets = solved_facelets(self.session.profile.cube.size)
        seen = self.session.perform(LOOKING, facelets=facelets)
        self.result = Result(
            values=seen.values,
            document=seen.model_dump(mode="json"),
            text="are these the cube's colours?",
        )
        for face, light in seen.values["colours"]["linear_rgb"].items():
            yield Row((f"  {face}  ", ", ".join(f"{part:.2f}" for part in light)), colour=light)


STEPS["colours"] = Step(
    name="colours",
    title="Colours of the cube",
    trials=[LOOKING],
    begin=CubeColours,
    keeps=lambda key, _: key.startswith("colours"),
    minutes=lambda *_: 1.5,
    is_done=lambda _, found: any(key.split(".")[0] == "colours" for key in found.values),
)
