"""``cubist doctor``: the check-up as a whole, and its changes to a Raspberry Pi's config.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.calibration.store import CalibrationStore
from robot.cli import doctor as command
from robot.cli.main import run
from robot.computer.computer import Computer
from tests.rig.computers import become_a_pi, made_up_computer
from tests.rig.profiles import kept, refusing


@pytest.fixture
def machine(short_folder: Path) -> Computer:
    short_folder.chmod(0o755)  # a check as another user may enter it, too
    return made_up_computer(short_folder)


@pytest.fixture
def doctor(machine: Computer, ask: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs ``cubist doctor --json`` and returns exit code and documents."""
    for name in ("CUBIST_RUNTIME_DIR", "CUBIST_STATE_DIR"):
        monkeypatch.setenv(name, str(machine.boot.parent / "state"))
    monkeypatch.setattr(command, "this_computer", lambda: machine)
    return lambda *options: ask("doctor", *options)[:2]


def test_every_finding_is_printed_also_where_the_state_may_not_be_read(machine, doctor):
    state = machine.boot.parent / "state"
    CalibrationStore(state).save(kept("cubotino-uno", {"policy.search_s": 2.0}))
    (machine.dev / "cubist").touch()
    code, found = doctor("--robot", "cubotino-uno")
    assert {"profile", "board", "firmware", "camera", "disk", "clock", "power", "daemon"} <= {
        finding["about"] for finding in found
    }
    assert code == 1, "no board answers at that port"
    with refusing(state):
        code, found = doctor("--robot", "cubotino-uno")
    by_subject = {one["about"]: one for one in found}
    assert "Permission denied" in by_subject["calibration"]["text"]
    assert "Join its group" in by_subject["daemon"]["remedy"]
    assert doctor("--robot", "none-such")[0] == 2


def test_fix_and_unfix(machine, doctor):
    shipped = b"dtparam=audio=on\r\n[pi4]\r\narm_boost=1"
    path = become_a_pi(machine, shipped)
    code, _ = doctor("--fix")
    assert (code, path.read_bytes()) == (2, shipped), "nothing is asked, so nothing is done"
    code, (answer,) = doctor("--fix", "--yes")
    assert (code, answer["changed"], "sudo reboot" in answer["remedy"]) == (0, True, True)
    assert "+dtparam=audio=off" in answer["diff"]
    code, (answer,) = doctor("--fix", "--yes")
    assert (code, answer["changed"], answer["diff"]) == (0, False, "")
    code, (answer,) = doctor("--unfix", "--yes")
    assert (code, answer["changed"], path.read_bytes()) == (0, True, shipped)
    assert doctor("--unfix") == (0, [answer | {"changed": False, "diff": "", "remedy": ""}])


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--unfix", "--yes"), 0, "nothing to undo: there is no config.txt below "),
        (("--fix", "--yes"), 1, "there is no config.txt below "),
        (("--fix", "--unfix"), 2, "contradict each other"),
        (("--yes",), 2, "--yes goes with --fix"),
    ],
)
def test_what_cannot_be_fixed(machine, monkeypatch, capsys, options, code, said):
    monkeypatch.setattr(command, "this_computer", lambda: machine)
    assert run(["doctor", *options]) == code
    assert said in capsys.readouterr().err
