"""Dated versions, one history per robot: restored, undone, unreadable.

Some values belong to one cube size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.api.calibrations import FORMAT, Maker
from robot.calibration.store import CalibrationStore, Revision
from robot.calibration.values import BadCalibration
from robot.calibration.versions import MOST_VERSIONS, CubeSizes
from robot.records.storage import StorageError
from robot.settings import load_profile
from tests.rig.profiles import kept, refusing

CUBOTINO, TWO_ARM = load_profile("cubotino"), load_profile("two-arm")
MY_ROBOT = CUBOTINO.model_copy(update={"name": "my-robot"})
OPEN = "actuators.lid.positions_us.open"

HOSTILE = {
    "damaged": "{",
    "not a number": '{"format": 3, "robot": "cubotino", "at": "2026-05-03T12:00:00Z", "values": '
    '{"policy.search_s": {"how": "person", "at": "2026-05-03T12:00:00Z", "value": NaN}}}',
    "newer": json.dumps({"format": FORMAT + 1, "robot": "cubotino", "anything": []}),
    "another robot's": json.dumps({"format": 2, "robot": "two-arm", "values": {OPEN: 1}}),
    "a path for a robot": json.dumps({"format": 2, "robot": "../../etc", "values": {}}),
    "a list": "[1]",
    "values that are none": json.dumps({"format": 2, "robot": "cubotino", "values": 3}),
}
CRANE = load_profile("crane")
QUAD = "cameras.top.views.U.quad"
ROW = "actuators.elevator.positions_steps.row-1"
SPEED = "actuators.turntable.max_speed_steps_per_s"
WHITE = "colours.U"
OWN, COMMON = (QUAD, ROW, WHITE), (SPEED, "actuators.flipper.positions_us.front")
SIZES = (None, 2, 4, 5, 7)


def save(store: CalibrationStore, pulse: int, by: Maker = "person") -> int:
    return store.save(kept("cubotino", {OPEN: pulse}), by).version


def in_force(store: CalibrationStore) -> object:
    return store.load(CUBOTINO).values.get(OPEN)


def test_robots_in_one_state_directory_keep_their_own(tmp_path):
    store = CalibrationStore(tmp_path)
    save(store, 1340)
    store.save(kept("two-arm", {"policy.search_s": 2.0}))
    store.save(kept("two-arm", {"policy.search_s": 3.0}))
    assert in_force(store) == 1340
    assert store.load(TWO_ARM).values == {"policy.search_s": 3.0}
    assert store.load(MY_ROBOT).values == {}
    assert list(store.others("my-robot")) == ["cubotino", "two-arm"]
    assert store.values_of_another("cubotino") == {OPEN: 1340}
    with pytest.raises(BadCalibration, match=r"no calibration of crane .*cubotino, two-arm"):
        store.values_of_another("crane")


def write_earlier(file: Path, pulse: int) -> None:
    """Write a file as an earlier release did."""
    file.write_text(json.dumps({"format": 2, "robot": "cubotino", "values": {OPEN: pulse}}))


def test_both_files_of_an_earlier_release_become_versions(tmp_path):
    write_earlier(tmp_path / "calibration.json.previous", 1340)
    write_earlier(tmp_path / "calibration.json", 1345)
    store = CalibrationStore(tmp_path)
    store.settle()
    assert not list(tmp_path.glob("calibration.json*"))
    assert in_force(store) == 1345
    assert [one.version for one in store.versions(CUBOTINO)] == [1, 2]
    store.restore(CUBOTINO)
    assert in_force(store) == 1340


def test_the_file_of_an_earlier_release_stays_its_robot_s(tmp_path):
    """Check that another robot's daemon uses nothing from the file and loses nothing of it."""
    write_earlier(tmp_path / "calibration.json", 1340)
    store = CalibrationStore(tmp_path)
    assert store.load(TWO_ARM).values == {}
    assert list(store.others("two-arm")) == ["cubotino"]
    for seconds in (2.0, 3.0):
        store.save(kept("two-arm", {"policy.search_s": seconds}))
    assert in_force(store) == 1340
    assert store.load(CUBOTINO).confirmed == {OPEN: 1340}


@settings(max_examples=20)
@given(steps=st.lists(st.integers(0, 12), min_size=1, max_size=12))
def test_any_version_is_restored_and_that_is_undone(steps, tmp_path_factory):
    """Compare with a plain list of all values that were ever in force."""
    store = CalibrationStore(tmp_path_factory.mktemp("state"))
    ever: list[object] = [None]
    for pulse, step in enumerate(steps, 1300):
        if step % 2:
            assert save(store, pulse) == len(ever)
            ever.append(pulse)
        elif len(ever) > 1:
            number = step % len(ever)
            store.restore(CUBOTINO, number)
            ever.append(ever[number])
        assert in_force(store) == ever[-1]
    if len(ever) > 1:
        store.restore(CUBOTINO)
        assert in_force(store) == ever[-2]
        store.restore(CUBOTINO)
        assert in_force(store) == ever[-1]
    listed = store.versions(CUBOTINO)
    assert [one.version for one in listed if one.in_force] == [one.version for one in listed[-1:]]
    with pytest.raises(BadCalibration, match="has no version 99"):
        store.restore(CUBOTINO, 99)


