"""The robot on a real broker (mosquitto), as Home Assistant sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from robot.api.endpoints import Endpoint, Program
from robot.mqtt.home_assistant import DISCOVERY_PREFIX, discovery_messages
from robot.mqtt.main import main
from robot.mqtt.topics import Topics, state_document
from robot.simulate.processes import running
from tests.rig.documents import job_json, run_json, status_json
from tests.rig.page_server import FakePageDaemon

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
USER, PASSWORD = "robot", "a secret of its own"
TOPICS = Topics("museum")
LIMIT_S = 60
SHARED = {"availability_topic", "payload_available", "payload_not_available", "device", "origin"}
SHARED |= {"unique_id", "name"}
STATE = ("state_topic", "value_template", "device_class")
ALLOWED = {
    "sensor": {*SHARED, *STATE, "options", "state_class", "unit_of_measurement"},
    "binary_sensor": {*SHARED, *STATE, "json_attributes_topic", "json_attributes_template"},
    "button": {*SHARED, "command_topic", "payload_press"},
}
"""Keys that Home Assistant documents for these components; it refuses messages with others."""


@dataclass
class Broker:
    """A broker with one user, on a port with or without TLS."""

    folder: Path
    port: int
    authority: Path | None

    @property
    def environment(self) -> dict[str, str]:
        tls = {"CUBIST_MQTT_TLS": "yes", "CUBIST_MQTT_CA": str(self.authority)}
        return {
            "CUBIST_MQTT_HOST": "localhost",
            "CUBIST_MQTT_PORT": str(self.port),
            "CUBIST_MQTT_USER": USER,
            "CUBIST_MQTT_NAME": TOPICS.node,
            "CUBIST_MQTT_START": "yes",
            "CREDENTIALS_DIRECTORY": str(self.folder),
            **(tls if self.authority else {}),
        }

    def client(self) -> aiomqtt.Client:
        tls = ssl.create_default_context(cafile=self.authority) if self.authority else None
        return aiomqtt.Client(
            "localhost", self.port, username=USER, password=PASSWORD, tls_context=tls
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        config = self.folder / "mosquitto.conf"
        with subprocess.Popen(
            [MOSQUITTO, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.terminate()


@pytest.fixture
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Broker:
    """Return a broker that does not run yet. The parameter "tls" encrypts its port."""
    if not Path(MOSQUITTO).exists():
        pytest.skip("mosquitto is not installed (apt install mosquitto)")
    is_encrypted = getattr(request, "param", "") == "tls"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    config = [f"listener {port} localhost", "user root", f"password_file {tmp_path}/users"]
    if is_encrypted:
        make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        names = ["-addext", "subjectAltName=DNS:localhost"]
        files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
        subprocess.run(["openssl", *make.split(), *names, *files], check=True, capture_output=True)
        config += [f"certfile {tmp_path}/cert.pem", f"keyfile {tmp_path}/key.pem"]
    (tmp_path / "mosquitto.conf").write_text("\n".join(config))
    (tmp_path / "cubist-mqtt-password").write_text(f"{PASSWORD}\n")
    command = ["mosquitto_passwd", "-b", "-c", str(tmp_path / "users"), USER, PASSWORD]
    subprocess.run(command, check=True)
    return Broker(tmp_path, port, tmp_path / "cert.pem" if is_encrypted else None)


@pytest.fixture
async def daemon(short_folder: Path) -> AsyncIterator[FakePageDaemon]:
    found = FakePageDaemon(short_folder / "mqtt.sock")
    async with found.serving():
        yield found


@contextlib.asynccontextmanager
async def published(daemon: Path, broker: Broker, **more: str) -> AsyncIterator[Any]:
    settings = (f"{name}={value}" for name, value in (broker.environment | more).items())
    program = (sys.executable, "-m", "robot.mqtt.main", "--socket", str(daemon))
    async with running("cubist-mqtt", ["env", *settings, *program], broker.folder) as child:
        yield child


async def receive(client: aiomqtt.Client, topic: str, wanted: Any = None) -> Any:
    """Return the next payload below a topic, or wait for the one that is ``wanted``."""
    async with asyncio.timeout(LIMIT_S):
        async for message in client.messages:
            payload = message.payload.decode()
            if message.topic.matches(topic) and wanted in {None, payload}:
                return payload
    raise AssertionError("the broker has gone")


@contextlib.asynccontextmanager
async def neighbour(broker: Broker, *topics: str) -> AsyncIterator[aiomqtt.Client]:
    """Yield a client that has subscribed, as soon as the broker runs."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                async with broker.client() as client:
                    for topic in topics:
                        await client.subscribe(topic, qos=1)
                    yield client
                    return
            except aiomqtt.MqttError as error:
                if "refused" not in str(error):
                    raise
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("broker", ["plain", "tls"], indirect=True)
async def test_home_assistant_finds_the_robot(broker, daemon):
    with broker.running():
        async with (
            published(daemon.path, broker),
            neighbour(broker, "homeassistant/#", TOPICS.state, TOPICS.availability) as client,
        ):
            found = {}
            while len(found) < 7:
                async with asyncio.timeout(LIMIT_S):
                    message = await anext(aiter(client.messages))
                if str(message.topic).startswith("homeassistant/"):
                    found[str(message.topic)] = json.loads(message.payload)
            state = json.loads(await receive(client, TOPICS.state))
            assert await receive(client, TOPICS.availability, "online")
    assert (state["state"], state["robot"], state["timer_s"]) == ("idle", "cubotino", 0)
    for topic, entity in found.items():
        _, component, node, _, config = topic.split("/")
        assert (node, config) == (TOPICS.node, "config")
        assert entity.keys() <= ALLOWED[component], topic
        assert entity["device"]["identifiers"] == ["cubist-museum"]
        assert entity["availability_topic"] == TOPICS.availability
        for key in re.findall(r"value_json\.(\w+)", json.dumps(entity)):
            assert key in state, topic
    assert len({entity["unique_id"] for entity in found.values()}) == len(found)
    assert {topic.split("/")[3] for topic in found} > {"state", "timer", "fault", "start", "stop"}


