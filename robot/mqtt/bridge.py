"""The bridge between the daemon and a broker: state out, commands in. Either may disappear."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import cast

import aiomqtt

from robot.api.async_client import AsyncControlClient
from robot.api.client import DaemonError, RequestError
from robot.api.endpoints import EVENTS, START, STATUS, STOP, Endpoint, RobotStatusJson
from robot.mqtt import topics as words
from robot.mqtt.home_assistant import DISCOVERY_PREFIX, discovery_messages
from robot.mqtt.topics import OFFLINE, ONLINE, Topics, state_document

log = logging.getLogger("cubist-mqtt")

RETRY_S = 5.0
TIMER_S = 1.0
"""Period of the timer while a job is under way."""

AT_LEAST_ONCE = 1


@dataclass(frozen=True)
class BrokerOptions:
    """The broker, and the robot's name there.

    ``may_start``: a message may start the robot. ``tls``: None for an unencrypted connection.
    """

    host: str
    port: int
    topics: Topics
    user: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    may_start: bool = False
    discovery_prefix: str = DISCOVERY_PREFIX


async def bridge(options: BrokerOptions, socket: Path) -> None:
    """Publish the robot's state and carry out commands until cancelled. Reconnect forever."""
    async with AsyncControlClient(socket) as daemon:
        failure = ""
        while True:
            try:
                async with _connect(options) as broker:
                    log.info("connected to %s port %d", options.host, options.port)
                    await _BrokerSession(options, daemon, broker).run()
                failure = ""
            except aiomqtt.MqttError as error:
                if str(error) != failure:  # only once while the broker is away
                    log.warning("%s port %d: %s", options.host, options.port, error)
                failure = str(error)
            await asyncio.sleep(RETRY_S)


def _connect(options: BrokerOptions) -> aiomqtt.Client:
    # If this process dies, the broker publishes this.
    will = aiomqtt.Will(options.topics.availability, OFFLINE, qos=AT_LEAST_ONCE, retain=True)
    return aiomqtt.Client(
        options.host,
        options.port,
        username=options.user,
        password=options.password,
        identifier=f"cubist-{options.topics.node}",
        tls_context=options.tls,
        will=will,
        logger=log,
    )


class _BrokerSession:
    """The work on one connection to the broker, as long as it lasts."""

    def __init__(
        self, options: BrokerOptions, daemon: AsyncControlClient, broker: aiomqtt.Client
    ) -> None:
        self._options = options
        self._topics = options.topics
        self._daemon = daemon
        self._broker = broker
        self._changed = asyncio.Event()
        self._announced: tuple[str, str] | None = None
        self._published: dict[str, str] = {}
        self._starting: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Work until the connection is lost or the task is cancelled."""
        await self._broker.subscribe(self._topics.command, qos=AT_LEAST_ONCE)
        work = (self._obey(), self._publish_state(), self._follow_events())
        tasks = [asyncio.create_task(each) for each in work]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            tasks += [] if self._starting is None else [self._starting]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(aiomqtt.MqttError):
                await self._publish(self._topics.availability, OFFLINE)

    async def _follow_events(self) -> None:
        while True:
            with contextlib.suppress(DaemonError, RequestError):
                async with self._daemon.lines(EVENTS) as events:
                    self._changed.set()
                    async for event in events:
                        if event.get("event") in {"state", "finished"}:
                            self._changed.set()
            self._changed.set()
            await asyncio.sleep(RETRY_S)

    async def _publish_state(self) -> None:
        while True:
            self._changed.clear()
            status = await self._ask_status()
            if status is None:
                await self._publish(self._topics.availability, OFFLINE)
            else:
                await self._announce(status)
                await self._publish(self._topics.state, json.dumps(state_document(status)))
                await self._publish(self._topics.availability, ONLINE)
            is_working = status is not None and status["job"] is not None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TIMER_S if is_working else None):
                    await self._changed.wait()

    async def _ask_status(self) -> RobotStatusJson | None:
        """Return the robot's status, or None if the daemon does not answer."""
        try:
            reply = await self._daemon.request(STATUS)
            found = reply.document if reply.status == HTTPStatus.OK else None
        except DaemonError:
            return None
        return cast("RobotStatusJson | None", found)

    async def _announce(self, status: RobotStatusJson) -> None:
        """Announce the robot to Home Assistant, once for each robot and version."""
        about = (status["robot"], status["version"])
        if about == self._announced:
            return
        for topic, entity in discovery_messages(
            self._topics,
            *about,
            may_start=self._options.may_start,
            prefix=self._options.discovery_prefix,
        ):
            await self._publish(topic, "" if entity is None else json.dumps(entity))
        self._announced = about

    async def _publish(self, topic: str, payload: str) -> None:
        """Publish a changed payload, retained for later subscribers."""
        if self._published.get(topic) != payload:
            await self._broker.publish(topic, payload, qos=AT_LEAST_ONCE, retain=True)
            self._published[topic] = payload

    async def _obey(self) -> None:
        async for message in self._broker.messages:
            # A retained command would start the robot again at each connection.
            if message.retain or not isinstance(message.payload, bytes):
                log.warning("ignored a command that was retained or not text")
                continue
            await self._carry_out(message.payload)

    async def _carry_out(self, command: bytes) -> None:
        """Carry out a command. A start, which may take seconds, does not hold up a stop."""
        if command == words.STOP.encode():
            await self._ask(STOP, urgent=True)
        elif command == words.START.encode() and self._options.may_start:
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._ask(START))
        elif command == words.START.encode():
            log.warning("a start is not allowed. What to do: Set CUBIST_MQTT_START=yes.")
        else:
            log.warning("no such command: %r", command[:40])

    async def _ask(self, endpoint: Endpoint[object], *, urgent: bool = False) -> None:
        try:
            reply = await self._daemon.request(endpoint, body=b"{}", urgent=urgent)
        except DaemonError as error:
            log.warning("%s: %s", endpoint.path, error)
            return
        if reply.status == HTTPStatus.OK:
            log.info("%s", endpoint.path)
        else:
            log.warning("%s: %s", endpoint.path, reply.document.get("reason"))
