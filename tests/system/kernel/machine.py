"""A virtual machine with Debian's kernel that sees this computer's files, read only.

It is emulated and its clock counts instructions, four nanoseconds each, so its measurements do not
depend on the load of this computer. Modules that Debian does not build are made from the same
kernel's source. ``gpio-sim`` has lines whose two sides a program sees, ``pwm-pca9685`` is the
driver of a servo board, and Debian's own ``i2c-stub`` stands for the chip that it drives.

A second machine, which ``camera_system`` makes with Debian 13, libcamera and OpenCV, has cameras
that exist in software only.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.system.install.debian_root import CACHE, OLDEST_S, apt_sources, go_through, why_no_root

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
PYTHON = CHECKOUT / ".venv/bin/python"
SOURCES = (
    *("drivers/gpio/gpio-sim.c", "drivers/gpio/gpiolib.h", "kernel/irq/irq_sim.c"),
    "drivers/pwm/pwm-pca9685.c",
)
KBUILD = """obj-m := gpio-simulator.o pwm-pca9685.o
gpio-simulator-y := gpio-sim.o irq_sim.o
"""
MADE = ("gpio-simulator", "pwm-pca9685")
LIBRARIES = ("lgpio", "rpi-lgpio")
"""Python packages that a Raspberry Pi has."""
PROGRAMS = ("qemu-system-x86_64", "apt-get", "dpkg-deb", "make", "gcc")


class Unavailable(Exception):
    """The machine cannot be made here; the text gives the reason."""


def or_skip(fetch: Callable[[Path], T], folder: Path) -> T:
    """Return what is fetched into a folder, or skip the test."""
    try:
        return fetch(folder)
    except Unavailable as reason:
        pytest.skip(f"no virtual machine here: {reason}")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A folder with Debian's packages unpacked, and the modules built for it."""

    folder: Path
    release: str
    made: tuple[Path, ...]
    packages: Path

    @property
    def image(self) -> Path:
        [image] = (self.folder / "boot").glob("vmlinuz-*")
        return image

    def module(self, name: str) -> Path | None:
        """Return the file of a module; None if it is built in."""
        files = [*self.made, *self.folder.glob("lib/modules/*/kernel/**/*.ko*")]
        return next((path for path in files if path.name.split(".")[0] == name), None)


def quiet(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder and return its stdout. Raise :class:`Unavailable` if it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unavailable(f"{command[0]}: {done.stderr[-2000:]}")
    return done.stdout


def fetch_kernel(folder: Path) -> Kernel:
    """Fetch the kernel into a folder and make the modules, or raise :class:`Unavailable`."""
    if platform.machine() != "x86_64":
        raise Unavailable("the virtual machine is an x86_64")
    if os.geteuid() != 0:
        raise Unavailable("the machine shares all files of this computer: only root may read them")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed")
    packages, release = _packages(folder)
    quiet("apt-get", "download", *packages, folder=folder)
    libraries = folder / "libraries"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    quiet(*pip, "--target", libraries, *LIBRARIES, folder=folder)
    for package in folder.glob("*.deb"):
        quiet("dpkg-deb", "-x", package, folder, folder=folder)
        package.unlink()
    return Kernel(folder, release, _make_modules(folder), libraries)


def _packages(folder: Path) -> tuple[list[str], str]:
    """Return the packages of kernel, source, build tools and busybox, and the kernel's release."""
    image = _depends("linux-image-amd64", "linux-image-", folder)[0]
    release = image.removeprefix("linux-image-").removesuffix("-unsigned")
    headers = f"linux-headers-{release}"
    build = _depends(headers, "linux-(?:headers|kbuild)-", folder)
    shown = quiet("apt-cache", "show", image, folder=folder)
    version = re.search(r"^Version: (\S+)", shown, re.MULTILINE)
    if version is None:
        raise Unavailable(f"apt knows no version of {image}")
    series = ".".join(release.split(".")[:2])
    source = f"linux-source-{series}={version[1]}"
    return [image, headers, *build, source, "busybox-static"], release


def _depends(package: str, pattern: str, folder: Path) -> list[str]:
    text = quiet("apt-cache", "depends", package, folder=folder)
    found = re.findall(rf"Depends: ({pattern}\S+)", text)
    if not found:
        raise Unavailable(f"apt knows nothing of {package}")
    return found


def _make_modules(folder: Path) -> tuple[Path, ...]:
    [archive] = (folder / "usr/src").glob("linux-source-*.tar.xz")
    names = [f"{archive.name.removesuffix('.tar.xz')}/{name}" for name in SOURCES]
    where = ("--one-top-level=module", "--transform=s|.*/||")
    quiet("tar", "-xf", archive, *where, *names, folder=folder)
    sources = folder / "module"
    # The kernel exports this only for its own parts; modules go through the interrupt's data.
    source = sources / "irq_sim.c"
    exported = source.read_text().replace(
        "irq_to_desc(irqnum)", "irq_data_to_desc(irq_get_irq_data(irqnum))"
    )
    source.write_text(exported)
    (sources / "Kbuild").write_text(KBUILD)
    [headers] = (folder / "usr/src").glob("linux-headers-*-amd64")
    makefile = headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{folder}/usr/src/"))
    quiet("make", "-C", headers, f"M={sources}", "modules", folder=sources)
    return tuple(sources / f"{name}.ko" for name in MADE)


MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "configfs"),
    *("gpio-simulator", "i2c-dev", "i2c-stub", "pwm-pca9685"),
)
"""Modules in the order of loading. A built-in one has no file."""
OPTIONS = {"i2c-stub": "chip_addr=0x40"}
INSIDE = """cd /run
export LG_WD=/run RPI_LGPIO_REVISION=c03114 PYTHONPATH=/mnt/packages:{checkout}
export PYTHONDONTWRITEBYTECODE=1
for scenario in {scenarios}; do
  {python} -P -m tests.system.kernel.inside.$scenario >/mnt/$scenario.json 2>/mnt/$scenario.log
done
"""
PREEMPTION = "preempt=full"
"""Preemption of the kernel of Raspberry Pi OS."""
EMULATED = ("-cpu", "max", "-icount", "shift=2,sleep=off")


