"""Pages drawn by the server: complete without JavaScript, safe against names with markup, the same for everybody."""

from __future__ import annotations

import inspect
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.client.wire import canonical_json
from sfumato.collect.service import pages
from sfumato.collect.service.models.kept import (
    Alarm,
    GridFields,
    LevelPerKm,
    PublishedChannel,
    Residual,
    SharpnessFacts,
)
from sfumato.collect.service.models.replies import AreaView, DashboardCampaignView, EstimatedCycleView, OpenCycleView
from sfumato.collect.service.pages import layout, svg_maps
from sfumato.collect.service.pages.layout import text
from sfumato.collect.service.pages.words import headline, words
from sfumato.collect.service.sentences import LANGUAGES, chosen_language

ROOT = Path(__file__).resolve().parents[3]
GRID = Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(6, 8))
SHARP = SharpnessFacts(reports=1234, width_m=1_200.0, finer_width_m=None, more_reports=None)
HOSTILE = '<script>alert("x")</script>'


def campaign(title: str = "A town", grid: Grid = GRID) -> DashboardCampaignView:
    cycle = OpenCycleView(
        number=3,
        version="ab" * 32,
        state="open",
        opened_at_s=1_790_000_000,
        due_at_s=1_790_007_200,
        tickets=120,
        reports=120,
        relayed_reports=0,
        merged_periods=0,
        epsilon_per_km=LevelPerKm(lower=1.9, upper=1.9, exact=True),
        mutual_information_nats=0.3,
        distortion_m=812.0,
    )
    return DashboardCampaignView(
        name="town",
        title=title,
        grid=GridFields.of(grid),
        cells=grid.cells,
        beta_per_m=0.001,
        two_beta_per_km=2.0,
        floor=0.01,
        reporting="every-cycle",
        relayed=False,
        relayed_cap_reports=0,
        cycle_duration_s=7200,
        cycle_reports=1000,
        minimum_cycle_s=0,
        minimum_tickets=50,
        created_at_s=1_790_000_000,
        state="running",
        cycle=cycle,
        tile_url=None,
    )


def channel(grid: Grid = GRID) -> str:
    published = PublishedChannel(
        campaign="town",
        cycle=3,
        grid=GridFields.of(grid),
        beta_per_m=0.001,
        output_weights=(1 / grid.cells,) * grid.cells,
        floor=0.01,
        reporting="every-cycle",
    )
    return canonical_json(published.model_dump()).decode()


def closed(cycle: int, *, alarm: tuple[str, ...] = (), grid: Grid = GRID, intervals: bool = True) -> EstimatedCycleView:
    estimate = np.random.default_rng(cycle).dirichlet(np.full(grid.cells, 0.5))
    unknown = [None] * grid.cells
    return EstimatedCycleView(
        cycle=cycle,
        version="ab" * 32,
        opened_at_s=1_790_000_000,
        closed_at_s=1_790_000_000 + 7200 * cycle,
        tickets=1234,
        reports=1234,
        relayed_reports=0,
        merged_periods=0,
        two_beta_per_km=2.0,
        excluded=False,
        epsilon_per_km=LevelPerKm(lower=1.87, upper=1.87, exact=True),
        mutual_information_nats=0.31,
        distortion_m=901.0,
        emd_to_previous_m=None if cycle == 1 else 123.4,
        residual=Residual(statistic=40.0, p_value=0.42),
        alarm=Alarm(raised=bool(alarm), reasons=alarm),
        change_capped=False,
        influence={"0.01": 40.0, "0.05": 200.0},
        spent_epsilon_per_km=3.7,
        gap_nats_per_report=1e-9,
        target="reporters",
        interval_level=0.95 if intervals else None,
        estimate=estimate.tolist(),
        this_cycle=estimate.tolist(),
        without_suspicious=None,
        low=(0.5 * estimate).tolist() if intervals else unknown,
        high=(1.5 * estimate).tolist() if intervals else unknown,
        headline="" if not intervals else headline(SHARP),
        sharpness=SHARP if intervals else None,
        areas=areas(estimate, grid) if intervals else None,
    )


