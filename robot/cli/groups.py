"""Groups of commands whose lists are not cut short."""

from __future__ import annotations

import click

LONGEST = 200
"""Characters of a command's first sentence: all of it."""


class Listing(click.Group):
    """A group that shows the first sentence of each of its commands whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(LONGEST))
                    for name in self.list_commands(ctx)
                    if (command := self.get_command(ctx, name)) is not None
                ]
            )
