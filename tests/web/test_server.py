"""The page's server: its files, where it is announced, how it starts and ends."""

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
from importlib.resources import files
from pathlib import Path

import aiohttp
import pytest

from robot.api.paths import SYSTEM_RUNTIME
from robot.cli.main import run
from robot.records.storage import StorageError
from robot.text.languages import LANGUAGES
from robot.web import announcement
from robot.web import main as page_program
from robot.web.access import load_token
from robot.web.announcement import PageError, announcement_file, find_page
from robot.web.app import load_assets
from robot.web.main import PageOptions, main, make_announcement, parse, serving
from tests.rig.page_server import TOKEN, PageVisitor
from tests.rig.profiles import refusing

MOST_BYTES = 120 * 1024
PROGRAM = [sys.executable, "-m", "robot.web.main", "--port", "0"]


def test_the_page_is_small_and_whole_and_loads_nothing_from_elsewhere():
    assets = load_assets()
    texts = {f"/static/{language}.json" for language in LANGUAGES}
    # A browser loads one language.
    longest = max(len(assets[path].zipped) for path in texts)
    own = sum(len(asset.zipped) for path, asset in assets.items() if path not in texts)
    assert own + longest <= MOST_BYTES
    names = {file.name for file in files("robot.web").joinpath("static").iterdir()}
    assert {f"/static/{name}" for name in names - {"index.html"}} | {"/"} | texts == set(assets)
    for path, asset in assets.items():
        text = gzip.decompress(asset.zipped).decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", text), path
        named = re.findall(r'(?:src|href)="([^"#]+)"', text) if path == "/" else []
        modules = [f"/static/{module}" for module in re.findall(r'from "\./([^"]+)"', text)]
        assert {*named, *modules} <= assets.keys(), path


async def test_files_come_zipped_and_only_once(page):
    async with page.visitor.get("/static/cube.js") as response:
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


async def test_the_page_is_announced_to_the_group_until_it_ends_and_closes_its_tabs(
    daemon, options
):
    environ = {"CUBIST_RUNTIME_DIR": str(options.announce)}
    async with contextlib.AsyncExitStack() as stack:
        async with serving(options, TOKEN):
            file = announcement_file(options.daemon)
            assert stat.S_IMODE(file.stat().st_mode) == 0o640
            found = find_page(environ)
            url, _, token = found.urls[0].partition("/#")
            assert (token, found.local) == (TOKEN, True)
            jar = aiohttp.CookieJar(unsafe=True)
            visitor = aiohttp.ClientSession(url, cookie_jar=jar)
            page = PageVisitor(url, daemon, await stack.enter_async_context(visitor))
            await page.log_in()
            tab = await stack.enter_async_context(page.tab())
            reading = asyncio.create_task(tab.closed())
            await tab.ask("stop")
        await reading
        assert tab.socket.close_code == aiohttp.WSCloseCode.OK
    assert not file.exists()
    with pytest.raises(PageError, match="start one with `cubist-web`"):
        find_page(environ)
    found.model_copy(update={"process": 2**30}).publish(options.announce)
    with pytest.raises(PageError, match="start one with `cubist-web`"):
        find_page(environ)


def test_a_port_that_is_taken_ends_the_program_as_bad_usage(short_folder, monkeypatch, caplog):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as left:
        main(["--port", str(port := taken.getsockname()[1])])
    assert left.value.code == 2
    assert re.search(
        f"127.0.0.1 port {port}: Address already in use.*--bind and --port", caplog.text
    )
    assert not (short_folder / "web.json").exists()


def test_the_token_is_kept_and_nobody_else_reads_it(tmp_path):
    token = load_token(tmp_path)
    assert len(token) == 43
    assert load_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert load_token(None) != load_token(None)
    (tmp_path / "token").write_text("short")
    assert len(load_token(tmp_path)) == 43
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(StorageError, match=f"{tmp_path}/token: .*; remove it"):
        load_token(tmp_path)
    with pytest.raises(StorageError):
        load_token(tmp_path / "nowhere")


