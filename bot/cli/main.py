"""The `gpubot` command: one sub-command for each module of this package."""

from __future__ import annotations

import typer

from bot.cli.replay import replay

app = typer.Typer(
    help="A Slack bot that gives out GPUs: ask in chat, an embedded engine decides.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def gpubot() -> None:
    """Ask for GPUs in chat; an embedded engine decides."""


app.command("replay")(replay)
