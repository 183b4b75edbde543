"""From measured colours to a cube: the most likely legal one, or a refusal that says why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solver.cube.cube import Cube, from_facelets
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError
from vision.decide.arrangements import Explanation
from vision.decide.colour_model import centres
from vision.decide.consistency import Explained, explained, odd_face, repeated_face
from vision.decide.estimate import Decision, decide
from vision.decide.schemes import is_held, known_orders, scheme_costs, usual_naming
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import FACES, StickerColours

Ints = NDArray[np.intp]

CONFIDENT_MARGIN = 2.6
POCKET_CONFIDENT_MARGIN = 6.0
"""Log odds from which a reading counts as sure; a 2x2x2 has little that checks itself."""

_ODDS_OFFSET = -0.5
_ODDS_SLOPE = 0.39
"""Log odds that a reading is right, from how much better it is than its runner-up.

Fitted by logistic regression on synthetic scans in common and in harsh light; the model takes
stickers to be independent and so thinks too much of its evidence. See docs/benchmarks/vision.md.
"""


@dataclass(frozen=True)
class CubeReading:
    """A legal cube read from colours.

    ``facelets`` in URFDLB order: letters of the centres on odd sizes; on 2x2x2 with the corner DLB
    taken as solved; on larger even sizes held so that the letters are nearest the usual colours.
    ``cube`` is the solver's value. ``margin`` are the
    natural log odds that the reading is right, calibrated. ``doubtful`` names stickers like ``F3``
    (face, number from 1, row by row). ``corrections`` tells what was put right in the scan (faces
    turned or swapped); ``order`` then says which sticker of the scan each facelet was read from
    (else it is empty). ``look_again`` is the face whose second look would help most, None when none
    is needed.
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


