"""Discovery messages checked by Home Assistant's own schemas, from its published package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot.mqtt.home_assistant import DISCOVERY_PREFIX, discovery_messages
from robot.mqtt.topics import Topics

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
