"""``cubist calibrate camera``: what a camera sees, what to improve, where the faces are in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robot.calibration.step import STEPS, Session
from robot.cli.calibrate.measuring import conduct, finish, on_screen
from robot.cli.numbers import Whole
from robot.cli.output import json_option, printing_beside, refuse_two_outputs

if TYPE_CHECKING:
    from robot.calibration.camera import Image


@click.command()
@click.option("--camera", help="Which camera; the first when not given.")
@click.option("--live", is_flag=True, help="Show it live, and move the frames of the faces.")
@click.option("--place", metavar="SITE", help="Find the face at SITE, and keep where it is.")
@click.option("--save/--try", default=True, help="Keep the place, or only look for it.")
@click.option(
    "--save-to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A JPEG file; - for standard output.",
)
@click.option("--width", type=Whole(20, 400), default=80, show_default=True)
@json_option
def camera(  # one argument per option
    camera: str | None,
    live: bool,
    place: str | None,
    save: bool,
    save_to: Path | None,
    width: int,
    as_json: bool,
) -> int:
    """Show what a camera sees, in the terminal, with advice about framing, light and focus."""
    from robot.calibration.camera import CameraView
    from robot.records.storage import write_given

    refuse_two_outputs(save_to, as_json)
    session = Session()
    if live:
        return on_screen(session, STEPS["camera"], as_json=as_json)
    view = CameraView(session, camera, place)
    with session.maintenance(), printing_beside(save_to):
        view.take()
        if save_to:
            write_given(save_to, view.jpeg)
        if not (as_json or place):
            click.echo(half_blocks(view.drawn(), width))
        conduct(view, as_json)
        kept = save and session.keep(view.values)
    with printing_beside(save_to):
        return finish(view, kept, as_json)


def half_blocks(image: Image, width: int) -> str:
    """The picture in 24-bit colour; each character shows an upper and a lower pixel."""
    import cv2

    height = max(2, round(image.shape[0] * width / image.shape[1]) // 2 * 2)
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    lines = []
    for upper, lower in zip(small[0::2], small[1::2], strict=True):
        cells = (_cell(*above, *below) for above, below in zip(upper, lower, strict=True))
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)


def _cell(*rgb: int) -> str:
    r, g, b, r2, g2, b2 = rgb
    return f"\x1b[38;2;{r};{g};{b}m\x1b[48;2;{r2};{g2};{b2}m▀"
