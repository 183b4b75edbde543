"""Debian's kernel, and modules that Debian does not build, from the very kernel's source.

``gpio-sim`` has lines of which a program sees both sides, ``pwm-pca9685`` is the driver of a servo
board, and Debian's own ``i2c-stub`` stands for the chip that it drives.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCES = (
    *("drivers/gpio/gpio-sim.c", "drivers/gpio/gpiolib.h", "kernel/irq/irq_sim.c"),
    "drivers/pwm/pwm-pca9685.c",
)
KBUILD = """obj-m := gpio-simulator.o pwm-pca9685.o
gpio-simulator-y := gpio-sim.o irq_sim.o
"""
MODULES = ("gpio-simulator", "pwm-pca9685")
"""Of these."""
LIBRARIES = ("lgpio", "rpi-lgpio")
"""Python packages that a Raspberry Pi has."""
PROGRAMS = ("qemu-system-x86_64", "apt-get", "dpkg-deb", "make", "gcc")


class Unavailable(Exception):
    """Why there is no such machine here."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A folder with Debian's packages unpacked, and the modules that were made for it."""

    folder: Path
    release: str
    made: tuple[Path, ...]
    packages: Path

    @property
    def image(self) -> Path:
        """What boots."""
        [image] = (self.folder / "boot").glob("vmlinuz-*")
        return image

    def module(self, name: str) -> Path | None:
        """The file of a module; None for what is built in."""
        files = [*self.made, *self.folder.glob("lib/modules/*/kernel/**/*.ko*")]
        return next((path for path in files if path.name.split(".")[0] == name), None)


def quiet(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder; its standard output. Raises :class:`Unavailable`."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unavailable(f"{command[0]}: {done.stderr[-2000:]}")
    return done.stdout


def require() -> None:
    """Raises :class:`Unavailable` where the machine cannot be made."""
    if platform.machine() != "x86_64":
        raise Unavailable("the virtual machine is an x86_64")
    if os.geteuid() != 0:
        raise Unavailable("the machine shares all files of this computer: only root may read them")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed")


def fetched(folder: Path) -> Kernel:
    """Fetch the kernel into a folder and make the modules; raises :class:`Unavailable`."""
    require()
    packages, release = _packages(folder)
    quiet("apt-get", "download", *packages, folder=folder)
    libraries = folder / "libraries"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    quiet(*pip, "--target", libraries, *LIBRARIES, folder=folder)
    for package in folder.glob("*.deb"):
        quiet("dpkg-deb", "-x", package, folder, folder=folder)
        package.unlink()
    return Kernel(folder, release, _made(folder), libraries)


def _packages(folder: Path) -> tuple[list[str], str]:
    """The kernel, what it takes to build a module for it, its source, and busybox; its release."""
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


def _made(folder: Path) -> tuple[Path, ...]:
    """The modules, built in ``module``."""
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
    return tuple(sources / f"{name}.ko" for name in MODULES)
