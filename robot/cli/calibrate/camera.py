"""``cubist calibrate camera``: what a camera sees, what to improve, where the faces are in it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from robot.cli.calibrate.interactive import interactively
from robot.cli.numbers import Whole
from robot.cli.output import emit, json_option, note, printing_beside, refuse_two_outputs
from robot.cli.positions import maintenance
from robot.client import ControlClient
from robot.outcomes import ExitCode


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
    refuse_two_outputs(save_to, as_json)
    if live:
        return interactively("camera", None, as_json)
    with maintenance() as client:
        looked = LookedAt(client, camera)
        if save_to:
            from robot.records.storage import write_given

            write_given(save_to, looked.jpeg)
        if place:
            _tell_place(looked.place(place, save), as_json)
            return ExitCode.DONE
    if as_json:
        emit({"camera": looked.name, "views": looked.advice()})
        return ExitCode.DONE
    with printing_beside(save_to):
        click.echo(looked.drawn(width))
        for site, lines in looked.advice().items():
            for line in lines:
                click.echo(f"face {site}: {line}")
    return ExitCode.DONE


class LookedAt:
    """A camera, as it is calibrated, and its picture."""

    def __init__(self, client: ControlClient, name: str | None) -> None:
        from robot.calibration.store import Calibration, apply
        from robot.cli.terminal_picture import decode
        from robot.settings import load_profile

        path = "/maintenance/picture" + (f"?camera={quote(name)}" if name else "")
        self.jpeg = base64.b64decode(client.call("GET", path)["jpeg"])
        self.image = decode(self.jpeg)
        kept = Calibration.model_validate(client.call("GET", "/calibration"))
        profile = apply(load_profile(kept.robot), kept)
        self._settings = next(one for one in profile.cameras if name in {None, one.name})
        self._size = profile.cube.size
        self._client = client

    @property
    def name(self) -> str:
        """The camera's name."""
        return self._settings.name

    def advice(self) -> dict[str, list[str]]:
        """What to improve, by the site of the face."""
        from robot.cli.view_advice import view_advice

        return {
            view.site: view_advice(self.image, self._corners(view), self._size)
            for view in self._settings.views
        }

    def drawn(self, width: int) -> str:
        """The picture with the frames of all faces, for a terminal."""
        from robot.cli.terminal_picture import half_blocks
        from robot.cli.view_advice import with_quads

        image = self.image
        for view in self._settings.views:
            image = with_quads(image, self._corners(view))
        return half_blocks(image, width)

    def place(self, site: str, save: bool) -> dict[str, Any]:
        """Find the face at a site; its corners, and whether they were kept."""
        from robot.cli.view_advice import found_quad

        views = {view.site: view for view in self._settings.views}
        if site not in views:
            raise click.UsageError(f"--place {site}: camera {self.name} sees {', '.join(views)}")
        height, width = self.image.shape[:2]
        found = found_quad(self.image, self._corners(views[site]), self._size) / (width, height)
        quad = [[round(float(x), 5), round(float(y), 5)] for x, y in found]
        key = f"cameras.{self.name}.views.{site}.quad"
        before = [list(corner) for corner in views[site].quad]
        if save:
            self._client.call("PUT", "/calibration", {"values": {key: quad}})
        return {"key": key, "before": before, "after": quad, "saved": save}

    def _corners(self, view: Any) -> Any:
        import numpy as np

        height, width = self.image.shape[:2]
        return np.array(view.quad) * (width, height)


def _tell_place(done: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(done)
    else:
        text = f"{done['key']}: {done['after']}"
        note(text + ("" if done["saved"] else " (not saved)"))
