"""``cubist read``: a cube's state from photographs or from measured colours."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.cli.numbers import Whole
from robot.cli.output import (
    answer,
    emit,
    json_option,
    note,
    printing_beside,
    refuse_two_outputs,
)
from robot.text.faults import exit_code_of
from robot.text.outcomes import worst
from solver.errors import ExitCode, shortened
from solver.files import BadFile, parse_json_values, read_text

if TYPE_CHECKING:
    from vision.decide.misassembly import WrongPiece
    from vision.decide.reader import CubeReading, Unreadable
    from vision.locate.face import NoFace
    from vision.locate.six_faces import CubeScan
    from vision.measure.sticker_colours import StickerColours


MAX_COLOUR_BYTES = 16 * 2**20
"""Maximum bytes of a file with colours: some 20,000 cubes."""


@click.command()
@click.option(
    "--faces",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder with six photographs U.* R.* F.* D.* L.* B.*, one face each, anywhere in view.",
)
@click.option(
    "--corners",
    type=click.Path(path_type=Path),
    nargs=2,
    metavar="A B",
    help="Two photographs of opposite corners, each with its three faces in view.",
)
@click.option(
    "--colours",
    "--colors",
    metavar="FILE",
    help='Measured colours {"size": 3, "rgb": [[r, g, b], ...]}; - for standard input.',
)
@click.option("--size", type=Whole(2, 7), help="Layers of the cube (default: detected).")
@click.option(
    "--explain",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.png",
    help="Also save a picture of the measured and decided colours; - for standard output.",
)
@json_option
def read(
    faces: Path | None,
    corners: tuple[Path, Path] | None,
    colours: str | None,
    size: int | None,
    explain: Path | None,
    as_json: bool,
) -> int:
    """Read a cube: six photographs in a folder, two of opposite corners, or measured colours.

    Six photographs show the faces in Kociemba's orientation: U with B at its top edge, D with F at
    its top edge, the others upright. Two photographs show any two opposite corners, held in any
    way: U, R and F are the top, the right and the left face of A. The state is printed as facelets,
    which you can pipe into `cubist solve`.
    """
    if sum(source is not None for source in (faces, corners, colours)) != 1:
        raise click.UsageError("give one of --faces DIR, --corners A B and --colours FILE")
    refuse_two_outputs(explain, as_json)
    report = _Report(as_json, explain)
    if faces is not None:
        return _read_photographs(faces, size, report)
    if corners is not None:
        return _read_corners(corners, size, report)
    source = colours or "-"
    documents = list(parse_json_values(read_text(source, MAX_COLOUR_BYTES), source))
    if explain is not None and len(documents) > 1:
        raise click.UsageError("--explain draws one cube, but the file holds more")
    return worst(_read_colours(each, size, report) for each in documents)


def _read_photographs(folder: Path, size: int | None, report: _Report) -> ExitCode:
    from vision.decide.six_faces import locate_cube, read_located
    from vision.locate.face import NoFace

    start = time.perf_counter()
    try:
        looks = locate_cube(folder, size)
        return report.outcome(looks.colours, lambda _: read_located(looks), start, looks)
    except NoFace as error:
        report.refusal(str(error), (), flaw=error)
        return exit_code_of(error)


def _read_corners(photographs: Sequence[Path], size: int | None, report: _Report) -> ExitCode:
    from vision.decide.two_corners import assemble, read_corners
    from vision.locate.corner import CORNER_SIZES
    from vision.locate.face import NoFace
    from vision.locate.two_corners import scan_corner_files

    if size is not None and size not in CORNER_SIZES:
        raise click.UsageError(f"--corners reads up to {max(CORNER_SIZES)} layers: use --faces DIR")
    start = time.perf_counter()
    report = replace(report, pictures=dict(zip("URFDLB", "AAABBB", strict=True)))
    try:
        ways = scan_corner_files(photographs, size)
    except NoFace as error:
        report.refusal(str(error), ())
        return exit_code_of(error)
    assembly = assemble([scan.colours for scan in ways])
    looks = ways[assembly.way]
    return report.outcome(looks.colours, lambda _: read_corners(assembly), start, looks)


def _read_colours(document: object, size: int | None, report: _Report) -> ExitCode:
    from vision.decide.reader import read_cube
    from vision.measure.sticker_colours import StickerColours

    if not isinstance(document, dict) or not isinstance(document.get("rgb"), list):
        raise BadFile('write colours as {"size": 3, "rgb": [[r, g, b], ...]}')
    start = time.perf_counter()
    stated = document.get("size")
    if stated is None:
        stated = round((len(document["rgb"]) / 6) ** 0.5)
    if type(stated) is not int:
        shown = shortened(json.dumps(stated))
        raise BadFile(f"the size in the file is {shown}: write a whole number")
    if size not in (None, stated):
        raise BadFile(f"the file says size {stated}, --size says {size}: correct one of them")
    colours = StickerColours.from_srgb(stated, document["rgb"])
    return report.outcome(colours, read_cube, start)


@dataclass(frozen=True)
class _Report:
    """A report of a reading: JSON or text on standard output, and a picture if requested."""

    as_json: bool
    explain: Path | None
    pictures: Mapping[str, str] = field(
        default_factory=lambda: {f: f"of face {f}" for f in "URFDLB"}
    )
    """Names of the pictures by the faces in them, for advice on which to take again."""

    def outcome(
        self,
        colours: StickerColours,
        decide: Callable[[StickerColours], CubeReading],
        start: float,
        looks: CubeScan | None = None,
    ) -> ExitCode:
        """Decide on the cube, report, and return the exit code. ``start``: when reading began."""
        from vision.decide.reader import Unreadable

        try:
            reading = decide(colours)
        except Unreadable as error:
            self._draw(colours, error, looks)
            self.refusal(
                error.reason, error.doubtful, error.look_again, error.assembled, error.flaw
            )
            return exit_code_of(error)
        seconds = time.perf_counter() - start
        self._draw(colours, reading, looks)
        self._reading(reading, seconds)
        return ExitCode.DONE

    def refusal(
        self,
        reason: str,
        doubtful: Sequence[str],
        face: str | None = None,
        assembled: WrongPiece | None = None,
        flaw: NoFace | None = None,
    ) -> None:
        """Report why there is no answer, and which ``face`` to photograph again.

        ``assembled``: the piece that seems to be assembled wrongly. ``flaw``: what is odd about a
        picture; the reason then says what to do.
        """
        lines = [f"unreadable: {reason}"]
        if assembled is not None:
            lines.append(f"what to do: {assembled.remedy}")
        if doubtful:
            lines.append(f"doubtful stickers: {', '.join(doubtful)}")
        if face is not None and assembled is None and flaw is None:
            lines.append(
                f"what to do: take the picture {self.pictures[face]} again, without reflections"
            )
        document = {
            "error": "unreadable",
            "reason": reason,
            "doubtful": list(doubtful),
            **_assembly_of(assembled),
            **_detail_of(flaw),
        }
        answer(document, self.as_json, lambda: note("\n".join(lines)))

    def _reading(self, reading: CubeReading, seconds: float) -> None:
        if self.as_json:
            emit(
                {
                    "facelets": reading.facelets,
                    "confident": reading.confident,
                    "margin": round(reading.margin, 2),
                    "doubtful": list(reading.doubtful),
                    "read_s": round(seconds, 4),
                    **({"corrections": list(reading.corrections)} if reading.corrections else {}),
                    **({"reason": reading.reason} if reading.reason else {}),
                    **_assembly_of(reading.assembled),
                    **_detail_of(reading.flaw),
                }
            )
            return
        with printing_beside(self.explain):
            click.echo(reading.facelets)
        for correction in reading.corrections:
            note(correction)
        if not reading.confident:
            names = ", ".join(reading.doubtful) or "none in particular"
            note(f"not sure (margin {reading.margin:.1f}); doubtful stickers: {names}")
            if reading.reason:
                note(reading.reason)
            if reading.assembled is not None:
                note(f"what to do: {reading.assembled.remedy}")

    def _draw(
        self,
        colours: StickerColours,
        outcome: CubeReading | Unreadable,
        looks: CubeScan | None,
    ) -> None:
        if self.explain is None:
            return
        from robot.records.storage import write_given
        from vision.explain import explain, png

        write_given(self.explain, png(explain(colours, outcome, looks)))


def _detail_of(flaw: NoFace | None) -> dict[str, dict[str, object]]:
    """Return cause, faces, stickers and position of a flaw in a picture, for programs."""
    from vision.locate.view_check import OddView

    if not isinstance(flaw, OddView):
        return {}
    stickers = [f"{face}{number}" for face in flaw.faces[:1] for number in flaw.stickers]
    return {
        "detail": {
            "cause": str(flaw.trouble),
            "faces": list(flaw.faces),
            "stickers": stickers,
            **flaw.where,
        }
    }


def _assembly_of(assembled: WrongPiece | None) -> dict[str, dict[str, str | None]]:
    """Return the wrongly assembled piece for the answer's JSON; empty if there is none."""
    if assembled is None:
        return {}
    found = {"piece": assembled.piece, "fault": assembled.fault, "remedy": str(assembled.remedy)}
    return {"assembled": {**found, **({"with": assembled.other} if assembled.other else {})}}
