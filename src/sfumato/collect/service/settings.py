"""The collector's settings: one table with a default, a unit in the name and a sentence each.

Every setting is read from the environment as ``SFUMATO_`` + its name in capitals; ``sfumato serve`` needs none.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.base.errors import InputError

LOOPBACK = ("127.0.0.1", "::1")
"""This machine: it has no limits, and may look at the metrics."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table: its name (with unit), what it is when nobody says otherwise, and what it does."""

    name: str
    default: str | int | float
    meaning: str
    least: float = -math.inf
    most: float = math.inf


TABLE = (
    Setting(
        "database", "sqlite:///sfumato.db", "Where reports are kept: sqlite:///FILE or postgresql://USER@HOST/NAME."
    ),
    Setting("city", "paris", "The demonstration campaign made in an empty database: paris, sf or none."),
    Setting("operator_token", "", "The operator's token, at least 32 characters; empty: one is made and printed once."),
    Setting("operator_token_file", "", "Write a new operator's token to this file (mode 600) instead of printing it."),
    Setting("cycle_duration_s", 86_400, "A new campaign's cycle is due after this long.", 1, 31_557_600),
    Setting("minimum_cycle_s", 3_600, "A cycle never closes earlier than this.", 0, 31_557_600),
    Setting(
        "minimum_tickets", 50, "A cycle never closes with fewer spent tickets (k); it is merged with the next.", 1, 1e9
    ),
    Setting("floor", 0.01, "The share of a channel's output weights that is spread evenly.", 1e-6, 1.0),
    Setting("log_weight_change_cap_nats", 0.2, "The most a log output weight may change between two cycles.", 0.01, 20),
    Setting(
        "residual_alarm_p",
        1e-4,
        "Below this p value of the residual test the alarm is raised and the channel is kept.",
        0,
        1,
    ),
    Setting("pooled_cycles", 30, "How many of the latest cycles the estimate pools.", 1, 1000),
    Setting(
        "relayed_cap_reports", 1_000_000, "The most relayed reports of one cycle, in campaigns that allow them.", 0, 1e9
    ),
    Setting(
        "cells_limit",
        2_500,
        "The most cells of a grid (devices accept 65,536); above 2,500 no intervals are published.",
        1,
        65_536,
    ),
    Setting("ticket_lifetime_s", 21_600, "A linkable ticket is refused when older than this.", 1, 31_557_600),
    Setting(
        "requests_per_minute_per_address",
        600,
        "Requests one address may make in a minute; 0: no limit. Loopback has none.",
        0,
        1e9,
    ),
    Setting(
        "trusted_proxies",
        "127.0.0.1, ::1",
        "Networks (CIDR, separated by commas) of the proxies in front, whose header names the visitor's address.",
    ),
    Setting("forwarded_header", "x-forwarded-for", "The header those proxies write: x-forwarded-for or forwarded."),
    Setting(
        "connections_per_address",
        256,
        "Connections one address may hold open at once; 0: no limit. Trusted proxies have none.",
        0,
        1e6,
    ),
    Setting("header_timeout_s", 10.0, "A request whose header is not there by then is answered 408.", 0.1, 3_600),
    Setting("body_timeout_s", 30.0, "A request whose body is not there by then is cut off.", 0.1, 3_600),
    Setting("body_limit_bytes", 262_144, "Larger request bodies are refused (413).", 1_024, 1e9),
    Setting(
        "report_body_limit_bytes",
        16_384,
        "Larger bodies of a report or a ticket request are refused (413).",
        2_048,
        1e6,
    ),
    Setting("group_commit_reports", 2_048, "The most reports in one transaction.", 1, 100_000),
    Setting("waiting_reports", 20_000, "Reports waiting for their commit; beyond, the answer is 429.", 1, 1e7),
    Setting("commit_retry_s", 5.0, "How long a failed commit is tried again before the answer is 503.", 0, 60),
    Setting(
        "closing_lease_s", 30.0, "A server that vanishes while closing a cycle is replaced after this long.", 1, 3_600
    ),
    Setting(
        "late_reports_s",
        900,
        "How long reports drawn from a cycle are still counted after its estimate is published.",
        0,
        86_400,
    ),
    Setting("tick_s", 0.5, "How often due cycles are looked for.", 0.01, 60),
    Setting("webhook_url", "", "Where alarms and ends are posted, signed; empty: nowhere."),
    Setting("webhook_secret", "", "The key of the webhook's HMAC-SHA256 signature, at least 16 characters."),
    Setting("smtp_url", "", "The mail server for notices: smtp://USER:PASSWORD@HOST:587 or smtps://; empty: none."),
    Setting("email_from", "", "The sender of notices by e-mail."),
    Setting("email_to", "", "Who gets notices by e-mail, separated by commas."),
    Setting(
        "backup_folder", "sfumato-backups", "Where backups asked for on /operate are kept; empty: none are made there."
    ),
    Setting("heads_file", "", "Heads of other collectors' logs to republish (client log head -o FILE); empty: none."),
    Setting("cors_origins", "", "Origins, separated by commas, whose pages may call the interface; empty: none."),
    Setting(
        "complete_notices",
        1,
        "1: a campaign that is no rehearsal opens only with a complete privacy notice; 0: brackets may stay.",
        0,
        1,
    ),
    Setting("tiles", "", "A PMTiles file (version 3) with the streets under the maps, served at /tiles/; empty: none."),
    Setting("outline", "", "A GeoJSON file with the city's outline, drawn on the maps; empty: none."),
    Setting(
        "tile_url",
        "",
        "Instead of tiles: a path of this very site, such as /streets/{z}/{x}/{y}.pbf, that your proxy answers.",
    ),
)
_BY_NAME = {setting.name: setting for setting in TABLE}


@dataclass(frozen=True, slots=True)
class Settings:
    """The table's values for one running server: ``settings.number("tick_s")``, ``settings.text("database")``."""

    values: Mapping[str, str | int | float]

    @classmethod
    def of(cls, **changes: str | int | float) -> Settings:
        """The defaults with ``changes``, checked."""
        unknown = set(changes) - set(_BY_NAME)
        if unknown:
            raise InputError(f"There is no setting {sorted(unknown)[0]}.", "See docs/deploy.md for the table.")
        return cls({name: _checked(setting, changes.get(name, setting.default)) for name, setting in _BY_NAME.items()})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The defaults with what ``SFUMATO_*`` variables say."""
        found = os.environ if environment is None else environment
        return cls.of(**{name: found[key] for name in _BY_NAME if (key := f"SFUMATO_{name.upper()}") in found})

    def text(self, name: str) -> str:
        """A setting that is text."""
        return str(self.values[name])

    def number(self, name: str) -> float:
        """A setting that is a number."""
        return float(self.values[name])

    def whole(self, name: str) -> int:
        """A setting that is a whole number."""
        return int(self.values[name])


def _checked(setting: Setting, value: str | int | float) -> str | int | float:
    if isinstance(setting.default, str):
        return str(value)
    kind = int if isinstance(setting.default, int) else float
    try:
        number = kind(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"The setting {setting.name} is not a number.", setting.meaning) from error
    if not setting.least <= number <= setting.most:
        raise InputError(
            f"The setting {setting.name} is {number}.", f"It lies in {setting.least:g} .. {setting.most:g}."
        )
    return number
