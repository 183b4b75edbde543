"""Messages with which Home Assistant finds the robot.

Home Assistant reads one retained message for each entity, at
``<discovery prefix>/<component>/<node>/<object>/config`` (its documentation, "MQTT discovery"). The
values of all entities come from one JSON document, the robot's state, by templates.
"""

from __future__ import annotations

from collections.abc import Iterator

from robot.api.endpoints import RobotState
from robot.mqtt.topics import OFFLINE, ONLINE, START, STOP, Topics
from robot.text.outcomes import Outcome
from solver.files import JsonObject

DISCOVERY_PREFIX = "homeassistant"
"""Home Assistant's own default."""


def discovery_messages(
    topics: Topics, robot: str, version: str, *, may_start: bool, prefix: str = DISCOVERY_PREFIX
) -> Iterator[tuple[str, JsonObject | None]]:
    """Yield topic and payload of every entity: sensors, a fault, and buttons.

    There is a start button only if MQTT ``may_start`` the robot. None removes one that was
    published before.
    """
    shared: JsonObject = {
        "availability_topic": topics.availability,
        "payload_available": ONLINE,
        "payload_not_available": OFFLINE,
        "device": {
            "identifiers": [f"cubist-{topics.node}"],
            "name": f"Cubist {topics.node}",
            "manufacturer": "Cubist",
            "model": robot,
            "sw_version": version,
        },
        "origin": {"name": "Cubist", "sw_version": version},
    }
    for component, name, entity in _entities(topics):
        topic = f"{prefix}/{component}/{topics.node}/{name}/config"
        if name == "start" and not may_start:
            yield topic, None
            continue
        unique = {"unique_id": f"cubist_{topics.node}_{name}"}
        yield topic, unique | entity | shared


def _entities(topics: Topics) -> Iterator[tuple[str, str, JsonObject]]:
    yield "sensor", "state", _sensor(topics, "State", "state", options=list(RobotState))
    yield "sensor", "outcome", _sensor(topics, "Last result", "outcome", options=list(Outcome))
    yield "sensor", "timer", _duration(topics, "Timer", "timer_s")
    yield "sensor", "time", _duration(topics, "Last time", "time_s")
    yield (
        "binary_sensor",
        "fault",
        {
            "name": "Fault",
            "device_class": "problem",
            "state_topic": topics.state,
            "value_template": "{{ 'ON' if value_json.fault else 'OFF' }}",
            "json_attributes_topic": topics.state,
            "json_attributes_template": "{{ value_json.fault | default({}, true) | tojson }}",
        },
    )
    yield "button", "start", _button(topics, "Solve", START)
    yield "button", "stop", _button(topics, "Stop", STOP)


def _sensor(topics: Topics, name: str, key: str, options: list[str]) -> JsonObject:
    return {
        "name": name,
        "device_class": "enum",
        "options": options,
        "state_topic": topics.state,
        "value_template": f"{{{{ value_json.{key} }}}}",
    }


def _duration(topics: Topics, name: str, key: str) -> JsonObject:
    return {
        "name": name,
        "device_class": "duration",
        "state_class": "measurement",
        "unit_of_measurement": "s",
        "state_topic": topics.state,
        "value_template": f"{{{{ value_json.{key} }}}}",
    }


def _button(topics: Topics, name: str, payload: str) -> JsonObject:
    return {"name": name, "command_topic": topics.command, "payload_press": payload}
