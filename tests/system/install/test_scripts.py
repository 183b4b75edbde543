"""The installers' scripts up to the build. `test_container.py` runs them in full."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.rig.computers import make_package

SYSTEMD = Path(__file__).resolve().parents[3] / "systemd"
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
    """Return a folder whose programs take precedence over the system's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.delenv("TMPDIR", raising=False)
    return tools


def test_a_folder_for_temporary_files_is_taken_unless_it_is_memory(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for memory, place in (("/tmp", tmp_path), (tmp_path, Path("/var/tmp"))):
        program(tools, "stat", STAT.format(memory=memory))
        made = subprocess.run([SYSTEMD / "scratch"], capture_output=True, text=True, check=True)
        folder = Path(made.stdout.strip())
        folder.rmdir()
        assert folder.parent == place


def told_where_memory_is_small(tools: Path, folder: Path, answer: str | None) -> tuple[int, str]:
    """Build with little memory, at a terminal if there is an answer; return code and message."""
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


def test_a_small_machine_is_offered_a_package_from_a_pc(tools, tmp_path):
    code, said = told_where_memory_is_small(tools, tmp_path, "n")
    assert code == 1 and said.endswith("nothing was installed\n")
    for what in (f"{SMALL_MB} MB of RAM", "an hour", "make deb ARCH=arm64", "apt install"):
        assert what in said
    for answer in ("y", None):
        code, said = told_where_memory_is_small(tools, tmp_path, answer)
        assert code == 7, "it goes on to the virtual environment"
        assert "make deb ARCH=arm64" in said


FAKE_PYTHON = """#!/bin/bash
case "$*" in
  "-m venv "*)
    mkdir -p "$3/bin"
    echo "$QUALITY" >"$3/quality"
    echo 'include-system-site-packages = false' >"$3/pyvenv.cfg"
    printf '#!/bin/sh\\n[ "$QUALITY" != absent ]\\n' | tee "$3/bin/python" >"$3/bin/cubist"
    chmod +x "$3/bin/python" "$3/bin/cubist" ;;
esac
"""
FAKE_SYSTEMCTL = """#!/bin/bash
case "$*" in "restart cubistd.service")
  [ "$(cat "$ROOT/opt/cubist/current/quality")" = good ] ;;
esac
"""
COUNTED = """#!/bin/bash
echo "$0" >>"$STEPS"
[ "$(wc -l <"$STEPS")" != "$STOP_AT" ] || kill -{signal} 0
exec {program} "$@"
"""
"""Wrapper of a script's commands. Step number STOP_AT sends a signal to its whole process group."""
COMMANDS = "fake-python systemctl systemd-sysusers mktemp install ln mv rm gzip cp sed"

UNIT = "etc/systemd/system/cubistd.service"


class Installation:
    """A root for the installer, with stand-ins for Python and systemd."""

    def __init__(self, tools: Path, folder: Path) -> None:
        self.root = folder / "root"
        self.home = self.root / "opt/cubist"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self._tools = tools
        self._steps = folder / "steps"
        program(tools, "fake-python", FAKE_PYTHON)
        program(tools, "systemctl", FAKE_SYSTEMCTL)
        for name in ("systemd-sysusers", "systemd-tmpfiles", "udevadm"):
            program(tools, name, "#!/bin/sh\n")

    def install(self, quality: str, stop_at: int = 0) -> int:
        """Install a version that starts only if it is good; return the exit code."""
        self._steps.write_text("")
        settings = {
            "DESTDIR": str(self.root),
            "CUBIST_START": "yes",
            "CUBIST_WHEEL": "cubist.whl",
            "PYTHON": str(self._tools / "fake-python"),
            "QUALITY": quality,
            "ROOT": str(self.root),
            "STEPS": str(self._steps),
            "STOP_AT": str(stop_at),
            "TMPDIR": str(self.scratch),
        }
        done = subprocess.run(
            [SYSTEMD / "install"],
            env=os.environ | settings,
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert list(self.scratch.iterdir()) == [], "nothing is left behind"
        self.said = done.stderr
        return done.returncode

    def count_steps(self, signal: str) -> None:
        for name in COMMANDS.split():
            real = Path(shutil.which(name))
            if real.parent == self._tools:
                real = real.rename(self._tools / f"real-{name}")
            program(self._tools, name, COUNTED.format(signal=signal, program=real))

    def keep_working(self) -> Path:
        """Mark the files of the working version and return its folder."""
        (self.root / UNIT).write_text("of the version that works")
        return self.current

    def assert_unchanged(self, working: Path) -> None:
        assert self.versions == {working} == {self.current}
        assert (self.root / UNIT).read_text() == "of the version that works"

    def assert_upgraded(self, working: Path) -> None:
        assert self.versions == {working, self.current} != {working}
        assert (self.root / UNIT).read_text() == (SYSTEMD / "cubistd.service").read_text()

    @property
    def steps(self) -> int:
        return len(self._steps.read_text().splitlines())

    @property
    def current(self) -> Path:
        return (self.home / "current").resolve(strict=True)

    @property
    def versions(self) -> set[Path]:
        return set((self.home / "versions").iterdir())


@pytest.fixture
def installation(tools: Path, tmp_path: Path) -> Installation:
    return Installation(tools, tmp_path)


def test_upgrades_that_fail_leave_the_version_that_works(installation):
    assert installation.install("good") == 0
    working = installation.keep_working()
    for quality in ("bad", "absent", "bad"):
        assert installation.install(quality) == 1
        assert ("the version before is running again" in installation.said) == (quality == "bad")
        installation.assert_unchanged(working)
    assert installation.install("good") == 0
    installation.assert_upgraded(working)


def test_a_first_version_that_does_not_start_stays_to_be_looked_at(installation):
    assert installation.install("bad") == 1
    assert installation.versions == {installation.current}
    assert "there is no version before" in installation.said


def test_the_version_before_stays_whatever_the_clock_says(installation, tools):
    before = None
    for date in ("20260501-120000", "20260401-120000", "20260601-120000", "19700101-000000") * 2:
        program(tools, "date", f"#!/bin/sh\necho {date}\n")
        assert installation.install("good") == 0
        assert installation.versions == {installation.current, before or installation.current}
        assert (installation.home / "previous").exists() == (before is not None)
        before = installation.current


@pytest.mark.parametrize(
    ("signal", "every"), [("INT", 11), ("HUP", 23), pytest.param("INT", 1, marks=pytest.mark.long)]
)
def test_an_upgrade_that_is_broken_off_leaves_the_version_before(installation, signal, every):
    assert installation.install("good") == 0
    working = installation.keep_working()
    installation.count_steps(signal)
    for stop_at in itertools.count(every, every):
        code = installation.install("good", stop_at)
        if installation.current != working:
            break
        assert code != 0
        installation.assert_unchanged(working)
    assert code == 0 or "the new version is running" in installation.said
    assert installation.steps > 40
    installation.assert_upgraded(working)


FAKE_GPG = """#!/bin/bash
while [ $# -gt 0 ]; do
  [ "$1" != --output ] || cp Release "$2"
  shift
done
"""
"""A gpg whose signatures are unsigned copies."""
FAKE_MV = """#!/bin/sh
case "$1" in */.new/dists) exit 1 ;; esac
exec {mv} "$@"
"""
OLD_DAYS = 40


class Repository:
    """An apt repository that grows by one version at a time."""

    def __init__(self, tools: Path, folder: Path) -> None:
        self.lists = folder / "root/dists"
        self._folder = folder
        program(tools, "gpg", FAKE_GPG)
        program(tools, "gpgv", "#!/bin/sh\n")

    def extend(self, version: str) -> int:
        """Add a version; return the exit code."""
        package = make_package(self._folder, f"{version}+deb13")
        words = {"KEY": "me", "DEBS": str(package), "REPOSITORY": str(self.lists.parent)}
        words["ADDRESS"] = "https://robots.example/apt"
        done = subprocess.run([SYSTEMD / "repository"], env=os.environ | words, check=False)
        assert not (self.lists.parent / ".new").exists(), "nothing is left behind"
        return done.returncode

    def age(self) -> None:
        then = time.time() - OLD_DAYS * 86_400
        for path in self.lists.rglob("*"):
            os.utime(path, (then, then))

    @property
    def by_hash(self) -> set[str]:
        """Return the names of all lists, current and old, that can be fetched by hash."""
        return {path.name for path in self.lists.glob("trixie/main/*/by-hash/*/*")}

    @property
    def contents(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.lists.rglob("*") if path.is_file()}


@pytest.fixture
def repository(tools: Path, tmp_path: Path) -> Repository:
    if shutil.which("apt-ftparchive") is None:
        pytest.skip("apt-ftparchive is not installed")
    return Repository(tools, tmp_path)


def test_a_list_is_found_for_weeks_after_it_was_replaced(repository):
    assert repository.extend("1.0") == 0
    first = repository.by_hash
    repository.age()
    assert repository.extend("1.1") == 0
    second = repository.by_hash
    assert first < second, "a robot may have read Release a second ago"
    repository.age()
    assert repository.extend("1.2") == 0
    gone = first - repository.by_hash
    assert gone and second - first <= repository.by_hash


def test_a_repository_that_cannot_take_new_lists_keeps_the_old_ones(repository, tools):
    assert repository.extend("1.0") == 0
    before = repository.contents
    program(tools, "mv", FAKE_MV.format(mv=shutil.which("mv")))
    assert repository.extend("1.1") != 0
    assert repository.contents == before


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_an_installation_from_source_holds_nothing_it_was_built_with(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("DESTDIR", str(tmp_path / "root"))
    subprocess.run([SYSTEMD / "install"], check=True)
    [version] = (tmp_path / "root/opt/cubist/versions").iterdir()
    # The shebang of bin/cubist names the final path, so the interpreter here runs the module.
    subprocess.run([version / "bin/python", "-m", "robot.cli.main", "--version"], check=True)
    installed = {entry.name for entry in version.glob("lib/python*/site-packages/*")}
    installed |= {entry.name for entry in (version / "bin").iterdir()}
    builders = {"cmake", "ninja", "nanobind", "scikit_build_core"}
    assert not {name for name in installed if name.split("-")[0] in builders}
    assert not list(scratch.iterdir())
