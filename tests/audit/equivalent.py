"""Mutants that a person judged to change nothing anyone could notice."""

from __future__ import annotations

import tomllib
from pathlib import Path

LIST = Path(__file__).with_name("equivalent.toml")


def known_equivalents() -> set[tuple[str, str]]:
    """``(file, difference)`` of the mutants in equivalent.toml."""
    found = tomllib.loads(LIST.read_text()).get("mutant", [])
    return {(mutant["file"], mutant["difference"].strip("\n")) for mutant in found}
