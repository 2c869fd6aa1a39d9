"""Backups that an operator asks for on the screens: made and kept on the server's own disk, never sent by HTTP.

A backup holds the keys that sign channels and tickets. Somebody who stole an operator's token can make and delete
backups, and read none.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from sfumato.collect.service.models.replies import BackupView, Refused
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.store.backup import back_up
from sfumato.collect.service.store.operations import Deed

NAME = r"^sfumato-[0-9]{8}-[0-9]{6}\.backup$"
_MOST = 50


def folder_of(collector: Collector) -> Path | None:
    """Where they are kept, or None."""
    chosen = collector.settings.text("backup_folder")
    return Path(chosen) if chosen else None


def backups_of(collector: Collector) -> list[BackupView]:
    """The backups there are, newest first."""
    folder = folder_of(collector)
    if folder is None or not folder.is_dir():
        return []
    found = sorted(folder.glob("sfumato-*.backup"), reverse=True)
    return [BackupView(name=one.name, made_at_s=int(one.stat().st_mtime), bytes=one.stat().st_size) for one in found]


async def make(collector: Collector, *, who: str) -> None:
    """A new backup."""
    folder = folder_of(collector)
    if folder is None:
        raise Refused(409, "Backups are not made here: the setting backup_folder is empty.")
    if len(backups_of(collector)) >= _MOST:
        raise Refused(409, f"There are {_MOST} backups. Delete old ones first.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = time.strftime("sfumato-%Y%m%d-%H%M%S.backup", time.gmtime(collector.now()))
    if (folder / name).exists():
        raise Refused(409, "A backup was made in this very second; wait a moment.")
    held = await back_up(collector.settings.text("database"), folder / name)
    told = {"name": name, "campaigns": held.campaigns, "reports": held.reports}
    await collector.store.audit.write(Deed(int(collector.now()), who, "backup", None, told))


async def remove(collector: Collector, name: str, *, who: str) -> None:
    """Delete a backup."""
    folder = folder_of(collector)
    if folder is None or not (folder / name).is_file():
        raise Refused(404, "There is no backup of that name.")
    (folder / name).unlink()
    await collector.store.audit.write(Deed(int(collector.now()), who, "delete backup", None, {"name": name}))
