"""What lies folded under a map: the latest round in numbers, what fake reports could do, every round."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from sfumato.collect.service.models.shown import ClosedCycleView
from sfumato.collect.service.pages.layout import facts, table, text
from sfumato.collect.service.pages.maps import line_chart
from sfumato.collect.service.pages.words import Words

_COLUMNS = (
    "col_round",
    "col_closed",
    "col_reports",
    "col_moved",
    "level",
    "col_information",
    "col_distortion",
    "col_residual",
    "col_alarm",
    "col_in_map",
)


def latest_round(last: ClosedCycleView, said: Words) -> str:
    """The latest round's numbers, each with what it means."""
    moved = last.emd_to_previous_m
    promised = said.say("fact_level_about", level=said.number(last.two_beta_per_km, 4))
    information = f"{said.number(last.mutual_information_nats)} nats"
    chance = f"p = {said.number(last.residual.p_value, 2)}"
    items = [
        (said.say("col_reports"), said.count(last.reports), said.say("when_round", round=last.cycle)),
        (said.say("fact_level"), _level(last, said), promised),
        (said.say("fact_information"), information, said.say("fact_information_about")),
        (said.say("fact_distortion"), said.length(last.distortion_m), said.say("fact_distortion_about")),
        (said.say("fact_moved"), "–" if moved is None else said.length(moved), said.say("fact_moved_about")),
        (said.say("fact_residual"), chance, said.say("fact_residual_about")),
    ]
    return facts(items)


def fakes(last: ClosedCycleView, said: Words) -> str:
    """How far fake reports would move the map."""
    items = [
        (said.say("fake_share", share=f"{100 * float(share):g}"), said.length(moved), said.say("fake_moved"))
        for share, moved in last.influence.items()
    ]
    return f'<p class="soft">{text(said.say("fakes_about"))}</p>{facts(items)}'


def every_round(history: Sequence[ClosedCycleView], said: Words) -> str:
    """Two charts and a table of all rounds shown."""

    def rows() -> Iterator[list[str]]:
        for one in history:
            alarm = (
                f'<strong class="bad">{text(said.say("alarm_word"))}</strong>' if one.alarm.raised else said.say("no")
            )
            yield [
                str(one.cycle),
                _when(one.closed_at_s),
                said.count(one.reports),
                said.number(one.emd_to_previous_m, 4),
                _level(one, said),
                said.number(one.mutual_information_nats),
                said.number(one.distortion_m, 4),
                said.number(one.residual.p_value, 2),
                alarm,
                f"<strong>{text(said.say('left_out_word'))}</strong>" if one.excluded else text(said.say("yes")),
            ]

    heads = [said.say(key) for key in _COLUMNS]
    title = said.say("fold_rounds")
    widths = [(one.cycle, None if one.sharpness is None else one.sharpness.width_m) for one in history]
    charts = line_chart(widths, title=said.say("chart_width"), unit="m", said=said)
    reports = [(one.cycle, float(one.reports)) for one in history]
    charts += line_chart(reports, title=said.say("chart_reports"), said=said)
    return f'<div id="charts" class="charts">{charts}</div>{table(title, heads, rows(), label=title)}'


def _level(cycle: ClosedCycleView, said: Words) -> str:
    level = cycle.epsilon_per_km
    upper = said.number(level.upper, 4)
    return upper if level.exact else f"{said.number(level.lower, 4)} – {upper}"


def _when(seconds: int | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else "–"
