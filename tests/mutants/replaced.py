"""A pytest plugin: one source of the product is read from elsewhere.

CUBIST_REPLACED names it, from the checkout's root; CUBIST_REPLACEMENT is the file read instead.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

PLACE = str(Path(__file__).resolve().parents[2] / os.environ["CUBIST_REPLACED"])
TEXT = Path(os.environ["CUBIST_REPLACEMENT"]).read_bytes()
usual = SourceFileLoader.get_code


def get_code(loader: Any, fullname: str) -> CodeType | None:
    """The code of a module; never what is stored compiled of the one replaced."""
    if loader.get_filename(fullname) == PLACE:
        return compile(TEXT, PLACE, "exec", dont_inherit=True)
    return usual(loader, fullname)


SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
