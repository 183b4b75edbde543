"""Whose directory it is: what the environment says where that makes sense, else the account's."""

import os
import pwd
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api import paths
from solver.files import user_directory
from solver.tables import cache_directory

ACCOUNT = Path(pwd.getpwuid(os.getuid()).pw_dir)
TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


def found(**environ: str) -> Path:
    return user_directory("XDG_CACHE_HOME", ".cache", "CUBIST_CACHE_DIR", environ)


def test_what_is_absolute_counts() -> None:
    assert found(HOME="/h") == Path("/h/.cache")
    assert found(HOME="/h", XDG_CACHE_HOME="/x") == Path("/x")


@pytest.mark.parametrize("home", ["", ".", "here", "~"])
def test_a_home_that_is_no_folder_is_the_account_s(home: str) -> None:
    assert found(HOME=home) == ACCOUNT / ".cache"
    assert found(HOME="/h", XDG_CACHE_HOME=home) == Path("/h/.cache")


@given(TEXTS, TEXTS)
def test_nothing_is_ever_written_where_a_command_is_run(home: str, cache: str) -> None:
    assert found(HOME=home, XDG_CACHE_HOME=cache).is_absolute()


def test_tables_records_and_sockets_follow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("CUBIST_CACHE_DIR", "CACHE_DIRECTORY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(paths, "SYSTEM_STATE", tmp_path / "none")
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", tmp_path / "none")
    assert cache_directory() == ACCOUNT / ".cache/cubist"
    empty = {"HOME": "", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
    assert paths.state_directory(empty) == ACCOUNT / ".local/state/cubist"
    assert paths.runtime_directory(empty) == Path(f"/tmp/cubist-{os.getuid()}/cubist")