def test_the_state_has_the_job_and_the_last_run():
    fault = {"code": "jammed", "cause": "stuck", "remedy": "free it"}
    run = run_json(12, moves="R U", duration_s=31.234)
    shown = state_document(status_json("fault", job=job_json(), last_run=run, fault=fault))
    assert shown == {
        "state": "fault",
        "robot": "cubotino",
        "job": "solve",
        "timer_s": 12,
        "run": 12,
        "outcome": "solved",
        "time_s": 31.23,
        "moves": 2,
        "fault": {"cause": "stuck", "remedy": "free it"},
    }


@pytest.mark.parametrize("may_start", ["yes", "no"])
async def test_only_allowed_commands_reach_the_robot(broker, daemon, may_start):
    """Check that a retained start is ignored: it would come again with each connection."""
    asked = ["/start", "/stop"] if may_start == "yes" else ["/stop"]
    with broker.running():
        async with neighbour(broker, TOPICS.availability) as client:
            await client.publish(TOPICS.command, "start", retain=True)
            async with published(daemon.path, broker, CUBIST_MQTT_START=may_start):
                await receive(client, TOPICS.availability, "online")
                for command in (b"shutdown", b"\xff\x00" * 2000, b"start", b"stop"):
                    await client.publish(TOPICS.command, command, qos=1)
                async with asyncio.timeout(LIMIT_S):
                    while len(daemon.posts()) < len(asked):
                        await asyncio.sleep(0.02)
    assert sorted(path for path, _ in daemon.posts()) == asked
    for method, path, _ in daemon.asked:
        assert Program.MQTT.may_ask(Endpoint(method, path)), "what its socket has"
    told = (broker.folder / "cubist-mqtt.log").read_text()
    assert ("Set CUBIST_MQTT_START=yes" in told) == (may_start == "no")
    entities = dict(discovery_messages(TOPICS, "cubotino", "1", may_start=may_start == "yes"))
    removed = [topic for topic, entity in entities.items() if entity is None]
    assert len(removed) == (may_start == "no"), "what was allowed before goes from the house"


async def test_a_broker_that_comes_back_hears_everything_again(broker, daemon):
    async with published(daemon.path, broker):
        for _ in range(2):
            with broker.running():
                async with neighbour(broker, TOPICS.availability) as client:
                    await receive(client, TOPICS.availability, "online")


