"""A client of the control socket for programs without an event loop; standard library only."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from robot.api.endpoints import (
    ACKNOWLEDGE,
    EVENTS,
    MAINTENANCE,
    RUN,
    RUNS,
    SESSION_HEADER,
    START,
    STATUS,
    STOP,
    Answer_co,
    Endpoint,
    EventJson,
    Place,
    RobotState,
    RobotStatusJson,
    RunRecordJson,
)
from robot.api.paths import control_socket, how_to_start_the_daemon
from solver.errors import CubistError, ExitCode
from solver.files import BadFile, JsonMapping, JsonObject, parse_object

if TYPE_CHECKING:
    from robot.records.documents import Document

TIMEOUT_S = 30.0
LEAVING_S = 60.0
LARGEST_ANSWER = 16 * 1024 * 1024
"""Most bytes of an answer. The largest, a large camera's picture in base64, has about 8 MB."""


class Absence(StrEnum):
    """The reasons for which a daemon cannot be reached."""

    NOT_RUNNING = "not-running"
    NOT_PERMITTED = "not-permitted"
    NO_ROOM = "no-room"
    NO_ANSWER = "no-answer"
    STRANGE_ANSWER = "strange-answer"
    ENDED = "ended"


_ABSENCES: Mapping[int, Absence] = {
    errno.ENOENT: Absence.NOT_RUNNING,
    errno.ECONNREFUSED: Absence.NOT_RUNNING,
    errno.EACCES: Absence.NOT_PERMITTED,
    errno.EPERM: Absence.NOT_PERMITTED,
    **dict.fromkeys((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM), Absence.NO_ROOM),
}


class DaemonError(CubistError):
    """The daemon cannot be reached; ``why`` has the reason."""

    code = "no-daemon"

    def __init__(self, text: str, why: Absence = Absence.NO_ANSWER) -> None:
        super().__init__(text)
        self.why = why

    @classmethod
    def of(cls, path: Path, error: Exception) -> DaemonError:
        """Return the error for a connection that failed."""
        number = error.errno if isinstance(error, OSError) else None
        why = _ABSENCES.get(number or 0, Absence.NO_ANSWER)
        return cls(_why_absent(path, why, error), why)

    @classmethod
    def strange(cls, path: Path, what: str) -> DaemonError:
        """Return the error for an answer that is not cubistd's."""
        return cls(
            f"{path}: {what}. What listens there is not this version's cubistd: "
            "update both, or name another directory in CUBIST_RUNTIME_DIR.",
            Absence.STRANGE_ANSWER,
        )


EXIT_CODES: Mapping[int, ExitCode] = {
    http.client.BAD_REQUEST: ExitCode.USAGE,
    http.client.NOT_FOUND: ExitCode.USAGE,
    http.client.CONFLICT: ExitCode.NO,
}
"""Exit codes by the HTTP status of a refusal. For others the fault's ``code`` decides."""


