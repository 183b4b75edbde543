"""What is said of a decision: sure or not, which stickers, which face, and why it is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.rig.scans import synthetic_scan
from vision.decide import reader
from vision.decide.colour_model import centres
from vision.decide.consistency import UNIQUE, ScanExplanation
from vision.decide.estimate import Decision, decide
from vision.decide.reader import Unreadable, Verdict
from vision.decide.schemes import (
    all_namings,
    known_orders,
    recognise_colours,
    scheme_costs,
)
from vision.measure.colour_space import USUAL, LightFeatures
from vision.measure.sticker_colours import FACES, StickerColours


@cache
def clear(size: int = 3) -> Decision:
    """A decision of which nothing is doubtful."""
    return decide(synthetic_scan(1, size).colours)


def some(**values: Any) -> Any:
    """A decision as good as can be, but for ``values``."""
    none = np.array([], dtype=np.intp)
    good = {"margin": 100.0, "trust": 1.0, "legality_cost": 0.0, "misfit": 0.0, "worst_face": 0.0}
    return SimpleNamespace(**{**good, "doubtful": np.array([0]), "contradicted": none, **values})


@pytest.mark.parametrize(("margin", "stated"), [(0, 0), (1.28, 0), (1.3, 0.007), (10, 3.4)])
def test_a_margin_is_stated_as_calibrated(margin: float, stated: float) -> None:
    assert reader.calibrate_margin(margin) == pytest.approx(stated)
    assert Verdict(some(margin=2 * margin, trust=0.5), 3).stated_margin == pytest.approx(stated)


@pytest.mark.parametrize(("size", "least"), [(2, 6.0), (3, 2.6), (4, 2.6)])
def test_from_which_margin_a_reading_is_sure(
    size: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "calibrate_margin", lambda margin: margin)
    assert Verdict(some(margin=least), size).is_sure
    assert not Verdict(some(margin=least - 1e-9), size).is_sure
    assert not Verdict(some(margin=least + 0.5, trust=0.5), size).is_sure


@pytest.mark.parametrize(
    ("name", "most"), [("legality_cost", 4.0), ("misfit", 0.4), ("worst_face", 0.5)]
)
def test_how_badly_a_cube_may_fit(name: str, most: float) -> None:
    for value, may in ((0, True), (most, True), (most + 1e-9, False)):
        verdict = Verdict(some(**{name: value}), 3)
        assert verdict.is_consistent == verdict.is_plausible == may
    once = some(contradicted=np.array([5]), **{name: most + 1e-9})
    assert not Verdict(once, 3).has_one_contradiction


def test_a_cube_that_one_sticker_contradicts_is_unsure_and_two_refuse_it() -> None:
    for count, is_one in ((0, False), (1, True), (2, False)):
        decision = some(contradicted=np.arange(count))
        assert Verdict(decision, 3).has_one_contradiction == is_one
        assert Verdict(decision, 3).is_plausible == (count == 0)
    assert not Verdict(some(contradicted=np.array([1]), margin=1.0), 3).has_one_contradiction


def test_a_refusal_names_the_face_to_look_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    colours = synthetic_scan(1, 3).colours
    monkeypatch.setattr(reader, "odd_face", lambda seen: "L")
    strange = np.zeros(54, dtype=bool)
    strange[[0, 1, 20, 22, 26]] = True
    bent = some(legality_cost=4.1, strange=strange, contradicted=np.array([3]))
    refusal = reader._refusal(Verdict(bent, 3), colours)
    assert "no legal cube fits the colours seen; face L fits" in refusal.reason
    assert (refusal.doubtful, refusal.look_again) == (("U1",), "L")
    at_most = some(legality_cost=4.0, strange=strange, contradicted=np.array([9, 17, 53]))
    refusal = reader._refusal(Verdict(at_most, 3), colours)
    assert "R1, R9, B9 clearly show" in refusal.reason
    assert (refusal.doubtful, refusal.look_again) == (("R1", "R9", "B9"), "R")
    refusal = reader._refusal(Verdict(some(strange=strange), 3), colours)
    assert refusal.reason.startswith("5 stickers match none of the six colours, most of them on ")
    assert "face F" in refusal.reason and refusal.look_again == "F"
    assert (refusal.doubtful, refusal.look_again) == (("U1",), "F")


def test_stickers_and_faces_have_names() -> None:
    assert Verdict(some(), 3).names_of(np.array([0, 8, 9, 53])) == ("U1", "U9", "R1", "B9")
    assert Verdict(some(), 2).names_of(np.array([3, 4])) == ("U4", "R1")
    doubt = np.zeros(54)
    doubt[[10, 11, 30]] = 0.3, 0.3, 0.5
    assert Verdict(some(doubt=doubt), 3).most_doubtful_face == "R"


@pytest.mark.parametrize(
    ("unclear", "face"),
    [
        ("", None),
        ("U", None),
        ("RFLB", "R"),  # U and D are of one axis
        ("UFDB", "U"),
        ("RFDL", None),
        ("UDFL", None),
        ("FDLBU", "U"),
        ("URFDLB", "U"),
    ],
)
@pytest.mark.parametrize("why", ["strange", "unseen"])
def test_two_centres_of_different_axes_name_the_faces(
    unclear: str, face: str | None, why: str
) -> None:
    which = np.zeros(54, dtype=bool)
    which[centres(3)[[FACES.index(letter) for letter in unclear]]] = True
    weight = np.ones(54)
    if why == "unseen":
        weight[which] = 0
    strange = which if why == "strange" else np.zeros(54, dtype=bool)
    decision = some(strange=strange, features=SimpleNamespace(weight=weight))
    assert Verdict(decision, 3).unnamed_face == face
    assert Verdict(decision, 2).unnamed_face is None
    real = replace(clear(), strange=strange, features=replace(clear().features, weight=weight))
    reading = reader._reading(Verdict(real, 3))
    assert (reading.look_again, reading.confident) == (face, face is None)
    assert (reading.margin == 0) == (face is not None)


def features() -> LightFeatures:
    return LightFeatures.from_colours(StickerColours.from_srgb(2, np.full((24, 3), 150)))


def standing(scheme: str, tint: float = 0.7) -> np.ndarray:
    """Features of usual colours, by the letters they stand on."""
    return features().to_features(USUAL)[["WRGYOB".index(name) for name in scheme]] + tint


@pytest.mark.parametrize(
    ("scheme", "known", "odd"),
    [
        ("WRGYOB", None, False),
        ("YRBWOG", None, False),  # held upside down
        ("WRGBOY", None, False),
        ("WOGYRB", None, True),
        ("WOGYRB", "WOGYRB", False),
        ("WOGYRB", "WRBYOG", False),
        ("WRGYOB", "WOGYRB", True),
    ],
)
def test_usual_colours_stand_as_on_a_cube_that_is_sold(
    scheme: str, known: str | None, odd: bool
) -> None:
    model = SimpleNamespace(mean=standing(scheme))
    decision = some(model=model, features=features(), renamed_centres=0)
    assert Verdict(decision, 4, known).has_odd_scheme == odd
    assert Verdict(decision, 2, known).has_odd_scheme == odd
    assert not Verdict(decision, 3, known).has_odd_scheme
    assert Verdict(decision, 3, known).may_be_exchanged == odd
    assert not Verdict(decision, 4, known).may_be_exchanged
    assert recognise_colours(model.mean, features()).tolist() == [
        "WRGYOB".index(one) for one in scheme
    ]
    orders = known_orders(model.mean, features(), known)
    assert orders is not None
    found = ["".join(scheme[i] for i in order) for order in orders]
    assert found == (["WRGYOB", "WRGBOY"] if known is None else [known])


def test_colours_too_far_from_the_usual_ones_have_no_names() -> None:
    usual = standing("WRGYOB", tint=-0.4)
    away = np.zeros((6, 3))
    away[:2, 0] = 1, -1  # no tint: a root mean square of the square root of a third
    for far, is_known in ((1.05, True), (1.07, False)):
        mean = usual + away * far * 3**0.5
        assert (recognise_colours(mean, features()) is not None) == is_known
        assert (known_orders(mean, features()) is not None) == is_known
        costs = scheme_costs(mean, features())(all_namings())
        assert bool(costs.any()) == is_known


class Thoughts:
    """Second thoughts about a decision, with what pictures and the corrected scan tell given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.colours = synthetic_scan(1, 3).colours
        self.best = SimpleNamespace(
            correct=lambda colours: colours,
            prior=3.0,
            mistakes=("face R turned",),
            stickers=lambda size: np.arange(54)[::-1],
            differing_face=lambda other: "D",
        )
        self.pictures = ScanExplanation(self.best, UNIQUE, None, as_it_came=True)  # type: ignore[arg-type] # as far as it is used
        self.corrected = replace(clear(), cost=100.0)
        monkeypatch.setattr(reader, "repeated_face", lambda colours: None)
        monkeypatch.setattr(reader, "explain_scan", lambda colours, scheme: self.pictures)
        monkeypatch.setattr(reader, "decide", lambda colours, references: self.corrected)

    def of(self, decision: Decision) -> reader.CubeReading:
        return reader.decide_again(Verdict(decision, 3), self.colours)


