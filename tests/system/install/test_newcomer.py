"""README's two commands, in both orders, by an ordinary user in clean Debian 12 and 13 roots."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.system.install.debian_root import (
    CHECKOUT,
    NEWCOMER,
    bundle_checkout,
    go_through,
    why_no_root,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

REPOSITORY = "/host/cubist.bundle"
"""Address of the repository in the root, in place of README's."""
QUICK = "ARGS='-m quick -rfEs'"
"""Arguments of `make test`: only the tests that need what the two commands make, and a few more."""
CASES = {
    "13-demo": "Debian 13, demo first",
    "13-test": "Debian 13, test first",
    "12-demo": "Debian 12, demo first",
    "12-test": "Debian 12, test first",
}


def readme_lines() -> list[str]:
    """Return the commands of README's "Try it", without their comments."""
    text = (CHECKOUT / "README.md").read_text()
    block = re.search(r"## Try it\n.*?\n((?:    [^\n]*\n)+)", text, re.DOTALL)
    assert block, "README shows no commands under 'Try it'"
    return [line.partition("#")[0].strip() for line in block[1].splitlines()]


def script(first: str) -> list[str]:
    """Return README's commands, demo or test first, each followed by its exit code as a fact."""
    *prepare, demo, test = readme_lines()
    assert (demo, test) == ("make demo", "make test"), "README's commands are others now"
    typed = {"demo": demo, "test": f"{QUICK} {test}"}
    lines = [line.replace("ADDRESS", shlex.quote(REPOSITORY)) for line in prepare]
    lines = [text for line in lines for text in (line, "fact prepared $?")]
    for name in (first, "test" if first == "demo" else "demo"):
        lines += [typed[name], f"fact {name} $?"]
    return lines


@pytest.mark.parametrize("case", CASES, ids=list(CASES.values()))
def test_readme_s_commands_in_a_clean_debian(case, tmp_path):
    if reason := why_no_root():
        pytest.skip(reason)
    release, _, first = case.partition("-")
    bundle_checkout(tmp_path / "cubist.bundle")
    (tmp_path / "lines").write_text("\n".join(script(first)))
    tmp_path.chmod(0o755)
    facts = go_through(release, tmp_path, Path(__file__).with_name("newcomer_scenario"), NEWCOMER)
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