class RequestError(CubistError, RuntimeError):
    """The daemon refused a request; ``status`` is HTTP's, ``error`` a stable name.

    ``code`` names the robot's fault that prevented it, if any. ``note``: code and parameters of the
    reason for other languages, as in the daemon's ``ErrorReply``.
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

    @staticmethod
    def of(status: int, answer: JsonMapping) -> RequestError:
        """Return the error for an ``ErrorReply``."""
        name, reason = answer.get("error", "unknown"), answer.get("reason", "")
        return RequestError(status, str(name), str(reason), str(answer.get("fault") or ""), answer)


class ControlClient:
    """A client of the daemon. Methods raise :class:`DaemonError` or :class:`RequestError`."""

    def __init__(self, path: Path | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self.path = path if path is not None else control_socket()
        self._timeout_s = timeout_s
        self._session = ""

    def status(self) -> RobotStatusJson:
        """Return the robot's status."""
        return self.call(STATUS)

    def start(self, kind: str = "solve", **more: object) -> str:
        """Start a job and return its run number."""
        return self.call(START, {"kind": kind} | more)["run"]

    def stop(self, *, emergency: bool = False) -> bool:
        """Stop the robot; return whether there was anything to stop."""
        return self.call(STOP, {"emergency": emergency})["stopped"]

    def acknowledge(self) -> bool:
        """Acknowledge an emergency stop, to use the robot again; return whether there was one."""
        return self.call(ACKNOWLEDGE)["acknowledged"]

    def runs(self, count: int = 20) -> list[RunRecordJson]:
        """Return summaries of records, newest first."""
        return self.call(RUNS, query={"count": count})["runs"]

    def run(self, run_id: str) -> RunRecordJson:
        """Return one record."""
        return self.call(RUN, parts={"run": run_id})

    def ask(
        self,
        endpoint: Endpoint[object],
        model: type[Document],
        body: JsonMapping | None = None,
        *,
        parts: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Document:
        """Make a request and return its answer as a ``model``."""
        from robot.records.documents import check_document  # most commands do without pydantic

        answer = self.call(endpoint, body, parts=parts, query=query)
        try:
            return check_document(answer, model, _name_of(endpoint))
        except BadFile as error:
            raise DaemonError.strange(self.path, str(error)) from error

    def call(
        self,
        endpoint: Endpoint[Answer_co],
        body: JsonMapping | None = None,
        *,
        parts: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Answer_co:
        """Make a request and return its answer."""
        with self._send_request(endpoint, endpoint.target(parts, query), body) as (_, response):
            return cast("Answer_co", self._read_answer(response, _name_of(endpoint)))

    @contextlib.contextmanager
    def events(self) -> Iterator[EventStream]:
        """Yield the events from now until the daemon ends."""
        with self._send_request(EVENTS, EVENTS.path) as (connection, response):
            connection.sock.settimeout(None)
            yield EventStream(self.path, connection, response)

    @contextlib.contextmanager
    def maintenance(
        self,
        place: Place = "terminal",
        at: str = "",
        *,
        take_over: bool = False,
        ended: Callable[[JsonMapping], None] = lambda _: None,
    ) -> Iterator[None]:
        """Hold the daemon in maintenance mode while the context lasts.

        ``place`` and ``at``: the calibrating person's place, shown to others who have to wait.
        ``take_over``: end another person's session. ``ended`` gets the reason, a ``NoteRecord``, on
        another thread, if another person takes this session over.
        """
        since: str | None = None
        body = {"place": place, "at": at, "take_over": take_over}
        try:
            request = self._send_request(MAINTENANCE, MAINTENANCE.path, body)
            with request as (connection, response):
                with self._connection_errors():
                    response.readline()
                self._session = response.getheader(SESSION_HEADER, "")
                since = self.status()["since"]
                with _reading_on(connection, response, ended):
                    yield
        finally:
            self._session = ""
            self._wait_for_the_end_of_maintenance(since)

    def _wait_for_the_end_of_maintenance(self, since: str | None) -> None:
        """Wait until the daemon has left the maintenance that began at ``since``.

        A slow computer takes seconds to rebuild the robot with the calibrated values. Do not wait
        for another person's maintenance, which began at another time. After an emergency stop the
        state is a fault and does not distinguish them, so wait for either.
        """
        deadline = time.monotonic() + LEAVING_S
        with contextlib.suppress(DaemonError, RequestError):
            while since is not None and time.monotonic() < deadline:
                now = self.status()
                another = now["state"] == RobotState.MAINTENANCE and now["since"] != since
                if another or not now["calibrating"]:
                    return
                time.sleep(0.1)

    @contextlib.contextmanager
    def _send_request(
        self, endpoint: Endpoint[object], target: str, body: JsonMapping | None = None
    ) -> Iterator[tuple[_UnixConnection, http.client.HTTPResponse]]:
        """Send a request; yield its connection and the response, whose body is not read yet."""
        connection = _UnixConnection(self.path, self._timeout_s)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise DaemonError.of(self.path, error) from error
            data = None if body is None else json.dumps(body).encode()
            with self._connection_errors():
                headers = {"Content-Type": "application/json"}
                if self._session:
                    headers[SESSION_HEADER] = self._session
                connection.request(endpoint.method, target, data, headers)
                response = connection.getresponse()
            if response.status != http.client.OK:
                answer = self._read_answer(response, _name_of(endpoint))
                raise RequestError.of(response.status, answer)
            yield connection, response
        finally:
            connection.close()

    def _read_answer(self, response: http.client.HTTPResponse, name: str) -> JsonObject:
        with self._connection_errors():
            data = response.read(LARGEST_ANSWER + 1)
        if len(data) > LARGEST_ANSWER:
            raise DaemonError.strange(self.path, f"{name} is larger than {LARGEST_ANSWER >> 20} MB")
        return _answer(self.path, data, name)

    @contextlib.contextmanager
    def _connection_errors(self) -> Iterator[None]:
        """Turn errors of a connection into :class:`DaemonError` with the socket's name."""
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

    def __iter__(self) -> Iterator[EventJson]:
        """Yield each event; raise :class:`DaemonError` when the daemon goes away."""
        try:
            while line := self._response.readline(LARGEST_ANSWER):
                yield cast("EventJson", _answer(self._path, line, "an event"))
        except (OSError, http.client.HTTPException) as error:
            raise DaemonError(f"{self._path}: cubistd closed the connection: {error}") from error

    def end(self) -> None:
        """End the stream, from any thread."""
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


class _CheckedObject(dict[str, Any]):
    """An object of an answer. A missing key raises :class:`DaemonError`, as cubistd sends all keys.

    The models of the answers would check more, but importing them takes a small computer longer
    than everything else that a command does.
    """

    def __init__(self, path: Path, name: str, found: JsonMapping) -> None:
        super().__init__({key: _check_values(path, name, value) for key, value in found.items()})
        self._path, self._name = path, name

    def __missing__(self, key: str) -> NoReturn:
        raise DaemonError.strange(self._path, f"{self._name} has no {key!r}")


def _check_values(path: Path, name: str, value: object) -> object:
    if isinstance(value, dict):
        return _CheckedObject(path, name, value)
    return [_check_values(path, name, one) for one in value] if isinstance(value, list) else value


def _answer(path: Path, data: bytes, name: str) -> JsonObject:
    """Return an object that the daemon sent; raises :class:`DaemonError`."""
    try:
        return _CheckedObject(path, name, parse_object(data, name))
    except BadFile as error:
        raise DaemonError.strange(path, str(error)) from error


@contextlib.contextmanager
def _reading_on(
    connection: _UnixConnection,
    response: http.client.HTTPResponse,
    ended: Callable[[JsonMapping], None],
) -> Iterator[None]:
    """Pass the next line of a response to ``ended`` on another thread, while the context lasts."""
    connection.sock.settimeout(None)

    def read() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            if line := response.readline():
                ended(_end_of_maintenance(line))

    reader = threading.Thread(target=read, name="maintenance", daemon=True)
    reader.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
        reader.join()


def _end_of_maintenance(line: bytes) -> JsonMapping:
    """Return the reason, a ``NoteRecord``; for a malformed line, the error."""
    try:
        return parse_object(line, "the end of maintenance")
    except CubistError as error:
        return {"text": str(error), "code": "", "parameters": {}}


def _name_of(endpoint: Endpoint[object]) -> str:
    return f"the answer to {endpoint.method} {endpoint.path}"


def _why_absent(path: Path, why: Absence, error: Exception) -> str:
    match why:
        case Absence.NOT_PERMITTED:
            return (
                f"{path}: no permission to talk to cubistd. Join its group "
                "(`sudo usermod -aG cubist $USER`) and log in again."
            )
        case Absence.NOT_RUNNING:
            begin = how_to_start_the_daemon()
            return f"cubistd is not running (nothing listens at {path}). {begin}"
    text = error.strerror if isinstance(error, OSError) else None
    return f"{path}: cubistd cannot be reached: {text or error}"