class Unreadable(CubistError):
    """Colours from which no cube can be told; ``reason`` says why, ``doubtful`` names stickers."""

    def __init__(
        self, reason: str, doubtful: tuple[str, ...] = (), look_again: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.doubtful = doubtful
        self.look_again = look_again


def read_cube(
    colours: StickerColours,
    references: ColourReferences | None = None,
    scheme: str | None = None,
) -> CubeReading:
    """Decide a cube's facelets from its sticker colours.

    ``references`` are stored colours of this cube to start from. ``scheme`` names the colours of
    the faces URFDLB by six of ``WRGYOB`` where that is known; it helps even sizes, where a swap of
    faces cannot be told from another scheme. Without it the schemes that are sold are expected of
    the usual colours, and anything of others. Raises Unreadable.
    """
    if colours.valid.sum() < 3 * colours.size**2:
        raise Unreadable("fewer than half of the stickers were seen: show the other faces")
    decision = decide(colours, references)
    clear = _sure(decision, colours.size) and _plausible(decision)
    if clear and not _maybe_exchanged(decision, colours.size, scheme):
        return _reading(decision, colours.size, scheme)
    return _second_thoughts(decision, colours, references, scheme)


def calibrated(margin: float) -> float:
    """Natural log odds that a cube is right which is ``margin`` more likely than any other."""
    return max(0.0, _ODDS_OFFSET + _ODDS_SLOPE * margin)


def _sure(decision: Decision, size: int) -> bool:
    least = POCKET_CONFIDENT_MARGIN if size == 2 else CONFIDENT_MARGIN
    return _stated(decision) >= least


def _stated(decision: Decision) -> float:
    """The margin to state: as much of the likelihoods' margin as calibration says to believe."""
    return calibrated(decision.margin * decision.trust)


def _plausible(decision: Decision) -> bool:
    return _fits(decision) and not len(decision.contradicted)


def _fits(decision: Decision) -> bool:
    good = decision.forced <= MAX_PRICE and decision.misfit <= MAX_MISFIT
    return good and decision.worst_face <= MAX_FACE_MISFIT


def _contradicted_once(decision: Decision, size: int) -> bool:
    """Whether all but one sticker agree on one cube: that one may be shaded, dirty or exchanged."""
    return len(decision.contradicted) == 1 and _fits(decision) and _sure(decision, size)


MAX_PRICE = 4.0
"""Most that legality may cost, in log likelihood, beside the two stickers that pay most."""

MAX_MISFIT = 0.4
MAX_FACE_MISFIT = 0.5
"""Largest shares of all stickers and of a face's that may look like none of the colours."""


def _second_thoughts(
    decision: Decision,
    colours: StickerColours,
    references: ColourReferences | None,
    scheme: str | None,
) -> CubeReading:
    """What a scan that is no clear cube still tells: another order of its faces, or a refusal."""
    doubtful = sticker_names(decision.doubtful, colours.size)
    alike = repeated_face(colours)
    if alike is not None:
        first, second = alike
        raise Unreadable(
            f"pictures {first} and {second} show the same face",
            doubtful,
            second,
        )
    pictures = explained(colours, scheme)
    if not pictures.as_it_came:
        corrected = decide(pictures.best.applied(colours), references)
        sure = _sure(corrected, colours.size) and _plausible(corrected)
        if sure and corrected.cost + pictures.best.prior + _BETTER < decision.cost:
            return _reading(corrected, colours.size, scheme, pictures, pictures.best)
    if _contradicted_once(decision, colours.size):
        return _contradicted_reading(decision, colours.size, scheme)
    if not _plausible(decision):
        raise _refusal(decision, colours, doubtful)
    # The pictures are taken as they came, but another explanation may be as good.
    alone = pictures.as_it_came and decision.renamed_centres < 2
    weighed = pictures if alone else replace(pictures, lead=0.0)
    return _reading(decision, colours.size, scheme, weighed)


def _refusal(decision: Decision, colours: StickerColours, doubtful: tuple[str, ...]) -> Unreadable:
    """What keeps a scan from being a cube, and where to look again."""
    if decision.forced > MAX_PRICE:
        odd = odd_face(colours)
        return Unreadable(
            f"no legal cube fits the colours seen; face {odd} fits the others least: it may be "
            "misaligned or covered",
            doubtful,
            odd,
        )
    if len(decision.contradicted):
        return _contradiction(decision.contradicted, colours.size)
    strange = decision.strange.reshape(6, -1).sum(axis=1)
    worst = FACES[int(strange.argmax())]
    return Unreadable(
        f"{strange.sum()} stickers match none of the six colours, most of them on face "
        f"{worst}: there may be a reflection or an obstacle",
        doubtful,
        worst,
    )


def _contradiction(stickers: Ints, size: int) -> Unreadable:
    """Colours clearly seen that no legal cube has together."""
    names = sticker_names(stickers, size)
    faces = [name[0] for name in names]
    return Unreadable(
        f"no legal cube has these colours: {', '.join(names)} clearly show the "
        "wrong ones, or stickers or pieces of the cube were exchanged",
        names,
        max(FACES, key=faces.count),
    )


_BETTER = 6.0
"""Log odds by which a scan put right must beat the scan as it came."""


def _contradicted_reading(decision: Decision, size: int, scheme: str | None) -> CubeReading:
    """The cube all stickers but one agree on, and that one to look at again."""
    (name,) = sticker_names(decision.contradicted, size)
    reading = _reading(decision, size, scheme)
    return replace(reading, confident=False, doubtful=(name,), look_again=name[0])


def _reading(
    decision: Decision,
    size: int,
    scheme: str | None,
    pictures: Explained | None = None,
    put_right: Explanation | None = None,
) -> CubeReading:
    """What to say of a decision, where ``pictures`` tells what may have happened to the scan and
    ``put_right`` what has been taken back.
    """
    facelets, runner_up = _named(decision, size)
    cube = from_facelets(facelets, size)
    confident = _sure(decision, size) and not _odd_scheme(decision, size, scheme)
    margin, look_again = _stated(decision), most_doubtful_face(decision, size)
    if (unnamed := _unnamed_face(decision, size)) is not None:
        confident, margin, look_again = False, 0.0, unnamed
    if pictures is not None and not pictures.sure:
        confident, margin = False, min(margin, pictures.lead)
        if pictures.rival is not None:
            look_again = pictures.best.differing_face(pictures.rival)
    return CubeReading(
        size,
        facelets,
        cube,
        margin,
        confident,
        sticker_names(decision.doubtful, size),
        runner_up,
        put_right.told if put_right else (),
        None if confident else look_again,
        tuple(put_right.stickers(size).tolist()) if put_right else (),
    )


def _maybe_exchanged(decision: Decision, size: int, scheme: str | None) -> bool:
    """Whether pictures of a cube with centres may have been exchanged or mirrored so that they make
    a legal cube: its colours stand as on no cube that is sold, or its centres show each other's.
    """
    if size % 2 == 0:
        return False
    against = scheme_costs(decision.model.mean, decision.features, scheme)
    return decision.renamed_centres > 1 or bool(against(np.arange(6)[None])[0] > 0)


def _unnamed_face(decision: Decision, size: int) -> str | None:
    """A face to look at again where no two centres of different axes show colours of the cube: only
    those name the faces, and pieces alone fit a cube held otherwise as well. None where two do, and
    on even sizes.
    """
    middles = centres(size)
    if not len(middles):
        return None
    unclear = decision.strange[middles] | (decision.features.weight[middles] == 0)
    named_axes = {face % 3 for face in np.flatnonzero(~unclear).tolist()}
    return FACES[int(unclear.argmax())] if len(named_axes) < 2 else None


def _odd_scheme(decision: Decision, size: int, scheme: str | None) -> bool:
    """Whether usual colours stand as on no cube that is sold; then faces may have been swapped.

    Odd sizes would show that as pieces that do not exist, even ones as another scheme.
    """
    if size % 2:
        return False
    orders = known_orders(decision.model.mean, decision.features, scheme)
    return orders is not None and not is_held(np.arange(6), orders)


def sticker_names(which: Ints, size: int) -> tuple[str, ...]:
    """Names like ``F3`` of sticker numbers."""
    area = size * size
    return tuple(f"{FACES[i // area]}{i % area + 1}" for i in which.tolist())


def most_doubtful_face(decision: Decision, size: int) -> str:
    """The face where a second look would settle most."""
    doubt = decision.doubt.reshape(6, size * size).sum(axis=1)
    return FACES[int(doubt.argmax())]


def _named(decision: Decision, size: int) -> tuple[str, str | None]:
    """Facelets of the best and second best cube, in the letters people expect."""
    if size == 2:
        return _pocket(decision.letters), _pocket(decision.runner_up)
    if size % 2:
        return _text(decision.letters), _text(decision.runner_up)
    held = usual_naming(decision.model.mean, decision.features)
    letter_of = np.argsort(held)
    return _text(letter_of[decision.letters]), _text(letter_of[decision.runner_up])


def _text(letters: Ints) -> str:
    return "".join(FACES[i] for i in letters.tolist())


def _pocket(letters: Ints) -> str:
    return PocketCube.from_facelets(_text(letters)).relative.facelets()
