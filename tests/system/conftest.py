"""Packages as owners get them, for the tests that install them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.install.debian_root import assert_story, bundle_checkout, go_through, why_no_root

SCENARIO = Path(__file__).with_name("install") / "package_build_scenario"

MakePackages = Callable[..., Path]

MADE = {
    "each refusal says what to do": (
        "no_tools=2, remedy=0, no_key=2, no_key_says=gpg --quick-generate-key, other_key=2"
    ),
    "packages are added, and none is replaced": "made=0, repository=0, extended=0, replaced=2",
}
"""Facts about making the packages and the repository, by what they show. 2 is make's exit code."""


@pytest.fixture(scope="session")
def make_packages(tmp_path_factory: pytest.TempPathFactory) -> MakePackages:
    """Return a function that makes packages and a repository in a clean Debian of a release.

    It makes them once and returns their folder: ``cubist.deb``, and ``repository`` with later ones
    that fail or are good, unless called with ``is_alone``.
    """

    @functools.cache
    def make(release: str, *, is_alone: bool = False) -> Path:
        if reason := why_no_root():
            pytest.skip(reason)
        share = tmp_path_factory.mktemp("packages")
        bundle_checkout(share / "cubist.bundle")
        made = go_through(release, share, SCENARIO, "package" if is_alone else "all")
        for expected in ["made=0"] if is_alone else MADE.values():
            assert_story(made, expected)
        return share

    return make
