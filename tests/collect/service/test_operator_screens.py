"""What the operator's screens ask: plans, codes, backups, privacy notices; each with the token, each in words."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_harness import client, create, fill, operator, refused, run
from qr_reader import modules_of_svg, read_qr
from starlette.testclient import TestClient

from sfumato.collect.service.pages.privacy import _lines
from sfumato.collect.service.sentences import LANGUAGES
from sfumato.collect.service.store.backup import restore

LYON = {"south": 45.70, "west": 4.78, "north": 45.80, "east": 4.92, "cell_size_m": 500.0}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60, backup_folder=str(tmp_path / "kept")) as found:
        yield found


def post(visitor: TestClient, path: str, **body: Any) -> Any:
    return visitor.post(f"/api/v1/{path}", json=body, headers=operator())


def test_a_plan_says_how_fine_a_map_so_many_people_draw(visitor: TestClient) -> None:
    plan = post(visitor, "plans", grid=LYON, people=500).json()["plan"]
    assert (plan["rows"], plan["columns"], plan["cells"]) == (23, 22, 506)
    assert plan["reports"] == 500
    assert "With about 500 people you will be able to tell areas about" in plan["words"]
    assert "Each report costs 2 per km." in plan["words"]
    more = post(visitor, "plans", grid=LYON, people=50_000).json()["plan"]
    assert more["width_m"] < plan["width_m"]
    needed = {one["width_m"]: one["people"] for one in plan["finer"]}
    assert needed[1000.0] > needed[2000.0] > needed[3000.0]
    assert visitor.get("/api/v1/campaigns").json()["campaigns"] == []


def test_a_plan_advises_instead_of_refusing(visitor: TestClient) -> None:
    def advice(**asked: Any) -> str:
        return " ".join(post(visitor, "plans", **{"grid": LYON, "people": 500, **asked}).json()["plan"]["advice"])

    coarse = {**LYON, "cell_size_m": 1000.0}
    assert "this server allows 2,500. Use cells of" in advice(
        grid={**LYON, "north": 45.716, "east": 9.0, "cell_size_m": 300.0}
    )
    assert "finer than this map can tell" in advice(people=300)
    few = advice(people=5)
    assert "Ask more people" in few
    assert "fewer than 50 people" in few
    assert "gives away the street" in advice(grid=coarse, epsilon_per_km=9.0)
    assert "No device would take part. A report may cost 10 per km" in advice(grid=coarse, epsilon_per_km=20.0)


def test_a_rectangle_that_is_none_is_refused_in_words(visitor: TestClient) -> None:
    upside_down = post(visitor, "plans", grid={**LYON, "south": 46.0})
    assert upside_down.status_code in (400, 409, 422)
    assert upside_down.json()["error"]
    refused(post(visitor, "plans", grid=LYON, people=0), 422, "people")


def test_nothing_is_told_without_the_token(visitor: TestClient) -> None:
    for path, body in (("plans", {"grid": LYON}), ("codes", {"address": "https://a.example"}), ("backups", {})):
        refused(visitor.post(f"/api/v1/{path}", json=body), 401, "operator's token")
    refused(visitor.get("/api/v1/backups"), 401, "operator's token")


def test_the_frame_of_the_screens_knows_nothing(visitor: TestClient) -> None:
    create(visitor, title="Nobody may see this yet")
    page = visitor.get("/operate")
    assert page.status_code == 200
    assert "Nobody may see this yet" not in page.text
    assert not re.search(r"<script(?![^>]*src=)", page.text)
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "connect-src 'self';" in policy


def test_a_code_holds_the_address(visitor: TestClient) -> None:
    address = "https://map.example.org/campaigns/velo"
    assert read_qr(modules_of_svg(post(visitor, "codes", address=address).json()["svg"])) == address
    refused(post(visitor, "codes", address="javascript:alert(1)"), 422, "address")


def test_backups_are_made_listed_deleted_logged_and_never_sent(
    visitor: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(visitor)
    fill(f"sqlite:///{tmp_path}/x.db", [1] * 30)
    assert visitor.get("/api/v1/backups", headers=operator()).json()["backups"] == []
    made = post(visitor, "backups")
    assert made.status_code == 201, made.text
    (one,) = made.json()["backups"]
    path = tmp_path / "kept" / one["name"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert visitor.get(f"/api/v1/backups/{one['name']}", headers=operator()).status_code in (404, 405)
    held = run(restore(f"sqlite:///{tmp_path}/again.db", path))
    assert (held.campaigns, held.reports) == (1, 30)
    refused(post(visitor, "backups/sfumato-20200101-000000.backup/delete"), 404, "no backup of that name")
    assert post(visitor, "backups/..%2f..%2fx.db/delete").status_code in (404, 422)
    assert post(visitor, f"backups/{one['name']}/delete").json()["backups"] == []
    assert not path.exists()
    acts = [entry["action"] for entry in visitor.get("/api/v1/audit", headers=operator()).json()["entries"]]
    assert acts == ["create", "backup", "delete backup"]


def test_without_a_folder_no_backup_is_made(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60, backup_folder="") as visitor:
        assert visitor.get("/api/v1/backups", headers=operator()).json()["folder"] is None
        refused(post(visitor, "backups"), 409, "backup_folder is empty")


DAYS = {"en": "2027-06-30", "fr": "30/06/2027", "de": "30.06.2027", "es": "30/06/2027"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notice_is_filled_in_and_leaves_to_the_organiser_what_only_they_know(
    visitor: TestClient, language: str
) -> None:
    create(
        visitor,
        title="Vélos {x} <b>",
        question="Où roulez-vous ?",
        organiser="Ville de Lyon",
        contact="velo@example.org",
        ends_at_s=1_814_400_000,
        reporting="once",
        minimum_tickets=60,
    )
    page = visitor.get("/campaigns/town/privacy-notice", params={"language": language}).text
    assert 'href="/static/favicon.svg"' in page
    for words in ("Vélos {x} &lt;b&gt;", "Ville de Lyon", "velo@example.org", DAYS[language], "60", "500 m", "GDPR"):
        said = {"GDPR": {"en": "GDPR", "fr": "RGPD", "de": "DSGVO", "es": "RGPD"}[language]}.get(words, words)
        assert said in page, said
    assert f'<html lang="{language}">' in page
    assert ("7.39" if language == "en" else "7,39") in page  # exp(2)
    assert "<script" not in page
    assert re.findall(r"https?://", page) == []
    assert "[" in page  # the legal basis is not ours to say


def test_notices_of_all_languages_have_the_same_parts_and_facts() -> None:
    def shape(language: Any) -> list[tuple[str, frozenset[str]]]:
        return [(kind, frozenset(re.findall(r"{(\w+)}", line))) for kind, line in _lines(language)]

    assert {tuple(shape(language)) for language in LANGUAGES} == {tuple(shape("en"))}


def test_a_notice_speaks_the_campaigns_language(visitor: TestClient) -> None:
    create(visitor, language="de")
    assert "Datenschutzhinweis" in visitor.get("/campaigns/town/privacy-notice").text
    assert visitor.get("/campaigns/town/privacy-notice", params={"language": "la"}).status_code == 422
    assert visitor.get("/campaigns/nowhere/privacy-notice").status_code == 404


@pytest.mark.parametrize("link", ["/campaigns/gone", "/campaigns/Gone%20!", "/campaigns/gone/dashboard", "/lost"])
def test_a_person_whose_link_leads_nowhere_reads_a_page_and_a_program_the_envelope(
    visitor: TestClient, link: str
) -> None:
    page = visitor.get(link, headers={"accept": "text/html,*/*;q=0.8", "accept-language": "fr"})
    assert page.status_code in (404, 422)
    assert "Cette page n’existe pas ici" in page.text
    assert 'href="/"' in page.text
    assert visitor.get(link).json()["ok"] is False
