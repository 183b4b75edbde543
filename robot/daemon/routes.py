"""The control socket's operations, and the OpenAPI 3.1 document made from them and their models."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from robot.api import calibrations, endpoints, management, models
from robot.api.endpoints import Endpoint
from robot.calibration.step import STEPS, AnyTrial
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.management import Management
from robot.records.documents import Nothing
from robot.records.export import EXPORTS
from robot.records.run_record import RunList, RunRecord
from robot.records.runs import MEDIA_TYPES, NUMBER_PATTERN
from robot.records.statistics import Statistics
from solver.files import JsonObject
from solver.goal import goal_names
from solver.patterns import patterns_of

MAX_LISTED = 1000
EXPORT_PATTERN = f"^({'|'.join(map(re.escape, EXPORTS))})$"

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True)
class Call:
    """The input of a handler: the daemon's parts, the checked body, path and query parameters."""

    controller: JobController
    maintenance: Maintenance
    management: Management
    body: BaseModel | None
    path: dict[str, str]
    query: dict[str, str]

    def body_as(self, model: type[Body]) -> Body:
        """Return the body as the ``model`` that its route names."""
        assert isinstance(self.body, model)
        return self.body


@dataclass(frozen=True)
class Parameter:
    """A path or query parameter, with its JSON schema."""

    name: str
    place: str
    schema: JsonObject


RUN_NUMBER = Parameter("run", "path", {"type": "string", "pattern": f"^{NUMBER_PATTERN}$"})


@dataclass(frozen=True)
class Content:
    """An answer that is not a JSON document.

    ``tag``, if any, changes with the data. ``age_s``: the age of a picture.
    """

    media: str
    data: bytes
    tag: str = ""
    age_s: float | None = None


CAMERA_QUERY = (Parameter("camera", "query", {"type": "string", "maxLength": 64}),)


@dataclass(frozen=True)
class Route:
    """One operation. ``handler`` is None for the streams, which the server writes itself.

    ``answer``: the document, or the media types of content that is not a document.
    """

    endpoint: Endpoint[object]
    summary: str
    answer: type | tuple[str, ...]
    handler: Callable[[Call], Awaitable[BaseModel | Mapping[str, object] | Content]] | None = None
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = ()

    @property
    def method(self) -> str:
        """Return its HTTP method."""
        return self.endpoint.method

    @property
    def path(self) -> str:
        """Return its path, with parameters in braces."""
        return self.endpoint.path


def _route(trial: AnyTrial) -> Route:
    async def handler(call: Call) -> BaseModel:
        known = {key: call.query[key] for key in call.query if key in trial.request.model_fields}
        request = call.body or trial.request.model_validate(known)
        answer: BaseModel = await call.maintenance.perform(trial, request)
        return answer

    is_post = trial.method == "POST"
    return Route(
        trial.endpoint,
        trial.summary,
        trial.answer,
        handler,
        body=trial.request if is_post and trial.request.model_fields else None,
        parameters=() if is_post else CAMERA_QUERY,
        errors=(409, 503),
    )


async def _set_calibration(call: Call) -> BaseModel:
    asked = call.body_as(calibrations.CalibrationRequest)
    if asked.provisional:
        return await call.maintenance.try_out(asked.values)
    return await call.maintenance.save(asked.values, asked.how, asked.uncertain)


async def _start(call: Call, request: models.StartRequest) -> Mapping[str, object]:
    return endpoints.Started(run=await call.controller.start(request))


async def _stop(call: Call) -> Mapping[str, object]:
    emergency = call.body_as(models.StopRequest).emergency
    return endpoints.StopReply(stopped=await call.controller.stop(emergency=emergency))


async def _acknowledge(call: Call) -> Mapping[str, object]:
    return endpoints.Acknowledged(acknowledged=await call.controller.acknowledge())


async def _shutdown(call: Call) -> Mapping[str, object]:
    return endpoints.StopReply(stopped=await call.controller.shut_down(power_off=True))


