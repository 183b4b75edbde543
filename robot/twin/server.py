"""The simulated robot's sockets: pins to and from its boards; camera and panel for the daemon.

The daemon's socket uses JSON, one object per line. The answer to ``{"do": "frame", "camera":
NAME}`` is ``{"width", "height", "time_us", "calibrated"}`` and the picture's bytes. ``{"do":
"input", "pin", "pull"}`` and ``{"do": "output", "pin", "level"}`` set up and drive the Pi's pins;
the server sends changes of inputs as ``{"pin", "level"}``.

Painting a large picture takes longer than a firmware may wait for an answer. So the server takes a
snapshot of the scene at the request, and paints it on a separate thread while the event loop goes
on answering.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import json
import socket
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from pathlib import Path

from robot.settings.board_table import TICKS_PER_S
from robot.settings.profile import FIRST_BOARD, PanelSettings
from robot.twin.pulses import PulseMaker
from robot.twin.simulated import Kind, PinStream, SimulatedRobot, input_record, order_record
from robot.twin.studio import Studio
from solver.files import BadFile, JsonObject, parse_object

SLICE_TICKS = TICKS_PER_S // 1000
"""Ticks granted at once: a millisecond."""
CATCH_UP_S = 0.1
"""Maximum real time to catch up after the computer was busy; the rest is dropped."""

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BOUNCES = 5
"""Number of changes of a contact before it comes to rest."""
LevelListener = Callable[[int, bool], None]
RECEIVE_BYTES = 1 << 14
"""Maximum bytes executed at a time: the firmware waits, but must answer the host in time."""


async def keep_time(boards: Collection[PinPort], speed: float) -> None:
    """Let time pass for all boards, ``speed`` times as fast as real time, until cancelled.

    A board that runs by itself keeps the computer's time and loses time when it does not get the
    processor, so two such boards would drift apart as no real ones do. Therefore several boards run
    on granted time: all get the same few ticks, and no more until each has used them. The robot
    sees changes of pins of different boards accurate to such a slice, and of one board exactly.
    """
    loop = asyncio.get_running_loop()
    slice_s = SLICE_TICKS / TICKS_PER_S / speed
    next_at = loop.time()
    while True:
        next_at = max(next_at + slice_s, loop.time() - CATCH_UP_S)
        await asyncio.gather(*(board.grant(SLICE_TICKS) for board in boards))
        # Also when late, so that other tasks can run.
        await asyncio.sleep(max(0.0, next_at - loop.time()))


@contextlib.asynccontextmanager
async def listening(path: Path, talk: Talk, limit: int = 2**16) -> AsyncIterator[None]:
    """Let ``talk`` answer each connection to a socket at ``path`` while the context lasts.

    Lines have at most ``limit`` bytes. At the end, open connections are closed.
    """
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        # asyncio's streams treat a cancelled connection as an error, and print a traceback.
        with contextlib.suppress(asyncio.CancelledError):
            await talk(reader, writer)
        connections.discard(task)
        writer.close()

    server = await asyncio.start_unix_server(serve, str(path), limit=limit)
    try:
        yield
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        if connections:
            await asyncio.wait(connections)


class SimulatedPanel:
    """Levels of the Pi's pins; listeners are called for inputs that change."""

    def __init__(self) -> None:
        self.outputs: dict[int, bool] = {}
        self._inputs: dict[int, bool] = {}
        self._listeners: list[LevelListener] = []

    def connect(self, settings: PanelSettings) -> None:
        """Set the parts that drive their pins to rest: the emergency stop's circuit is closed."""
        if settings.estop_gpio is not None:
            self.drive(settings.estop_gpio, settings.estop_active == "low")

    def listen(self, listener: LevelListener) -> None:
        """Call ``listener`` for every change of an input from now on."""
        self._listeners.append(listener)

    def leave(self, listener: LevelListener) -> None:
        """Stop calling ``listener``."""
        self._listeners.remove(listener)

    def pull(self, pin: int, level: bool) -> bool:
        """Pull an input to ``level`` unless something drives it; return its level."""
        return self._inputs.setdefault(pin, level)

    def drive(self, pin: int, level: bool) -> None:
        """Drive an input to ``level`` from outside the Pi."""
        if self._inputs.get(pin) == level:
            return
        self._inputs[pin] = level
        for listener in tuple(self._listeners):
            listener(pin, level)

    async def press(self, pin: int, held_s: float = 0.15) -> None:
        """Press a button with the bounce of a cheap contact."""
        rest = self.pull(pin, True)
        self._contact(pin, not rest)
        await asyncio.sleep(held_s)
        self._contact(pin, rest)

    def _contact(self, pin: int, level: bool) -> None:
        """Make a burst of edges without pauses, as a busy computer would stretch these."""
        for number in range(BOUNCES):
            self.drive(pin, level if number % 2 == 0 else not level)


