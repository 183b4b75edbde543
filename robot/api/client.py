"""A client of the control socket, for programs without an event loop; standard library only."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from robot.api.paths import control_socket, how_to_start_the_daemon
from solver.errors import CubistError, ExitCode
from solver.files import BadFile, parse_object

if TYPE_CHECKING:
    from robot.records.documents import Document
    from solver.files import JsonMapping, JsonObject

TIMEOUT_S = 30.0
LEAVING_S = 60.0
LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes; the largest is the picture of a large camera in base64, about 8 MB."""


class DaemonError(CubistError, ConnectionError):
    """No cubistd answers at the control socket, or this user may not talk to it."""

    code = "no-daemon"


EXIT_CODES: Mapping[int, ExitCode] = {
    http.client.BAD_REQUEST: ExitCode.USAGE,
    http.client.NOT_FOUND: ExitCode.USAGE,
    http.client.CONFLICT: ExitCode.NO,
}
"""Exit codes by the HTTP status of a refusal; of others the fault's ``code`` decides."""


class RequestError(CubistError, RuntimeError):
    """The daemon's refusal of a request; ``status`` is HTTP's, ``error`` a stable name.

    ``code`` names the robot's fault that was in the way, if there was one. ``note``: code and
    parameters of the reason for other languages, as in the daemon's ``ErrorReply``.
    """

    code = "request-refused"

    def __init__(
        self,
        status: int,
        error: str,
        reason: str,
        code: str = "",
        note: JsonMapping | None = None,
    ) -> None:
        super().__init__(reason, code=code)
        self.status = status
        self.error = error
        self.reason = reason
        self.note = note or {}
        self.exit_code = EXIT_CODES.get(status)