async def _status(call: Call) -> BaseModel:
    return call.controller.status()


async def _live(call: Call) -> BaseModel:
    return call.controller.live.view


async def _picture(call: Call) -> Content:
    picture = await call.controller.picture(call.query.get("camera"))
    age_s = call.controller.age_of(picture)
    return Content("image/jpeg", picture.jpeg, f'"{picture.number}"', age_s)


async def _list_patterns(call: Call) -> BaseModel:
    size = call.controller.machine.size
    return models.PatternList(
        patterns=goal_names(size),
        facelets={name: one.draw(size) for name, one in patterns_of(size).items()},
    )


async def _export(call: Call) -> Content:
    return Content(*await call.controller.library.export(call.path["name"]))


async def _collage(call: Call) -> Content:
    return Content("image/jpeg", await call.controller.library.collage(call.path["run"]))


async def _log(call: Call) -> BaseModel:
    get = call.query.get
    after, count = int(get("after", "0")), int(get("count", "200"))
    return call.management.log_lines(get("level", "info"), after, count)


async def _restart(call: Call) -> Mapping[str, object]:
    force = call.body_as(management.RestartRequest).force
    return endpoints.StopReply(stopped=await call.management.restart(force=force))


def _profile_text(call: Call) -> str:
    return call.body_as(management.ProfileText).text


async def _run_file(call: Call) -> Content:
    return Content(*await call.controller.library.run_file(call.path["run"], call.path["name"]))


