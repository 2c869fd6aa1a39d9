"""A campaign's privacy notice: a template in four languages, filled in with what the campaign really does.

It is a page of its own, to be read, printed or saved; what only the organiser knows is left in brackets.
"""

from __future__ import annotations

import math
import time
from functools import lru_cache
from importlib.resources import files
from typing import Literal, get_args

from sfumato.collect.service.models.replies import CampaignView
from sfumato.collect.service.pages.layout import text
from sfumato.collect.service.pages.words import words

NoticeLanguage = Literal["en", "fr", "de", "es"]
LANGUAGES: tuple[NoticeLanguage, ...] = get_args(NoticeLanguage)
_OFTEN = {
    "en": {
        "once": "Your device sends one report in the campaign's whole life.",
        "every-cycle": "Your device sends at most one report per round, and stops when its budget is spent.",
        "once-per-epoch": "Your device sends one report in {epoch} rounds, and stops when its budget is spent.",
    },
    "fr": {
        "once": "Votre appareil envoie une seule réponse pendant toute la campagne.",
        "every-cycle": "Votre appareil envoie au plus une réponse par tour et s’arrête quand son budget est épuisé.",
        "once-per-epoch": "Votre appareil envoie une réponse tous les {epoch} tours, jusqu’à épuisement du budget.",
    },
    "de": {
        "once": "Ihr Gerät sendet in der ganzen Umfrage eine einzige Meldung.",
        "every-cycle": "Ihr Gerät sendet höchstens eine Meldung pro Runde, bis sein Budget verbraucht ist.",
        "once-per-epoch": "Ihr Gerät sendet alle {epoch} Runden eine Meldung, bis sein Budget verbraucht ist.",
    },
    "es": {
        "once": "Su dispositivo envía una sola respuesta en toda la campaña.",
        "every-cycle": "Su dispositivo envía como máximo una respuesta por ronda, hasta agotar su presupuesto.",
        "once-per-epoch": "Su dispositivo envía una respuesta cada {epoch} rondas, hasta agotar su presupuesto.",
    },
}
_TICKETS = {
    "en": ("until the campaign ends", "until the round is closed", "until the period is over"),
    "fr": ("jusqu’à la fin de la campagne", "jusqu’à la fin du tour", "jusqu’à la fin de la période"),
    "de": ("bis die Umfrage endet", "bis die Runde zu Ende ist", "bis der Zeitraum vorüber ist"),
    "es": ("hasta que termine la campaña", "hasta que se cierre la ronda", "hasta que termine el periodo"),
}
_RHYTHMS = ("once", "every-cycle", "once-per-epoch")
_OPEN = {"en": "[to be filled in]", "fr": "[à compléter]", "de": "[zu ergänzen]", "es": "[por completar]"}
_STYLE = """:root{color-scheme:light dark}body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 system-ui,
-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.1rem;
margin-bottom:.25rem}p,ul{margin-top:.25rem}@media print{body{margin:0;font-size:11pt}}"""


def privacy_notice(campaign: CampaignView, language: NoticeLanguage) -> str:
    """The notice as a page."""
    parts: list[str] = []
    for kind, line in _lines(language):
        filled = line.format(**_facts(campaign, language)).strip()
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
<style>{_STYLE}</style>
</head>
<body><main>
{chr(10).join(parts)}
</main></body>
</html>
"""


@lru_cache(maxsize=8)
def _lines(language: NoticeLanguage) -> tuple[tuple[str, str], ...]:
    """The template's lines with the element each becomes."""
    whole = (files("sfumato.collect.service.pages") / "notices" / f"{language}.txt").read_text(encoding="utf-8")
    kinds = (("## ", "h2"), ("# ", "h1"), ("- ", "li"), ("", "p"))
    found = []
    for line in filter(None, whole.splitlines()):
        mark, kind = next(one for one in kinds if line.startswith(one[0]))
        found.append((kind, line[len(mark) :]))
    return tuple(found)


def _facts(campaign: CampaignView, language: NoticeLanguage) -> dict[str, str]:
    """What the braces stand for, as HTML."""
    level, said_in = campaign.two_beta_per_km, words(language)
    often = _OFTEN[language][campaign.reporting].format(epoch=campaign.epoch_cycles)
    factor = said_in.number(math.exp(level)) if level < 23 else f"10^{math.floor(level / math.log(10))}"
    end = None if campaign.ends_at_s is None else time.strftime("%Y-%m-%d", time.gmtime(campaign.ends_at_s - 1))
    missing = _OPEN[language]
    said = {
        "title": campaign.title,
        "organiser": campaign.organiser or missing,
        "contact": campaign.contact or missing,
        "question": campaign.question or ("" if campaign.description else missing),
        "description": campaign.description,
        "cell": said_in.length(campaign.grid.cell_width),
        "factor": factor,
        "epsilon": said_in.number(level, 4),
        "often": often,
        "tickets": _TICKETS[language][_RHYTHMS.index(campaign.reporting)],
        "least": said_in.count(campaign.minimum_tickets),
        "end": end or missing,
    }
    return {name: text(value) for name, value in said.items()}
