"""``cubist-web``: serves the page until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from robot.api.async_client import AsyncControlClient
from robot.api.endpoints import Program
from robot.api.environment import read_setting, read_yes_or_no
from robot.api.http_server import HttpServer
from robot.api.paths import control_socket
from robot.records.storage import StorageError
from robot.text.messages import PageReason
from robot.web.access import HEADERS, Sessions, keep_token, load_token, own_names
from robot.web.announcement import Announcement, announcement_file
from robot.web.app import Care, explain, is_api, make_app
from robot.web.hub import Guides, Hub
from solver.errors import CubistError, InvalidRequest

log = logging.getLogger("cubist-web")

DEFAULT_PORT = 8421
LOOPBACK = "127.0.0.1"
BAD_USAGE = 2
VIEWER_TOKEN = "viewer-token"


@dataclass(frozen=True)
class PageOptions:
    """The program's options.

    ``daemon``: its socket for the page. ``announce``: folder for the page's address. ``state``:
    folder for the token (None: a new token each time). ``names``: more names of this machine.
    ``calibrates``: the page may calibrate the robot. ``manages``: the page may change its profile
    and restart its daemon. ``simulated_by``: the simulation's socket for a person's hands.
    """

    bind: str
    port: int
    names: tuple[str, ...]
    daemon: Path
    announce: Path
    state: Path | None
    calibrates: bool
    manages: bool = False
    simulated_by: Path | None = None


def make_parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of the program's flags, with defaults from the environment."""
    parser = argparse.ArgumentParser(
        prog="cubist-web",
        description="Serves the page on the robot. By default it listens on this machine only; "
        "`cubist web` prints its address and token.",
        epilog="Also in the environment: CUBIST_WEB_BIND, CUBIST_WEB_PORT, CUBIST_WEB_HOSTS, "
        "CUBIST_WEB_RUNTIME_DIR, CUBIST_WEB_STATE_DIR, CUBIST_WEB_CALIBRATE and CUBIST_WEB_MANAGE "
        "(yes or no).",
    )
    add, get = parser.add_argument, partial(read_setting, environ)
    add("--bind", default=get("CUBIST_WEB_BIND", LOOPBACK), help="address to listen on (127.0.0.1)")
    add("--port", default=get("CUBIST_WEB_PORT", str(DEFAULT_PORT)), help="port (8421; 0: any)")
    hosts = get("CUBIST_WEB_HOSTS").split()
    add("--host", action="append", default=hosts, help="another name of this machine")
    add("--socket", type=Path, help="the daemon's socket for the page")
    add("--runtime-dir", type=Path, help="folder for the page's address")
    add("--state-dir", type=Path, help="folder for the token (default: a new token each time)")
    add("--calibrate", action="store_true", help="let the robot be calibrated on the page")
    add("--manage", action="store_true", help="let the page change the profile and restart")
    add("--simulated-by", type=Path, help="socket of the simulation for handling the cube")
    return parser


