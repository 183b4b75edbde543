"""Load a mutant into every Python process that a test starts during `make mutants`.

Python imports this automatically, because the folder is in its PYTHONPATH. CUBIST_REPLACED names a
source of the product, relative to the checkout's root, and CUBIST_REPLACEMENT the file to read
instead. CUBIST_NATIVE is the search kernel to use instead of the installed one.
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
    place = str(Path(__file__).resolve().parents[3] / name)
    usual = SourceFileLoader.get_code

    def get_code(loader: Any, fullname: str) -> CodeType | None:
        """Return the code of a module. Never read the replaced one from a compiled file."""
        if loader.get_filename(fullname) == place:
            return compile(Path(replacement).read_bytes(), place, "exec", dont_inherit=True)
        return usual(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class OtherKernel:
    """A finder of the changed search kernel."""

    def __init__(self, file: str) -> None:
        self._file = file

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != KERNEL:
            return None
        loader = ExtensionFileLoader(name, self._file)
        return spec_from_file_location(name, self._file, loader=loader)


if os.environ.get("CUBIST_REPLACED"):
    replace_source(os.environ["CUBIST_REPLACED"], os.environ["CUBIST_REPLACEMENT"])
if os.environ.get("CUBIST_NATIVE"):
    sys.meta_path.insert(0, OtherKernel(os.environ["CUBIST_NATIVE"]))