ROUTES = (
    Route(endpoints.STATUS, "The robot's state and current job", models.RobotStatus, _status),
    Route(endpoints.EVENTS, "Events from now on, one JSON object per line", models.Event),
    Route(endpoints.LIVE, "The cube and the current motion", models.LiveState, _live),
    Route(
        endpoints.PICTURE,
        "A picture from a camera, or the last picture of the current job",
        ("image/jpeg",),
        _picture,
        parameters=CAMERA_QUERY,
        errors=(409, 503),
    ),
    Route(
        endpoints.MAINTENANCE,
        "Enter maintenance mode to calibrate; it lasts while the client reads this answer",
        Nothing,
        body=calibrations.MaintenanceRequest,
        errors=(409, 503),
    ),
    *(_route(trial) for step in STEPS.values() for trial in step.trials),
    Route(
        endpoints.CALIBRATION,
        "Calibrated values",
        calibrations.Calibration,
        lambda call: call.maintenance.values(),
    ),
    Route(
        endpoints.SET_CALIBRATION,
        "Set calibrated values",
        calibrations.Calibration,
        _set_calibration,
        body=calibrations.CalibrationRequest,
        errors=(409, 503, 507),
    ),
    Route(
        endpoints.IMPORT_CALIBRATION,
        "Replace all calibrated values; they count as unconfirmed on this robot",
        calibrations.Calibration,
        lambda call: call.maintenance.take_over(call.body_as(calibrations.ImportRequest)),
        body=calibrations.ImportRequest,
        errors=(409, 503, 507),
    ),
    Route(
        endpoints.UNDO_CALIBRATION,
        "Undo the last change kept since maintenance began",
        calibrations.Calibration,
        lambda call: call.maintenance.undo(),
        errors=(409, 503, 507),
    ),
    Route(
        endpoints.VERSIONS,
        "All versions kept",
        calibrations.VersionList,
        lambda call: call.maintenance.versions(),
    ),
    Route(
        endpoints.RESTORE_CALIBRATION,
        "Go back to a version (default: the previous one)",
        calibrations.Restored,
        lambda call: call.maintenance.restore(call.body_as(calibrations.RestoreRequest).version),
        body=calibrations.RestoreRequest,
        errors=(409, 503, 507),
    ),
    Route(
        endpoints.START,
        "Start a job",
        endpoints.Started,
        lambda call: _start(call, call.body_as(models.StartRequest)),
        body=models.StartRequest,
        errors=(409, 503),
    ),
    Route(endpoints.STOP, "Stop the robot", endpoints.StopReply, _stop, body=models.StopRequest),
    Route(
        endpoints.ACKNOWLEDGE,
        "Acknowledge an emergency stop; nothing moves",
        endpoints.Acknowledged,
        _acknowledge,
        errors=(409, 503),
    ),
    Route(
        endpoints.SHUT_DOWN,
        "Stop, then switch the robot off",
        endpoints.StopReply,
        _shutdown,
        body=models.ShutdownRequest,
    ),
    Route(
        endpoints.HOME,
        "Go to the start positions",
        endpoints.Started,
        lambda call: _start(call, models.StartRequest(kind="home")),
        errors=(409, 503),
    ),
    Route(
        endpoints.RUNS,
        "Records of past jobs, newest first, and which of them cannot be read",
        RunList,
        lambda call: call.controller.library.runs(int(call.query.get("count", "20"))),
        parameters=(
            Parameter("count", "query", {"type": "integer", "minimum": 1, "maximum": MAX_LISTED}),
        ),
    ),
    Route(
        endpoints.RUN,
        "One record",
        RunRecord,
        lambda call: call.controller.library.run_record(call.path["run"]),
        parameters=(RUN_NUMBER,),
        errors=(404,),
    ),
    Route(
        endpoints.RUN_FILE,
        "A file of a run: a picture that the record names, or run.json",
        tuple(MEDIA_TYPES.values()),
        _run_file,
        parameters=(
            RUN_NUMBER,
            Parameter("name", "path", {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
        ),
        errors=(404,),
    ),
    Route(
        endpoints.COLLAGE,
        "The photographs of a run as one picture",
        ("image/jpeg",),
        _collage,
        parameters=(RUN_NUMBER,),
        errors=(404,),
    ),
    Route(
        endpoints.PATTERNS,
        "Patterns that the robot's cube has",
        models.PatternList,
        _list_patterns,
    ),
    Route(
        endpoints.STATISTICS,
        "Best, mean and averages of all attempts, and of each day",
        Statistics,
        lambda call: call.controller.library.statistics(),
    ),
    Route(
        endpoints.EXPORT,
        "All runs for other programs: runs.csv, runs.json or cstimer.json",
        ("text/csv", "application/jsonl", "application/json"),
        _export,
        parameters=(Parameter("name", "path", {"type": "string", "pattern": EXPORT_PATTERN}),),
        errors=(404,),
    ),
    Route(
        endpoints.LOG,
        "The latest lines of the daemon's log, at or above a level, after a given line number",
        management.LogLines,
        _log,
        parameters=(
            Parameter("level", "query", {"type": "string", "maxLength": 10}),
            Parameter("after", "query", {"type": "integer", "minimum": 0, "maximum": 999_999_999}),
            Parameter("count", "query", {"type": "integer", "minimum": 1, "maximum": MAX_LISTED}),
        ),
    ),
    Route(
        endpoints.CHECK_UP,
        "Check the computer and the robot, as `cubist doctor` does",
        management.CheckUp,
        lambda call: call.management.check_up(),
        errors=(409, 503),
    ),
    Route(
        endpoints.PROFILE,
        "The profile that takes effect at the next start, as its owner wrote it",
        management.ProfileInForce,
        lambda call: call.management.profile(),
        errors=(507,),
    ),
    Route(
        endpoints.RUNNING_PROFILE,
        "The profile the daemon started with",
        management.ProfileInForce,
        lambda call: call.management.running_profile(),
        errors=(404, 507),
    ),
    Route(
        endpoints.KEEP_PROFILE,
        "Keep a profile as a new version, for the next start",
        management.KeptProfile,
        lambda call: call.management.keep_profile(_profile_text(call)),
        body=management.ProfileText,
        errors=(409, 507),
    ),
    Route(
        endpoints.CHECK_PROFILE,
        "Check a profile and list its faults",
        management.ProfileVerdict,
        lambda call: call.management.check_profile(_profile_text(call)),
        body=management.ProfileText,
        errors=(409,),
    ),
    Route(
        endpoints.PROFILE_VERSIONS,
        "All versions of the profile, the newest first",
        management.ProfileVersionList,
        lambda call: call.management.versions(),
    ),
    Route(
        endpoints.PROFILE_VERSION,
        "One version of the profile",
        management.ProfileInForce,
        lambda call: call.management.profile(int(call.path["version"])),
        parameters=(Parameter("version", "path", {"type": "string", "pattern": "^[0-9]{1,6}$"}),),
        errors=(404,),
    ),
    Route(
        endpoints.RESTORE_PROFILE,
        "Keep a version of the profile again, for the next start",
        management.KeptProfile,
        lambda call: call.management.restore_profile(
            call.body_as(management.RestoreProfileRequest).version
        ),
        body=management.RestoreProfileRequest,
        errors=(404, 409, 507),
    ),
    Route(
        endpoints.RESTART,
        "Restart the daemon",
        endpoints.StopReply,
        _restart,
        body=management.RestartRequest,
        errors=(409,),
    ),
)

_MEANINGS = {
    400: "The request is malformed.",
    404: "It does not exist.",
    405: "This path does not support the method.",
    409: "The robot's present state does not allow it.",
    413: "The request is too large.",
    507: "The disk is full or read-only.",
    503: "The robot or its link has failed, or a person has stopped it: `fault` says which.",
}
_ALWAYS = (400, 405, 413)


def document(version: str) -> JsonObject:
    """Return the OpenAPI description."""
    kinds = {kind for one in ROUTES for kind in (one.answer, one.body) if isinstance(kind, type)}
    described = {kind for kind in kinds if issubclass(kind, BaseModel)} | {models.ErrorReply}
    _, definitions = models_json_schema(
        [(model, "validation") for model in sorted(described, key=lambda model: model.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    schemas = definitions["$defs"] | {kind.__name__: _schema_of(kind) for kind in kinds - described}
    paths: JsonObject = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cubist control socket",
            "version": version,
            "description": "HTTP/1.1 over the Unix socket /run/cubist/control.sock.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_of(document: type) -> JsonObject:
    """Return the schema of an answer that is a typed dictionary."""
    fields = get_type_hints(document)
    return {
        "title": document.__name__,
        "description": document.__doc__,
        "type": "object",
        "properties": {name: TypeAdapter(kind).json_schema() for name, kind in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _operation(route: Route) -> JsonObject:
    responses: JsonObject = {"200": {"description": route.summary, "content": _answer(route)}}
    if not isinstance(route.answer, type):
        responses["304"] = {
            "description": "Unchanged: it is the one that the header If-None-Match names."
        }
    for code in (*_ALWAYS, *route.errors):
        responses[str(code)] = {
            "description": _MEANINGS[code],
            "content": _content("application/json", "ErrorReply"),
        }
    operation: JsonObject = {
        "operationId": _identifier(route),
        "summary": route.summary,
        "parameters": [_parameter(parameter) for parameter in route.parameters],
        "responses": responses,
    }
    if route.body:
        content = _content("application/json", route.body.__name__)
        operation["requestBody"] = {"required": _is_body_required(route.body), "content": content}
    return operation


def _answer(route: Route) -> JsonObject:
    if isinstance(route.answer, type):
        kind = "application/json" if route.handler else "application/jsonl"
        return _content(kind, route.answer.__name__)
    binary: JsonObject = {"type": "string", "format": "binary"}
    schemas = {media: {} if media == "application/json" else binary for media in route.answer}
    return {media: {"schema": schema} for media, schema in schemas.items()}


def _is_body_required(body: type[BaseModel]) -> bool:
    """Return whether a body is required. An absent body counts as an empty object."""
    return any(field.is_required() for field in body.model_fields.values())


def _identifier(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").strip("/").split("/")
    return "_".join([route.method.lower(), *words])


def _parameter(parameter: Parameter) -> JsonObject:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "schema": parameter.schema,
    }


def _content(kind: str, name: str) -> JsonObject:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
