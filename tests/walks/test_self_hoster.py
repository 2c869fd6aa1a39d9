"""The self-hoster: check, start, back up while it runs, lose the machine, restore, and lose no report."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from pathlib import Path

import pytest
from walking import Walker, installed, serving

pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.xdist_group("self_hoster")]


@pytest.fixture(scope="module")
def host(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """Somebody with a small machine of their own and the collector installed."""
    return installed(wheel, tmp_path_factory.mktemp("host"), "service")


def counted(me: Walker, url: str) -> int:
    """How many reports the open cycle has, as `campaign show` tells its operator, and nobody else."""
    shown = ("sfumato", "campaign", "show", "paris", "--url", url)
    assert "reports so far: told to operators" in me.does(*shown)
    token = (me.folder / "token").read_text("utf-8").strip()
    (found,) = re.findall(r"reports so far: (\d+)", me.does(*shown, SFUMATO_OPERATOR_TOKEN=token))
    return int(found)


def test_a_machine_is_lost_and_the_backup_brings_everything_back(host: Walker) -> None:
    first = host.tries("sfumato", "serve", "--check").stdout
    assert "FAIL database" not in first
    assert "FAIL configuration" not in first
    with serving(host, "--token-file", "token", "--city", "paris") as (url, server):
        host.does("sfumato", "collect", "crowd", "--city", "paris", "--people", "150", "--url", url)
        assert counted(host, url) == 150
        metrics = urllib.request.urlopen(f"{url}/metrics", timeout=10).read().decode()
        assert "sfumato_" in metrics
        host.does("sfumato", "collector", "backup", "night.db")
        os.kill(server.pid, signal.SIGKILL)
        server.wait(30)
    for lost in host.folder.glob("sfumato.db*"):
        lost.unlink()
    host.does("sfumato", "collector", "restore", "night.db", "--database", "sqlite:///new.db")
    host.does("sfumato", "collector", "upgrade", "--database", "sqlite:///new.db")
    with serving(host, "--token-file", "token", "--city", "none", "--database", "sqlite:///new.db") as (url, _):
        assert counted(host, url) == 150


def test_a_database_that_others_can_read_is_named_before_the_start(host: Walker) -> None:
    (host.folder / "new.db").chmod(0o644)
    done = host.tries("sfumato", "serve", "--check", "--database", "sqlite:///new.db")
    assert done.returncode == 1
    assert re.search(r"FAIL file modes", done.stdout), done.stdout