async def test_without_a_daemon_or_without_us_the_robot_is_offline(broker, daemon):
    with broker.running():
        async with neighbour(broker, TOPICS.availability) as client:
            async with published(daemon.path.with_name("nobody.sock"), broker):
                await receive(client, TOPICS.availability, "offline")
            async with published(daemon.path, broker) as child:
                await receive(client, TOPICS.availability, "online")
                daemon.is_broken = True
                daemon.events.put_nowait({"event": "state"})
                await receive(client, TOPICS.availability, "offline")
                daemon.is_broken = False
                daemon.events.put_nowait({"event": "state"})
                await receive(client, TOPICS.availability, "online")
                child.process.kill()
                await receive(client, TOPICS.availability, "offline")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "CUBIST_MQTT_HOST is not set"),
        ({"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_PORT": "70000"}, "CUBIST_MQTT_PORT"),
        ({"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_START": "maybe"}, "CUBIST_MQTT_START"),
        ({"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_NAME": "a/#"}, "CUBIST_MQTT_NAME"),
        ({"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_CA": "/ca"}, "CUBIST_MQTT_TLS"),
        ({"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_DISCOVERY_PREFIX": "a/+"}, "DISCOVERY_PREFIX"),
        (
            {"CUBIST_MQTT_HOST": "h", "CUBIST_MQTT_TLS": "yes", "CUBIST_MQTT_CA": "/nowhere"},
            "/nowhere",
        ),
    ],
)
def test_a_wrong_setting_is_named(settings, said, caplog):
    with pytest.raises(SystemExit) as ended:
        main(["--socket", "/nowhere"], settings)
    assert ended.value.code == 2 and said in caplog.text


# Home Assistant's own schemas, from its published package

HOME_ASSISTANT = "2024.3.3"
"""The newest release for Python 3.11.

With 2025.4.4, which needs Python 3.13, every message was accepted and every key known, by hand in
November 2026.
"""

NEWER = {"options"}
"""Keys of later releases, in homeassistant/components/mqtt/sensor.py of 2026.2.

:data:`HOME_ASSISTANT` drops them.
"""

NEEDED = """
Jinja2==3.1.3 MarkupSafe PyJWT==2.8.0 PyYAML aiohttp==3.9.3 aiohttp-fast-url-dispatcher==0.3.0
aiohttp-zlib-ng==0.3.1 aiosignal async-interrupt==1.1.1 atomicwrites-homeassistant==1.4.1
attrs==23.2.0 awesomeversion==24.2.0 bcrypt==4.1.2 certifi cffi ciso8601==2.3.1
cryptography==42.0.5 frozenlist idna ifaddr==0.2.0 lru-dict==1.3.0 multidict orjson==3.9.15
packaging paho-mqtt pycparser python-slugify==8.0.4 text-unidecode==1.3 typing_extensions
ulid-transform==0.9.0 voluptuous==0.13.1 voluptuous-serialize==2.6.0 yarl==1.9.4 zlib-ng
"""
"""Packages that the schemas import; the package as a whole takes much longer to install."""

VALIDATE = """
import importlib, json, sys

for line in sys.stdin:
    component, payload = json.loads(line)
    platform = importlib.import_module(f"homeassistant.components.mqtt.{component}")
    try:
        accepted = platform.DISCOVERY_SCHEMA(payload)
    except Exception as error:
        print(json.dumps({"error": str(error)}))
        continue
    # The schema drops keys that it does not know.
    print(json.dumps({"unknown": sorted(payload.keys() - accepted.keys())}))
"""


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that judges messages, in its own environment, kept between runs."""
    cache = os.environ.get("XDG_CACHE_HOME")
    root = Path(cache) if cache else tmp_path_factory.mktemp("cache")
    folder = root / f"cubist-tests/home-assistant-{HOME_ASSISTANT}-{sys.version_info[1]}"
    python = folder / "bin/python"
    complete = folder / "complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = [*NEEDED.split(), f"homeassistant=={HOME_ASSISTANT}"]
        install = [str(python), "-m", "pip", "install", "-q", "--no-deps", *wanted]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Home Assistant cannot be installed: {done.stderr[-300:]}")
        complete.touch()
    return [str(python), "-c", VALIDATE]


@pytest.mark.long
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="each release has its own Python")
def test_home_assistant_accepts_every_message_and_knows_every_key(validator):
    topics = Topics("museum")
    entities = list(discovery_messages(topics, "cubotino", "1.2", may_start=True))
    messages = [
        (topic.removeprefix(f"{DISCOVERY_PREFIX}/").split("/")[0], payload)
        for topic, payload in entities
    ]
    assert {component for component, _ in messages} == {"sensor", "binary_sensor", "button"}
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    done = subprocess.run(validator, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    judged = [json.loads(line) for line in done.stdout.splitlines()]
    assert all("error" not in one and set(one["unknown"]) <= NEWER for one in judged), judged