@pytest.fixture
def thoughts(monkeypatch: pytest.MonkeyPatch) -> Thoughts:
    return Thoughts(monkeypatch)


def test_the_same_face_twice_is_said_at_once(
    thoughts: Thoughts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "repeated_face", lambda colours: ("R", "B"))
    decision = replace(clear(), doubtful=np.array([4]))
    with pytest.raises(Unreadable, match="R and B show the same face") as refusal:
        thoughts.of(decision)
    assert (refusal.value.doubtful, refusal.value.look_again) == (("U5",), "B")


@pytest.mark.parametrize(("cost", "put_right"), [(109.0, False), (109.1, True)])
def test_a_scan_put_right_has_to_be_clearly_better(
    thoughts: Thoughts, cost: float, put_right: bool
) -> None:
    thoughts.pictures = replace(thoughts.pictures, as_it_came=False)
    reading = thoughts.of(replace(clear(), cost=cost))
    assert (reading.corrections == ("face R turned",)) == put_right
    assert (reading.order == tuple(range(54))[::-1]) == put_right
    assert reading.confident == put_right
    if not put_right:
        assert (reading.corrections, reading.order, reading.margin) == ((), (), 0.0)


@pytest.mark.parametrize(
    "worse",
    [{"margin": 1.0}, {"price": np.full(54, 5.0)}, {"contradicted": np.array([3, 4])}],
)
def test_a_scan_put_right_has_to_be_a_clear_cube(thoughts: Thoughts, worse: Any) -> None:
    thoughts.pictures = replace(thoughts.pictures, as_it_came=False)
    thoughts.corrected = replace(thoughts.corrected, **worse)
    assert thoughts.of(replace(clear(), cost=1000.0)).corrections == ()


