"""A client of the control socket, for programs without an event loop; standard library only."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from robot.paths import control_socket, how_to_start_the_daemon
from solver.errors import CubistError

if TYPE_CHECKING:
    from robot.documents import JsonMapping, JsonObject

TIMEOUT_S = 30.0
LEAVING_S = 60.0


class NoDaemon(CubistError, ConnectionError):
    """Nobody listens at the control socket, or we may not talk to it."""


class RequestRefused(CubistError, RuntimeError):
    """The daemon did not do what it was asked; ``status`` is HTTP's, ``error`` a stable name.

    ``code`` names the robot's fault that was in the way, if there was one. ``note``: code and
    parameters of the reason for other languages, as in the daemon's ``ErrorReply``.
    """

    def __init__(
        self,
        status: int,
        error: str,
        reason: str,
        code: str = "",
        note: JsonMapping | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.error = error
        self.reason = reason
        self.code = code
        self.note = note or {}


class BadRequest(RequestRefused, ValueError):
    """What was asked for does not exist or has no meaning; the robot is as it was."""


class NotNow(RequestRefused):
    """What the robot is doing does not allow it: ask again later, or stop it first."""


_REFUSALS: Mapping[int, type[RequestRefused]] = {
    http.client.BAD_REQUEST: BadRequest,
    http.client.NOT_FOUND: BadRequest,
    http.client.CONFLICT: NotNow,
}


class ControlClient:
    """Calls the daemon. Every method raises :class:`NoDaemon` or :class:`RequestRefused`."""

    def __init__(self, path: Path | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self.path = path if path is not None else control_socket()
        self._timeout_s = timeout_s

    def status(self) -> JsonObject:
        """What the robot is doing (``Status``)."""
        return self.call("GET", "/status")

    def start(self, kind: str = "solve", **more: object) -> str:
        """Start a job; its run number."""
        return str(self.call("POST", "/start", {"kind": kind} | more)["run"])

    def stop(self, *, emergency: bool = False) -> bool:
        """Stop the robot; whether there was anything to stop."""
        return bool(self.call("POST", "/stop", {"emergency": emergency})["stopped"])

    def runs(self, count: int = 20) -> list[JsonObject]:
        """Summaries of records, newest first."""
        found: list[JsonObject] = self.run_list(count)["runs"]
        return found

    def run_list(self, count: int = 20) -> JsonObject:
        """Return summaries of records and the runs that cannot be read (``RunList``)."""
        return self.call("GET", f"/runs?count={count}")

    def run(self, run_id: str) -> JsonObject:
        """One record."""
        return self.call("GET", f"/runs/{run_id}")

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> JsonObject:
        """One request and its answer."""
        connection = self._connected(self._timeout_s)
        try:
            response = self._request(connection, method, path, body)
            answer: JsonObject = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoDaemon(
                f"{self.path}: cubistd closed the connection during a request: {error}"
            ) from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise _refusal(response.status, answer)
        return answer

    @contextlib.contextmanager
    def events(self) -> Iterator[EventStream]:
        """What happens from the moment the context is entered, until the daemon ends."""
        connection = self._connected(self._timeout_s)
        try:
            stream = EventStream(self.path, connection, self._answered(connection))
            yield stream
        finally:
            connection.close()

    def _answered(self, connection: _UnixConnection) -> http.client.HTTPResponse:
        """The head of the event stream, which then takes as long as it takes."""
        try:
            response = self._request(connection, "GET", "/events", None)
        except (OSError, http.client.HTTPException) as error:
            raise NoDaemon(
                f"{self.path}: cubistd closed the connection during a request: {error}"
            ) from error
        connection.sock.settimeout(None)
        return response

    @contextlib.contextmanager
    def maintenance(self) -> Iterator[None]:
        """The daemon in maintenance mode for as long as the context lasts."""
        connection = self._connected(self._timeout_s)
        since: str | None = None
        try:
            response = self._request(connection, "POST", "/maintenance", {})
            if response.status != http.client.OK:
                raise _refusal(response.status, json.loads(response.read()))
            response.readline()
            since = self.status()["since"]
            yield
        finally:
            connection.close()
            self._wait_for_the_end_of_maintenance(since)

    def _wait_for_the_end_of_maintenance(self, since: str | None) -> None:
        """So that whatever is asked for next finds the daemon at work again.

        The robot may have to be put together anew from what was calibrated, which takes a slow
        computer seconds. ``since`` tells our turn of it from another person's; after an emergency
        stop, whose state is a fault, nothing does, and either is waited for.
        """
        deadline = time.monotonic() + LEAVING_S
        with contextlib.suppress(NoDaemon, RequestRefused):
            while since is not None and time.monotonic() < deadline:
                now = self.status()
                another = now["state"] == "maintenance" and now["since"] != since
                if another or not now["calibrating"]:
                    return
                time.sleep(0.01)

    def _connected(self, timeout_s: float | None) -> _UnixConnection:
        connection = _UnixConnection(self.path, timeout_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NoDaemon(_why_absent(self.path, error)) from error
        return connection

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"})
        return connection.getresponse()


class EventStream:
    """The daemon's events as they happen, as an iterator of documents."""

    def __init__(
        self, path: Path, connection: _UnixConnection, response: http.client.HTTPResponse
    ) -> None:
        self._path = path
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[JsonObject]:
        """Each event; raises :class:`NoDaemon` when the daemon goes away."""
        try:
            for line in self._response:
                yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoDaemon(f"{self._path}: cubistd closed the connection: {error}") from error

    def end(self) -> None:
        """From another thread: no more of them."""
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float | None) -> None:
        super().__init__("localhost")
        self._path = path
        self._limit_s = timeout_s

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._limit_s)
        self.sock.connect(str(self._path))


def _refusal(status: int, answer: JsonMapping) -> RequestRefused:
    """The error that a reply (``ErrorReply``) tells of."""
    kind = _REFUSALS.get(status, RequestRefused)
    name, reason = answer.get("error", "unknown"), answer.get("reason", "")
    return kind(status, name, reason, answer.get("fault") or "", answer)


def _why_absent(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return (
            f"{path}: no permission to talk to cubistd. Join its group "
            "(`sudo usermod -aG cubist $USER`) and log in again."
        )
    return f"cubistd is not running (nothing listens at {path}). {how_to_start_the_daemon()}"
