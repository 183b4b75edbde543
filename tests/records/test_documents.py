"""Files and answers not in Cubist's format: rejected in a sentence, without waiting."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from robot.api.client import ControlClient, DaemonError
from robot.calibration.drift import FILE_NAME as DRIFT
from robot.calibration.drift import DriftRecord
from robot.calibration.store import CalibrationStore
from robot.calibration.versions import CubeSizes
from robot.cli.main import run
from robot.daemon.service import hold_lock
from robot.records.documents import read_document
from robot.records.runs import RunStore
from robot.settings import load_profile
from robot.web.access import load_token
from robot.web.announcement import FILE_NAME as PAGE
from robot.web.announcement import find_page
from solver.errors import CubistError

CUBOTINO = load_profile("cubotino")
DEEP = b"[" * 16_000
OBJECTS_DEEP = b'{"urls":' * 3_000

READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "page": (PAGE, lambda folder: find_page({"CUBIST_RUNTIME_DIR": str(folder)})),
    "calibration": (
        "calibration/cubotino/000001.json",
        lambda folder: CalibrationStore(folder, CubeSizes(CUBOTINO, None)).load(CUBOTINO),
    ),
    "drift": (DRIFT, lambda folder: read_document(folder / DRIFT, DriftRecord)),
    "record": ("000001/run.json", lambda folder: RunStore(folder).load("1")),
    "token": ("token", load_token),
    "lock": ("lock", lambda folder: hold_lock(folder / "lock").__enter__()),
}
"""All readers of our own files, with the file's name."""


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_or_a_folder_in_place_of_a_file_is_named_and_not_waited_for(reader, tmp_path):
    name, read = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")):
        make(path)
        with pytest.raises(CubistError, match=path.name):
            read(tmp_path)
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("reader", [name for name in READERS if name not in {"token", "lock"}])
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"7", DEEP, OBJECTS_DEEP, b"\xff", b'{"process": 1e400}', b"{}"]
)
def test_a_damaged_document_is_named(reader, data, tmp_path):
    name, read = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    with pytest.raises(CubistError, match=path.name) as raised:
        read(tmp_path)
    assert len(str(raised.value)) < 1_000
    assert "pydantic" not in str(raised.value)


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """Return a function that starts a foreign listener at the control socket.

    It gives the same answer to every request.
    """
    path, body = tmp_path / "control.sock", b""

    class Answer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
            self.request.sendall(head.encode() + body)

    def listen(data: bytes) -> Path:
        nonlocal body
        body = data
        return path

    with socketserver.UnixStreamServer(str(path), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield listen
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "body", [b"", b"{", DEEP, b"[]", b"{}", b'{"state": "idle"}', b'{"state": 1e999}', b"\xff"]
)
def test_a_listener_that_is_not_cubistd_is_named(listener, body, monkeypatch, capsys):
    path = listener(body)
    with pytest.raises(DaemonError, match=r"control\.sock"):
        print([ControlClient(path).status()[key] for key in ("state", "robot")])
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(path.parent))
    assert run(["status"]) == 3
    told = capsys.readouterr().err
    assert "internal error" not in told
    assert str(path) in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"latency_s": {"search": []}}, "latency_s.search"),
        ({"operations": [{"start_us": 0, "duration_us": 1}]}, "operations.0.op"),
        ({"operations": [{"op": "turn", "start_us": 0, "duration_us": 1}]}, "turn has no site"),
        ({"operations": [{"op": "home", "start_us": -1, "duration_us": 1}]}, "start_us"),
        ({"orientation": "XX"}, "XX"),
        ({"moves": "R Q"}, "Q"),
    ],
)
def test_an_edited_record_is_refused_with_the_reason(change, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(tmp_path))
    writer = RunStore(tmp_path / "runs").begin("solve", "r", datetime.now(UTC))
    record = writer.record
    record.operations = [
        {"op": "turn", "site": "R", "quarter_turns": 1, "start_us": 0, "duration_us": 9}
    ]
    record.moves, record.orientation, record.planned_us = "R", "UF", 9
    writer.save()
    file = tmp_path / "runs/000001/run.json"
    for document, is_refused in (({}, False), (change, True)):
        file.write_text(json.dumps(json.loads(file.read_text()) | document))
        shown = run(["runs", "show", "1", "--timeline", str(tmp_path / "plan.svg")])
        assert (shown != 0) is is_refused
    error = capsys.readouterr().err
    assert told in error
    assert "internal error" not in error and "pydantic" not in error


ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b2J\u202e"


def test_control_characters_are_taken_out_of_everything_read(listener, tmp_path, capsys):
    file = tmp_path / "000001/run.json"
    file.parent.mkdir()
    record = {"id": "1", "kind": "home", "robot": ESCAPES, "started_at": "2026-05-03T00:00:00Z"}
    told = []
    for ascii_only in (True, False):
        warned = record | {"warnings": ["fine\n\tü", ESCAPES]}
        file.write_text(json.dumps(warned, ensure_ascii=ascii_only))
        found = RunStore(tmp_path).load("1")
        assert found.warnings[0] == "fine\n\tü"
        told += [found.robot, *found.warnings]
    answer = ControlClient(listener(json.dumps({"state": ESCAPES, ESCAPES: 1}).encode())).status()
    told += [answer["state"], *answer]
    assert run(["read", "--faces", f"/none{ESCAPES}"]) == 2
    told.append(capsys.readouterr().err)
    for text in told:
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), repr(text)
