"""What the installers' scripts do before anything is built; `test_container.py` runs them whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).resolve().parents[2] / "systemd"
STAT = """#!/bin/sh
for folder; do :; done
case $folder in {memory}) echo tmpfs ;; *) echo ext2/ext3 ;; esac
"""

SMALL_MB = 427
VENV_FAILS = f'#!/bin/sh\ncase "$*" in "-m venv"*) exit 7 ;; esac\n{sys.executable} "$@"\n'


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose programs come before the system's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.delenv("TMPDIR", raising=False)
    return tools


def scratch() -> Path:
    made = subprocess.run([SYSTEMD / "scratch"], capture_output=True, text=True, check=True)
    folder = Path(made.stdout.strip())
    folder.rmdir()
    return folder.parent


def test_builds_are_in_tmp_where_that_is_on_a_disk(tools: Path) -> None:
    program(tools, "stat", STAT.format(memory="/nowhere"))
    assert scratch() == Path("/tmp")


def test_builds_are_not_in_memory(tools: Path) -> None:
    program(tools, "stat", STAT.format(memory="/tmp"))
    assert scratch() == Path("/var/tmp")


def test_a_folder_for_temporary_files_is_taken_unless_it_is_memory(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program(tools, "stat", STAT.format(memory="/tmp"))
    assert scratch() == tmp_path
    program(tools, "stat", STAT.format(memory=tmp_path))
    assert scratch() == Path("/var/tmp")


@pytest.mark.parametrize("script", ["install", "deb"])
def test_ram_time_and_download_are_named_before_anything_is_fetched(
    tools: Path, tmp_path: Path, script: str
) -> None:
    program(tools, "python", VENV_FAILS)
    environment = os.environ | {"DESTDIR": str(tmp_path / "root"), "PYTHON": str(tools / "python")}
    done = subprocess.run(
        [SYSTEMD / script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    said = done.stderr.replace("\n", " ")
    for what in ("140 MB are downloaded", "300 MB of RAM", "two minutes"):
        assert what in said
    assert not list((tmp_path / "root").rglob("bin"))


def told_where_memory_is_small(tools: Path, folder: Path, answer: str | None) -> tuple[int, str]:
    """What building says where there is little memory, at a terminal if there is an answer."""
    program(tools, "python", VENV_FAILS)
    program(tools, "awk", f"#!/bin/sh\necho {SMALL_MB}\n")
    ours, theirs = os.openpty()
    if answer is not None:
        os.write(ours, f"{answer}\n".encode())
    try:
        done = subprocess.run(
            [SYSTEMD / "build-wheel", tools / "python", folder],
            stdin=subprocess.DEVNULL if answer is None else theirs,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return done.returncode, done.stderr


def test_a_small_machine_is_offered_a_package_from_a_pc(tools: Path, tmp_path: Path) -> None:
    code, said = told_where_memory_is_small(tools, tmp_path, "n")
    assert code == 1 and said.endswith("nothing was installed\n")
    for what in (f"{SMALL_MB} MB of RAM", "an hour", "make deb ARCH=arm64", "apt install"):
        assert what in said
    for answer in ("y", None):
        code, said = told_where_memory_is_small(tools, tmp_path, answer)
        assert code == 7, "it goes on to the virtual environment"
        assert "make deb ARCH=arm64" in said


def test_packages_for_another_machine_are_for_a_pi(tmp_path: Path) -> None:
    done = subprocess.run(
        [SYSTEMD / "deb"],
        env=os.environ | {"ARCH": "riscv64", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "[deb] ARCH is riscv64: packages for another machine are for arm64"
    )
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_what_the_build_needs_is_named_in_a_line_to_paste(tools: Path, tmp_path: Path) -> None:
    program(tools, "python", "#!/bin/sh\nexit 1\n")
    for name in ("bash", "dirname"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run(
        [SYSTEMD / "build-wheel", "python", tmp_path],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "  sudo apt install g++ python3-venv python3-dev"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_an_installation_from_source_holds_nothing_it_was_built_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("DESTDIR", str(tmp_path / "root"))
    subprocess.run([SYSTEMD / "install"], check=True)
    [version] = (tmp_path / "root/opt/cubist/versions").iterdir()
    # Its own name, which bin/cubist begins with, is where it will lie.
    subprocess.run([version / "bin/python", "-m", "robot.cli.main", "--version"], check=True)
    installed = {entry.name for entry in version.glob("lib/python*/site-packages/*")}
    installed |= {entry.name for entry in (version / "bin").iterdir()}
    builders = {"cmake", "ninja", "nanobind", "scikit_build_core"}
    assert not {name for name in installed if name.split("-")[0] in builders}
    assert not list(scratch.iterdir())