def areas(estimate: np.ndarray, grid: Grid) -> list[AreaView]:
    """Northern and southern half."""
    half = grid.rows // 2
    parts = ((0, half, estimate[: half * grid.columns].sum()), (half, grid.rows - half, 0.0))
    return [
        AreaView(row=row, column=0, rows=rows, columns=grid.columns, share=share, low=0.8 * share, high=share)
        for row, rows, share in ((*parts[0][:2], float(parts[0][2])), (*parts[1][:2], 1 - float(parts[0][2])))
    ]


def dashboard(about: DashboardCampaignView, *history: EstimatedCycleView) -> str:
    return pages.dashboard_page(about, history, history[-1])


@pytest.fixture(params=[False, True], ids=["without bundle", "with bundle"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        for name in ("participant.js", "dashboard.js", "style.css"):
            (tmp_path / name).write_text("")
    monkeypatch.setattr(layout, "_BUNDLE", tmp_path)
    return bool(request.param)


class Tags(HTMLParser):
    """Every start tag with its attributes, and a check that tags are balanced."""

    void = frozenset({"meta", "link", "input", "br", "hr", "img"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def every_page() -> dict[str, str]:
    return {
        "participant": pages.participant_page(campaign(HOSTILE), channel()),
        "closing": pages.participant_page(campaign(HOSTILE), None),
        "dashboard": dashboard(campaign(HOSTILE), closed(1), closed(2, alarm=(HOSTILE,))),
        "empty dashboard": pages.dashboard_page(campaign(HOSTILE), [], None),
        "home": pages.home_page([campaign(HOSTILE), campaign("Other")]),
        "nothing": pages.home_page([]),
        "missing": pages.missing_page("en"),
    }


@pytest.mark.parametrize("name", list(every_page()))
def test_pages_are_well_formed_run_no_inline_script_and_load_nothing_from_elsewhere(name: str, bundle: bool) -> None:
    html = every_page()[name]
    tags = Tags(html).tags
    assert "<script>alert" not in html
    scripts = [attributes for tag, attributes in tags if tag == "script"]
    assert all(str(one.get("src", "")).startswith("/static/bundle/") for one in scripts)
    assert bool(scripts) == (bundle and name not in ("home", "nothing", "missing"))
    for _, attributes in tags:
        for attribute in ("src", "href", "action", "data"):
            address = attributes.get(attribute) or "/"
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//"), address
        assert not any(attribute.startswith("on") for attribute in attributes)
    assert not re.search(r"url\((?!#)", html)
    identifiers = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("name", ["participant", "dashboard"])
def test_pages_can_be_read_by_a_screen_reader(name: str, bundle: bool) -> None:
    tags = Tags(every_page()[name]).tags
    assert [tag for tag, _ in tags].count("h1") == 1
    assert ("html", {"lang": "en"}) in tags
    for tag, attributes in tags:
        if tag == "svg" and attributes.get("aria-hidden") != "true":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "section":
            assert attributes["aria-labelledby"]
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
    assert any(attributes.get("role") in ("status", "alert") for _, attributes in tags) or not bundle


def test_the_page_without_the_bundle_takes_no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(layout, "_BUNDLE", tmp_path)
    html = pages.participant_page(campaign(), channel())
    assert not {"input", "form", "button", "script"} & {tag for tag, _ in Tags(html).tags}
    assert "takes no place and sends nothing" in html
    assert "python -m sfumato.client" in html


def test_no_function_that_draws_a_page_takes_a_place() -> None:
    for module in (pages, svg_maps, layout):
        for _, function in inspect.getmembers(module, inspect.isfunction):
            assert not {"lat", "lon", "lat_deg", "lon_deg", "place", "request"} & set(
                inspect.signature(function).parameters
            )


def test_the_page_says_what_a_report_reveals_and_what_is_not_hidden(bundle: bool) -> None:
    html = pages.participant_page(campaign(), channel())
    for sentence in (
        "A guesser&#x27;s best chance", "never with fewer than 50 people", "Promised", "not blind signatures",
        "installed from elsewhere", "Wi-Fi", "public log", "adjacent cells", "add up", "within the same bound",
    ):  # fmt: skip
        assert sentence.lower() in html.lower(), sentence


def test_the_dashboard_shows_every_number_and_the_alarm(bundle: bool) -> None:
    calm = dashboard(campaign(), closed(1), closed(2))
    for told in (
        "can tell quarters about 1.2 km wide apart", "2 areas", "fainter: less certain", "1,234", "1.87",
        "0.31 nats", "901 m", "123 m", "p = 0.42", "1 % fake reports", "40 m", "5 % fake reports",
        "200 m", "No alarm", "95 % interval", ".geojson", ".csv", ".parquet", "dashboard.json",
    ):  # fmt: skip
        assert told in calm, told
    alarmed = dashboard(campaign(), closed(1), closed(2, alarm=("Cell 4 is reported too often.",)))
    assert 'role="alert"' in alarmed
    assert "Cell 4 is reported too often." in alarmed


def test_a_shift_of_less_than_half_a_square_is_told_in_words() -> None:
    page = dashboard(campaign(), closed(1).model_copy(update={"distortion_m": 0.173}))
    assert "0.173" not in page
    assert "0.17 m" not in page
    assert "most reports name their own square" in page
    assert "most reports name their own square" not in dashboard(campaign(), closed(1))


def test_a_map_without_intervals_is_shown_without_them() -> None:
    shown = dashboard(campaign(), closed(1, intervals=False))
    assert "No interval" in shown
    assert "95 %" not in shown
    assert "– – –" in shown  # a dash on either side of the dash between
    assert "told apart" not in shown
    assert 'class="doubt"' not in shown


def test_the_map_changes_with_the_estimate_and_marks_what_is_uncertain() -> None:
    first, second = (svg_maps.grid_map(GRID, closed(n).estimate, title="t", about="a") for n in (1, 2))
    assert first != second
    certain = svg_maps.grid_map(GRID, [1 / 48] * 48, title="t", about="a", low=[0.02] * 48, high=[0.021] * 48)
    doubtful = svg_maps.grid_map(GRID, [1 / 48] * 48, title="t", about="a", low=[0.0] * 48, high=[0.9] * 48)
    assert certain.count("doubt") == 0
    assert doubtful.count("doubt") == 48


def test_a_large_grid_is_drawn_in_blocks_that_keep_the_mass() -> None:
    large = Grid.from_bounds(45.0, 0.0, 46.0, 2.0, shape=(200, 300))
    values = np.random.default_rng(0).dirichlet(np.full(large.cells, 1.0))
    side, blocks = svg_maps.coarser(large, values)
    assert side == 4
    assert blocks.sum() == pytest.approx(1.0)
    drawn = svg_maps.grid_map(large, values.tolist(), title="t", about="a")
    assert drawn.count('<rect class="cell') <= svg_maps.LARGEST_DRAWN
    assert len(pages.participant_page(campaign(grid=large), channel(large))) < 2_000_000


def test_shades_grow_with_the_value_and_an_empty_map_is_pale() -> None:
    assert svg_maps.shades(np.zeros(4)) == [0, 0, 0, 0]
    assert svg_maps.shades(np.array([0.0, 0.25, 1.0])) == [0, 4, 8]


def test_dark_and_light_ink_can_be_read_on_their_paper() -> None:
    style = (Path(pages.__file__).parent / "style.css").read_text()
    light, dark = (dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]{6})", part)) for part in style.split("@media", 2)[:2])
    for colours in (light, {**light, **dark}):
        for ink, paper in (
            ("ink", "paper"),
            ("soft", "card"),
            ("accent", "card"),
            ("on-accent", "accent"),
            ("bad", "bad-paper"),
            ("good", "paper"),
        ):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything_with_the_same_placeholders(language: str) -> None:
    def holes(sentence: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", sentence))

    english, other = words("en").texts, words(language).texts
    assert list(other) == list(english)
    assert {key: holes(one) for key, one in other.items()} == {key: holes(one) for key, one in english.items()}
    assert all(one.strip() and one == one.strip() for one in other.values())
    if language != "en":
        same = {key for key, one in other.items() if one == english[key]}
        allowed = {"nav_pages", "latitude", "longitude", "row_ticket", "level", "contact", "minutes"}
        allowed |= {"col_centre", "col_information", "col_alarm", "no", "kind_weekend", "paper_question", "paper_dates"}
        assert same <= allowed, same
    used = "".join(path.read_text() for path in (ROOT / "web" / "src").rglob("*.ts"))
    used += "".join(path.read_text() for path in Path(pages.__file__).parent.glob("*.py"))
    used = used.replace("'", '"')
    unused = {key for key in english if f'"{key}"' not in used and not key.startswith("hidden_")}
    assert unused <= {"days", "hours", "minutes", "seconds", "paused", "ended"}, unused


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_participants_page_is_whole_in_every_language(language: str, bundle: bool) -> None:
    asked = campaign().model_copy(update={"cycle_duration_s": 86_400, "reporting": "once"})
    html = pages.participant_page(asked, channel(), language=language)
    assert ("html", {"lang": language}) in Tags(html).tags
    assert text(words(language).say("sentence")) in html
    assert text(words(language).say("hours", count="24")) in html
    assert ">{" not in html
    assert [tag for tag, _ in Tags(html).tags].count("details") == 3
    links = [str(attributes.get("href")) for tag, attributes in Tags(html).tags if tag == "a"]
    assert all(f"/campaigns/town?language={one}" in links for one in LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_map_is_whole_in_every_language(language: str, bundle: bool) -> None:
    told = [closed(1), closed(2, alarm=("Reasons stay as they are.",))]
    told[1] = told[1].model_copy(update={"averaged_cycles": 2})
    said = words(language)
    html = pages.dashboard_page(campaign(), told, told[1], language=language, kept=f"?language={language}")
    assert ("html", {"lang": language}) in Tags(html).tags
    when = said.say("when_average", first=1, last=2)
    for sentence in (headline(SHARP, said), said.say("alarm_raised"), said.say("result_title", when=when)):
        assert text(sentence) in html, sentence
    if language != "en":
        shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
        english = {"Every", "Share", "reports", "round", "fewest", "people", "Take", "told", "Square", "wide", "Closed"}
        assert not english & set(re.findall(r"[A-Za-z]+", shown.replace("Reasons stay as they are.", "")))
    assert "{" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    links = [str(attributes.get("href")) for tag, attributes in Tags(html).tags if tag == "a"]
    assert all(f"/campaigns/town/dashboard?language={one}" in links for one in LANGUAGES)
    assert f"/campaigns/town?language={language}" in links, "who chose a language keeps it"
    assert "/campaigns/town" in pages.dashboard_page(campaign(), told, told[1], language=language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_list_of_campaigns_is_in_every_language(language: str) -> None:
    html = pages.home_page([campaign(), campaign("Other")], language=language, kept=f"?language={language}")
    assert text(words(language).say("home_title")) in html
    assert f'href="/campaigns/town/dashboard?language={language}"' in html
    assert text(words(language).say("home_none")) in pages.home_page([], language=language)


def test_french_and_german_are_set_as_they_are_printed() -> None:
    french = " ".join(words("fr").texts.values()) + (Path(pages.__file__).parent / "notices" / "fr.txt").read_text()
    assert not re.findall(r"[^\u202f ][;?!]| [;?!:%]", french), (
        "a narrow space that does not break stands before ; ? ! %"
    )
    assert "'" not in french
    assert not re.search(r"(?<!\u00a0):", french), "a space that does not break stands before a colon"
    german = " ".join(words("de").texts.values())
    assert not re.search(r"[\"']", german)
    assert not re.search(r"\w…", german), "a space stands before what is left out"


def test_large_counts_are_written_out_and_never_in_powers_of_ten() -> None:
    assert [words("en").number(value) for value in (999.4, 999.7, 1_000, 5_000, 0.0123)] == [
        "999", "1,000", "1,000", "5,000", "0.0123",
    ]  # fmt: skip
    asked = campaign().model_copy(update={"minimum_tickets": 5_000, "cycle_reports": 20_000})
    shown = pages.participant_page(asked, channel())
    assert "It closes at 20,000 reports, never with fewer than 5,000 people." in shown


def test_the_language_is_the_switchs_the_campaigns_or_the_browsers() -> None:
    assert chosen_language("de", "fr", "es") == "de"
    assert chosen_language(None, "fr", "es") == "fr"
    assert chosen_language(None, "", "it, es-MX;q=0.8, de;q=0.9, *;q=0.1") == "de"
    assert chosen_language(None, "", "fr-CH, en;q=0.9") == "fr"
    assert chosen_language("xx", "", "fr;q=0") == "en"
    assert chosen_language(None, "", "q;=;;,,fr;q=nonsense") == "en"


def test_numbers_are_written_as_in_the_language() -> None:
    assert [words(one).number(12_345.6) for one in LANGUAGES] == ["12,346", "12\u202f346", "12.346", "12\u202f346"]
    assert [words(one).length(1_250) for one in ("en", "fr")] == ["1.25 km", "1,25 km"]


def test_the_headline_says_what_can_be_told_and_what_finer_takes() -> None:
    def said(reports: int, width: float | None, finer: float | None, more: int | None) -> str:
        facts = SharpnessFacts(reports=reports, width_m=width, finer_width_m=finer, more_reports=more)
        return headline(facts)

    assert said(400, 2_946.0, 1_000.0, 881) == (
        "With 400 reports this map can tell quarters about 2.9 km wide apart; about 890 more for 1 km."
    )
    assert said(40, None, 3_464.0, 38) == (
        "With 40 reports this map cannot tell parts of the area apart yet; "
        "about 38 more for quarters about 3.5 km wide."
    )
    assert said(40_000, 500.0, None, None).endswith("about 500 m wide apart, which is as fine as its squares.")


def test_one_area_that_is_the_whole_map_has_no_colour() -> None:
    whole = AreaView(row=0, column=0, rows=6, columns=8, share=1.0, low=1.0, high=1.0)
    drawn = svg_maps.area_map(GRID, [whole], title="t", about="a")
    assert 'class="cell q0"' in drawn
    assert 'fill-opacity="0.25"' in drawn
    only = closed(1).model_copy(update={"areas": [whole]})
    assert "so few reports say nothing about where" in dashboard(campaign(), only)


def test_colour_follows_the_interval_that_is_written_not_the_smoothed_estimate() -> None:
    """An area of 8-31 % was paler than one of 0-7 % because its smoothed estimate lay at its interval's lower end."""
    many = AreaView(row=0, column=0, rows=3, columns=8, share=0.09, low=0.08, high=0.31)
    few = AreaView(row=3, column=0, rows=3, columns=8, share=0.06, low=0.0, high=0.07)
    drawn = svg_maps.area_map(GRID, [many, few], title="t", about="a")
    shades = [int(one) for one in re.findall(r'class="cell q(\d)"', drawn)]
    assert shades[0] - shades[1] >= 4
    assert svg_maps.sure(many, 8) > 0.3


def test_an_uncertain_area_is_paler() -> None:
    area = AreaView(row=0, column=0, rows=3, columns=8, share=0.5, low=0.45, high=0.55)
    vague = area.model_copy(update={"low": 0.0, "high": 1.0})
    assert svg_maps.sure(area, 48) == pytest.approx(0.9)
    assert svg_maps.sure(vague, 48) == 0
    pale, firm = (
        svg_maps.area_map(GRID, [one, one.model_copy(update={"row": 3})], title="t", about="a") for one in (vague, area)
    )
    assert pale.count('fill-opacity="0.25"') == 2
    assert firm.count('fill-opacity="0.92"') == 2
    assert svg_maps.span(0.123, 0.168) == "12–17 %"
    assert svg_maps.span(0.0, 0.004) == "< 1 %"
    assert svg_maps.span(0.031, 0.034) == "3 %"
