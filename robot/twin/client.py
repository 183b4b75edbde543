"""The daemon's client of the simulated robot: a camera and the panel's pins over its socket."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable

import numpy as np

from robot.panel.gpio import PanelError, Pull
from solver.files import BadFile, JsonObject, parse_object
from vision.cameras.base import CameraError, CameraTrouble
from vision.frame import Frame

TIMEOUT_S = 30.0


class TwinCamera:
    """A camera of the simulated robot (:class:`vision.frame.Camera`); ``camera`` as in the profile.

    After each capture, ``calibrated`` is true if the profile's places hold for that frame. They do
    not for photographs.
    """

    def __init__(
        self, socket_path: str, name: str = "simulated", camera: str | None = None
    ) -> None:
        self.name = name
        self.calibrated = True
        self._camera = camera
        self._lock = threading.Lock()
        try:
            self._socket: socket.socket | None = _connect(socket_path)
        except OSError as error:
            what = f"no simulated robot at {socket_path} ({error})"
            raise CameraError(name, CameraTrouble.ABSENT, what) from error
        self._file = self._socket.makefile("rb")

    def settle(self) -> None:
        """Do nothing: the simulated camera's exposure is fixed."""

    def capture(self) -> Frame:
        """Return the picture at the simulated robot's present time."""
        with self._lock:
            if self._socket is None:
                raise self._fault("it has been closed")
            try:
                self._socket.sendall(_line({"do": "frame", "camera": self._camera}))
                header = self._header()
                size = header["width"] * header["height"] * 3
                data = self._file.read(size)
            except OSError as error:
                raise self._fault(f"the simulated robot does not answer ({error})") from error
        if len(data) < size:
            raise self._fault("the simulated robot disconnected in the middle of a picture")
        self.calibrated = bool(header["calibrated"])
        image = np.frombuffer(data, dtype=np.uint8).reshape(header["height"], header["width"], 3)
        return Frame(image, self.name, int(header["time_us"]))

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock:
            if self._socket is not None:
                self._file.close()
                self._socket.close()
                self._socket = None

    def _fault(self, what: str) -> CameraError:
        return CameraError(self.name, CameraTrouble.VANISHED, what)

    def _header(self) -> JsonObject:
        """Return the next header of a picture, and skip changes of pins."""
        while line := self._file.readline():
            message = parse_object(line, "the simulated robot")
            if "width" in message:
                return message
        raise self._fault("the simulated robot is gone")


class TwinGpio:
    """The pins of the simulated robot's panel (:class:`robot.panel.gpio.Gpio`).

    A thread receives changes of level; callbacks run on it.
    """

    def __init__(self, socket_path: str) -> None:
        try:
            self._socket = _connect(socket_path)
        except OSError as error:
            raise PanelError(f"no simulated robot at {socket_path} ({error})") from error
        self._socket.settimeout(None)
        self._levels: dict[int, bool] = {}
        self._callbacks: dict[int, Callable[[int], None]] = {}
        self._known: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._listen, name="twin-gpio", daemon=True)
        self._thread.start()

    def setup_input(self, pin: int, pull: Pull) -> None:
        """See :meth:`Gpio.setup_input`."""
        self._levels.pop(pin, None)
        self._send({"do": "input", "pin": pin, "pull": pull})
        while pin not in self._levels:
            try:
                self._known.get(timeout=TIMEOUT_S)
            except queue.Empty:
                raise PanelError(f"GPIO {pin}: the simulated robot does not answer") from None

    def setup_output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.setup_output`."""
        self.output(pin, level)

    def input(self, pin: int) -> bool:
        """See :meth:`Gpio.input`."""
        if pin not in self._levels:
            raise PanelError(f"GPIO {pin} has not been set up as an input")
        return self._levels[pin]

    def output(self, pin: int, level: bool) -> None:
        """See :meth:`Gpio.output`."""
        self._send({"do": "output", "pin": pin, "level": level})

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None:
        """See :meth:`Gpio.on_edge`."""
        self._callbacks[pin] = callback

    def cleanup(self) -> None:
        """See :meth:`Gpio.cleanup`."""
        self._closed = True
        self._callbacks.clear()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._socket.close()

    def _send(self, message: JsonObject) -> None:
        try:
            self._socket.sendall(_line(message))
        except OSError as error:
            raise PanelError(f"the simulated robot does not answer: {error}") from error

    def _listen(self) -> None:
        with contextlib.suppress(OSError, BadFile), self._socket.makefile("rb") as lines:
            for line in lines:
                self._hear(parse_object(line, "the simulated robot"))

    def _hear(self, message: JsonObject) -> None:
        pin = int(message["pin"])
        changed = self._levels.get(pin) != message["level"]
        self._levels[pin] = bool(message["level"])
        self._known.put(pin)
        callback = self._callbacks.get(pin)
        if callback is not None and changed and not self._closed:
            callback(pin)


def _connect(path: str) -> socket.socket:
    """Return a connection, or raise :class:`OSError` if no simulated robot listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(TIMEOUT_S)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _line(message: JsonObject) -> bytes:
    return json.dumps(message).encode() + b"\n"
