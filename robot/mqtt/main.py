"""``cubist-mqtt``: publishes the robot on an MQTT broker until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import ssl
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from robot.api.endpoints import Program
from robot.api.environment import read_setting, read_yes_or_no
from robot.api.paths import control_socket
from solver.errors import CubistError, InvalidRequest, shortened
from solver.files import read_text

log = logging.getLogger("cubist-mqtt")

BAD_USAGE = 2
PORT, TLS_PORT = 1883, 8883
PASSWORD_NAME = "cubist-mqtt-password"
"""The name of the password among the credentials of the unit."""

LONGEST_PASSWORD = 4096


def make_parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of the program's flags; other settings are in the environment."""
    del environ
    parser = argparse.ArgumentParser(
        prog="cubist-mqtt",
        description="Publishes the robot on an MQTT broker, where Home Assistant finds it.",
        epilog="Settings, in the environment (/etc/cubist/cubist-mqtt.env): CUBIST_MQTT_HOST, "
        "CUBIST_MQTT_PORT, CUBIST_MQTT_TLS, CUBIST_MQTT_CA, CUBIST_MQTT_USER, CUBIST_MQTT_NAME, "
        "CUBIST_MQTT_START, CUBIST_MQTT_DISCOVERY_PREFIX. The password is the credential "
        f"{PASSWORD_NAME}.",
    )
    parser.add_argument("--socket", type=Path, help="the daemon's socket for this program")
    return parser


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Run the program. Exit codes: 0 orderly end, 2 a wrong setting or a missing library."""
    found = make_parser(environ).parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        daemon = found.socket or Program.MQTT.socket_beside(control_socket(environ))
        asyncio.run(_run_until_ended(environ, daemon))
    except CubistError as error:
        log.error("%s", error)
        sys.exit(BAD_USAGE)


async def _run_until_ended(environ: Mapping[str, str], daemon: Path) -> None:
    try:
        from robot.mqtt.bridge import BrokerOptions, bridge
    except ImportError as error:
        raise InvalidRequest(
            f"the MQTT library cannot be used: {error}", "Install aiomqtt: docs/mqtt.md."
        ) from error
    from robot.mqtt.home_assistant import DISCOVERY_PREFIX
    from robot.mqtt.topics import Topics

    get = partial(read_setting, environ)
    tls = _tls_context(environ)
    prefix = get("CUBIST_MQTT_DISCOVERY_PREFIX", DISCOVERY_PREFIX)
    if not re.fullmatch(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*", prefix):
        raise InvalidRequest(
            f"CUBIST_MQTT_DISCOVERY_PREFIX: {shortened(prefix)!r} is not a topic of letters, "
            "digits, _, - and /"
        )
    options = BrokerOptions(
        host=_require_setting(environ, "CUBIST_MQTT_HOST"),
        port=_port(get("CUBIST_MQTT_PORT"), TLS_PORT if tls else PORT),
        topics=Topics(get("CUBIST_MQTT_NAME", socket.gethostname().split(".")[0])),
        user=get("CUBIST_MQTT_USER") or None,
        password=_read_password(environ),
        tls=tls,
        may_start=read_yes_or_no(environ, "CUBIST_MQTT_START"),
        discovery_prefix=prefix,
    )
    loop, work = asyncio.get_running_loop(), asyncio.create_task(bridge(options, daemon))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def _require_setting(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise InvalidRequest(f"{name} is not set", "Write it into /etc/cubist/cubist-mqtt.env.")
    return environ[name]


def _port(text: str, usual: int) -> int:
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        raise InvalidRequest(f"CUBIST_MQTT_PORT: 1..65535 is allowed, not {text[:20]!r}")
    return int(text)


def _tls_context(environ: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context that verifies the broker; None for an unencrypted connection."""
    authority = environ.get("CUBIST_MQTT_CA") or None
    if not read_yes_or_no(environ, "CUBIST_MQTT_TLS"):
        if authority:
            raise InvalidRequest("CUBIST_MQTT_CA needs CUBIST_MQTT_TLS=yes")
        return None
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise InvalidRequest(f"CUBIST_MQTT_CA: {authority}: {error.strerror or error}") from error


def _read_password(environ: Mapping[str, str]) -> str | None:
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder or not (file := Path(folder) / PASSWORD_NAME).exists():
        return None
    return read_text(file, LONGEST_PASSWORD).rstrip("\r\n") or None


if __name__ == "__main__":
    main()
