"""README's two commands, in both orders, by an ordinary user in clean Debian 12 and 13 roots.

The roots are made and gone through beside the other tests, on a processor of their own if there is
one; see ``conftest.py`` here. These tests come last and wait for what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

pytestmark = pytest.mark.timeout(3600)

CASES = [
    pytest.param("13-demo", id="Debian 13, demo first"),
    pytest.param("13-test", id="Debian 13, test first", marks=pytest.mark.long),
    pytest.param("12-demo", id="Debian 12, demo first", marks=pytest.mark.long),
    pytest.param("12-test", id="Debian 12, test first", marks=pytest.mark.long),
]


@pytest.mark.parametrize("case", CASES)
def test_readme_s_commands_in_a_clean_debian(
    newcomer: Callable[[str], Mapping[str, str]], case: str
) -> None:
    facts = newcomer(case)
    assert facts["prepared"] == "0"
    assert facts["demo"] == "0"
    assert facts["test"] == "0", facts["failed"] or facts["quick"]
    assert re.search(r"\d+ passed", facts["quick"])
    assert facts["skipped"] in {"", "only root can be somebody else"}
    assert facts["simulator"] == "yes"
    assert facts["said_again"] == "0", "prepared again although nothing had changed"
    assert (facts["config_check"], facts["bad"]) == ("0", "boot board camera"), (
        "hardware is all that lacks"
    )
