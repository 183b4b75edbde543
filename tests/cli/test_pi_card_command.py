"""``cubist pi-card`` as it is typed: a dry run, passwords from files, and its report."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from robot.cli.main import run
from tests.rig.pi_card import fresh_card


@pytest.fixture
def typed(tmp_path: Path) -> list[str]:
    """Return a command for a fresh card, with a Wi-Fi and a repository."""
    (tmp_path / "cubist.gpg").write_bytes(b"key")
    (tmp_path / "cubist-trixie.sources").write_text(
        "URIs: https://robots.example/apt\nSigned-By: /etc/apt/keyrings/cubist.gpg\n"
    )
    (tmp_path / "secret").write_text("battery staple\r\n")
    card = fresh_card(tmp_path / "card")
    options = ["--repository", str(tmp_path), "--wifi", "Workshop", "--wifi-country", "DE"]
    options += ["--wifi-password-file", str(tmp_path / "secret"), "--password-file", "-"]
    return ["pi-card", str(card), *options]


def test_a_dry_run_shows_what_is_then_written(
    typed: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Path(typed[1])
    before = {path.name: path.read_bytes() for path in card.iterdir()}
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert run([*typed, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "+hostname: cubist" in shown and "passwd: (secret)" in shown
    assert {path.name: path.read_bytes() for path in card.iterdir()} == before
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert run([*typed, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["changed"][-1] == "cmdline.txt" and said["written"] is True
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert run(typed) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_options_that_lack_others_are_refused(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*typed[:4], "--wifi", "Workshop"]) == 2
    assert "--wifi-country" in capsys.readouterr().err
    assert run([*typed[:4], "--wifi-password-file", "x"]) == 2
    assert "needs --wifi" in capsys.readouterr().err
    assert run(typed[:4]) == 2
    assert "--ssh-key" in capsys.readouterr().err
