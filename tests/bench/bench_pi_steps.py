"""How even the steps of the Raspberry Pi's process are at GPIO lines, by the kernel's own trace.

On Debian's kernel in the emulated machine of ``tests/system/kernel``, which runs 250 million
instructions a second: the figures do not depend on how busy this computer is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.figures import Emit
from tests.system.kernel.inside.lines import FASTEST, STEP, errors_us, intervals_us, quantile
from tests.system.kernel.machine import Unavailable, boot, fetch_kernel

INTERVAL_US = 1e6 / FASTEST


def main(emit: Emit) -> None:
    """Alone, and beside two programs that never wait."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            kernel = fetch_kernel(Path(folder))
        except Unavailable as reason:
            print(f"[bench] no virtual machine here: {reason}", file=sys.stderr)
            return
        found = boot(kernel, ["lines"])["lines"]["steps"]
    for load in ("alone", "busy"):
        changes = found[load]["changes"]
        errors = errors_us(changes, STEP, INTERVAL_US)
        detail = {
            "beside": load,
            "kernel": kernel.release,
            "p50": quantile(errors, 0.5),
            "p99": quantile(errors, 0.99),
            "p999": quantile(errors, 0.999),
            "max": errors[-1],
            "shortest": min(intervals_us(changes, STEP)),
        }
        rounded = {name: round(x) if isinstance(x, float) else x for name, x in detail.items()}
        emit("pi-steps-p99", round(detail["p99"]), "us", len(errors), rounded)
