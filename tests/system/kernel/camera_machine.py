"""A virtual machine with Debian 13 and OpenCV, for webcams that exist in software only.

``camera_system`` makes it. qemu emulates its processor at 1 ns an instruction, so that the
libraries' limits in time do not depend on how busy this computer is.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

from tests.system.install.debian_root import CACHE, OLDEST_S, apt_sources, go_through, why_no_root
from tests.system.kernel.machine import CHECKOUT, HERE, Unavailable, quiet

SYSTEM = HERE / "camera_system"
RELEASE, CODENAME = "13", "trixie"
PARTS = ("vmlinuz", "initrd", "root")
EMULATED = ("-machine", "pc", "-cpu", "max", "-icount", "shift=0")
INSIDE = """export PYTHONPATH=/srv PYTHONDONTWRITEBYTECODE=1
cd /tmp
timeout 900 python3 -P -m tests.system.kernel.inside.{scenario} >/mnt/found.json 2>/mnt/told
"""


def fetch_system(share: Path) -> Path:
    """Return the folder with the machine's files, made unless they are there."""
    if reason := why_no_root():
        raise Unavailable(reason)
    inputs = [SYSTEM.read_text(), *apt_sources(CODENAME).values()]
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
    folder = CACHE / f"cameras-{digest}"
    if folder.exists() and time.time() - folder.stat().st_mtime < OLDEST_S:
        return folder
    for old in CACHE.glob(f"cameras-{'[0-9a-f]' * 16}"):
        shutil.rmtree(old)
    go_through(RELEASE, share, SYSTEM)
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for part in PARTS:
        shutil.move(share / part, unfinished / part)
    unfinished.rename(folder)
    return folder


def boot_cameras(system: Path, share: Path, scenario: str) -> dict[str, Any]:
    """Run a module of ``inside`` in the machine; return what it printed."""
    (share / "inside").write_text(INSIDE.format(scenario=scenario))
    files = "local,security_model=none,multidevs=remap"
    console = quiet(
        *("qemu-system-x86_64", *EMULATED, "-m", "1024", "-nodefaults", "-nographic"),
        *("-no-reboot", "-serial", "stdio"),
        *("-kernel", system / "vmlinuz", "-initrd", system / "initrd"),
        *("-append", "console=ttyS0 panic=-1 quiet root=/dev/vda ro init=/sbin/machine"),
        *("-drive", f"file={system / 'root'},format=raw,if=virtio,readonly=on"),
        *("-virtfs", f"{files},path={share},mount_tag=share"),
        *("-virtfs", f"{files},path={CHECKOUT},mount_tag=checkout,readonly=on"),
        folder=share,
    )
    told = "\n".join((share / n).read_text() for n in ("log", "told") if (share / n).exists())
    text = share / "found.json"
    assert text.exists() and text.read_text(), told + console
    found: dict[str, Any] = json.loads(text.read_text())
    return found
