"""The report of a campaign, to print on A4: question, dates, who took part, the map, districts, changes, limits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.base.drawing.svg import escape as text
from sfumato.collect.service.models.outlook import ComparisonView
from sfumato.collect.service.models.replies import ClosedCycleView, DashboardCampaignView, EstimatedCycleView
from sfumato.collect.service.pages.dashboard import area_table, changed_in, changed_words, drawn_map
from sfumato.collect.service.pages.district_files import Row, csv_bytes, district_rows, period_of, spoken_heads
from sfumato.collect.service.pages.district_page import change_section, choose_rounds
from sfumato.collect.service.pages.layout import facts, page, rehearsal_note, section, switch
from sfumato.collect.service.pages.words import Words, average_in_words, words

_LIMITS = ("paper_not_one", "paper_not_two", "paper_not_three", "paper_not_four")


@dataclass(frozen=True, slots=True)
class Paper:
    """What a report is made from: the campaign, its closed rounds, the latest with its map, and a comparison."""

    campaign: DashboardCampaignView
    history: Sequence[ClosedCycleView]
    latest: EstimatedCycleView
    compared: ComparisonView | None
    refused: str = ""
    """Why the rounds that were asked for cannot be compared."""

    @property
    def changed(self) -> bool:
        """Whether an average over rounds is no answer."""
        return changed_in(self.history, self.latest) is not None

    @property
    def rounds(self) -> list[ClosedCycleView]:
        """Those that the map shown is of: the last alone where the map has changed."""
        last = self.latest
        if self.changed:
            return [one for one in self.history if one.cycle == last.cycle]
        out = set(last.excluded_cycles)
        before = [one for one in self.history if one.cycle <= last.cycle and one.cycle not in out]
        return before[-last.averaged_cycles :]

    @property
    def level(self) -> float | None:
        """Of the intervals."""
        return self.latest.interval_level

    def when(self, said: Words) -> str:
        """Of which rounds the map is."""
        last = self.latest
        return said.say("when_round", round=last.cycle) if self.changed else average_in_words(last, said)

    def period(self, said: Words) -> Row:
        """How many took part, from when until when, and the level, as they are written in a language."""
        return period_of(self.rounds, self.campaign.time_zone, self.level, said)


def paper_table(paper: Paper, said: Words) -> bytes:
    """The table as a file for spreadsheets: districts, or areas by their corners."""
    period, last = paper.period(said), paper.latest
    if last.districts is not None:
        elsewhere = said.say("elsewhere")
        rows = district_rows(last.cycle, last.districts, period, alone=paper.changed, elsewhere=elsewhere)
    else:
        grid = paper.campaign.grid
        rows = [
            {
                "north": grid.north_deg - one.row * grid.cell_height_deg,
                "west": grid.west_deg + one.column * grid.cell_width_deg,
                "south": grid.north_deg - (one.row + one.rows) * grid.cell_height_deg,
                "east": grid.west_deg + (one.column + one.columns) * grid.cell_width_deg,
                "share": one.share,
                "low": one.low,
                "high": one.high,
                **period,
            }
            for one in ([] if paper.changed else last.areas or [])
        ]
    return csv_bytes(rows, said.language, spoken_heads(said))


def paper_page(paper: Paper, *, language: str, kept: str, address: str) -> str:
    """The report in the campaign's language; complete without JavaScript."""
    said, campaign, last = words(language), paper.campaign, paper.latest
    home, zone = f"/campaigns/{text(campaign.name)}", campaign.time_zone
    changed = changed_words(paper.history, last, said)
    told = f'<p class="alarm" role="status">{text(changed)}</p>' if changed else ""
    if last.alarm.raised:
        told = f'<p class="alarm" role="alert">{text(said.say("alarm_raised"))}</p>'
    drawn, legend = drawn_map(campaign, paper.history, last, said)
    parts = [
        f"<h1>{text(campaign.question or campaign.title)}</h1>",
        rehearsal_note(campaign, said),
        _buttons(home, kept, said),
        told,
        facts(_about(paper, said)),
        f"<h2>{text(said.say('result_title', when=paper.when(said)))}</h2>",
        f'<div class="map paper-map">{drawn}</div><p class="legend">{legend}</p>',
        area_table(campaign, paper.history, last, said),
    ]
    if paper.compared is not None:
        parts.append(
            section("changes", said.say("change_title"), change_section(paper.compared, f"{home}/report", said))
        )
    elif paper.refused:
        why = said.say("compare_not", why=said.in_language(paper.refused))
        again = choose_rounds([], [], f"{home}/report", said)
        parts.append(section("changes", said.say("change_title"), f'<p class="bad">{text(why)}</p>{again}'))
    method = said.say("paper_method_about", level=said.number(campaign.two_beta_per_km))
    parts.append(section("method", said.say("paper_method"), f"<p>{text(method)}</p>"))
    limits = "".join(f"<li>{text(said.say(one))}</li>" for one in _LIMITS)
    parts.append(section("limits", said.say("paper_not"), f"<ul>{limits}</ul>"))
    made = said.say("paper_made", when=said.moment(time.time(), zone), address=address)
    parts.append(f'<p class="soft">{text(made)}</p>')
    title = said.say("paper_title", title=campaign.title)
    links = f'<a href="{home}/dashboard{kept}">{text(said.say("nav_map"))}</a>' + switch(f"{home}/report", said)
    body = f'<div id="paper" class="paper" data-name="{text(campaign.name)}">{"".join(parts)}</div>'
    return page(title, body, links=links, script="paper", said=said)


def _buttons(home: str, kept: str, said: Words) -> str:
    files = (("map.svg", "paper_svg"), ("report.csv", "paper_csv"))
    links = "".join(
        f'<a class="button quiet" href="{home}/{name}{kept}" download>{text(said.say(key))}</a>' for name, key in files
    )
    png, printed = (text(said.say(key)) for key in ("paper_png", "paper_print"))
    made = f'<button type="button" id="print" hidden>{printed}</button>'
    made += f'<button type="button" id="png" class="quiet" data-map="{home}/map.svg{kept}" hidden>{png}</button>'
    return f'<div class="buttons">{made}{links}</div>'


def _about(paper: Paper, said: Words) -> list[tuple[str, str, str]]:
    campaign, rounds = paper.campaign, paper.rounds
    period = paper.period(said)
    numbers = ", ".join(str(one.cycle) for one in rounds)
    dates = said.say(
        "paper_dates_about",
        from_=str(period["from"]),
        until=str(period["until"]),
        zone=campaign.time_zone,
        rounds=numbers,
    )
    reports = said.reports(sum(one.reports for one in rounds))
    found = [(said.say("paper_question"), campaign.question or campaign.title, campaign.description)]
    if campaign.organiser:
        found.append((said.say("paper_organiser"), campaign.organiser, campaign.contact))
    found.append((said.say("paper_dates"), dates, ""))
    found.append((said.say("paper_people"), reports, said.say("paper_people_about")))
    if paper.level is not None:
        level = f"{100 * paper.level:g} %"
        about = said.say("paper_level_about", share=f"{100 * paper.level:g}")
        found.append((said.say("paper_level"), level, about))
    return found
