"""What stands in deploy/ fits the program: names, settings, networks, metrics, as far as it can be tried here."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

from sfumato.cli.commands import COMMANDS
from sfumato.collect.service.rounds.writer import Metrics
from sfumato.collect.service.settings import TABLE

DEPLOY = ROOT / "deploy"
UNITS = ("sfumato.service", "sfumato-backup.service", "sfumato-backup.timer")
SETTINGS = {f"SFUMATO_{one.name.upper()}" for one in TABLE}


def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def exposed() -> set[str]:
    """Every name that /metrics prints, as Prometheus knows it."""
    lines = Metrics().text().decode().splitlines()
    return {re.split(r"[{ ]", line)[0] for line in lines if line and not line.startswith("#")}


def queries() -> list[str]:
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_every_query_of_the_dashboard_names_metrics_that_exist() -> None:
    names = {name for query in queries() for name in re.findall(r"sfumato_\w+", query)}
    assert len(queries()) >= 12
    assert names - exposed() == set()


def test_every_metric_is_on_the_dashboard() -> None:
    shown = " ".join(queries())
    families = {re.sub(r"_(total|bucket|sum|count|created)$", "", name) for name in exposed()}
    assert {one for one in families if one not in shown} == set()


def test_labels_of_the_dashboard_exist() -> None:
    text = Metrics().text().decode()
    labels = {label for query in queries() for label in re.findall(r"by \((\w+)\)", query)}
    assert labels == {"outcome", "le"}
    assert all(f'{label}="' in text for label in labels)


def test_compose_names_what_is_there() -> None:
    found = compose()
    services = found["services"]
    assert set(services) == {"database", "collector", "caddy"}
    assert (DEPLOY / services["collector"]["build"]["context"] / services["collector"]["build"]["dockerfile"]).is_file()
    asked = {name for name in services["collector"]["environment"] if name.startswith("SFUMATO_")}
    assert asked <= SETTINGS
    assert "@database/sfumato" in services["collector"]["environment"]["SFUMATO_DATABASE"]
    assert "reverse_proxy {$COLLECTOR:collector:8000}" in (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    for service in services.values():
        assert set(service["networks"]) <= set(found["networks"])
        named = [one.split(":")[0] for one in service.get("volumes", ()) if not one.startswith(("./", "/"))]
        assert set(named) <= set(found["volumes"])


def test_nobody_reaches_the_database_or_the_collector_but_through_the_proxy() -> None:
    found = compose()
    published = {name for name, service in found["services"].items() if service.get("ports")}
    assert published == {"caddy"}
    assert found["networks"]["behind"]["internal"]
    assert found["networks"]["front"]["internal"]
    assert "caddy" not in [name for name, one in found["services"].items() if "behind" in one["networks"]]
    (subnet,) = [one["subnet"] for one in found["networks"]["front"]["ipam"]["config"]]
    trusted = found["services"]["collector"]["environment"]["SFUMATO_TRUSTED_PROXIES"]
    assert ipaddress.ip_network(trusted) == ipaddress.ip_network(subnet)


def test_every_variable_that_compose_wants_is_in_the_example() -> None:
    wanted = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text(encoding="utf-8")))
    example = (DEPLOY / "env.example").read_text(encoding="utf-8")
    assert wanted == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_the_container_sets_only_settings_there_are_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    last = text[text.rindex("FROM ") :]
    assert set(re.findall(r"(SFUMATO_\w+)=", last)) <= SETTINGS
    assert "USER 10001" in last
    assert "npm" not in last
    assert "/ready" in last


@pytest.mark.parametrize("name", UNITS)
def test_units_name_commands_that_exist(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    commands = set(COMMANDS)
    called = re.findall(r"/opt/sfumato/bin/sfumato (\w+)", text)
    assert set(called) <= commands
    assert called or name.endswith(".timer")
    assert set(re.findall(r"(SFUMATO_\w+)=", text)) <= SETTINGS
    if name.endswith(".service"):
        for option in ("NoNewPrivileges", "ProtectSystem", "CapabilityBoundingSet", "PrivateTmp"):
            assert option in unit["Service"], option
        assert unit["Service"]["UMask"] == "0077"


def test_systemd_reads_the_units_without_a_complaint(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "sfumato" / "bin" / "sfumato"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in UNITS:  # where the program lies is all that is changed
        there = (DEPLOY / name).read_text(encoding="utf-8").replace("/opt/sfumato", str(tmp_path / "sfumato"))
        (tmp_path / name).write_text(there)
    command = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "Failed to" in run.stderr:
        pytest.skip("this systemd-analyze needs a running systemd")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("name", ["sfumato.service", "sfumato-backup.service"])
def test_systemd_finds_the_units_well_closed(name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(DEPLOY / name)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    score = re.search(r"Overall exposure level for \S+: ([\d.]+)", run.stdout)
    if score is None:
        pytest.skip("this systemd-analyze cannot judge a file")
    assert float(score[1]) <= 3.0
