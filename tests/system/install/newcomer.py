"""``newcomer.py FOLDER PID CASE...``: README's commands in clean Debian roots, as a plain user.

A case is ``RELEASE-FIRST``, with ``demo`` or ``test`` first. What came of it is in FOLDER/CASE:
``facts`` (``NAME=VALUE`` lines), ``log``, or ``refused`` where no root can be made, and ``ended``.
FOLDER/over says that nothing more will come. Everything ends, and FOLDER goes, when process PID
has ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import debian_root
from debian_root import CHECKOUT, NEWCOMER, NoDebian, bundle_checkout

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
    scenario = Path(__file__).with_name("newcomer_scenario")
    with debian_root.place_for(release) as folder:
        root = debian_root.unpacked(release, folder)
        debian_root.run_in(root, release, share, scenario, NEWCOMER)


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
    lines = [line.replace("ADDRESS", shlex.quote(REPOSITORY)) for line in prepare]
    lines = [text for line in lines for text in (line, "fact prepared $?")]
    for name in (first, "test" if first == "demo" else "demo"):
        lines += [typed[name], f"fact {name} $?"]
    return lines


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
