"""Settings of the programs in their environment.

A variable that is set but empty counts as missing, because people empty a line of a file such as
``/etc/cubist/cubist-web.env`` to get the default back.
"""

from __future__ import annotations

from collections.abc import Mapping

from solver.errors import InvalidRequest, shortened


def read_setting(environ: Mapping[str, str], name: str, default: str = "") -> str:
    """Return a setting, or ``default`` if it is missing or empty."""
    return environ.get(name) or default


def read_yes_or_no(environ: Mapping[str, str], name: str) -> bool:
    """Return whether a setting is ``yes`` (default: no); raises :class:`InvalidRequest`."""
    text = read_setting(environ, name, "no")
    if text not in {"yes", "no"}:
        raise InvalidRequest(f"{name}: write yes or no, not {shortened(text)!r}")
    return text == "yes"
