"""Reading a cube: the most likely legal one, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solver.cube.cube import Cube, from_facelets
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError, ExitCode
from vision.decide.arrangements import Explanation
from vision.decide.colour_model import centres
from vision.decide.consistency import ScanExplanation, explain_scan, odd_face, repeated_face
from vision.decide.estimate import Decision, decide
from vision.decide.misassembly import WrongPiece
from vision.decide.pale_centres import are_faces_named
from vision.decide.schemes import is_held, known_orders, scheme_costs, usual_naming
from vision.frame import Bools, Floats, Ints
from vision.locate.view_check import OddView
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import FACES, StickerColours
from vision.reasons import Reason

CONFIDENT_MARGIN = 2.6
POCKET_CONFIDENT_MARGIN = 6.0
"""Minimum log odds of a sure reading. A 2x2x2 has little redundancy."""

MAX_MISFIT = 0.4
MAX_FACE_MISFIT = 0.5
"""Maximum shares of all stickers, and of a face's stickers, that match none of the colours."""

_COLOURED = 4.0
"""Minimum log odds of a sure cube against stickers of other colours: the probability that they were
exchanged is less than one in fifty. None of 1,488 sure readings in common light has less."""

_BETTER = 6.0
"""Log odds by which a corrected scan must beat the uncorrected scan."""

_REFUSED = 3.0
"""Log odds by which an explanation that is not a cube must lead for a refusal: 20 to 1."""

_MANY = 4
"""Number of contradicting stickers above which a whole face is assumed to be wrong."""

_LOOK_AGAIN = "wipe them, shade them from reflections, and look again"

_ODDS_OFFSET = -0.5
_ODDS_SLOPE = 0.39
"""Coefficients for the log odds that a reading is right, from its margin over the runner-up.

Fitted by logistic regression on synthetic scans in common and in harsh light. The model assumes
that stickers are independent and so overrates its evidence. See docs/benchmarks/vision.md.
"""


@dataclass(frozen=True)
class CubeReading:
    """A legal cube read from colours.

    ``facelets`` in URFDLB order: letters of the centres on odd sizes; on a 2x2x2 with the corner
    DLB taken as solved; on larger even sizes held so that the letters are nearest the usual
    colours. ``cube`` is the solver's value. ``margin``: calibrated natural log odds that the
    reading is right. ``doubtful`` names stickers like ``F3`` (face, number from 1, row by row).
    ``corrections`` lists the corrected mistakes in the scan (faces turned or swapped); ``order`` is
    then the sticker of the scan from which each facelet was read, otherwise empty.
    ``is_mirrored_only``: the only mistake is that all pictures were mirrored. ``look_again`` is the
    face whose second picture would help most, None if none is needed. ``reason`` is the reason for
    an uncertain reading, if known; ``assembled`` is the piece that may have been inserted wrongly,
    ``flaw`` the flaw of a picture that explains the doubt.
    """

    size: int
    facelets: str
    cube: Cube | PocketCube | StickerCube
    margin: float
    confident: bool
    doubtful: tuple[str, ...] = ()
    runner_up: str | None = None
    corrections: tuple[str, ...] = ()
    look_again: str | None = None
    order: tuple[int, ...] = ()
    reason: str = ""
    assembled: WrongPiece | None = None
    is_mirrored_only: bool = False
    flaw: OddView | None = None


