"""``cubist web``: where the page on the robot is, and the token that lets people in."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import click

from robot.cli.output import emit, json_option, note
from solver.errors import ExitCode


@click.command()
@click.option("--qr/--no-qr", default=None, help="Draw the address for a phone's camera.")
@json_option
def web(qr: bool | None, as_json: bool) -> int:
    """Print the address of the page, token included, for this robot's daemon.

    The token gives control of the robot: share it only with people who may press the start button.
    """
    from robot.api.client import ControlClient
    from robot.web.announcement import PageError, find_page

    try:
        page = find_page()
    except PageError as error:
        if error.code == "no-page":
            ControlClient().status()  # if no daemon runs either, that is the first thing to fix
        raise
    if as_json:
        emit({"urls": list(page.urls), "local": page.local})
        return ExitCode.DONE
    for url in page.urls:
        click.echo(url)
    if page.local:
        port = urlsplit(page.urls[0]).port
        note(f"Only this machine reaches it. From another: ssh -L {port}:127.0.0.1:{port} ROBOT")
    if qr and page.local:
        note("No phone can open this address: set CUBIST_WEB_BIND to let other devices in.")
    elif qr or (qr is None and sys.stdout.isatty() and not page.local):
        _draw(page.urls[0])
    return ExitCode.DONE


def _draw(url: str) -> None:
    """Draw a QR code with modules half a character high."""
    import segno

    segno.make(url, error="l", micro=False).terminal(out=sys.stdout, border=2, compact=True)