def boot(kernel: Kernel, scenarios: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Run modules of ``inside`` one after the other; return the output of each."""
    share = kernel.folder / "share"
    share.mkdir()
    shutil.copytree(kernel.packages, share / "packages")
    inside = INSIDE.format(checkout=CHECKOUT, python=PYTHON, scenarios=" ".join(scenarios))
    (share / "inside").write_text(inside)
    _make_first_files(kernel)
    console = quiet(*_command(kernel, share), folder=kernel.folder)
    found = {scenario: _found(share, scenario, console) for scenario in scenarios}
    shutil.rmtree(share)
    return found


def _found(share: Path, scenario: str, console: str) -> dict[str, Any]:
    text, log = share / f"{scenario}.json", share / f"{scenario}.log"
    told = log.read_text() if log.exists() else console
    assert text.exists() and text.read_text(), told
    found: dict[str, Any] = json.loads(text.read_text())
    return found


def _command(kernel: Kernel, share: Path) -> list[str]:
    command = "qemu-system-x86_64 -machine pc -m 512 -nodefaults -nographic -no-reboot"
    files = "local,security_model=none"
    return [
        *command.split(),
        *EMULATED,
        *("-serial", "stdio", "-kernel", str(kernel.image), "-initrd", "first.gz"),
        *("-append", f"console=ttyS0 panic=-1 quiet {PREEMPTION}"),
        *("-virtfs", f"{files},path=/,mount_tag=root,readonly=on,multidevs=remap"),
        *("-virtfs", f"{files},path={share},mount_tag=share"),
    ]


def _make_first_files(kernel: Kernel) -> None:
    """Pack the initial file system: busybox, the modules, and ``init``."""
    first = kernel.folder / "first"
    for name in ("bin", "modules"):
        (first / name).mkdir(parents=True, exist_ok=True)
    busybox = next((path for path in kernel.folder.glob("**/bin/busybox") if path.is_file()), None)
    if busybox is None:
        raise Unavailable("there is no busybox")
    shutil.copy(busybox, first / "bin")
    shutil.copy(HERE / "init", first / "init")
    order = []
    for name in MODULES:
        file = kernel.module(name)
        if file is not None:
            data = file.read_bytes()
            packed = file.suffix == ".xz"
            (first / "modules" / name).write_bytes(lzma.decompress(data) if packed else data)
            order.append(f"{name} {OPTIONS.get(name, '')}".rstrip())
    (first / "modules/order").write_text("\n".join(order) + "\n")
    pack = "find . | bin/busybox cpio -o -H newc | gzip -1 >../first.gz"
    quiet("sh", "-c", pack, folder=first)


SYSTEM = HERE / "camera_system"
RELEASE, CODENAME = "13", "trixie"
PARTS = ("vmlinuz", "initrd", "root")
EMULATED_PC = ("-machine", "pc", "-cpu", "max", "-icount", "shift=0")
CAMERAS_INSIDE = """export PYTHONPATH=/srv PYTHONDONTWRITEBYTECODE=1
cd /tmp
timeout 1200 python3 -P -m tests.system.kernel.inside.cameras >/mnt/found 2>/mnt/told
"""


def fetch_system(share: Path) -> Path:
    """Return the folder with the machine's files. Make them unless they exist."""
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


def boot_cameras(system: Path, share: Path) -> dict[str, dict[str, Any]]:
    """Run the table of cameras in the machine; return each row's observations by its name."""
    (share / "inside").write_text(CAMERAS_INSIDE)
    files = "local,security_model=none,multidevs=remap"
    console = quiet(
        *("qemu-system-x86_64", *EMULATED_PC, "-m", "1024", "-nodefaults", "-nographic"),
        *("-no-reboot", "-serial", "stdio"),
        *("-kernel", system / "vmlinuz", "-initrd", system / "initrd"),
        *("-append", "console=ttyS0 panic=-1 quiet root=/dev/vda ro init=/sbin/machine"),
        *("-drive", f"file={system / 'root'},format=raw,if=virtio,readonly=on"),
        *("-virtfs", f"{files},path={share},mount_tag=share"),
        *("-virtfs", f"{files},path={CHECKOUT},mount_tag=checkout,readonly=on"),
        folder=share,
    )
    told = "\n".join((share / n).read_text() for n in ("log", "told") if (share / n).exists())
    print(told)  # pytest shows it with a row that failed
    text = share / "found"
    assert text.exists() and text.read_text(), told + console
    rows = [json.loads(line) for line in text.read_text().splitlines()]
    return {row["row"]: row for row in rows}