class ControlClient:
    """Calls the daemon. Every method raises :class:`DaemonError` or :class:`RequestError`."""

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

    def acknowledge(self) -> bool:
        """Take the robot into use after an emergency stop; whether there was one."""
        return bool(self.call("POST", "/acknowledge")["acknowledged"])

    def runs(self, count: int = 20) -> list[JsonObject]:
        """Summaries of records, newest first."""
        found: list[JsonObject] = self.call("GET", f"/runs?count={count}")["runs"]
        return found

    def run(self, run_id: str) -> JsonObject:
        """One record."""
        return self.call("GET", f"/runs/{run_id}")

    def ask(
        self,
        method: str,
        path: str,
        model: type[Document],
        body: Mapping[str, object] | None = None,
    ) -> Document:
        """One request, and its answer as a ``model``."""
        from robot.records.documents import check_document  # most commands do without pydantic

        answer = self.call(method, path, body)
        try:
            return check_document(answer, model, f"the answer to {method} {path}")
        except BadFile as error:
            raise _strange_answer(self.path, str(error)) from error

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> JsonObject:
        """One request and its answer."""
        connection = self._connected(self._timeout_s)
        try:
            response = self._request(connection, method, path, body)
            answer = self._read_answer(response, f"the answer to {method} {path}")
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise _refusal(response.status, answer)
        return answer

    def _read_answer(self, response: http.client.HTTPResponse, name: str) -> JsonObject:
        with self._named():
            data = response.read(LARGEST_ANSWER + 1)
        if len(data) > LARGEST_ANSWER:
            raise _strange_answer(self.path, f"{name} is larger than {LARGEST_ANSWER >> 20} MB")
        return _answer(self.path, data, name)

    @contextlib.contextmanager
    def events(self) -> Iterator[EventStream]:
        """What happens from the moment the context is entered, until the daemon ends."""
        connection = self._connected(self._timeout_s)
        try:
            yield EventStream(self.path, connection, self._open_events(connection))
        finally:
            connection.close()

    def _open_events(self, connection: _UnixConnection) -> http.client.HTTPResponse:
        """The head of the event stream, which then takes as long as it takes."""
        response = self._request(connection, "GET", "/events", None)
        if response.status != http.client.OK:
            raise _refusal(response.status, self._read_answer(response, "the answer to /events"))
        connection.sock.settimeout(None)
        return response

    @contextlib.contextmanager
    def maintenance(self, place: str = "terminal") -> Iterator[None]:
        """The daemon in maintenance mode for as long as the context lasts.

        ``place``: where the person is who calibrates, for others who have to wait.
        """
        connection = self._connected(self._timeout_s)
        since: str | None = None
        try:
            response = self._request(connection, "POST", "/maintenance", {"place": place})
            if response.status != http.client.OK:
                raise _refusal(response.status, self._read_answer(response, "the refusal"))
            with self._named():
                response.readline()
            since = self.status()["since"]
            yield
        finally:
            connection.close()
            self._wait_for_the_end_of_maintenance(since)

    def _wait_for_the_end_of_maintenance(self, since: str | None) -> None:
        """Wait until the daemon is at work again, for whatever is asked next.

        The robot may have to be put together anew from what was calibrated, which takes a slow
        computer seconds. ``since`` tells our turn of it from another person's; after an emergency
        stop, whose state is a fault, nothing does, and either is waited for.
        """
        deadline = time.monotonic() + LEAVING_S
        with contextlib.suppress(DaemonError, RequestError):
            while since is not None and time.monotonic() < deadline:
                now = self.status()
                another = now["state"] == "maintenance" and now["since"] != since
                if another or not now["calibrating"]:
                    return
                time.sleep(0.1)

    def _connected(self, timeout_s: float | None) -> _UnixConnection:
        connection = _UnixConnection(self.path, timeout_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise DaemonError(_why_absent(self.path, error)) from error
        return connection

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        with self._named():
            connection.request(method, path, data, {"Content-Type": "application/json"})
            return connection.getresponse()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Raise :class:`DaemonError` for what a connection raises, with the socket's name."""
        try:
            yield
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DaemonError(
                f"{self.path}: cubistd closed the connection during a request: {error}"
            ) from error


class EventStream:
    """The daemon's events as they happen, as an iterator of documents."""

    def __init__(
        self, path: Path, connection: _UnixConnection, response: http.client.HTTPResponse
    ) -> None:
        self._path = path
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[JsonObject]:
        """Each event; raises :class:`DaemonError` when the daemon goes away."""
        try:
            while line := self._response.readline(LARGEST_ANSWER):
                yield _answer(self._path, line, "an event")
        except (OSError, http.client.HTTPException) as error:
            raise DaemonError(f"{self._path}: cubistd closed the connection: {error}") from error

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


class _Answer(dict[str, Any]):
    """An object of an answer; a key that cubistd always sends raises :class:`DaemonError`.

    The models of the answers would check more, but importing them takes a small computer longer
    than all else that a command does.
    """

    def __init__(self, path: Path, name: str, found: JsonMapping) -> None:
        super().__init__({key: _checked(path, name, value) for key, value in found.items()})
        self._path, self._name = path, name

    def __missing__(self, key: str) -> NoReturn:
        raise _strange_answer(self._path, f"{self._name} has no {key!r}")


def _checked(path: Path, name: str, value: object) -> object:
    if isinstance(value, dict):
        return _Answer(path, name, value)
    return [_checked(path, name, one) for one in value] if isinstance(value, list) else value


def _answer(path: Path, data: bytes, name: str) -> JsonObject:
    """An object that the daemon sent; raises :class:`DaemonError`."""
    try:
        return _Answer(path, name, parse_object(data, name))
    except BadFile as error:
        raise _strange_answer(path, str(error)) from error


def _strange_answer(path: Path, what: str) -> DaemonError:
    """Return the error for a listener that does not answer as cubistd does."""
    return DaemonError(
        f"{path}: {what}. What listens there is not this version's cubistd: "
        "update both, or name another directory in CUBIST_RUNTIME_DIR."
    )


def _refusal(status: int, answer: JsonMapping) -> RequestError:
    """Return the error that a reply (``ErrorReply``) describes."""
    name, reason = answer.get("error", "unknown"), answer.get("reason", "")
    return RequestError(status, str(name), str(reason), str(answer.get("fault") or ""), answer)


def _why_absent(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return (
            f"{path}: no permission to talk to cubistd. Join its group "
            "(`sudo usermod -aG cubist $USER`) and log in again."
        )
    if not isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return f"{path}: cubistd cannot be reached: {error.strerror or error}"
    return f"cubistd is not running (nothing listens at {path}). {how_to_start_the_daemon()}"