def test_one_contradiction_is_to_be_looked_at_again_and_more_are_refused(
    thoughts: Thoughts,
) -> None:
    reading = thoughts.of(replace(clear(), contradicted=np.array([21])))
    assert (reading.confident, reading.doubtful, reading.look_again) == (False, ("F4",), "F")
    with pytest.raises(Unreadable, match="F4, D2 clearly show"):
        thoughts.of(replace(clear(), contradicted=np.array([21, 28])))


def test_what_else_may_have_happened_to_the_pictures_bounds_the_margin(thoughts: Thoughts) -> None:
    sure = thoughts.of(clear())
    assert sure.confident and sure.look_again is None
    assert sure.margin == reader.calibrate_margin(clear().margin * clear().trust)
    thoughts.pictures = replace(thoughts.pictures, lead=0.25)
    reading = thoughts.of(clear())
    assert (reading.confident, reading.margin) == (False, 0.25)
    assert reading.look_again == Verdict(clear(), 3).most_doubtful_face
    thoughts.pictures = replace(thoughts.pictures, rival=thoughts.best)
    assert thoughts.of(clear()).look_again == "D"
    thoughts.pictures = replace(thoughts.pictures, lead=5.99)
    assert thoughts.of(replace(clear(), margin=1.5)).margin == reader.calibrate_margin(1.5)
    thoughts.pictures = replace(thoughts.pictures, lead=6.0)
    assert thoughts.of(clear()).margin == sure.margin
    # Centres that show each other's colours make the order of the pictures a guess.
    price = np.zeros(54)
    price[centres(3)[:2]] = 3.5
    assert thoughts.of(replace(clear(), price=price)).margin == 0.0
    price[4] = 0
    assert thoughts.of(replace(clear(), price=price)).margin == sure.margin


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_doubt_is_the_share_of_other_letters_and_names_what_to_look_at(seed: int) -> None:
    decision = decide(synthetic_scan(seed, 3, harsh=3.0).colours)
    assert decision.doubt.min() > -1e-6 and decision.doubt.max() < 1 + 1e-6
    seen = np.flatnonzero(decision.doubt > 0.01)
    assert set(seen) <= set(decision.doubtful.tolist())
    assert set(decision.contradicted.tolist()) <= set(decision.doubtful.tolist())
    assert set(np.flatnonzero(decision.strange)) <= set(decision.doubtful.tolist())
    assert (decision.price >= 0).all() and (decision.deviation >= 0).all()
    assert clear().doubt.max() < 0.01 and not len(clear().contradicted)
    assert clear().doubtful.tolist() == np.flatnonzero(clear().strange).tolist()
