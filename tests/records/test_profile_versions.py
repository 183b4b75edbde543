"""Versions of a profile: nothing is lost, and nothing bad is ever in force."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from robot.records.profile_versions import ORIGINAL, ProfileVersions
from robot.records.storage import StorageError
from robot.settings import BadProfile, profile_file

NOON = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)
ORIGINAL_TEXT = profile_file("cubotino").read_text()
CHANGED = ORIGINAL_TEXT + "\n# The lid was replaced.\n"


@pytest.fixture
def versions(tmp_path: Path) -> ProfileVersions:
    return ProfileVersions(tmp_path, "cubotino", now=lambda: NOON)


def test_what_an_owner_keeps_counts_and_can_be_taken_back(versions: ProfileVersions) -> None:
    assert versions.latest.number == ORIGINAL
    kept = versions.keep(CHANGED)
    assert (kept.number, kept.at) == (1, NOON)
    assert versions.text(1) == CHANGED, "comments stay"
    assert versions.load() == versions.load_original()
    assert versions.restore(ORIGINAL).number == 2
    assert versions.text(versions.latest.number) == ORIGINAL_TEXT
    assert versions.restore(1).number == 3
    assert [one.number for one in versions.list()] == [0, 1, 2, 3]
    assert versions.text(3) == CHANGED
    with pytest.raises(StorageError):
        versions.text(9)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("name: cubotino", "name: another", "name"),
        ("name: cubotino", "name: cubotino\nnmae: x", "nmae"),
        ("mechanism:", "mechanism: [", ""),
    ],
)
def test_a_bad_profile_is_refused_with_its_place(
    versions: ProfileVersions, old: str, new: str, key: str
) -> None:
    assert old in ORIGINAL_TEXT
    with pytest.raises(BadProfile) as refused:
        versions.keep(ORIGINAL_TEXT.replace(old, new, 1))
    (complaint,) = refused.value.complaints
    assert complaint.key == key and complaint.line > 0
    assert versions.latest.number == ORIGINAL


def test_a_version_for_another_file_does_not_count(
    versions: ProfileVersions, tmp_path: Path
) -> None:
    versions.keep(CHANGED)
    assert ProfileVersions(tmp_path, "two-arm").latest.number == ORIGINAL
