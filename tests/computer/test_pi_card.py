"""Cards that set a Pi up at its first boot: files written, kept and refused, also as a command."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.cli.main import run
from robot.computer.pi_card import CardSettings, Wifi, plan_card, read_ssh_keys
from solver.errors import CubistError, InvalidRequest
from solver.files import BadFile
from tests.rig.computers import fresh_card, make_package

DATA = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(32)).decode()
KEY = f"ssh-ed25519 {DATA} me@example.org"
PASSWORD, WIFI_PASSWORD = "correct horse", "battery staple"


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> CardSettings:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    package = make_package(tmp_path_factory.mktemp("package"))
    return CardSettings("pi", "cubist", "cubotino", ssh_keys=[KEY], package=package)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    return fresh_card(tmp_path / "card")


def contents(card: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in card.iterdir()}


def document(card: Path, name: str) -> Any:
    return yaml.safe_load((card / name).read_text())


def test_a_card_gets_user_network_robot_and_package(card, wanted):
    before = contents(card)
    wifi = Wifi.derive("Workshop", WIFI_PASSWORD, "DE")
    change = plan_card(card, replace(wanted, password=PASSWORD, wifi=wifi))
    assert contents(card) == before, "planning writes nothing"
    kept = change.write()
    assert {path.name.removesuffix(".before-cubist") for path in kept} == before.keys() - {
        "kernel8.img"
    }
    assert all(
        before[path.name.removesuffix(".before-cubist")] == path.read_bytes() for path in kept
    )
    assert (card / "user-data").read_text().startswith("#cloud-config\n")
    user = document(card, "user-data")["user"]
    assert (user["name"], user["ssh_authorized_keys"], user["sudo"]) == ("pi", [KEY], None)
    assert document(card, "network-config")["network"]["wifis"]["wlan0"] == {
        "dhcp4": True,
        "optional": True,
        "regulatory-domain": "DE",
        "access-points": {"Workshop": {"password": wifi.key}},
    }
    assert wanted.package is not None
    unit = document(card, "user-data")["write_files"][-1]["content"]
    assert f" /boot/firmware/{wanted.package.name} pi cubotino python3-picamera2\n" in unit
    assert b"dtoverlay=pwm-2chan,pin=12" in (card / "config.txt").read_bytes()
    identity = document(card, "meta-data")["instance-id"]
    words = (card / "cmdline.txt").read_text().split()
    assert f"ds=nocloud;i={identity}" in words and "cfg80211.ieee80211_regdom=DE" in words
    assert words[: len(before["cmdline.txt"].split())] == before["cmdline.txt"].decode().split()
    written = b"".join(contents(card).values())
    assert PASSWORD.encode() not in written and WIFI_PASSWORD.encode() not in written
    assert wifi.key not in change.diff and user["passwd"] not in change.diff


def test_a_second_run_changes_nothing_and_another_wish_does(card, wanted):
    own = contents(card)
    wifi = Wifi.derive("Workshop", WIFI_PASSWORD, "DE")
    wanted = replace(wanted, password=PASSWORD, wifi=wifi)
    plan_card(card, wanted).write()
    again = plan_card(card, wanted)
    assert (again.names, again.diff, again.write()) == ([], "", [])
    identity = document(card, "meta-data")
    plan_card(card, replace(wanted, password="another", wifi=None, robot="soltvvo")).write()
    assert document(card, "meta-data") != identity, "cloud-init takes it for a first start"
    assert (card / "network-config").read_bytes() == own["network-config"]
    assert b"pwm" not in (card / "config.txt").read_bytes()
    assert (card / "user-data.before-cubist").read_bytes() == own["user-data"]


@settings(max_examples=20)
@given(
    name=st.text(max_size=32),
    user=st.from_regex(r"[a-z_0-9][a-z0-9_-]{0,8}[\n:#'\\ ]?", fullmatch=True),
    host=st.from_regex(r"[a-z0-9-]{1,8}[\n:#'\\ ]?", fullmatch=True),
)
def test_names_are_refused_or_stay_what_they_are(name, user, host, wanted, tmp_path_factory):
    card = fresh_card(tmp_path_factory.mktemp("names") / "card")
    with contextlib.suppress(InvalidRequest):
        wanted = replace(wanted, wifi=Wifi.derive(name, WIFI_PASSWORD, "DE"))
    try:
        made = plan_card(card, replace(wanted, user=user, host_name=host)).after
    except InvalidRequest:
        return
    found = yaml.safe_load(made["user-data"])
    assert (found["user"]["name"], found["hostname"]) == (user, host)
    assert len(found) == 7 and len(found["runcmd"]) == 3
    if wanted.wifi is not None:
        radio = yaml.safe_load(made["network-config"])["network"]["wifis"]["wlan0"]
        assert list(radio["access-points"]) == [name]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"user": "pi\nroot"}, "cannot be a user name"),
        ({"user": "cubist"}, "cannot be a user name"),
        ({"host_name": "a: b"}, "not a host name"),
        ({"robot": "mine.yaml"}, "cubotino"),
        ({"ssh_keys": ()}, "--ssh-key"),
        ({"package": None}, "--repository"),
        ({"password": ""}, "one character or more"),
    ],
)
def test_bad_settings_are_refused(fields, said, card, wanted):
    with pytest.raises(InvalidRequest, match=said):
        plan_card(card, replace(wanted, **fields))


@pytest.mark.parametrize("values", [("", "12345678", "DE"), ("a" * 33, "12345678", "DE")])
def test_a_wifi_without_a_proper_name_is_refused(values):
    with pytest.raises(InvalidRequest, match="name"):
        Wifi.derive(*values)
    with pytest.raises(InvalidRequest, match="country"):
        Wifi.derive("Workshop", "12345678", "de")
    with pytest.raises(InvalidRequest, match="8 to 63"):
        Wifi.derive("Workshop", "1234567", "DE")


def test_images_that_do_not_fit_are_refused_with_the_reason(card, wanted):
    for name, said in (("kernel7.img", "32-bit"), ("firstrun.sh", "another program")):
        (card / name).touch()
        with pytest.raises(BadFile, match=said):
            plan_card(card, wanted)
        (card / name).unlink()
    for name, said in (("user-data", "no cloud-init"), ("cmdline.txt", "no boot partition")):
        (card / name).unlink()
        with pytest.raises(BadFile, match=said):
            plan_card(card, wanted)


def test_what_others_set_up_is_replaced_only_on_demand(card, wanted):
    theirs = b"#cloud-config\nhostname: mine\n"
    (card / "user-data").write_bytes(theirs)
    with pytest.raises(InvalidRequest, match=r"user-data.*--replace"):
        plan_card(card, wanted)
    plan_card(card, wanted, replace=True).write()
    assert (card / "user-data.before-cubist").read_bytes() == theirs


def test_passwords_that_others_wrote_are_never_shown(card, wanted):
    theirs = (
        '#cloud-config\nuser: {name: x, passwd: "hunter1"}\nplain_text_passwd: hunter2\n'
        "chpasswd:\n  list: |\n    bob:hunter3\n"
    )
    network = 'network:\n  wifis: {wlan0: {access-points: {Home: {"password": "hunter4"}}}}\n'
    (card / "user-data").write_text(theirs)
    (card / "network-config").write_text(network)
    joined = replace(wanted, wifi=Wifi.derive("Workshop", WIFI_PASSWORD, "DE"))
    change = plan_card(card, joined, replace=True)
    assert "+hostname: cubist" in change.diff
    for name in ("user-data", "network-config"):
        assert f"{name} (replaced; kept as {name}.before-cubist)" in change.diff
    change.write()
    back = plan_card(card, wanted)
    assert "(put back from network-config.before-cubist)" in back.diff
    back.write()
    assert (card / "network-config").read_text() == network
    assert "hunter" not in change.diff + back.diff


FAKE_DPKG = """#!/bin/sh
case "$1" in --compare-versions) exec {dpkg} "$@" ;; esac
"""
FAKE_QUERY = """#!/bin/sh
case "$*" in *Version*) cat {folder}/installed ;; *) cut -d " " -f 1 {folder}/installed ;; esac
"""
FAKE_APT = """#!/bin/sh
for last; do :; done
echo "$last" >>{folder}/asked
"""


@pytest.mark.parametrize(
    ("installed", "asked"),
    [
        ("", ["{card}/cubist_1.0+deb13_arm64.deb"]),
        ("half-configured 1.0+deb13", ["{card}/cubist_1.0+deb13_arm64.deb"]),
        ("installed 0.9+deb13", ["{card}/cubist_1.0+deb13_arm64.deb"]),
        ("installed 1.0+deb13", []),
        ("installed 1.1+deb13", []),
    ],
)
def test_a_first_boot_installs_what_is_missing_or_older(installed, asked, wanted, card, tmp_path):
    plan_card(card, wanted).write()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "installed").write_text(f"{installed}\n" if installed else "")
    (tmp_path / "asked").touch()
    (tmp_path / "cubistd.env").write_text("CUBIST_PROFILE=soltvvo\n")
    programs = dict.fromkeys(("usermod", "systemctl"), "#!/bin/sh\n")
    programs |= {"dpkg": FAKE_DPKG, "dpkg-query": FAKE_QUERY, "apt-get": FAKE_APT}
    for name, text in programs.items():
        (tools / name).write_text(text.format(folder=tmp_path, dpkg=shutil.which("dpkg")))
        (tools / name).chmod(0o755)
    [script] = [
        one["content"].replace("/boot/firmware", str(card)).replace("/etc/cubist", str(tmp_path))
        for one in document(card, "user-data")["write_files"]
        if one["path"] == "/usr/local/sbin/cubist-first-boot"
    ]
    words = ["bash", "-c", script, "first-boot", str(card / wanted.package.name), "pi", "cubotino"]
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    subprocess.run(words, env=environment, check=True, capture_output=True)
    assert (tmp_path / "asked").read_text().split() == [path.format(card=card) for path in asked]
    assert (card / "cubist-first-boot.txt").read_text().endswith("Cubist is installed.\n")
    assert (tmp_path / "cubistd.env").read_text() == "CUBIST_PROFILE=cubotino\n"


def test_a_repository_brings_its_address_and_key(card, wanted, tmp_path):
    sources, key = tmp_path / "cubist-trixie.sources", tmp_path / "cubist.gpg"
    key.write_bytes(b"\x98key")
    wanted = replace(wanted, package=None, repository=tmp_path)
    text = "Types: deb\nURIs: {}\nSigned-By: /etc/apt/keyrings/cubist.gpg\n"
    sources.write_text(text.format("file:/srv/cubist"))
    with pytest.raises(BadFile, match="ADDRESS=https"):
        plan_card(card, wanted)
    sources.write_text(text.format("https://robots.example/apt"))
    plan_card(card, wanted).write()
    written = {one["path"]: one for one in document(card, "user-data")["write_files"]}
    kept = written["/etc/apt/keyrings/cubist.gpg"]
    assert base64.b64decode(kept["content"]) == key.read_bytes() and kept["encoding"] == "b64"
    assert written["/etc/apt/sources.list.d/cubist.sources"]["content"] == sources.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "private"),
        ("# nothing\n", "no key"),
        (f"ssh-rsa {DATA}\n", "not an SSH public key"),
        ("ssh-ed25519 d%ta\n", "not an SSH public key"),
        (f'command="rm" {KEY}\n', "not an SSH public key"),
        (f"{KEY}\x1b[2J\n", "not an SSH public key"),
    ],
)
def test_only_public_keys_are_taken(text, said, tmp_path):
    file = tmp_path / "key"
    file.write_text(f"# mine\n{KEY}\n\n")
    assert read_ssh_keys(file) == [KEY]
    file.write_text(text)
    with pytest.raises(CubistError, match=said):
        read_ssh_keys(file)


@pytest.fixture
def typed(tmp_path: Path) -> list[str]:
    """Return a command for a fresh card, with a Wi-Fi and a repository."""
    (tmp_path / "cubist.gpg").write_bytes(b"key")
    (tmp_path / "cubist-trixie.sources").write_text(
        "URIs: https://robots.example/apt\nSigned-By: /etc/apt/keyrings/cubist.gpg\n"
    )
    (tmp_path / "secret").write_text("battery staple\r\n")
    card = fresh_card(tmp_path / "card")
    options = ["--repository", str(tmp_path), "--wifi", "Workshop", "--wifi-country", "DE"]
    options += ["--wifi-password-file", str(tmp_path / "secret"), "--password-file", "-"]
    return ["pi-card", str(card), *options]


def test_a_dry_run_shows_what_is_then_written(typed, capsys, monkeypatch):
    def shown(*options: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
        assert run([*typed, *options]) == 0
        return capsys.readouterr().out

    before = contents(Path(typed[1]))
    planned = shown("--dry-run")
    assert "+hostname: cubist" in planned and "passwd: (secret)" in planned
    assert "nothing was written" in planned
    assert contents(Path(typed[1])) == before
    said = json.loads(shown("--json"))
    assert said["changed"][-1] == "cmdline.txt" and said["written"] is True
    assert "nothing to change" in shown()


def test_options_that_lack_others_are_refused(typed, capsys):
    password = ["--wifi-password-file", "x"]
    lacking = {"--wifi-country": ["--wifi", "Workshop"], "needs --wifi": password, "--ssh-key": []}
    for said, options in lacking.items():
        assert run([*typed[:4], *options]) == 2
        assert said in capsys.readouterr().err
