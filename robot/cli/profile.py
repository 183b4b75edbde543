"""``cubist profile``: the profile of your own robot, its versions and its faults.

The daemon keeps the versions. If none runs, the same commands work on its files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from robot.api.endpoints import (
    CHECK_PROFILE,
    KEEP_PROFILE,
    PROFILE,
    PROFILE_VERSION,
    PROFILE_VERSIONS,
    RESTORE_PROFILE,
)
from robot.api.paths import state_directory
from robot.cli.numbers import Whole
from robot.cli.output import (
    Listing,
    answer,
    complain,
    emit,
    find_daemon,
    json_option,
    note,
    require_terminal,
)
from robot.text.faults import Conflict
from solver.errors import ExitCode
from solver.files import STANDARD_INPUT, read_text

if TYPE_CHECKING:
    from robot.api.client import ControlClient
    from robot.records.profile_versions import ProfileVersion, ProfileVersions

LARGEST = 64 * 1024
"""Maximum size of a profile in bytes."""


class Profiles(Protocol):
    """The versions of the robot's profile, at the daemon or in its files; answers are JSON."""

    def show(self, version: int | None) -> Mapping[str, Any]:
        """Return a version with its text, by default the one in force."""

    def versions(self) -> list[Any]:
        """Return all versions, the newest first."""

    def check(self, text: str) -> Mapping[str, Any]:
        """Return what is wrong with a text."""

    def keep(self, text: str) -> Mapping[str, Any]:
        """Keep a text as a new version."""

    def restore(self, version: int) -> Mapping[str, Any]:
        """Keep a version again, as a new one."""


class DaemonProfiles:
    """The versions that a daemon keeps."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def show(self, version: int | None) -> Mapping[str, Any]:
        """Return a version with its text, by default the one in force."""
        if version is None:
            return self._client.call(PROFILE)
        return self._client.call(PROFILE_VERSION, parts={"version": str(version)})

    def versions(self) -> list[Any]:
        """Return all versions, the newest first."""
        return list(self._client.call(PROFILE_VERSIONS)["versions"])

    def check(self, text: str) -> Mapping[str, Any]:
        """Return what is wrong with a text."""
        return self._client.call(CHECK_PROFILE, {"text": text})

    def keep(self, text: str) -> Mapping[str, Any]:
        """Keep a text as a new version."""
        return self._client.call(KEEP_PROFILE, {"text": text})

    def restore(self, version: int) -> Mapping[str, Any]:
        """Keep a version again, as a new one."""
        return self._client.call(RESTORE_PROFILE, {"version": version})


class ProfileFiles:
    """The versions in a daemon's state directory, while it does not run."""

    def __init__(self, files: ProfileVersions) -> None:
        self._files = files

    def show(self, version: int | None) -> Mapping[str, Any]:
        """Return a version with its text, by default the one in force."""
        from robot.api.management import ProfileInForce

        return ProfileInForce.describe(self._files, version).model_dump(mode="json")

    def versions(self) -> list[Any]:
        """Return all versions, the newest first."""
        from robot.api.management import ProfileVersionList

        found: list[Any] = ProfileVersionList.describe(self._files).model_dump(mode="json")[
            "versions"
        ]
        return found

    def check(self, text: str) -> Mapping[str, Any]:
        """Return what is wrong with a text."""
        from robot.api.management import ProfileVerdict
        from robot.settings import BadProfile

        try:
            profile = self._files.check(text)
        except BadProfile as error:
            return ProfileVerdict.explain(error).model_dump(mode="json")
        return ProfileVerdict(ok=True, title=profile.title).model_dump(mode="json")

    def keep(self, text: str) -> Mapping[str, Any]:
        """Keep a text as a new version."""
        return _describe_kept(self._files.keep(text))

    def restore(self, version: int) -> Mapping[str, Any]:
        """Keep a version again, as a new one."""
        return _describe_kept(self._files.restore(version))


def _describe_kept(version: ProfileVersion) -> Mapping[str, Any]:
    return {"version": version.number, "at": None if version.at is None else version.at.isoformat()}


def own_profiles() -> Profiles:
    """Return the versions of the daemon that commands talk to, or its files if none runs."""
    client = find_daemon()
    if client is not None:
        return DaemonProfiles(client)
    from robot.computer.computer import Computer
    from robot.records.profile_versions import ProfileVersions
    from robot.settings import DEFAULT_PROFILE

    name = os.environ.get("CUBIST_PROFILE") or Computer().service_profile or DEFAULT_PROFILE
    return ProfileFiles(ProfileVersions(state_directory(), name))


