"""``cubist pi-card``: a card with Raspberry Pi OS that sets itself up at its first start."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from robot.cli.output import complain, emit, json_option
from robot.cli.texts import TerminalText, say
from robot.computer.boot_config import Need
from robot.computer.pi_card import (
    FIRST_BOOT,
    LIMIT,
    CardChange,
    CardSettings,
    Wifi,
    plan_card,
    read_ssh_keys,
)
from robot.records.storage import is_standard_output
from robot.settings import DEFAULT_PROFILE
from solver.errors import ExitCode
from solver.files import decode_text, read_file

_FILE = click.Path(path_type=Path)
_PASSWORD_FILE = click.Path(path_type=Path, allow_dash=True)


@click.command("pi-card")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--robot", default=DEFAULT_PROFILE, show_default=True, help="The robot's profile.")
@click.option("--user", default="pi", show_default=True, help="The user who logs in.")
@click.option("--host-name", default="cubist", show_default=True, help="The Pi's host name.")
@click.option("--ssh-key", "keys", multiple=True, type=_FILE, help="Public keys that may log in.")
@click.option(
    "--password-file",
    type=_PASSWORD_FILE,
    help="File with the user's password; - asks. Without it, only keys can log in.",
)
@click.option("--wifi", metavar="NAME", help="The Wi-Fi to join; asks for its password.")
@click.option(
    "--wifi-country", metavar="CODE", help="Two-letter country code for Wi-Fi rules, such as DE."
)
@click.option("--wifi-password-file", type=_PASSWORD_FILE, help="File with the Wi-Fi's password.")
@click.option("--package", type=_FILE, help="Cubist's package, to copy onto the card.")
@click.option("--repository", type=_FILE, help="Or the folder that `make repository` made.")
@click.option("--replace", is_flag=True, help="Set aside another program's setup.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
@json_option
def pi_card(  # noqa: PLR0913, PLR0917  # one argument per option
    folder: Path,
    robot: str,
    user: str,
    host_name: str,
    keys: tuple[Path, ...],
    password_file: Path | None,
    wifi: str | None,
    wifi_country: str | None,
    wifi_password_file: Path | None,
    package: Path | None,
    repository: Path | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Prepare FOLDER, the boot partition of a card with a fresh Raspberry Pi OS 13 (64 bit).

    At its first start the Pi creates the user, joins the network, installs Cubist and starts the
    robot, with nobody logged in. With --package, installing Cubist needs no network. Passwords are
    stored only as hashes. A second run changes only what differs; earlier contents stay beside each
    file as *.before-cubist.
    """
    if (wifi is None) != (wifi_country is None):
        raise click.UsageError("--wifi and --wifi-country go together")
    if wifi is None and wifi_password_file is not None:
        raise click.UsageError("--wifi-password-file needs --wifi")
    network = secret = None
    if password_file is not None:
        secret = _read_secret(password_file, f"Password of {user}", twice=True)
    if wifi is not None and wifi_country is not None:
        key = _read_secret(wifi_password_file or Path("-"), f"Password of {wifi}", twice=False)
        network = Wifi.derive(wifi, key, wifi_country)
    wanted = CardSettings(
        user=user,
        host_name=host_name,
        robot=robot,
        ssh_keys=[key for path in keys for key in read_ssh_keys(path)],
        password=secret,
        wifi=network,
        package=package,
        repository=repository,
    )
    change = plan_card(folder, wanted, replace=replace)
    changed, diff = change.names, change.diff
    kept = [] if dry_run else change.write()
    if as_json:
        left = [{"text": need.text, "remedy": need.remedy} for need in change.boot.left]
        document = {"folder": str(folder), "changed": changed, "diff": diff}
        emit(document | {"written": not dry_run, "kept": list(map(str, kept)), "left": left})
    else:
        _report(change, changed, diff if dry_run else "", kept, wanted)
    return ExitCode.NO if change.boot.left else ExitCode.DONE


def _report(
    change: CardChange, changed: list[str], diff: str, kept: list[Path], wanted: CardSettings
) -> None:
    """Print what was done; a ``diff`` means that the change was only planned."""
    click.echo(diff, nl=False)
    for need in change.boot.left:
        complain(_sentence(need))
    if not changed:
        click.echo(say(TerminalText.CARD_RIGHT, folder=change.folder))
        return
    if diff:
        click.echo(say(TerminalText.CARD_TRIED))
        return
    click.echo(say(TerminalText.CARD_WRITTEN, folder=change.folder, files=", ".join(changed)))
    if kept:
        names = ", ".join(path.name for path in kept)
        click.echo(say(TerminalText.CARD_KEPT, files=names))
    report = f"{FIRST_BOOT}.txt"
    click.echo(say(TerminalText.CARD_NEXT, user=wanted.user, host=wanted.host_name, report=report))


def _sentence(need: Need) -> str:
    return f"{need.text}. {need.remedy}"


def _read_secret(path: Path, what: str, *, twice: bool) -> str:
    """Return the first line of a file; ``-`` asks at the terminal, or reads standard input."""
    if not is_standard_output(path):
        text = decode_text(read_file(path, LIMIT), path)
    elif sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, confirmation_prompt=twice, err=True))
    else:
        text = sys.stdin.readline(LIMIT)
    return text.partition("\n")[0].removesuffix("\r")
