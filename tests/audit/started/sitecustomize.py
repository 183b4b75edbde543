"""What every Python process does first that a test starts while `make mutants --within` asks it.

Started by Python itself: this folder is in its PYTHONPATH. COVERAGE_PROCESS_START: the process is
traced. CUBIST_REPLACED names a source of the product, from the checkout's root, and
CUBIST_REPLACEMENT the file read instead of it. CUBIST_NATIVE is a search kernel to be used instead
of the one that is installed.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

KERNEL = "solver._native"


def replace_source(name: str, replacement: str) -> None:
    """Read one source of the product from elsewhere."""
    place = str(Path(__file__).resolve().parents[3] / name)
    usual = SourceFileLoader.get_code

    def get_code(loader: Any, fullname: str) -> CodeType | None:
        """The code of a module; never what is stored compiled of the one replaced."""
        if loader.get_filename(fullname) == place:
            return compile(Path(replacement).read_bytes(), place, "exec", dont_inherit=True)
        return usual(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class OtherKernel:
    """Finds the search kernel elsewhere."""

    def __init__(self, file: str) -> None:
        self._file = file

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Where the kernel is; of other modules this knows nothing."""
        if name != KERNEL:
            return None
        loader = ExtensionFileLoader(name, self._file)
        return spec_from_file_location(name, self._file, loader=loader)


if os.environ.get("COVERAGE_PROCESS_START"):
    import coverage

    coverage.process_startup()
if os.environ.get("CUBIST_REPLACED"):
    replace_source(os.environ["CUBIST_REPLACED"], os.environ["CUBIST_REPLACEMENT"])
if os.environ.get("CUBIST_NATIVE"):
    sys.meta_path.insert(0, OtherKernel(os.environ["CUBIST_NATIVE"]))