@click.group(cls=Listing)
def profile() -> None:
    """Show, edit, check and keep the profile of your own robot.

    Each profile you keep is a dated version and takes effect after `cubist restart`. The original
    file, which the service's settings name, stays as it is.
    """


@profile.command()
@click.option("--version", "number", type=Whole(0, 999_999), help="A version; 0: the original.")
@json_option
def show(number: int | None, as_json: bool) -> int:
    """Print the profile in force, with its comments."""
    found = own_profiles().show(number)
    return answer(dict(found), as_json, str(found["text"]).removesuffix("\n"))


@profile.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@json_option
def check(file: Path | None, as_json: bool) -> int:
    """Check FILE (default: the profile in force) for this robot; exit code 2 for faults."""
    profiles = own_profiles()
    text = str(profiles.show(None)["text"]) if file is None else _read(file)
    return _report(profiles.check(text), as_json)


@profile.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option
def keep(file: Path, as_json: bool) -> int:
    """Keep FILE as the profile of this robot, if nothing is wrong with it."""
    return _keep(own_profiles(), _read(file), as_json)


@profile.command()
def edit() -> int:
    """Change the profile in your editor ($EDITOR), check it, and keep it once it is right."""
    require_terminal("keep a changed file by `cubist profile keep FILE`")
    profiles = own_profiles()
    before = text = str(profiles.show(None)["text"])
    is_kept = False
    try:
        while True:
            changed = click.edit(text, extension=".yaml", require_save=True)
            text = text if changed is None else changed
            if text == before:
                note("nothing was changed")
                return ExitCode.DONE
            is_kept = _keep(profiles, text, False) == ExitCode.DONE
            if is_kept:
                return ExitCode.DONE
            if not click.confirm("Edit it again?", default=True):
                note("The profile stays as it was.")
                return ExitCode.USAGE
    finally:  # also if the daemon has gone, or after Ctrl-C
        if text != before and not is_kept:
            note(f"Your text is in {_put_aside(text)}.")


@profile.command("versions")
@json_option
def list_versions(as_json: bool) -> int:
    """List all versions, the newest first."""
    for one in own_profiles().versions():
        if as_json:
            emit(one)
            continue
        at = "" if one["at"] is None else f"{datetime.fromisoformat(one['at']).astimezone():%F %R}"
        marks = [
            "the original file" if one["is_original"] else "",
            "in force" if one["is_in_force"] else "",
            "running" if one["is_running"] else "",
        ]
        click.echo(f"{one['version']:6}  {at:16}  {', '.join(filter(None, marks))}".rstrip())
    return ExitCode.DONE


@profile.command()
@click.argument("version", required=False, type=Whole(0, 999_999))
@json_option
def restore(version: int | None, as_json: bool) -> int:
    """Go back to VERSION (default: the previous one; 0: the original file), as a new version."""
    profiles = own_profiles()
    if version is None:
        numbers = [int(one["version"]) for one in profiles.versions()]
        if len(numbers) < 2:
            raise Conflict("there is no version to go back to")
        version = numbers[1]
    kept = profiles.restore(version)
    text = f"version {version} is kept again as version {kept['version']}; it takes effect after"
    return answer(dict(kept), as_json, f"{text} `cubist restart`")


def _keep(profiles: Profiles, text: str, as_json: bool) -> int:
    verdict = profiles.check(text)
    if not verdict["ok"]:
        return _report(verdict, as_json)
    kept = profiles.keep(text)
    done = f"kept as version {kept['version']}; it takes effect after `cubist restart`"
    return answer(dict(kept), as_json, done)


def _report(verdict: Mapping[str, Any], as_json: bool) -> int:
    if as_json:
        emit(verdict)
    elif verdict["ok"]:
        click.echo(f"{verdict['title']}: all right")
    else:
        for one in verdict["complaints"]:
            place = f"line {one['line']}" if one["line"] else ""
            complain(": ".join(filter(None, (place, one["key"], one["text"]))))
    return ExitCode.DONE if verdict["ok"] else ExitCode.USAGE


def _read(file: Path) -> str:
    return read_text(STANDARD_INPUT if str(file) == "-" else file, LARGEST)


def _put_aside(text: str) -> Path:
    with tempfile.NamedTemporaryFile(
        "w", suffix=".yaml", prefix="cubist-profile-", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    return Path(file.name)
