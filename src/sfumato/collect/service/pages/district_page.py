"""Districts for people: their map, their table, and what changed in them between rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.svg import element, escape, label
from sfumato.base.things.grid import Grid
from sfumato.collect.loop.districts import Unclipped, change, mean_of
from sfumato.collect.service.models.kept import DistrictFacts, DistrictShare
from sfumato.collect.service.models.outlook import ChangeView, ComparisonView
from sfumato.collect.service.models.replies import CampaignView, Refused
from sfumato.collect.service.pages.layout import table
from sfumato.collect.service.pages.svg_maps import FAINTEST, in_frame, shades, span
from sfumato.collect.service.pages.words import Words
from sfumato.collect.service.store.records import StoredCycle, StoredEstimate

Round = tuple[StoredCycle, StoredEstimate]
_LETTER = 1.5
"""How wide a letter of a district's name is, beside a map 100 wide."""
_TOLD = {"more": "told_more", "fewer": "told_fewer", "none": "told_none"}
_WHOSE = {"population": "change_population", "reporters": "change_reporters"}


def name_of(one: DistrictShare, said: Words) -> str:
    """Its name, those of several that cannot be told apart, or that it is of everywhere else."""
    return " + ".join(one.names) or said.say("elsewhere")


def cells_of(campaign: CampaignView, one: DistrictShare) -> list[tuple[int, int]]:
    """(first cell, cells) of its runs."""
    runs = {known.name: known.runs for known in campaign.districts}
    return [pair for name in one.names for pair in zip(runs[name][::2], runs[name][1::2], strict=True)]


def district_map(campaign: CampaignView, shown: Sequence[DistrictShare], *, title: str, about: str, said: Words) -> str:
    """An SVG of districts: darker where there are more people to the square kilometre, paler where it is uncertain."""
    grid = campaign.grid.to_grid()
    scale = 100.0 / (grid.columns * grid.cell_width)
    w, h = grid.cell_width * scale, grid.cell_height * scale
    named = [(one, cells_of(campaign, one)) for one in shown if one.names]
    sizes = np.array([sum(cells for _, cells in runs) for _, runs in named], dtype=np.float64)
    middles = np.array([(one.low + one.high) / 2 for one, _ in named])
    shaded = shades(middles / sizes) if len(named) > 1 else [0]
    drawn: list[str] = []
    told: list[str] = []
    for (one, runs), shade, size, middle in zip(named, shaded, sizes.tolist(), middles.tolist(), strict=True):
        within = span(one.low, one.high)
        heard = f"{name_of(one, said)}: {said.say('of_people', span=within)}"
        doubt = (one.high - one.low) / (2 * max(middle, size / grid.cells))
        opacity = FAINTEST + (1 - FAINTEST) * min(1.0, max(0.0, 1 - doubt)) if len(named) > 1 else FAINTEST
        boxes = "".join(_box(grid, first, cells, w, h) for first, cells in runs)
        drawn.append(
            element("path", element("title", escape(heard)), d=boxes, class_=f"cell q{shade}", fill_opacity=opacity)
        )
        x, y, width = _middle(grid, runs, w, h)
        told.insert(0, label(x, y - 1.6, _short(one.names, width), class_="told few"))  # under all numbers
        told.append(label(x, y + 1.6, within, class_="told"))
    of_cell = np.full(grid.cells, -1)
    for number, (_, runs) in enumerate(named):
        for first, cells in runs:
            of_cell[first : first + cells] = number
    edges = element("path", d=_edges(of_cell.reshape(grid.shape), w, h), class_="district-edge")
    return in_frame(grid, [*drawn, edges, *told], grid.rows * h, title, about)


def _box(grid: Grid, first: int, cells: int, w: float, h: float) -> str:
    """Path data of a run of cells, which may go on in the next rows."""
    out = ""
    while cells > 0:
        row, column = divmod(first, grid.columns)
        here = min(cells, grid.columns - column)
        out += f"M{column * w:.2f} {row * h:.2f}h{here * w:.2f}v{h:.2f}h{-here * w:.2f}z"
        first, cells = first + here, cells - here
    return out


def _middle(grid: Grid, runs: Sequence[tuple[int, int]], w: float, h: float) -> tuple[float, float, float]:
    """The middle of the row nearest to the middle of all of them, inside where districts are bent, and its width."""
    every = np.concatenate([np.arange(first, first + cells) for first, cells in runs])
    rows, columns = np.divmod(every, grid.columns)
    row = rows[np.abs(rows - rows.mean()).argmin()]
    across = columns[rows == row]
    return float(across.mean() + 0.5) * w, float(row + 0.5) * h, across.size * w


def _edges(of_cell: FloatArray, w: float, h: float) -> str:
    """Path data of the borders between districts."""
    padded = np.pad(of_cell, 1, constant_values=-1)
    across, along = padded[1:-1, 1:] != padded[1:-1, :-1], padded[1:, 1:-1] != padded[:-1, 1:-1]
    upright = [f"M{column * w:.2f} {row * h:.2f}v{h:.2f}" for row, column in np.argwhere(across).tolist()]
    level = [f"M{column * w:.2f} {row * h:.2f}h{w:.2f}" for row, column in np.argwhere(along).tolist()]
    return "".join(upright + level)


def _short(names: Sequence[str], width: float) -> str:
    """The first of the names and how many more there are, no longer than about so wide."""
    more, most = (f" + {len(names) - 1}" if len(names) > 1 else ""), max(6, int(width / _LETTER))
    room = max(3, most - len(more))
    return (names[0] if len(names[0]) <= room else f"{names[0][: room - 1]}…") + more


