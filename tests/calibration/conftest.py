"""The fake robot and its daemon, for all that calibrates it."""

from tests.daemon.conftest import (
    ask,
    controller,
    daemon,
    fake,
    maintenance_of,
    profile_name,
)

__all__ = [
    "ask",
    "controller",
    "daemon",
    "fake",
    "maintenance_of",
    "profile_name",
]
