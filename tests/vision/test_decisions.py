"""Statements about a decision: confidence, doubtful stickers, the face, the reason for refusal."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.rig.scans import MIRRORED, synthetic_scan, turned
from vision.decide import reader
from vision.decide.colour_model import centres
from vision.decide.consistency import UNIQUE, ScanExplanation
from vision.decide.estimate import Decision, decide
from vision.decide.misassembly import Misassembled
from vision.decide.reader import Unreadable, Verdict, calibrate_margin, decide_again
from vision.decide.schemes import known_orders, recognise_colours
from vision.measure.colour_space import USUAL, LightFeatures
from vision.measure.sticker_colours import StickerColours


@cache
def clear() -> Decision:
    return decide(synthetic_scan(1, 3).colours)


def some(size: int = 3, **values: Any) -> Verdict:
    """Return the verdict on a perfect decision, except for ``values``."""
    good: dict[str, Any] = dict.fromkeys(("misfit", "worst_face"), 0.0)
    good |= {"margin": 100.0, "trust": 1.0, "doubtful": np.array([0])}
    good |= dict.fromkeys(("odds_of_assembly", "odds_of_colouring"), 100.0)
    good |= {"recoloured": np.array([], dtype=np.intp), "misassembled": None}
    good["has_colours_alike"] = False
    return Verdict(SimpleNamespace(**{**good, **values}), size)  # type: ignore[arg-type] # as far as it is used


COLOURED = {"odds_of_colouring": -9.0}
RARE = Misassembled(np.zeros(0, dtype=np.intp), (), 4.0)


@pytest.mark.parametrize(
    ("values", "sure", "plausible", "refused"),
    [
        ({}, True, True, False),
        ({"margin": 7.95}, True, True, False),  # calibrated: 2.6
        ({"margin": 7.94}, False, True, False),
        ({"margin": 15.9, "trust": 0.5}, True, True, False),
        ({"margin": 15.8, "trust": 0.5}, False, True, False),
        ({"size": 2, "margin": 16.67}, True, True, False),  # 6.0
        ({"size": 2, "margin": 16.66}, False, True, False),
        # A misassembled cube is a rival like any other.
        ({"odds_of_assembly": 7.95}, True, True, False),
        ({"odds_of_assembly": 7.94}, False, True, False),
        ({"odds_of_assembly": -2.9}, False, True, False),
        ({"odds_of_assembly": -3.1}, False, True, True),
        # Its rarity does not count if red is nearly orange.
        ({"odds_of_assembly": 11.9, "misassembled": RARE}, True, True, False),
        ({"odds_of_assembly": 11.9, "misassembled": RARE, "has_colours_alike": 1}, 0, 1, 0),
        ({"odds_of_assembly": 12.0, "misassembled": RARE, "has_colours_alike": 1}, 1, 1, 0),
        # Exchanged stickers: one in an otherwise certain cube is a doubt, two are a refusal.
        ({"odds_of_colouring": -0.1, "recoloured": np.arange(2)}, True, False, False),
        ({"odds_of_colouring": -3.1, "recoloured": np.arange(2)}, True, False, True),
        ({"odds_of_colouring": -9.0, "recoloured": np.arange(1)}, True, False, False),
        ({"odds_of_colouring": -9.0, "recoloured": np.arange(1), "margin": 1.0}, 0, 0, True),
        # A face of reflections is a refusal as well.
        ({"misfit": 0.41}, True, False, False),
        ({"worst_face": 0.51}, True, False, False),
        ({"worst_face": 0.51, "margin": 1.0}, False, False, True),
    ],
)
def test_how_far_a_decision_is_believed(values, sure, plausible, refused):
    verdict = some(**values)
    assert verdict.is_sure == sure
    assert verdict.is_plausible == plausible
    assert verdict.is_refused == refused
    assert verdict.is_clear == (sure and plausible)


@pytest.mark.parametrize(
    ("values", "reason", "doubtful", "face"),
    [
        (
            COLOURED | {"recoloured": np.arange(5)},
            "no legal cube fits the colours seen; face L fits",
            ("U1", "U2", "U3", "U4", "U5"),
            "L",
        ),
        (COLOURED | {"recoloured": np.array([9, 17, 53])}, "clearly show", ("R1", "R9", "B9"), "R"),
        ({"margin": 1.0}, "5 stickers match none of the .*, most of them on face F", ("U1",), "F"),
    ],
)
def test_a_refusal_names_the_face_to_look_at_again(values, reason, doubtful, face, monkeypatch):
    monkeypatch.setattr(reader, "odd_face", lambda seen: "L")
    strange = np.isin(np.arange(54), [0, 1, 20, 22, 26])
    verdict = some(strange=strange, **{"misfit": 1.0, **values}, renamed_centres=0)
    with pytest.raises(Unreadable, match=reason) as refusal:
        decide_again(verdict, synthetic_scan(1, 3).colours)
    assert (refusal.value.doubtful, refusal.value.look_again) == (doubtful, face)


FEATURES = LightFeatures.from_colours(StickerColours.from_srgb(2, np.full((24, 3), 150)))


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
def test_usual_colours_stand_as_on_a_cube_that_is_sold(scheme, known, odd):
    mean = FEATURES.to_features(USUAL)[["WRGYOB".index(name) for name in scheme]] + 0.7
    model = SimpleNamespace(mean=mean)
    verdict = replace(some(model=model, features=FEATURES, renamed_centres=0), scheme=known)
    for size in (2, 3, 4):
        own = replace(verdict, size=size)
        assert own.has_odd_scheme == (odd and size != 3)
        assert own.may_be_exchanged == (odd and size == 3)
    named = recognise_colours(model.mean, FEATURES)
    assert named is not None and "".join("WRGYOB"[i] for i in named) == scheme
    orders = known_orders(model.mean, FEATURES, known)
    found = ["".join(scheme[i] for i in order) for order in orders or []]
    assert found == (["WRGYOB", "WRGBOY"] if known is None else [known])


@pytest.fixture
def thoughts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return second thoughts about a decision, with findings to set: pictures, corrected scan."""
    found = SimpleNamespace(
        pictures=ScanExplanation(turned("R", 2), UNIQUE, None, as_it_came=True),
        corrected=replace(clear(), cost=100.0),
        of=lambda **values: decide_again(
            Verdict(replace(clear(), **values), 3), synthetic_scan(1, 3).colours
        ),
    )
    monkeypatch.setattr(reader, "explain_scan", lambda colours, scheme: found.pictures)
    monkeypatch.setattr(reader, "decide", lambda colours, references: found.corrected)
    return found