def test_options_come_from_the_environment_and_flags():
    environ = {
        "CUBIST_RUNTIME_DIR": "/r",
        "CUBIST_WEB_BIND": "0.0.0.0",
        "CUBIST_WEB_PORT": "80",
        "CUBIST_WEB_HOSTS": "a.example b.example",
        "CUBIST_WEB_RUNTIME_DIR": "/w",
        "CUBIST_WEB_STATE_DIR": "/s",
        "CUBIST_WEB_CALIBRATE": "yes",
    }
    names = ("a.example", "b.example")
    told = PageOptions("0.0.0.0", 80, names, Path("/r/page.sock"), Path("/w"), Path("/s"), True)
    assert parse([], environ) == told
    flags = "--bind ::1 --port 0 --host c.example --socket /d/s --runtime-dir /x --state-dir /y"
    names = (*names, "c.example")
    told = PageOptions("::1", 0, names, Path("/d/s"), Path("/x"), Path("/y"), True)
    assert parse([*flags.split(), "--calibrate"], environ | {"CUBIST_WEB_CALIBRATE": "no"}) == told
    found = parse(["--socket", "/d/s"], {})
    assert (found.announce, found.bind, found.calibrates) == (Path("/d"), "127.0.0.1", False)


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        *((["--port", port], {}) for port in ("-1", "65536", "x", "８")),
        ([], {"CUBIST_WEB_CALIBRATE": "perhaps"}),
    ],
)
def test_impossible_options_are_bad_usage(flags, environ):
    with pytest.raises(SystemExit, match="2"):
        parse(flags, environ | {"CUBIST_RUNTIME_DIR": "/r"})


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
def test_addresses_that_others_can_use_come_first(bind, outward, urls, local, monkeypatch):
    monkeypatch.setattr(page_program, "_outward_address", lambda: outward)
    monkeypatch.setattr(socket, "gethostname", lambda: "pi.example.org")
    found = make_announcement(bind, 80, "token", "viewer")
    assert found.urls == tuple(f"http://{host}:80/#token" for host in urls)
    assert (found.process, found.local) == (os.getpid(), local)


def test_a_service_s_page_and_one_that_may_not_be_read_have_their_remedies(
    short_folder, monkeypatch
):
    assert announcement_file(SYSTEM_RUNTIME / "control.sock") == Path("/run/cubist-web/web.json")
    monkeypatch.setattr(announcement, "SYSTEM_WEB_RUNTIME", Path("/nonexistent"))
    with pytest.raises(PageError, match="sudo systemctl enable --now cubist-web"):
        find_page({"CUBIST_RUNTIME_DIR": str(SYSTEM_RUNTIME)})
    (short_folder / "web.json").touch()
    with refusing(short_folder), pytest.raises(PageError, match="sudo usermod -aG cubist"):
        find_page({"CUBIST_RUNTIME_DIR": str(short_folder)})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"urls": 1}', '{"urls": [], "process": "x"}'])
def test_a_damaged_announcement_is_none(short_folder, text, monkeypatch, capfd):
    (short_folder / "web.json").write_text(text)
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    assert run(["web"]) == 3
    assert "Restart cubist-web" in capfd.readouterr().err


async def test_the_program_and_the_command(daemon, short_folder, monkeypatch, capfd):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(short_folder))
    with subprocess.Popen(PROGRAM, stderr=subprocess.PIPE) as process:
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
        said = process.stderr.read().decode()
    assert told["urls"][0].partition("#")[2] not in said, "the journal never has the token"
    assert not (short_folder / "web.json").exists()


def test_a_demo_serves_its_page():
    options = ["demo", "--web", "--robot", "two-arm-2x2x2"]
    command = [sys.executable, "-m", "robot.cli.main", *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.readline().decode()
        url = said.removeprefix("Its page: ").strip()
        with urllib.request.urlopen(url) as served:
            assert b"<title>Cubist</title>" in served.read()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 4
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)


def test_the_whole_page_is_at_most_150_kilobytes_on_the_wire():
    sizes = {path: len(asset.zipped) for path, asset in load_assets().items()}
    languages = [size for path, size in sizes.items() if path.endswith(".json")]
    assert sum(sizes.values()) - sum(languages) + max(languages) < 150_000
