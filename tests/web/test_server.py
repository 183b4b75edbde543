"""The page's server: its files, its announcement, its start and end."""

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
from dataclasses import replace
from importlib.resources import files

import aiohttp
import pytest

from robot.cli.main import run
from robot.records.storage import StorageError
from robot.text.languages import LANGUAGES
from robot.web import main as page_program
from robot.web.access import load_token
from robot.web.announcement import PageError, announcement_file, find_page
from robot.web.app import load_assets
from robot.web.main import make_announcement, make_parser, parse, serving
from tests.rig.page_server import TOKEN, PageVisitor

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


async def test_the_page_is_announced_to_its_group_until_it_ends(daemon, options):
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
    monkeypatch.setattr(page_program, "outward_address", lambda: outward)
    monkeypatch.setattr(socket, "gethostname", lambda: "pi.example.org")
    found = make_announcement(bind, 80, "token", "viewer")
    assert found.urls == tuple(f"http://{host}:80/#token" for host in urls)
    assert (found.process, found.local) == (os.getpid(), local)


def test_an_empty_setting_has_its_default(capsys):
    empty = dict.fromkeys(re.findall(r"CUBIST_\w+", make_parser({}).epilog or ""), "")
    assert empty and parse([], empty) == parse([], {})
    with pytest.raises(SystemExit):
        parse(["--bind", ""], {})
    assert "--bind: name an address" in capsys.readouterr().err


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 on this computer")
async def test_all_addresses_are_those_of_ipv4_too(daemon, options):
    async with serving(replace(options, bind="::"), TOKEN) as page:
        url = page.urls[-1].partition("#")[0]
        assert "127.0.0.1" in url
        async with aiohttp.ClientSession() as visitor, visitor.get(url) as answer:
            assert answer.status == 200


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
