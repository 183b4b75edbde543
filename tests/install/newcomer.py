"""``newcomer.py FOLDER PID CASE...``: README's commands in clean Debian roots, as a plain user.

A case is ``RELEASE-FIRST``, with ``demo`` or ``test`` first. What came of it is in FOLDER/CASE:
``facts`` (``NAME=VALUE`` lines), ``log``, or ``refused`` where no root can be made, and ``ended``.
FOLDER/over says that nothing more will come. Everything ends, and FOLDER goes, when process PID
has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import debian_root
from debian_root import CACHE, CHECKOUT, NEWCOMER, NoDebian

REPOSITORY = "/host/cubist.bundle"
"""What stands in README for the repository, in the root."""
QUICK = "ARGS='-m quick -rfEs'"
"""What stands before `make test`: the tests that need what the two commands make, and few more."""


def main(folder: Path, cases: list[str]) -> None:
    """One root after the other."""
    bundle = folder / "cubist.bundle"
    bundle_checkout(bundle)
    for case in cases:
        share = folder / case
        share.mkdir()
        shutil.copy(bundle, share)
        try:
            run_case(share, *case.split("-"))
        except NoDebian as error:
            (share / "refused").write_text(str(error))
        (share / "ended").touch()


def run_case(share: Path, release: str, first: str) -> None:
    """Go through README in a root of its own."""
    (share / "lines").write_text("\n".join(script(first)))
    shutil.copy(Path(__file__).with_name("newcomer_scenario"), share / "scenario")
    with _place_for(release) as folder:
        root = debian_root.unpacked(release, folder)
        downloads = CACHE / "downloads" / release
        binds = [
            f"--bind={share}:/host",
            f"--bind={_made(downloads / 'apt')}:/var/cache/apt/archives",
            f"--bind={_made(downloads / 'pip')}:/home/{NEWCOMER}/.cache/pip",
            *(f"--bind-ro={path}" for path in debian_root.local_places()),
        ]
        nspawn = ["systemd-nspawn", "--quiet", f"--directory={root}", "--as-pid2"]
        nspawn += ["--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off"]
        nspawn += ["--console=pipe", "--hostname=localhost"]
        with (share / "console").open("wb") as console:
            subprocess.run(
                ["setpriv", "--pdeathsig", "KILL", *nspawn, *binds, "/host/scenario", NEWCOMER],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                check=False,
            )


@contextlib.contextmanager
def _place_for(release: str) -> Iterator[Path]:
    """A folder for a root, removed afterwards; for one root of a release at a time."""
    roots = _made(CACHE / "roots")
    with (roots / f"{release}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        folder = roots / release
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
        try:
            yield _made(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def readme_lines() -> list[str]:
    """The commands of README's "Try it", without their comments."""
    text = (CHECKOUT / "README.md").read_text()
    block = re.search(r"## Try it\n.*?\n((?:    [^\n]*\n)+)", text, re.DOTALL)
    assert block, "README shows no commands under 'Try it'"
    return [line.partition("#")[0].strip() for line in block[1].splitlines()]


def script(first: str) -> list[str]:
    """README's commands in one of both orders, each followed by its exit code as a fact."""
    *prepare, demo, test = readme_lines()
    assert (demo, test) == ("make demo", "make test"), "README's commands are others now"
    typed = {"demo": demo, "test": f"{QUICK} {test}"}
    lines = [line.replace("<this repository>", shlex.quote(REPOSITORY)) for line in prepare]
    lines = [text for line in lines for text in (line, "fact prepared $?")]
    for name in (first, "test" if first == "demo" else "demo"):
        lines += [typed[name], f"fact {name} $?"]
    return lines


def bundle_checkout(bundle: Path) -> None:
    """The files of this checkout as they are now, committed or not, as something to clone."""
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory(dir=bundle.parent) as copy:
        for name in filter(None, names):
            if (CHECKOUT / name).exists():
                _made((Path(copy) / name).parent)
                shutil.copy2(CHECKOUT / name, Path(copy) / name, follow_symlinks=False)
        git = ["git", "-C", copy, "-c", "user.name=Cubist", "-c", "user.email=cubist@localhost"]
        subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
        subprocess.run([*git, "add", "--all", "--force"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message=As it stands"], check=True)
        subprocess.run([*git, "bundle", "create", "--quiet", bundle, "HEAD", "main"], check=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def end_with(process: int) -> None:
    """Be terminated, with everything started from here, when a process has ended."""
    ended = os.pidfd_open(process)

    def wait() -> None:
        select.select([ended], [], [])
        os.killpg(0, signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the root is removed then, too
    place, tests = Path(sys.argv[1]), int(sys.argv[2])
    end_with(tests)
    try:
        main(place, sys.argv[3:])
    finally:
        (place / "over").touch()
    with contextlib.suppress(SystemExit):
        signal.pause()
    shutil.rmtree(place)
