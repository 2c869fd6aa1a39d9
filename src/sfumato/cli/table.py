"""Every command with its line in ``sfumato --help`` and the module that adds it, loaded when the command is called.

A module has ``register(app)``, which adds its commands to a Typer app. To add a command, write its file and add a row.
Panels are the wings: what a newcomer looks for first stands first.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

Command = Any  # Typer carries its own Click, or uses the installed one, by its version
Click = Any


class Row(NamedTuple):
    """Where a command is, its panel in the help, and its first sentence there."""

    module: str
    panel: str
    words: str


TRACKS, COLLECT, CHANNELS, PAPERS = "Protect tracks", "Collect heat maps", "Measure leakage", "Check the papers"
COMMANDS: dict[str, Row] = {
    "hide": Row(
        "tracks.hide", TRACKS, "Hide your places, keep the rides: everything around them is cut out of every track."
    ),
    "places": Row("tracks.places", TRACKS, "Find and name the places that `hide` cuts out."),
    "protect": Row("tracks.protect", TRACKS, "Protect a trace: add noise to it and certify what it still gives away."),
    "verify": Row("tracks.verify", TRACKS, "Is a release unchanged, clean, plausible and protected? Exit 1 if not."),
    "audit": Row("tracks.audit", TRACKS, "Measure what an adversary still learns, from original and release."),
    "cost": Row(
        "tracks.cost", TRACKS, "What a routine or a known regular place gives away over days, from a certificate."
    ),
    "preview": Row("tracks.useful", TRACKS, "Before a release: what each size of noise promises, and what it leaves."),
    "utility": Row("tracks.useful", TRACKS, "After a release: how far its answers are from the truth."),
    "smooth": Row(
        "tracks.smooth", TRACKS, "Make a release fit to look at: the likeliest track, with the same promise."
    ),
    "estimate": Row(
        "tracks.estimate",
        TRACKS,
        "Answer questions about many people from protected releases, with the blur of the noise taken out.",
    ),
    "design": Row(
        "tracks.design",
        TRACKS,
        "Design noise for chosen secrets under a Gaussian prior, optimal or as published, with its exact loss.",
    ),
    "collect": Row("collect.collect_simulate", COLLECT, "Collect obfuscated locations cycle by cycle."),
    "serve": Row("collect.serve", COLLECT, "Run a collector: its page at /, its contract at /openapi.json."),
    "campaign": Row(
        "collect.campaign",
        COLLECT,
        "Operate campaigns of a running collector: create, watch, pause, end, export, and who may do so.",
    ),
    "collector": Row("collect.collector", COLLECT, "Back up, restore and upgrade a collector's database."),
    "channel": Row(
        "channels.channel", CHANNELS, "Design a channel, measure what one tells, compare mechanisms at equal leakage."
    ),
    "reading": Row(
        "channels.reading",
        CHANNELS,
        "Report a number privately: noise for one reading, with the guarantee that was computed for it.",
    ),
    "reproduce": Row(
        "reproduce",
        PAPERS,
        "Regenerate a published figure, table or section and give a verdict on every claim, the paper's and ours "
        "apart.",
    ),
}


class _Loaded(MutableMapping[str, Command]):
    """The commands by name; a module is loaded when one of its commands is asked for."""

    def __init__(self) -> None:
        self._here: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._here:
            row = COMMANDS[name]
            app = typer.Typer(callback=lambda: None)
            import_module(f"sfumato.cli.{row.module}").register(app)
            for found, command in typer.main.get_group(app).commands.items():
                command.rich_help_panel = COMMANDS[found].panel  # type: ignore[attr-defined]
                self._here[found] = command
        return self._here[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._here[name] = command

    def __delitem__(self, name: str) -> None:
        del self._here[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The root command: lists every command from the table, and loads the one that is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Loaded()
        self._listing = False

    def list_commands(self, ctx: Click) -> list[str]:
        """Every name, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Click, cmd_name: str) -> Command | None:
        """A command; while the help is written, its row alone."""
        if self._listing:
            row = COMMANDS[cmd_name]
            return TyperCommand(cmd_name, help=row.words, rich_help_panel=row.panel)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Click, formatter: Click) -> None:
        """The help without loading a single command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False