class Unreadable(CubistError):
    """No cube explains the colours; ``reason`` is the cause, ``doubtful`` names stickers.

    ``assembled``: the piece that seems to have been inserted wrongly, if that is the cause;
    ``flaw``: the flaw of a picture, if that is the cause.
    """

    code = "unreadable"
    exit_code = ExitCode.NO

    def __init__(
        self,
        reason: str,
        doubtful: tuple[str, ...] = (),
        look_again: str | None = None,
        assembled: WrongPiece | None = None,
        flaw: OddView | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.doubtful = doubtful
        self.look_again = look_again
        self.assembled = assembled
        self.flaw = flaw


def read_cube(
    colours: StickerColours,
    references: ColourReferences | None = None,
    scheme: str | None = None,
) -> CubeReading:
    """Decide a cube's facelets from its sticker colours.

    ``references`` are stored colours of this cube to start from. ``scheme`` names the colours of
    the faces URFDLB, if known, as a permutation of ``WRGYOB``. It helps on even sizes, on which a
    swap of faces looks like another scheme. Without it, the usual colours are expected in a scheme
    that is sold, and other colours in any order. Raises :class:`Unreadable`.
    """
    if colours.valid.sum() < 3 * colours.size**2:
        raise Unreadable("fewer than half of the stickers were seen: show the other faces")
    verdict = Verdict(decide(colours, references), colours.size, scheme)
    if verdict.is_clear and not verdict.may_be_exchanged:
        return _reading(verdict)
    return decide_again(verdict, colours, references)


def calibrate_margin(margin: float) -> float:
    """Return the log odds that a cube with a lead of ``margin`` over all others is right."""
    return max(0.0, _ODDS_OFFSET + _ODDS_SLOPE * margin)


@dataclass(frozen=True, eq=False)
class Verdict:
    """A decision and its reliability.

    ``scheme``: the colours of the faces URFDLB, if known.
    """

    decision: Decision
    size: int
    scheme: str | None = None

    @property
    def stated_margin(self) -> float:
        """The calibrated log odds, reduced by the decision's ``trust``."""
        one, rarity = self.decision, 0.0
        if one.has_colours_alike and one.misassembled is not None:
            # The rarity of wrongly inserted pieces must not decide the colour of a dark sticker.
            rarity = one.misassembled.prior
        return calibrate_margin(min(one.margin, one.odds_of_assembly - rarity) * one.trust)

    @property
    def is_sure(self) -> bool:
        """True if the cube is clearly more likely than any other."""
        least = POCKET_CONFIDENT_MARGIN if self.size == 2 else CONFIDENT_MARGIN
        return self.stated_margin >= least

    @property
    def is_plausible(self) -> bool:
        """True if no stickers seem to contradict the cube and not many match no colour."""
        return self.decision.odds_of_colouring > _COLOURED and not self.is_strange

    @property
    def is_strange(self) -> bool:
        """True if many stickers match no colour."""
        return self.decision.misfit > MAX_MISFIT or self.decision.worst_face > MAX_FACE_MISFIT

    @property
    def is_clear(self) -> bool:
        """True if the cube is sure and plausible."""
        return self.is_sure and self.is_plausible

    @property
    def wrong_pieces(self) -> tuple[WrongPiece, ...]:
        """Pieces that were inserted wrongly, if that explains the scan best."""
        one = self.decision
        wrong = one.misassembled
        leads = one.odds_of_assembly < min(0.0, one.odds_of_colouring)
        return wrong.faults if leads and wrong is not None else ()

    @property
    def is_refused(self) -> bool:
        """True if an explanation other than this cube is clearly likelier.

        One sticker that contradicts an otherwise sure cube may be shaded or dirty: that is only a
        doubt.
        """
        one = self.decision
        if one.odds_of_colouring < -_REFUSED:
            return len(one.recoloured) > 1 or not self.is_sure
        return one.odds_of_assembly < -_REFUSED or (self.is_strange and not self.is_sure)

    @property
    def doubt(self) -> tuple[str, Sequence[int]]:
        """The objection to the cube as a sentence, and its stickers; both empty if none."""
        one = self.decision
        if wrong := self.wrong_pieces:
            return self.describe_assembly(), wrong[0].stickers
        if one.odds_of_colouring <= _COLOURED:
            stickers = one.recoloured.tolist()
            names = ", ".join(self.names_of(stickers))
            return f"{names} do not show the colour the cube has there: {_LOOK_AGAIN}", stickers
        if self.is_strange:
            return self.describe_strange(), np.flatnonzero(one.strange).tolist()
        return "", ()

    def describe_assembly(self) -> Reason:
        """Return a sentence with the piece that seems to be inserted wrongly and its position."""
        first, *more = self.wrong_pieces
        return Reason.nest(
            "put-wrongly-more" if more else "put-wrongly",
            what=first.code,
            piece=first.piece,
            other=first.other,
            place=", ".join(self.names_of(first.stickers)),
            count=1 + len(more),
        )

    def describe_strange(self) -> str:
        """Return a sentence with the face on which most stickers match no colour."""
        return (
            f"{self.decision.strange.sum()} stickers match none of the six colours, most of them "
            f"on face {self.strangest_face}: there may be a reflection or an obstacle"
        )

    @property
    def may_be_exchanged(self) -> bool:
        """True if exchanged or mirrored pictures may have made a legal cube of odd size.

        The order of its colours is then not sold, or several centres show other colours.
        """
        if self.size % 2 == 0:
            return False
        one = self.decision
        against = scheme_costs(one.model.mean, one.features, self.scheme)
        return one.renamed_centres > 1 or bool(against(np.arange(6)[None])[0] > 0)

    @property
    def has_odd_scheme(self) -> bool:
        """True if a cube of even size has the usual colours in an order that is not sold.

        Faces may then have been swapped. On odd sizes a swap makes pieces that do not exist.
        """
        if self.size % 2:
            return False
        one = self.decision
        orders = known_orders(one.model.mean, one.features, self.scheme)
        return orders is not None and not is_held(np.arange(6), orders)

    @property
    def unnamed_face(self) -> str | None:
        """A face to look at again because too few centres identify the faces, else None.

        Two centres on different axes must show colours of the cube, because the pieces alone also
        fit a cube held differently. Even sizes have no centres. Centres that are pale because of a
        reflection may identify the faces together.
        """
        middles = centres(self.size)
        if not len(middles):
            return None
        one = self.decision
        unclear = one.strange[middles] | (one.features.weight[middles] == 0)
        named_axes = {face % 3 for face in np.flatnonzero(~unclear).tolist()}
        if len(named_axes) > 1 or are_faces_named(one.features, one.letters, middles, ~one.strange):
            return None
        return FACES[int(unclear.argmax())]

    @property
    def most_doubtful_face(self) -> str:
        """The face whose second picture would help most."""
        return FACES[int(self._sum_by_face(self.decision.doubt).argmax())]

    @property
    def strangest_face(self) -> str:
        """The face with the most stickers that match no colour."""
        return FACES[int(self._sum_by_face(self.decision.strange).argmax())]

    @cached_property
    def facelets(self) -> tuple[str, str]:
        """The best and the second best cube, with the letters that people expect."""
        one = self.decision
        both = one.letters, one.runner_up
        if self.size % 2 == 0 and self.size > 2:
            letter_of = np.argsort(usual_naming(one.model.mean, one.features))
            both = letter_of[both[0]], letter_of[both[1]]
        first, second = ("".join(FACES[i] for i in letters.tolist()) for letters in both)
        if self.size == 2:
            return _relative_to_dlb(first), _relative_to_dlb(second)
        return first, second

    def names_of(self, stickers: Ints | Sequence[int]) -> tuple[str, ...]:
        """Return names like ``F3`` of sticker numbers."""
        area = self.size * self.size
        return tuple(f"{FACES[i // area]}{i % area + 1}" for i in np.asarray(stickers).tolist())

    def _sum_by_face(self, values: Floats | Bools) -> NDArray[np.generic]:
        return np.asarray(values.reshape(6, -1).sum(axis=1))


def _relative_to_dlb(facelets: str) -> str:
    return PocketCube.from_facelets(facelets).relative.facelets()


def decide_again(
    verdict: Verdict, colours: StickerColours, references: ColourReferences | None = None
) -> CubeReading:
    """Read a scan that is not a clear cube, if possible by correcting mistakes with its pictures.

    Raises :class:`Unreadable`.
    """
    decision = verdict.decision
    if (alike := repeated_face(colours)) is not None:
        first, second = alike
        reason = f"pictures {first} and {second} show the same face"
        raise Unreadable(reason, verdict.names_of(decision.doubtful), second)
    pictures = explain_scan(colours, verdict.scheme)
    if not pictures.as_it_came:
        best = pictures.best
        corrected = replace(verdict, decision=decide(best.correct(colours), references))
        rivals = decision.odds_of_assembly, decision.odds_of_colouring
        least = decision.cost + min(0.0, *rivals)
        if corrected.is_clear and corrected.decision.cost + best.prior + _BETTER < least:
            return _reading(corrected, pictures, best)
    if verdict.is_refused:
        raise _refusal(verdict, colours)
    # The pictures are not corrected, but another explanation may be as good.
    alone = pictures.as_it_came and decision.renamed_centres < 2
    return _reading(verdict, pictures if alone else replace(pictures, lead=0.0))


def _refusal(verdict: Verdict, colours: StickerColours) -> Unreadable:
    """Return the error with the reason why a scan is not a cube, and the face to look at again."""
    decision = verdict.decision
    if wrong := verdict.wrong_pieces:
        names = verdict.names_of(wrong[0].stickers)
        face = names[0][0] if names else None
        return Unreadable(verdict.describe_assembly(), names, face, wrong[0])
    names = verdict.names_of(decision.recoloured)
    if decision.odds_of_colouring < 0 and len(names) > _MANY:
        odd = odd_face(colours)
        return Unreadable(
            f"no legal cube fits the colours seen; face {odd} fits worst: it may be misaligned "
            "or covered",
            names,
            odd,
        )
    if decision.odds_of_colouring < 0:
        return Unreadable(
            f"no legal cube has these colours: {', '.join(names)} clearly show the "
            "wrong ones, or stickers or pieces of the cube were exchanged",
            names,
            most_named_face(names),
        )
    return Unreadable(
        verdict.describe_strange(), verdict.names_of(decision.doubtful), verdict.strangest_face
    )


def most_named_face(names: tuple[str, ...]) -> str:
    """Return the face with most of these stickers."""
    faces = [name[0] for name in names]
    return max(FACES, key=faces.count)


def _reading(
    verdict: Verdict, pictures: ScanExplanation | None = None, correction: Explanation | None = None
) -> CubeReading:
    """Return the reading of a verdict.

    ``pictures``: explanations of the scan that may weaken it; ``correction``: the one applied.
    """
    facelets, runner_up = verdict.facelets
    size = verdict.size
    confident = verdict.is_clear and not verdict.has_odd_scheme
    margin, look_again = verdict.stated_margin, verdict.most_doubtful_face
    reason, stickers = verdict.doubt
    doubtful = verdict.names_of(stickers if reason else verdict.decision.doubtful)
    if reason and doubtful:
        look_again = most_named_face(doubtful)
    if (unnamed := verdict.unnamed_face) is not None:
        confident, margin, look_again = False, 0.0, unnamed
    if pictures is not None and not pictures.is_sure:
        confident, margin = False, min(margin, pictures.lead)
        if pictures.rival is not None:
            look_again = pictures.best.differing_face(pictures.rival)
    return CubeReading(
        size,
        facelets,
        from_facelets(facelets, size),
        margin,
        confident,
        doubtful,
        runner_up,
        correction.mistakes if correction else (),
        None if confident else look_again,
        tuple(correction.stickers(size).tolist()) if correction else (),
        "" if confident else reason,
        next(iter(verdict.wrong_pieces), None),
        correction is not None and correction.is_mirrored_only,
    )
