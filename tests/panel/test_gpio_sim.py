"""The panel on real GPIO lines: the kernel's gpio-sim in a virtual machine, through rpi-lgpio.

Debian's kernels are built without gpio-sim, so it is compiled as a module from the very kernel's
source. The machine is emulated and its clock counts instructions: what it measures does not depend
on how busy this computer is. It sees this computer's files, read only.
"""

from __future__ import annotations

import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent / "machine"
PYTHON = Path(__file__).resolve().parents[2] / ".venv/bin/python"
MODULES = [
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "configfs"),
]
"""In the order in which they are loaded; a kernel that has one built in has no file for it."""
SOURCES = ("drivers/gpio/gpio-sim.c", "drivers/gpio/gpiolib.h", "kernel/irq/irq_sim.c")
INSIDE = """cd /run
export LG_WD=/run RPI_LGPIO_REVISION=c03114 PYTHONPATH=/mnt/packages PYTHONDONTWRITEBYTECODE=1
{python} -P /mnt/gpio_scenario.py >/mnt/found
"""

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def quiet(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder; its standard output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[0]}: {done.stderr[-2000:]}"
    return done.stdout


def why_not() -> str | None:
    """Why the machine cannot be made here; None when it can."""
    if platform.machine() != "x86_64":
        return "the virtual machine is an x86_64"
    if os.geteuid() != 0:
        return "the virtual machine shares all files of this computer, which only root may read"
    if not PYTHON.exists():
        return f"{PYTHON} does not exist"
    for program in ("qemu-system-x86_64", "apt-get", "dpkg-deb", "make", "gcc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


def kernel_packages(folder: Path) -> list[str]:
    """Debian's kernel, what it takes to build a module for it, its source, and busybox."""
    image = _depends("linux-image-amd64", "linux-image-", folder)[0]
    release = image.removeprefix("linux-image-").removesuffix("-unsigned")
    headers = f"linux-headers-{release}"
    build = _depends(headers, "linux-(?:headers|kbuild)-", folder)
    shown = quiet("apt-cache", "show", image, folder=folder)
    found = re.search(r"^Version: (\S+)", shown, re.MULTILINE)
    assert found is not None
    series = ".".join(release.split(".")[:2])
    return [image, headers, *build, f"linux-source-{series}={found[1]}", "busybox-static"]


def _depends(package: str, pattern: str, folder: Path) -> list[str]:
    text = quiet("apt-cache", "depends", package, folder=folder)
    return re.findall(rf"Depends: ({pattern}\S+)", text)


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, unpacked in one folder; the module's sources in ``module``."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("kernel")
    try:
        quiet("apt-get", "download", *kernel_packages(folder), folder=folder)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        quiet(*pip, "--target", folder / "share/packages", "lgpio", "rpi-lgpio", folder=folder)
    except (AssertionError, IndexError) as error:
        pytest.skip(f"the kernel or the library cannot be fetched: {error}")
    for package in folder.glob("*.deb"):
        quiet("dpkg-deb", "-x", package, folder, folder=folder)
        package.unlink()
    [archive] = (folder / "usr/src").glob("linux-source-*.tar.xz")
    names = [f"{archive.name.removesuffix('.tar.xz')}/{name}" for name in SOURCES]
    where = ("--one-top-level=module", "--transform=s|.*/||")
    quiet("tar", "-xf", archive, *where, *names, folder=folder)
    return folder


@pytest.fixture(scope="module")
def module(debian: Path) -> Path:
    """gpio-sim with the simulated interrupts that the kernel would have with it."""
    folder = debian / "module"
    source = folder / "irq_sim.c"
    # The kernel exports this only for its own parts; modules go through the interrupt's data.
    exported = source.read_text().replace(
        "irq_to_desc(irqnum)", "irq_data_to_desc(irq_get_irq_data(irqnum))"
    )
    source.write_text(exported)
    (folder / "Kbuild").write_text(
        "obj-m := gpio-simulator.o\ngpio-simulator-y := gpio-sim.o irq_sim.o\n"
    )
    [headers] = (debian / "usr/src").glob("linux-headers-*-amd64")
    makefile = headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{debian}/usr/src/"))
    quiet("make", "-C", headers, f"M={folder}", "modules", folder=folder)
    return folder / "gpio-simulator.ko"


@pytest.fixture(scope="module")
def found(debian: Path, module: Path) -> dict[str, Any]:
    """What the scenario found in the machine."""
    share = debian / "share"
    shutil.copy(HERE / "gpio_scenario.py", share)
    (share / "inside").write_text(INSIDE.format(python=PYTHON))
    _make_first_files(debian, module)
    [kernel] = (debian / "boot").glob("vmlinuz-*")
    files = "local,security_model=none"
    command = "qemu-system-x86_64 -machine pc -cpu max -m 512 -nodefaults -nographic -no-reboot"
    options = ["-icount", "shift=2,sleep=off", "-serial", "stdio", "-kernel", str(kernel)]
    options += ["-initrd", "first.gz", "-append", "console=ttyS0 panic=-1 quiet"]
    options += ["-virtfs", f"{files},path=/,mount_tag=root,readonly=on,multidevs=remap"]
    options += ["-virtfs", f"{files},path={share},mount_tag=share"]
    console = quiet(*command.split(), *options, folder=debian)
    log = share / "log"
    assert log.exists(), console
    assert (share / "found").exists(), log.read_text()
    text = (share / "found").read_text()
    assert text, log.read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def _make_first_files(debian: Path, module: Path) -> None:
    """What the kernel starts with: busybox, the modules, and ``init``."""
    first = debian / "first"
    for name in ("bin", "modules"):
        (first / name).mkdir(parents=True)
    [busybox] = (path for path in debian.glob("**/bin/busybox") if path.is_file())
    shutil.copy(busybox, first / "bin")
    shutil.copy(HERE / "init", first / "init")
    files = {path.name.split(".")[0]: path for path in debian.glob("**/modules/*/kernel/**/*.ko*")}
    order = [name for name in MODULES if name in files]
    for name in order:
        data = files[name].read_bytes()
        packed = files[name].suffix == ".xz"
        (first / "modules" / name).write_bytes(lzma.decompress(data) if packed else data)
    shutil.copy(module, first / "modules" / module.stem)
    (first / "modules/order").write_text("\n".join([*order, module.stem]) + "\n")
    pack = "find . | bin/busybox cpio -o -H newc | gzip -1 >../first.gz"
    quiet("sh", "-c", pack, folder=first)


def test_presses_are_told_apart_though_the_contact_bounces(found: dict[str, Any]) -> None:
    assert found["presses"] == ["short", "long", "very-long"]


def test_a_touch_button_needs_its_polarity(found: dict[str, Any]) -> None:
    stuck = ["stuck GPIO 17", "stuck"]
    assert found["touches"] == ["short", "very-long", *stuck, *stuck, "stuck GPIO 17"]


def test_bounce_and_the_mains_are_no_presses(found: dict[str, Any]) -> None:
    assert found["noise"] == []


def test_the_emergency_stop_and_its_broken_wire(found: dict[str, Any]) -> None:
    assert found["emergency"] == ["estop True", "estop False", "estop True"]


def test_edges_and_levels_agree(found: dict[str, Any]) -> None:
    assert found["edges"] == [False, True, False, True]


def test_light_and_buzzer_drive_their_lines(found: dict[str, Any]) -> None:
    assert found["light"] == [1, [0, 1], 1]


def test_a_pin_that_another_program_uses_is_a_clear_fault(found: dict[str, Any]) -> None:
    assert found["busy"].startswith("GPIO 17: 'GPIO busy'. Check that")
    assert found["after"] == "nothing"
