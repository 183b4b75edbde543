"""Packages as owners get them, and containers: a Debian booted with systemd as PID 1."""

from __future__ import annotations

import fcntl
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.system.install.debian_root import (
    CHECKOUT,
    assert_story,
    bundle_checkout,
    go_through,
    read_facts,
    unpack_root,
    why_absent,
    why_no_root,
)

INSTALL = Path(__file__).with_name("install")
LOCK = CHECKOUT / "systemd/lock" / f"python{sys.version_info.major}.{sys.version_info.minor}"
BOOT_LIMIT_S = 600
SYSTEM_PYTHON = "/usr/bin/python3"
SIMULATOR = CHECKOUT / ".venv/bin/python"
"""Interpreter that also runs the simulated robot in the container."""
NEEDED_BYTES = 3 * 1024**3
"""Memory for two versions of the program and everything else that runs."""

RunScenario = Callable[..., Mapping[str, str]]
UnpackRoot = Callable[[str, str], Path]


def why_no_container() -> str | None:
    absent = why_absent(
        "systemd-nspawn", "unshare", "setpriv", "/lib/systemd/systemd", str(SIMULATOR)
    )
    if absent:
        return absent
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    if int(fields["MemAvailable"].split()[0]) * 1024 < NEEDED_BYTES:
        return f"less than {NEEDED_BYTES // 1024**3} GB of memory are free"
    # The program is installed for the system's Python from a wheel made by ours.
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [SYSTEM_PYTHON, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.stdout.strip() != ours:
        return f"{SYSTEM_PYTHON} is not Python {ours} with venv, for which the wheel is built"
    # Overlays above / may be forbidden, or this machine may be a container without mounts.
    script = """cd "$0" && mount -t tmpfs none . && cd "$0" && mkdir upper work root &&
        mount -t overlay none -o lowerdir=/,upperdir=upper,workdir=work root"""
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "--mount", "bash", "-c", script, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"mounts are not allowed here: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture(scope="session")
def containers() -> None:
    reason = why_no_container()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def wheels(containers: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with wheels of Cubist and its dependencies. Nothing later needs a network."""
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(wheels)]
    with (CHECKOUT / "build" / ".prepare.lock").open("w") as turn:
        # `make demo` may be running: it builds in the same folder.
        fcntl.flock(turn, fcntl.LOCK_EX)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(CHECKOUT)], check=True)
    command = [*pip, "--no-deps", "--require-hashes", "--requirement", str(LOCK / "program.txt")]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"the packages it needs cannot be fetched: {fetched.stderr.strip()[-500:]}")
    return wheels


@pytest.fixture
def fresh_root(tmp_path: Path) -> Iterator[UnpackRoot]:
    """Yield a function that makes a root of a release, which is removed after the test."""
    yield lambda release, packages: unpack_root(release, tmp_path, packages=packages)
    shutil.rmtree(tmp_path / "root", ignore_errors=True)


@pytest.fixture(scope="session")
def run_scenario(containers: None) -> RunScenario:
    """Return a function ``(share, base="/", *words)`` that boots ``base`` with ``share`` as /host.

    ``share`` holds a program ``scenario``, which ends the container. The function prints /host/log
    and returns the ``NAME=VALUE`` lines that the scenario wrote to /host/facts.
    """

    def run(share: Path, base: Path = Path("/"), *words: str) -> Mapping[str, str]:
        folder = share.with_name(share.name + "-container")
        folder.mkdir()
        with (Path(tempfile.gettempdir()) / "cubist-container.lock").open("w") as turn:
            # Containers of two simultaneous test runs would share their control groups.
            fcntl.flock(turn, fcntl.LOCK_EX)
            ended = _boot(folder, share, base, words)
        log = share / "log"
        if not log.exists():
            console = (folder / "console").read_text(errors="replace").strip()[-500:]
            assert ended, f"the container never came as far as the scenario: {console}"
            pytest.skip(f"no container boots here: {console}")
        return read_facts(share)

    return run


def _boot(folder: Path, share: Path, base: Path, words: Sequence[str] = ()) -> bool:
    """Run the container; return whether it ended by itself. Its namespaces clean up after it."""
    # The container does not outlive this process, however it ends.
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"]
    command += ["--pid", "--fork", "--kill-child", "--mount-proc", str(INSTALL / "boot")]
    with (folder / "console").open("wb") as console, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [*command, str(folder), str(share), str(CHECKOUT), str(base), *words],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            timeout=BOOT_LIMIT_S,
            check=False,
        )
        return True
    # The log shows the container's last step, and says more than an exception.
    return False


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
        made = go_through(
            release, share, INSTALL / "package_build_scenario", "package" if is_alone else "all"
        )
        for expected in ["made=0"] if is_alone else MADE.values():
            assert_story(made, expected)
        return share

    return make
