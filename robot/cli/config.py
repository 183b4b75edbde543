"""``cubist config``: is a robot's profile right, what does it say, what may it say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from robot.cli.groups import Listing
from robot.cli.output import complain, emit, json_option, note
from robot.outcomes import ExitCode

if TYPE_CHECKING:
    from robot.settings import BadProfile


@click.group(cls=Listing)
def config() -> None:
    """Check, show and describe robot profiles (a name from config/ or a path)."""


@config.command()
@click.argument("profiles", nargs=-1)
@json_option
def check(profiles: tuple[str, ...], as_json: bool) -> int:
    """Check PROFILES (all that ship with Cubist when none is named); exit code 2 for faults."""
    from robot.settings import list_profiles

    codes = [_check_one(name, as_json) for name in profiles or list_profiles()]
    return max(codes, default=ExitCode.USAGE)


@config.command()
@click.argument("profile", required=False)
@json_option
def show(profile: str | None, as_json: bool) -> int:
    """Show a profile with every default filled in."""
    from robot.settings import DEFAULT_PROFILE, load_profile

    document = load_profile(profile or DEFAULT_PROFILE).model_dump(mode="json")
    if as_json:
        emit(document)
    else:
        import yaml

        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)
    return ExitCode.DONE


@config.command()
@json_option
def schema(as_json: bool) -> int:
    """Print the JSON schema of profiles, for editors that complete and check YAML."""
    from robot.settings import RobotProfile

    document = RobotProfile.model_json_schema()
    if as_json:
        emit(document)
    else:
        click.echo(json.dumps(document, indent=2))
    return ExitCode.DONE


def _check_one(name: str, as_json: bool) -> int:
    """Load a profile and compile its mechanism; say all that is wrong."""
    from robot.planner import build_mechanism
    from robot.settings import BadProfile, load_profile

    try:
        profile = load_profile(name)
        build_mechanism(profile)
    except BadProfile as error:
        _report(name, error, as_json)
        return ExitCode.USAGE
    if as_json:
        emit({"profile": name, "ok": True, "title": profile.title})
    else:
        note(f"{name}: {profile.title}: all right")
    return ExitCode.DONE


def _report(name: str, error: BadProfile, as_json: bool) -> None:
    if not as_json:
        complain(str(error))
        return
    complaints = [
        {"file": item.file, "line": item.line, "key": item.key, "text": item.text}
        for item in error.complaints
    ]
    emit({"profile": name, "ok": False, "complaints": complaints})
