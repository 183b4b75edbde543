"""One robot, cubes of several sizes: what is calibrated for one stays with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply
from robot.calibration.versions import CubeSizes
from robot.settings import load_profile
from robot.settings.other_cubes import UnsupportedSize

CRANE = load_profile("crane")
QUAD = "cameras.top.views.U.quad"
ROW = "actuators.elevator.positions_steps.row-1"
HIGHEST = "actuators.elevator.positions_steps.row-5"
SPEED = "actuators.turntable.max_speed_steps_per_s"
WHITE = "colours.U"
OWN, COMMON = (QUAD, ROW, WHITE), (SPEED, "actuators.flipper.positions_us.front")
SIZES = (None, 2, 4, 5, 7)


def store_of(folder: Path, size: int | None) -> CalibrationStore:
    return CalibrationStore(folder, CubeSizes(CRANE, size))


def quad_of(shift: float) -> list[list[float]]:
    return [[0.3 + shift, 0.2], [0.7 + shift, 0.2], [0.72 + shift, 0.7], [0.28 + shift, 0.7]]


def values_at(folder: Path, size: int | None) -> dict[str, Any]:
    sized = CubeSizes(CRANE, size).profile
    return dict(store_of(folder, size).load(sized).values)


@st.composite
def saves(draw: st.DrawFn) -> list[tuple[int | None, dict[str, int | None]]]:
    keys = st.sampled_from(OWN + COMMON)
    changes = st.dictionaries(keys, st.one_of(st.none(), st.integers(1, 99)), min_size=1)
    return draw(st.lists(st.tuples(st.sampled_from(SIZES), changes), max_size=8))


@given(saves())
@settings(max_examples=30)
def test_what_belongs_to_a_size_stays_with_it_and_the_rest_reaches_all(
    tmp_path_factory: pytest.TempPathFactory,
    done: list[tuple[int | None, dict[str, int | None]]],
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    own: dict[int | None, dict[str, int]] = {size: {} for size in SIZES}
    common: dict[str, int] = {}
    for size, changes in done:
        store = store_of(folder, size)
        store.save(store.load(CubeSizes(CRANE, size).profile).changed(changes))
        for key, value in changes.items():
            place = common if key in COMMON else own[size]
            place.pop(key, None)
            if value is not None:
                place[key] = value
        for other in SIZES:
            assert values_at(folder, other) == common | own[other], other


def test_the_robot_is_put_together_for_the_size_it_is_set_up_for(tmp_path: Path) -> None:
    store_of(tmp_path, None).save(Calibration(robot="crane", values={QUAD: quad_of(0), SPEED: 1}))
    large = {QUAD: quad_of(0.02), HIGHEST: 1250, SPEED: 2700}
    store_of(tmp_path, 5).save(Calibration(robot="crane", values=large))
    usual, five = (
        apply(sizes.profile, CalibrationStore(tmp_path, sizes).load(sizes.profile))
        for sizes in (CubeSizes(CRANE), CubeSizes(CRANE, 5))
    )
    seen = [robot.cameras[0].views[0].quad[0] for robot in (usual, five)]
    assert seen == [(0.3, 0.2), (0.32, 0.2)]
    assert five.actuators["elevator"].places["row-5"] == 1250
    speeds = [robot.model_dump()["actuators"]["turntable"] for robot in (usual, five)]
    assert [speed["max_speed_steps_per_s"] for speed in speeds] == [2700, 2700]
    assert usual.cube.size == 3


def test_a_file_of_an_earlier_version_is_that_of_the_profile_s_own_size(tmp_path: Path) -> None:
    old = {"format": 1, "robot": "crane", "values": {QUAD: quad_of(0.01)}}
    (tmp_path / "calibration.json").write_text(json.dumps(old))
    assert QUAD not in values_at(tmp_path, 4)
    assert "actuators.flipper.positions_us.front" in values_at(tmp_path, 4), "it was driven by it"
    store = store_of(tmp_path, 4)
    store.save(store.load(CubeSizes(CRANE, 4).profile).changed({QUAD: quad_of(0.03)}))
    assert values_at(tmp_path, None)[QUAD] == quad_of(0.01)
    assert values_at(tmp_path, 4)[QUAD] == quad_of(0.03)


def test_a_save_can_be_undone_from_any_size(tmp_path: Path) -> None:
    five = store_of(tmp_path, 5)
    five.save(Calibration(robot="crane", values={QUAD: quad_of(0.03)}))
    five.restore(CRANE)
    assert values_at(tmp_path, 5) == {}


def test_a_size_that_the_robot_does_not_take_is_named() -> None:
    with pytest.raises(UnsupportedSize, match="crane takes cubes of 2, 3, 4, 5, 6 and 7 layers"):
        CubeSizes(CRANE, 8).profile  # noqa: B018
