"""A virtual machine with Debian's kernel that sees this computer's files, read only.

It is emulated and its clock counts instructions, four nanoseconds each: what it measures does not
depend on how busy this computer is.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.system.kernel.debian import Kernel, Unavailable, quiet

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
PYTHON = CHECKOUT / ".venv/bin/python"
MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "configfs"),
    *("gpio-simulator", "i2c-dev", "i2c-stub", "pwm-pca9685"),
)
"""In the order in which they are loaded; a kernel that has one built in has no file for it."""
OPTIONS = {"i2c-stub": "chip_addr=0x40"}
INSIDE = """cd /run
export LG_WD=/run RPI_LGPIO_REVISION=c03114 PYTHONPATH=/mnt/packages:{checkout}
export PYTHONDONTWRITEBYTECODE=1
for scenario in {scenarios}; do
  {python} -P -m tests.system.kernel.inside.$scenario >/mnt/$scenario.json 2>/mnt/$scenario.log
done
"""
PREEMPTION = "preempt=full"
"""As the kernel of Raspberry Pi OS is built."""
EMULATED = ("-cpu", "max", "-icount", "shift=2,sleep=off")


def boot(kernel: Kernel, scenarios: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Run modules of ``inside`` one after the other; return what each of them printed."""
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
    """What the kernel starts with: busybox, the modules, and ``init``."""
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