def parse(arguments: Sequence[str] | None, environ: Mapping[str, str] = os.environ) -> PageOptions:
    """Parse flags; exits with code 2 and a message if they are wrong."""
    parser, get = make_parser(environ), partial(read_setting, environ)
    found = parser.parse_args(arguments)
    try:
        calibrates = read_yes_or_no(environ, "CUBIST_WEB_CALIBRATE")
        manages = read_yes_or_no(environ, "CUBIST_WEB_MANAGE")
    except InvalidRequest as error:
        parser.error(str(error))
    if not found.bind:  # to the system it means all addresses
        parser.error(f"--bind: name an address, for example {LOOPBACK}")
    if not (found.port.isascii() and found.port.isdigit() and int(found.port) < 65536):
        parser.error(f"--port: 0..65535 is allowed, not {found.port!r}")
    daemon = found.socket or Program.PAGE.socket_beside(control_socket(environ))
    runtime = found.runtime_dir or get("CUBIST_WEB_RUNTIME_DIR")
    state = found.state_dir or get("CUBIST_WEB_STATE_DIR")
    return PageOptions(
        bind=found.bind,
        port=int(found.port),
        names=tuple(found.host),
        daemon=daemon,
        announce=Path(runtime) if runtime else announcement_file(daemon).parent,
        state=Path(state) if state else None,
        calibrates=found.calibrate or calibrates,
        manages=found.manage or manages,
        simulated_by=found.simulated_by,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; exit codes: 0 ended in order, 2 it cannot serve the page."""
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        asyncio.run(_serve_until_ended(options))
    except CubistError as error:
        log.error("%s", error)
        sys.exit(BAD_USAGE)


async def _serve_until_ended(options: PageOptions) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    token = load_token(options.state)
    async with serving(options, token) as page:
        for url in page.urls:
            log.info("the page: %s", url.partition("#")[0])
        await ended.wait()


@contextlib.asynccontextmanager
async def serving(options: PageOptions, token: str) -> AsyncIterator[Announcement]:
    """Serve the page while the context lasts; yields its announcement.

    Raises :class:`InvalidRequest` if it cannot listen, and ``StorageError``.
    """
    listener = _listen(options.bind, options.port)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(listener.close)
        daemon = await stack.enter_async_context(AsyncControlClient(options.daemon))
        guide = Program.GUIDE.socket_beside(options.daemon)
        guides = Guides(guide if options.calibrates else None)
        hub = await stack.enter_async_context(Hub(daemon, guides))
        try:
            viewer = load_token(options.state, VIEWER_TOKEN)
        except StorageError as error:  # the owner's page does not depend on it
            log.warning("the address for viewers changes at each start: %s", error)
            viewer = load_token(None)
        sessions = Sessions(token, hub.end_session, viewer_token=viewer)

        def announce() -> Announcement:
            port = listener.getsockname()[1]
            return make_announcement(options.bind, port, token, sessions.viewer_token)

        def withdraw_viewers() -> None:
            new = load_token(None)
            sessions.withdraw_viewers(new)
            announce().publish(options.announce)
            keep_token(options.state, VIEWER_TOKEN, new)

        care = Care(await _manager(stack, options), options.simulated_by)
        app = make_app(daemon, hub, sessions, own_names(options.names), withdraw_viewers, care)
        server = HttpServer(app, log, explain, HEADERS, is_api, PageReason.INTERNAL)
        await stack.enter_async_context(server.serving(listener))
        stack.callback(hub.end_all)
        page = announce()
        written = page.publish(options.announce)
        stack.callback(written.unlink, missing_ok=True)
        yield page


async def _manager(
    stack: contextlib.AsyncExitStack, options: PageOptions
) -> AsyncControlClient | None:
    if not options.manages:
        return None
    socket_path = Program.MANAGE.socket_beside(options.daemon)
    return await stack.enter_async_context(AsyncControlClient(socket_path))


def _listen(bind: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        dual = bind == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((bind, port), family=family, dualstack_ipv6=dual)
    except OSError as error:
        raise InvalidRequest(
            f"{bind} port {port}: {error.strerror or error}; choose others with --bind and --port"
        ) from error


def make_announcement(bind: str, port: int, token: str, viewer_token: str) -> Announcement:
    """Return the page's addresses, first those that other machines can use."""
    hosts = [bind]
    if bind in {"0.0.0.0", "::"}:
        name = socket.gethostname().split(".")[0]
        hosts = [*filter(None, [outward_address()]), f"{name}.local", LOOPBACK]
    pages = [f"http://{f'[{h}]' if ':' in h else h}:{port}/" for h in hosts]
    return Announcement(
        urls=tuple(f"{page}#{token}" for page in pages),
        viewer_urls=tuple(f"{page}#{viewer_token}" for page in pages),
        process=os.getpid(),
        local=bind in {LOOPBACK, "::1", "localhost"},
    )


def outward_address() -> str | None:
    """Return this machine's address in its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])


if __name__ == "__main__":
    main()