def district_table(facts: DistrictFacts, when: str, said: Words, *, alone: bool = False) -> str:
    """The map's twin: each district's share over all rounds and in the last, with intervals.

    ``alone``: in the last only, where an average is no answer.
    """
    of_round = {one.names: one for one in facts.this_round}
    level = said.say("col_interval", level=f"{100 * facts.level:g} %")
    heads = [said.say("col_district"), said.say("col_share"), level]
    if alone:
        of_last = ([escape(name_of(one, said)), *_said(one, said)] for one in _ranked(facts.this_round))
        return table(said.say("districts_caption", when=when), heads, of_last, label=said.say("view_districts"))
    heads += [said.say("col_this_round"), level]

    def rows() -> Iterator[list[str]]:
        shown = _ranked(facts.average)
        unlike = [one for one in facts.this_round if one.names not in {other.names for other in shown}]
        for one in shown:
            own = of_round.get(one.names)
            yield [escape(name_of(one, said)), *_said(one, said), *(["–", "–"] if own is None else _said(own, said))]
        for one in unlike:  # one round tells fewer districts apart than all of them
            yield [escape(name_of(one, said)), "–", "–", *_said(one, said)]

    return table(said.say("districts_caption", when=when), heads, rows(), label=said.say("view_districts"))


def _ranked(shown: Sequence[DistrictShare]) -> list[DistrictShare]:
    return sorted(shown, key=lambda one: (not one.names, -one.share))


def _said(one: DistrictShare, said: Words) -> list[str]:
    return [_tenths(one.share, said), f"{_tenths(one.low, said)} – {_tenths(one.high, said)}"]


def _tenths(share: float, said: Words) -> str:
    """A share to a tenth of a percent: no interval of a district is narrower."""
    return said.percent(round(share, 3))


def comparison(campaign: CampaignView, before: Sequence[Round], after: Sequence[Round]) -> ComparisonView:
    """How the districts of two groups of rounds differ; 409 where they cannot be compared."""
    if {cycle.number for cycle, _ in before} & {cycle.number for cycle, _ in after} or not (before and after):
        raise Refused(409, "Compare one round, or several, with others: none may be on both sides.")
    facts = [estimate.districts for _, estimate in (*before, *after)]
    if not campaign.districts or any(one is None for one in facts):
        raise Refused(409, "Only campaigns with districts are compared, from the rounds that have them.")
    first, second = (_mean(rounds) for rounds in (before, after))
    gone = change(first, second)
    known = next(one for one in facts if one is not None)
    rows = [
        ChangeView(
            name=one.name,
            before=min(1.0, max(0.0, float(first.centre[index]))),
            after=min(1.0, max(0.0, float(second.centre[index]))),
            low=max(-1.0, float(gone.low[index])),
            high=min(1.0, float(gone.high[index])),
            told="more" if gone.low[index] > 0 else "fewer" if gone.high[index] < 0 else "none",
        )
        for index, one in enumerate(campaign.districts)
    ]
    return ComparisonView(
        before=[cycle.number for cycle, _ in before],
        after=[cycle.number for cycle, _ in after],
        reports_before=sum(cycle.reports for cycle, _ in before),
        reports_after=sum(cycle.reports for cycle, _ in after),
        level=known.level,
        target=known.target,
        rows=rows,
    )


def _mean(rounds: Sequence[Round]) -> Unclipped:
    each = [np.array(estimate.districts.each) for _, estimate in rounds if estimate.districts is not None]
    return mean_of([Unclipped(*one.T) for one in each], [cycle.reports for cycle, _ in rounds])


def change_section(told: ComparisonView, address: str, said: Words) -> str:
    """What changed, district by district, and where no difference can be told; ``address`` compares others."""
    points = said.say("col_difference", level=f"{100 * told.level:g} %")
    heads = [said.say("col_district"), said.say("col_before"), said.say("col_after"), points, said.say("col_told")]

    def rows() -> Iterator[list[str]]:
        for one in told.rows:
            between = f"{_points(one.low, said)} {said.say('to')} {_points(one.high, said)}"
            yield [
                escape(one.name),
                _tenths(one.before, said),
                _tenths(one.after, said),
                between,
                escape(said.say(_TOLD[one.told])),
            ]

    before, after = (
        said.say("rounds_one" if len(rounds) == 1 else "rounds_many", rounds=_rounds(rounds, said))
        for rounds in (told.before, told.after)
    )
    caption = said.say("change_caption", before=before, after=after)
    whose = said.say(_WHOSE[told.target], count=f"{100 * (1 - told.level):.3g}")
    listed = table(caption, heads, rows(), label=said.say("change_title"))
    return f'{listed}<p class="soft">{escape(whose)}</p>{choose_rounds(told.before, told.after, address, said)}'


def choose_rounds(before: Sequence[int], after: Sequence[int], address: str, said: Words) -> str:
    """A form that asks for the comparison of other rounds."""
    fields = "".join(
        f'<div><label for="{name}">{escape(said.say(key))}</label><input id="{name}" name="{name}" '
        f'value="{_rounds(rounds, said).replace(" ", "")}" pattern="[0-9]+(,[0-9]+)*" placeholder="1,2" size="8" '
        f"required></div>"
        for name, key, rounds in (("before", "compare_before", before), ("after", "compare_after", after))
    )
    tongue = f'<input type="hidden" name="language" value="{said.language}">'
    send = f'<button class="quiet">{escape(said.say("compare"))}</button>'
    return f'<form class="fields" action="{address}#changes">{fields}{tongue}{send}</form>'


def _rounds(rounds: Sequence[int], said: Words) -> str:
    return ", ".join(map(str, rounds))


def _points(value: float, said: Words) -> str:
    """A difference of shares in points of a percent, with its sign."""
    sign = "+" if value >= 0 else "−"
    return f"{sign}{_tenths(abs(value), said).rstrip('%').strip()}"