class PinPort:
    """A socket for the connection of a board's firmware, which executes the records it receives.

    Everything runs in the event loop's thread. ``catch_up`` reads everything received, so that a
    frame requested after the firmware reported the end of a motion shows the end of it.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        path: Path,
        chips: PulseMaker | None = None,
        board: str = FIRST_BOARD,
    ) -> None:
        self.path = path
        self._robot = robot
        self._board = board
        self._stream = PinStream(robot, self._send, chips, board)
        self._stream.on_granted = self._end_wait
        self._granted = asyncio.Event()
        self._listener: socket.socket | None = None
        self._connection: socket.socket | None = None

    def open(self) -> None:
        """Start listening; must be called in the event loop."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        self._listener.bind(str(self.path))
        self._listener.listen(1)
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Stop listening and drop the firmware."""
        self._drop()
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def catch_up(self) -> None:
        """Execute everything the firmware has sent until now, and nothing it sends meanwhile."""
        waiting = self._waiting_bytes()
        while self._connection is not None and waiting > 0:
            received = self._receive(min(waiting, RECEIVE_BYTES))
            waiting = waiting - received if received else 0

    def send_input(self, pin: int, level: bool) -> None:
        """Send an input's level to the firmware, if connected."""
        self._send(input_record(pin, level))

    async def grant(self, ticks: int) -> None:
        """Let ticks pass for firmware that runs on granted time, if connected."""
        if self._connection is not None:
            self._granted.clear()
            self._send(order_record(Kind.GRANT, ticks))
            await self._granted.wait()

    def press_reset(self) -> None:
        """Press the reset button of a board whose firmware runs on granted time."""
        self._send(order_record(Kind.RESET))

    def _end_wait(self) -> None:
        self._granted.set()

    def _send(self, record: bytes) -> None:
        """Send a record; firmware that has ended, or does not read, misses it."""
        if self._connection is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                self._connection.send(record)

    def _accept(self) -> None:
        if self._listener is None:
            return
        connection, _ = self._listener.accept()
        self._drop()
        connection.setblocking(False)
        self._connection = connection
        self._stream.restart()
        asyncio.get_running_loop().add_reader(connection, self._receive)
        for pin, level in self._robot.inputs(self._board).items():
            self.send_input(pin, level)

    def _waiting_bytes(self) -> int:
        """Return the number of received bytes not yet read."""
        if self._connection is None:
            return 0
        count = array.array("i", [0])
        fcntl.ioctl(self._connection, termios.FIONREAD, count)
        return count[0]

    def _receive(self, limit: int = RECEIVE_BYTES) -> int:
        """Execute up to ``limit`` received bytes; return their number."""
        if self._connection is None:
            return 0
        try:
            data = self._connection.recv(limit)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self._drop()
        else:
            self._stream.feed(data)
        return len(data)

    def _drop(self) -> None:
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._connection)
            self._connection.close()
            self._connection = None
            self._end_wait()


class TwinServer:
    """A server of one simulated robot for the firmware of its boards and any number of daemons.

    ``chips`` make the pulses of boards whose firmware only states their widths. Several boards run
    on time granted here (see :func:`keep_time`), ``speed`` times as fast as real time; a single
    board keeps its own time.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        studio: Studio,
        panel: SimulatedPanel,
        folder: Path,
        chips: Mapping[str, PulseMaker] | None = None,
        speed: float = 1.0,
    ) -> None:
        self.daemon_path = folder / "twin.sock"
        self.panel = panel
        self._robot = robot
        self._studio = studio
        self._speed = speed
        makers = chips or {}
        first = makers.get(FIRST_BOARD)
        self.pins = {FIRST_BOARD: PinPort(robot, folder / "pins.sock", first)}
        for board in robot.profile.boards:
            path = folder / f"pins-{board}.sock"
            self.pins[board] = PinPort(robot, path, makers.get(board), board)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the context lasts."""
        for port in self.pins.values():
            port.open()
        self._robot.on_input = self._send_input
        time_keeper: asyncio.Task[None] | None = None
        if len(self.pins) > 1:
            time_keeper = asyncio.create_task(keep_time(self.pins.values(), self._speed))
        try:
            async with listening(self.daemon_path, self._serve):
                yield
        finally:
            if time_keeper is not None:
                time_keeper.cancel()
            self._robot.on_input = None
            for port in self.pins.values():
                port.close()

    def _send_input(self, board: str, pin: int, level: bool) -> None:
        self.pins[board].send_input(pin, level)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def tell(pin: int, level: bool) -> None:
            _write_line(writer, {"pin": pin, "level": level})

        self.panel.listen(tell)
        try:
            while line := await reader.readline():
                await self._answer(parse_object(line, "the daemon"), writer)
                await writer.drain()
        except (ConnectionError, BadFile, KeyError):
            pass  # end the connection of a client that sends what the daemon never sends
        finally:
            self.panel.leave(tell)

    async def _answer(self, request: JsonObject, writer: asyncio.StreamWriter) -> None:
        if request["do"] == "frame":
            await self._send_frame(request, writer)
            return
        actions: dict[str, Callable[[JsonObject, asyncio.StreamWriter], None]] = {
            "input": self._set_input,
            "output": self._set_output,
        }
        actions[request["do"]](request, writer)

    async def _send_frame(self, request: JsonObject, writer: asyncio.StreamWriter) -> None:
        for port in self.pins.values():
            port.catch_up()
        time_us, paint = round(self._robot.time_us), self._studio.pose_for(request.get("camera"))
        shot = await asyncio.to_thread(paint)
        height, width = shot.image.shape[:2]
        header = {
            "width": width,
            "height": height,
            "time_us": time_us,
            "calibrated": shot.calibrated,
        }
        _write_line(writer, header)
        writer.write(shot.image.tobytes())

    def _set_input(self, request: JsonObject, writer: asyncio.StreamWriter) -> None:
        level = self.panel.pull(request["pin"], request["pull"] == "up")
        _write_line(writer, {"pin": request["pin"], "level": level})

    def _set_output(self, request: JsonObject, writer: asyncio.StreamWriter) -> None:
        del writer
        self.panel.outputs[request["pin"]] = request["level"]


def _write_line(writer: asyncio.StreamWriter, message: JsonObject) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