@pytest.mark.parametrize(
    ("cost", "worse", "put_right"),
    [
        (109.9, {}, False),  # the prior is 4, and 6 more are needed
        (110.1, {}, True),
        (1000.0, {"margin": 1.0}, False),
        (1000.0, {"odds_of_assembly": 5.0}, False),
        (1000.0, {"odds_of_colouring": -1.0}, False),
    ],
)
def test_a_scan_put_right_has_to_be_a_clear_cube_and_clearly_better(
    thoughts, cost, worse, put_right
):
    thoughts.pictures = replace(thoughts.pictures, as_it_came=False)
    thoughts.corrected = replace(thoughts.corrected, **worse)
    reading = thoughts.of(cost=cost)
    best = thoughts.pictures.best
    assert reading.corrections == (best.mistakes if put_right else ())
    assert reading.order == (tuple(best.stickers(3).tolist()) if put_right else ())
    assert reading.confident == put_right
    assert put_right or reading.margin == 0.0


def test_one_contradiction_is_to_be_looked_at_again_and_more_are_refused(thoughts):
    reading = thoughts.of(odds_of_colouring=-9.0, recoloured=np.array([21]))
    assert (reading.confident, reading.doubtful, reading.look_again) == (False, ("F4",), "F")
    with pytest.raises(Unreadable, match="F4, D2 clearly show"):
        thoughts.of(odds_of_colouring=-9.0, recoloured=np.array([21, 28]))


def test_what_else_may_have_happened_to_the_pictures_bounds_the_margin(thoughts):
    sure = thoughts.of()
    assert sure.confident and sure.look_again is None
    assert sure.margin == calibrate_margin(min(clear().margin, clear().odds_of_assembly))
    thoughts.pictures = replace(thoughts.pictures, lead=0.25)
    doubt = np.zeros(54)
    doubt[[10, 11, 30]] = 0.3, 0.3, 0.5
    reading = thoughts.of(doubt=doubt)
    assert (reading.confident, reading.margin, reading.look_again) == (False, 0.25, "R")
    thoughts.pictures = replace(thoughts.pictures, rival=MIRRORED)
    assert thoughts.of().look_again == "R"  # the two explanations turn it differently
    thoughts.pictures = replace(thoughts.pictures, lead=5.99)
    assert thoughts.of(margin=1.5).margin == calibrate_margin(1.5)
    thoughts.pictures = replace(thoughts.pictures, lead=6.0)
    assert thoughts.of().margin == sure.margin
    # Centres that show each other's colours make the order of the pictures a guess.
    price = np.zeros(54)
    price[centres(3)[:2]] = 3.5
    assert thoughts.of(price=price).margin == 0.0
    price[4] = 0
    assert thoughts.of(price=price).margin == sure.margin
