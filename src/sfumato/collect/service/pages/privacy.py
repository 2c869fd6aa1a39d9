"""A campaign's privacy notice: a template in four languages, filled in with what the campaign really does.

It is a page of its own, to be read, printed or saved; what only the organiser knows is left in brackets.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Literal

from sfumato.base.drawing.svg import escape as text
from sfumato.collect.service.models.kept import NOTICE_FIELDS, MapOddsFacts, Record
from sfumato.collect.service.models.replies import CampaignView
from sfumato.collect.service.pages.layout import rehearsal_note
from sfumato.collect.service.pages.words import odds_in_words, together_in_words, words

NoticeLanguage = Literal["en", "fr", "de", "es"]
_NOTICES = files("sfumato.collect.service.pages") / "notices"
_STYLE = """:root{color-scheme:light dark}body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 system-ui,
-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.1rem;
margin-bottom:.25rem}body{background:light-dark(#fff,#16130f)}a{color:light-dark(#7a3d12,#f0a35e)}
p,ul{margin-top:.25rem}@media print{body{margin:0;font-size:11pt}}"""


def privacy_notice(
    campaign: CampaignView, language: NoticeLanguage, head: str = "", map_odds: MapOddsFacts | None = None
) -> str:
    """The notice as a page; ``head``: the words of the public log's last entry; ``map_odds``: of the latest map."""
    said, page = words(language), f"/campaigns/{text(campaign.name)}?language={language}"
    about_map = said.say("map_odds_before") if map_odds is None else odds_in_words(map_odds, said)
    parts: list[str] = []
    for kind, line in _lines(language):
        filled = line.format(**_facts(campaign, language), head=text(head), map=text(about_map)).strip()
        if kind == "li" and parts and parts[-1].endswith("</ul>"):
            parts[-1] = f"{parts[-1][:-5]}<li>{filled}</li></ul>"
        elif kind == "li":
            parts.append(f"<ul><li>{filled}</li></ul>")
        else:
            parts.append(f"<{kind}>{filled}</{kind}>")
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(campaign.title)}</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<style>{_STYLE}</style>
</head>
<body><main>
{rehearsal_note(campaign, said)}{chr(10).join(parts)}
<p>{text(said.say("take_part_here"))} <a href="{page}">{text(campaign.title)}</a></p>
</main></body>
</html>
"""


@lru_cache(maxsize=8)
def _lines(language: NoticeLanguage) -> tuple[tuple[str, str], ...]:
    """The template's lines with the element each becomes."""
    whole = (_NOTICES / f"{language}.txt").read_text(encoding="utf-8")
    kinds = (("## ", "h2"), ("# ", "h1"), ("- ", "li"), ("", "p"))
    found = []
    for line in filter(None, whole.splitlines()):
        mark, kind = next(one for one in kinds if line.startswith(one[0]))
        found.append((kind, line[len(mark) :]))
    return tuple(found)


class Filling(Record):
    """What depends on how often devices report, and the words for what only the organiser knows."""

    often: dict[str, str]
    tickets: dict[str, str]
    open: str
    end: str


@lru_cache(maxsize=8)
def _filling(language: NoticeLanguage) -> Filling:
    return Filling.model_validate_json((_NOTICES / f"{language}.json").read_text(encoding="utf-8"))


def _facts(campaign: CampaignView, language: NoticeLanguage) -> dict[str, str]:
    """What the braces stand for, as HTML."""
    level, said_in = campaign.two_beta_per_km, words(language)
    filling = _filling(language)
    often = filling.often[campaign.reporting].format(epoch=campaign.epoch_cycles)
    often = f"{often} {together_in_words(campaign, said_in)}".strip()
    end, zone = campaign.ends_at_s, campaign.time_zone
    missing = filling.open
    said = {
        "title": campaign.title,
        "question": campaign.question.strip() or ("" if campaign.description.strip() else missing),
        "description": campaign.description,
        "cell": said_in.length(campaign.grid.cell_width),
        "factor": said_in.factor(level),
        "epsilon": said_in.number(level, 4),
        "often": often,
        "tickets": filling.tickets[campaign.reporting],
        "least": said_in.count(campaign.minimum_tickets),
        "end": filling.end if end is None else said_in.day(end - 1, zone),
        **{name: getattr(campaign, name).strip() or missing for name in NOTICE_FIELDS},
    }
    return {name: text(value) for name, value in said.items()}
