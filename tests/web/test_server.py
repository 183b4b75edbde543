"""The page's server: files, WebSocket, where it is announced, how it starts and ends."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.api.paths import SYSTEM_RUNTIME
from robot.cli.main import run
from robot.records import documents
from robot.records.storage import StorageError
from robot.text.languages import LANGUAGES
from robot.web import announcement
from robot.web import main as page_program
from robot.web.access import load_token
from robot.web.announcement import Announcement, PageError, announcement_file, find_page
from robot.web.app import load_assets
from robot.web.main import PageOptions, main, parse, serving
from solver.files import BadFile

MOST_BYTES = 120 * 1024


async def heard(socket: Any, kind: str) -> Any:
    """The next message of a kind."""
    async with asyncio.timeout(60):
        async for message in socket:
            found = json.loads(message.data) if isinstance(message.data, str) else {}
            if kind in found:
                return found[kind]
    raise AssertionError("the socket was closed")


def test_the_page_is_small_and_whole() -> None:
    assets = load_assets()
    texts = {f"/static/{language}.json" for language in LANGUAGES}
    # A browser loads one language.
    longest = max(len(assets[path].zipped) for path in texts)
    own = sum(len(asset.zipped) for path, asset in assets.items() if path not in texts)
    assert own + longest <= MOST_BYTES
    names = {file.name for file in files("robot.web").joinpath("static").iterdir()}
    assert {f"/static/{name}" for name in names - {"index.html"}} | {"/"} | texts == set(assets)
    for path, asset in assets.items():
        text = gzip.decompress(asset.zipped).decode()
        for named in re.findall(r'(?:src|href)="([^"#]+)"', text) if path == "/" else []:
            assert named in assets, f"{path} names {named}"
        for module in re.findall(r'from "\./([^"]+)"', text):
            assert f"/static/{module}" in assets, f"{path} imports {module}"


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path, asset in load_assets().items():
        text = gzip.decompress(asset.zipped).decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", text), path


async def test_files_come_zipped_and_only_once(page: Any) -> None:
    async with page.visitor.get("/static/cube.js") as response:
        assert response.status == 200
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.content_type == "text/javascript"
        tag = response.headers["ETag"]
        text = await response.text()
    assert text == files("robot.web").joinpath("static", "cube.js").read_text(encoding="utf-8")
    async with page.visitor.get("/static/cube.js", headers={"If-None-Match": tag}) as response:
        assert (response.status, await response.read()) == (304, b"")
    async with page.visitor.get("/", headers={"Accept-Encoding": "identity"}) as response:
        assert "Content-Encoding" not in response.headers
        assert (await response.text()).startswith("<!doctype html>")


async def test_a_tab_hears_what_happens_and_stops_the_robot(page: Any) -> None:
    await page.log_in()
    async with page.visitor.ws_connect("/ws", headers={"Origin": page.url}) as socket:
        assert (await heard(socket, "status"))["state"] == "idle"
        page.daemon.events.put_nowait({"event": "state", "state": "homing"})
        assert (await heard(socket, "event"))["state"] == "homing"
        assert (await heard(socket, "status"))["state"] == "idle", "the status is asked for anew"
        await socket.send_str('{"do": "stop"}')
        assert await heard(socket, "stopped") is True
        await socket.send_str('{"do": "estop"}')
        assert await heard(socket, "stopped") is True
    assert page.daemon.posts() == [("/stop", b"{}"), ("/stop", b'{"emergency": true}')]


async def test_without_a_daemon_the_page_says_so(options: PageOptions, short_folder: Path) -> None:
    async with serving(options, "t" * 43) as announced:
        url = announced.urls[0].partition("/#")[0]
        jar = aiohttp.CookieJar(unsafe=True)
        own = {"Origin": url, "X-Cubist": "1"}
        async with aiohttp.ClientSession(url, cookie_jar=jar, headers=own) as visitor:
            await visitor.post("/login", json={"token": "t" * 43})
            async with visitor.get("/api/status") as response:
                assert response.status == 503
                assert "not running" in (await response.json())["reason"]
            async with visitor.ws_connect("/ws") as socket:
                assert "not running" in await heard(socket, "gone")
                await socket.send_str('{"do": "estop"}')
                assert await heard(socket, "reason")


async def test_the_address_is_announced_to_the_group_and_gone_at_the_end(
    page: Any, short_folder: Path
) -> None:
    file = announcement_file(short_folder / "control.sock")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    found = find_page({"CUBIST_RUNTIME_DIR": str(short_folder)})
    assert found.urls == (f"{page.url}/#{'t' * 43}",)
    assert found.local


async def test_it_is_gone_at_the_end(options: PageOptions) -> None:
    async with serving(options, "t" * 43):
        assert (options.announce / "web.json").exists()
    assert not (options.announce / "web.json").exists()
    with pytest.raises(PageError, match="cubist-web"):
        find_page({"CUBIST_RUNTIME_DIR": str(options.announce)})


async def test_a_port_that_is_taken_is_said(page: Any, options: PageOptions) -> None:
    in_use = f"127.0.0.1 port {page.port}: Address already in use.*; choose others with --bind"
    with pytest.raises(match=in_use):
        async with serving(replace(options, port=page.port), "t" * 43):
            pass


def test_the_program_says_so_too_and_ends_as_for_bad_usage(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as left:
        main(["--port", str(taken.getsockname()[1])])
    assert left.value.code == 2
    assert "--port" in caplog.text
    assert not (short_folder / "web.json").exists()


def test_the_token_is_kept_and_nobody_else_reads_it(tmp_path: Path) -> None:
    token = load_token(tmp_path)
    assert len(token) == 43
    assert load_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert load_token(None) != load_token(None)
    (tmp_path / "token").write_text("short")
    assert len(load_token(tmp_path)) == 43
    with pytest.raises(StorageError):
        load_token(tmp_path / "nowhere")


def test_a_token_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(StorageError, match=f"{tmp_path}/token: .*; remove it"):
        load_token(tmp_path)


def test_what_is_said_of_the_page_in_its_environment_and_flags() -> None:
    run = {"CUBIST_RUNTIME_DIR": "/r"}
    plain = PageOptions(
        bind="127.0.0.1",
        port=8421,
        names=(),
        daemon=Path("/r/page.sock"),
        announce=Path("/r"),
        state=None,
        calibrates=False,
    )
    assert parse([], run) == plain
    told = {
        "CUBIST_WEB_BIND": "0.0.0.0",
        "CUBIST_WEB_PORT": "80",
        "CUBIST_WEB_HOSTS": "a.example b.example",
        "CUBIST_WEB_RUNTIME_DIR": "/w",
        "CUBIST_WEB_STATE_DIR": "/s",
        "CUBIST_WEB_CALIBRATE": "no",
    }
    elsewhere = replace(
        plain,
        bind="0.0.0.0",
        port=80,
        names=("a.example", "b.example"),
        announce=Path("/w"),
        state=Path("/s"),
    )
    assert parse([], run | told) == elsewhere
    flags = "--bind ::1 --port 0 --host c.example --socket /d/s --runtime-dir /x --state-dir /y"
    assert parse([*flags.split(), "--calibrate"], run | told) == PageOptions(
        bind="::1",
        port=0,
        names=("a.example", "b.example", "c.example"),
        daemon=Path("/d/s"),
        announce=Path("/x"),
        state=Path("/y"),
        calibrates=True,
    )
    assert parse(["--socket", "/d/s"], {}).announce == Path("/d")
    assert parse(["--port", "65535"], run).port == 65535


@pytest.mark.parametrize(
    ("bind", "outward", "urls", "local"),
    [
        ("127.0.0.1", "10.0.0.7", ["127.0.0.1"], True),
        ("::1", None, ["[::1]"], True),
        ("localhost", None, ["localhost"], True),
        ("10.0.0.7", None, ["10.0.0.7"], False),
        ("0.0.0.0", "10.0.0.7", ["10.0.0.7", "pi.local", "127.0.0.1"], False),
        ("::", None, ["pi.local", "127.0.0.1"], False),
    ],
)
def test_addresses_that_others_can_use_come_first(
    options: PageOptions,
    bind: str,
    outward: str | None,
    urls: list[str],
    local: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_program, "_outward_address", lambda: outward)
    monkeypatch.setattr(socket, "gethostname", lambda: "pi.example.org")
    found = page_program._make_announcement(replace(options, bind=bind), 80, "token")
    assert found.urls == tuple(f"http://{host}:80/#token" for host in urls)
    assert (found.process, found.local) == (os.getpid(), local)


def test_an_announcement_is_believed_while_its_process_lives(short_folder: Path) -> None:
    environ = {"CUBIST_RUNTIME_DIR": str(short_folder)}
    page = Announcement(urls=("http://a:1/#t", "http://b:2/#t"), process=os.getpid(), local=False)
    assert page.publish(short_folder) == short_folder / "web.json"
    assert find_page(environ) == page
    page.model_copy(update={"process": 2**30}).publish(short_folder)
    with pytest.raises(PageError, match="start one with `cubist-web`"):
        find_page(environ)


def test_where_the_service_announces_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announcement_file(SYSTEM_RUNTIME / "control.sock") == Path("/run/cubist-web/web.json")
    assert announcement_file(Path("/r/control.sock")) == Path("/r/web.json")
    monkeypatch.setattr(announcement, "SYSTEM_WEB_RUNTIME", Path("/nonexistent"))
    with pytest.raises(PageError, match="sudo systemctl enable --now cubist-web"):
        find_page({"CUBIST_RUNTIME_DIR": str(SYSTEM_RUNTIME)})

    def forbidden(path: Path, limit: int) -> bytes:
        raise BadFile(str(path)) from PermissionError(path)

    monkeypatch.setattr(documents, "read_file", forbidden)
    with pytest.raises(PageError, match="sudo usermod -aG cubist"):
        find_page({"CUBIST_RUNTIME_DIR": "/r"})


@pytest.mark.parametrize("port", ["-1", "65536", "x", "８"])
def test_a_port_that_cannot_be_is_bad_usage(port: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(["--port", port], {"CUBIST_RUNTIME_DIR": "/r"})


def test_a_setting_is_yes_or_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse([], {"CUBIST_WEB_CALIBRATE": "yes"}).calibrates
    with pytest.raises(SystemExit, match="2"):
        parse([], {"CUBIST_WEB_CALIBRATE": "perhaps"})
    assert "yes or no" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"urls": 1}', '{"urls": [], "process": "x"}'])
def test_a_damaged_announcement_is_none(
    short_folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    (short_folder / "web.json").write_text(text)
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    assert run(["web"]) == 3
    assert "Restart cubist-web" in capfd.readouterr().err


def as_nobody(work: Callable[[], int]) -> int:
    """Exit code of what somebody does who is in none of the groups."""
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(65_534)
            os.setuid(65_534)
            code = work()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_who_may_not_enter_the_page_s_folder_is_refused(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = short_folder / "cubist-web"
    folder.mkdir(mode=0o750)
    (folder / "web.json").touch()
    short_folder.chmod(0o711)
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(folder))
    run(["--help"])  # imports what nobody may read in a checkout of root's
    assert run(["web"]) == 3
    assert as_nobody(lambda: run(["web"])) == 3


async def test_the_program_and_the_command(
    daemon: Any, short_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    command = [sys.executable, "-m", "robot.web.main", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        try:
            while not (short_folder / "web.json").exists():
                assert process.poll() is None
                await asyncio.sleep(0.01)
            capfd.readouterr()
            assert run(["web", "--json"]) == 0
            told = json.loads(capfd.readouterr().out)
            assert told["local"] is True
            assert run(["web", "--qr"]) == 0
            out, err = capfd.readouterr()
            assert told["urls"][0] in out
            assert "ssh -L" in err
            assert "CUBIST_WEB_BIND" in err, "no phone reaches this machine's own address"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert told["urls"][0].partition("#")[2] not in said, "the journal never has the token"
    assert not (short_folder / "web.json").exists()


def test_a_demo_serves_its_page() -> None:
    options = ["demo", "--web", "--robot", "two-arm-2x2x2"]
    command = [sys.executable, "-m", "robot.cli.main", *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        url = said.removeprefix("Its page: ").strip()
        with urllib.request.urlopen(url) as served:
            assert b"<title>Cubist</title>" in served.read()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 4
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)
