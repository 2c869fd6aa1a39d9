"""Every command with its line in ``sfumato --help`` and the module that adds it, loaded when the command is called.

A module has ``register(app)``, which adds its commands to a Typer app. To add a command, write its file and add a row:
it is looked for in the module of its own name, in its panel's folder, or where ``_ELSEWHERE`` says.
Panels are the wings: what a newcomer looks for first stands first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:  # Typer carries its own Click, or uses the installed one, by its version
    from typer._click.core import Command, Context
    from typer._click.formatting import HelpFormatter


class CommandRow(NamedTuple):
    """Where a command is, its panel in the help, and its first sentence there."""

    module: str
    panel: str
    words: str


_ROWS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "Protect tracks",
        "tracks.",
        {
            "hide": "Hide your places, keep the rides: everything around them is cut out of every track.",
            "watch": "Watch a folder, and release each finished file once, without your places.",
            "live": "Share where you are, blurred, delayed or by zone, with the people you choose.",
            "places": "Find and name the places that `hide` cuts out.",
            "protect": "Protect a trace: add noise to it and certify what it still gives away.",
            "verify": "Is a release unchanged, clean, plausible and protected? Exit 1 if not.",
            "keys": "Keys that certificates are signed with: make one, show its words, compare two.",
            "audit": "Measure what an adversary still learns, from original and release.",
            "cost": "What a routine or a known regular place gives away over days, from a certificate.",
            "dpia": "Draft an impact assessment from a certificate: what is computed, and what to decide.",
            "preview": "Before a release: what each size of noise promises, and what it leaves.",
            "utility": "After a release: how far its answers are from the truth.",
            "smooth": "Make a release fit to look at: the likeliest track, with the same promise.",
            "estimate": "Answer questions about many people from protected releases, with the blur of the noise taken "
            "out.",
            "publish": "Publish a table of everybody from raw data, with differential privacy for each person (by "
            "OpenDP).",
            "design": "Design noise for chosen secrets under a Gaussian prior, optimal or as published, with its "
            "exact loss.",
        },
    ),
    (
        "Collect heat maps",
        "collect.",
        {
            "collect": "Collect obfuscated locations cycle by cycle.",
            "serve": "Run a collector: its page at /, its contract at /openapi.json.",
            "campaign": "Operate campaigns of a running collector: create, watch, pause, end, export, and who may do "
            "so.",
            "client": "What a participant checks: the public log of a campaign, and what devices spent.",
            "collector": "Back up, restore and upgrade a collector's database.",
        },
    ),
    (
        "Measure leakage",
        "channels.",
        {
            "channel": "Design a channel, measure what one tells, compare mechanisms at equal leakage.",
            "reading": "Report a number privately: noise for one reading, with the guarantee that was computed for it.",
        },
    ),
    (
        "Check the papers",
        "",
        {
            "reproduce": "Regenerate a published figure, table or section and give a verdict on every claim, the "
            "paper's and ours apart.",
        },
    ),
)
_ELSEWHERE = {
    **dict.fromkeys(("preview", "utility"), "tracks.answers.useful"),
    **{name: f"tracks.answers.{name}" for name in ("smooth", "estimate")},
    "publish": "tracks.answers.holder",
    "live": "tracks.live.bridge",
    "collect": "collect.collect_simulate",
}
COMMANDS = {
    name: CommandRow(_ELSEWHERE.get(name, f"{wing}{name}"), panel, words)
    for panel, wing, rows in _ROWS
    for name, words in rows.items()
}


class _Loaded(Mapping[str, "Command"]):
    """The commands by name; a module is loaded when one of its commands is asked for."""

    def __init__(self) -> None:
        self._here: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._here:
            app = typer.Typer(callback=lambda: None)
            import_module(f"sfumato.cli.{COMMANDS[name].module}").register(app)
            for found, command in typer.main.get_group(app).commands.items():
                command.rich_help_panel = COMMANDS[found].panel  # type: ignore[attr-defined]
                self._here[found] = command
        return self._here[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The root command: lists every command from the table, and loads the one that is called."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.commands = _Loaded()  # type: ignore[assignment]
        self._listing = False

    def list_commands(self, ctx: Context) -> list[str]:
        """Every name, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command; while the help is written, its row alone."""
        if self._listing:
            row = COMMANDS[cmd_name]
            return TyperCommand(cmd_name, help=row.words, rich_help_panel=row.panel)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The help without loading a single command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False
