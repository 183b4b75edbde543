"""``cubist robot``: what it says of robots that work and of those that do not."""

import json

import pytest

from robot.cli.main import run
from robot.settings import profile_path
from solver import two_phase
from solver.tables import cache_directory


def test_check_tells_sizes_scan_and_mean(capsys):
    assert (
        run(["robot", "check", "six-motor", "--cubes", "2", "--time-limit", "0.1", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["kind"], found["size"]) == ("six-motor", "direct", 3)
    assert found["graph"]["classes"] == 1 and found["graph"]["configurations"] == 1
    assert found["tables"]["metric"] == "axial-qtm"
    assert found["tables"]["disk_bytes"] == two_phase.table_bytes("axial-qtm")
    assert found["scan"] == {"stops": 1, "looks": 6, "duration_us": 200_000}
    solves = found["solves"]
    assert solves["cubes"] == 2
    assert solves["best_us"] <= solves["mean_us"] <= solves["worst_us"] < 1_500_000


def test_the_tables_are_as_large_as_said():
    two_phase.kernel("htm")
    files = cache_directory().glob(f"phase?-htm.v{two_phase.TABLE_VERSION}.table")
    written = sum(path.stat().st_size for path in files)
    assert written == two_phase.table_bytes("htm")


def test_compare_puts_robots_side_by_side(capsys):
    arguments = ["--cubes", "1", "--time-limit", "0.1"]
    assert run(["robot", "compare", "reference/c", "reference/d", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("reference-c", "reference-d"):
        assert any(name in line for line in lines)


def test_list_names_them_all(capsys):
    assert run(["robot", "list", "--json"]) == 0
    robots = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sizes = {robot["name"]: (robot["size"], robot["sizes"]) for robot in robots}
    assert sizes["cubotino-uno"] == sizes["reference/d"] == (3, [3])
    assert sizes["two-arm-2x2x2"] == (2, [2])
    assert sizes["crane"] == (3, [2, 3, 4, 5, 6, 7])


@pytest.mark.parametrize(
    ("old", "new"), [("held_settle_ms", "held_settle_s"), ("size: 3", "size: 9")]
)
def test_a_wrong_file_is_exit_code_2_and_a_line(tmp_path, capsys, old, new):
    path = tmp_path / "mine.yaml"
    path.write_text(profile_path("cubotino-uno").read_text().replace(old, new))
    assert run(["robot", "check", str(path)]) == 2
    assert f"{path}:" in capsys.readouterr().out


def test_a_robot_without_a_view_is_exit_code_1(tmp_path, capsys):
    path = tmp_path / "blind.yaml"
    text = profile_path("cubotino-uno").read_text()
    path.write_text(text.replace("when: {lid: [open]}", "when: {lid: []}"))
    assert run(["robot", "check", str(path), "--cubes", "0"]) == 1
    assert "no camera ever sees the faces U, R, F, D, L, B" in capsys.readouterr().out