def test_versions_are_listed_with_what_they_changed(tmp_path):
    first, second = (datetime(2026, 5, day, 12, 0, tzinfo=UTC) for day in (3, 4))
    times = iter([first, second, second])
    store = CalibrationStore(tmp_path, now=lambda: next(times))
    save(store, 1340, "auto")
    save(store, 1345)
    store.restore(CUBOTINO, 1)
    told = [
        (one.version, one.at, one.by, one.restored, one.changed, one.differing, one.in_force)
        for one in store.versions(CUBOTINO)
    ]
    assert told == [
        (1, first, "auto", None, 1, 0, False),
        (2, second, "person", None, 1, 1, False),
        (3, second, "restore", 1, 1, 0, True),
    ]


def test_old_versions_go_but_never_the_latest_of_a_person_nor_what_cannot_be_read(tmp_path):
    store = CalibrationStore(tmp_path)
    for pulse, by in ((1301, "person"), (1302, "person"), (1303, "drift")):
        save(store, pulse, by)
    newer = store.files.path("cubotino", 4)
    newer.write_text(json.dumps({"format": FORMAT + 1}))
    note = newer.with_name("notes of mine.txt")
    note.write_text("hands off")
    store.restore(CUBOTINO, 3)
    for pulse in range(MOST_VERSIONS + 5):
        save(store, 1310 + pulse, "auto")
    numbers = store.files.numbers("cubotino")
    assert len(numbers) == MOST_VERSIONS
    assert numbers[:4] == [2, 3, 4, 5] and 1 not in numbers
    assert note.exists()
    store.restore(CUBOTINO, 2)
    assert in_force(store) == 1302


def test_a_session_is_one_version_that_is_undone_step_by_step(tmp_path):
    store = CalibrationStore(tmp_path)
    save(store, 1340)
    session = Revision(store)
    before = store.load(CUBOTINO)
    for pulse in (1345, 1350, 1355):
        before = session.keep(before, kept("cubotino", {OPEN: pulse}), "person")
    assert store.files.numbers("cubotino") == [1, 2]
    assert in_force(store) == 1355
    seen = []
    while session.undo() is not None:
        seen.append(in_force(store))
    assert seen == [1350, 1345, 1340]
    assert store.files.numbers("cubotino") == [1], "nothing is left of it"


@pytest.mark.parametrize("earlier", [True, False], ids=["calibration.json", "a version"])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_cannot_be_read_is_said_with_the_way_back_and_kept(hostile, earlier, tmp_path):
    store = CalibrationStore(tmp_path)
    save(store, 1340)
    file = tmp_path / "calibration.json" if earlier else store.files.path("cubotino", 2)
    file.write_text(HOSTILE[hostile])
    if earlier and hostile == "another robot's":
        assert in_force(store) == 1340
        return
    with pytest.raises(BadCalibration, match=r"calibration restore` goes back to version") as told:
        store.load(CUBOTINO)
    assert str(file) in str(told.value)
    with pytest.raises(BadCalibration):
        save(store, 1350)
    store.restore(CUBOTINO)
    assert in_force(store) == 1340
    assert HOSTILE[hostile] in [path.read_text() for path in tmp_path.rglob("*.json*")]


def test_a_directory_that_refuses_its_reader_is_said_and_is_no_robot_without_calibration(tmp_path):
    store = CalibrationStore(tmp_path / "state")
    save(store, 1340)
    asked = (store.load, store.versions, store.has_versions, store.version_before, store.restore)
    calls: list[Callable[[], object]] = [partial(call, CUBOTINO) for call in asked]
    calls += [partial(store.values_of_another, "cubotino"), partial(save, store, 1350)]
    with refusing(tmp_path / "state"):
        for call in calls:
            with pytest.raises(BadCalibration, match="Permission denied"):
                call()
        assert store.others("two-arm") == {}
        assert store.path_of("cubotino") == store.files.folder
        store.note_under_way()
        with pytest.raises(StorageError, match="Permission denied"):
            store.settle()
    assert in_force(store) == 1340


CHANGES = st.dictionaries(
    st.sampled_from(OWN + COMMON), st.one_of(st.none(), st.integers(1, 99)), min_size=1
)


@given(st.lists(st.tuples(st.sampled_from(SIZES), CHANGES), max_size=8))
@settings(max_examples=20)
def test_what_belongs_to_a_size_stays_with_it_and_the_rest_reaches_all(tmp_path_factory, done):
    folder = tmp_path_factory.mktemp("sizes")
    sizes = {size: CubeSizes(CRANE, size) for size in SIZES}
    own: dict[int | None, dict[str, int]] = {size: {} for size in SIZES}
    common: dict[str, int] = {}
    for size, changes in done:
        store = CalibrationStore(folder, sizes[size])
        store.save(store.load(sizes[size].profile).changed(changes))
        for key, value in changes.items():
            place = common if key in COMMON else own[size]
            place.pop(key, None)
            if value is not None:
                place[key] = value
        for other, at in sizes.items():
            values = CalibrationStore(folder, at).load(at.profile).values
            assert values == common | own[other], other
