"""A pre-filled draft of an impact assessment, from a certificate and, if given, the verdict on its release.

The words are templates, one file for each language. A line that begins with ``?flag:`` stands in the draft where the
flag is true of this certificate, and ``{name}`` is filled in with what the certificate states or what is computed from
it: nothing else is claimed. Lists (``{not_covered}``) take a line of their own. What only people can know stays in
square brackets.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Protocol

from sfumato.base.drawing.svg import element, escape
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.numbers.odds import odds_words
from sfumato.base.units import format_length
from sfumato.base.version import __version__
from sfumato.pages.report import source_of
from sfumato.pages.report.parts import html_page
from sfumato.tracks.adversary.routine import Days, Hours, companions_cost, noise_law, place_cost, route_cost
from sfumato.tracks.certificates.document import SEAL, Certificate, with_seal
from sfumato.tracks.certificates.verdict import stated_verdict
from sfumato.tracks.folders.staging import NOT_COVERED
from sfumato.tracks.noise.gaussian_noise import about_people

LANGUAGES = ("en", "fr", "de", "es")
DAYS, EVERY_S, RISKY_ODDS = 30, 3600.0, 20.0
_HOME, _WORK, _WAY = (Hours.parse(text) for text in ("home=22:00-7:00", "work=9:00-17:00", "way=8:00-8:30"))


class Judged(Protocol):
    """A verdict on a release, of whatever kind."""

    @property
    def ok(self) -> bool:
        """Whether every answer is a yes."""

    def head(self) -> str:
        """Good or not, in one sentence."""

    def rows(self) -> list[tuple[str, str]]:
        """What was asked, and what was found."""


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """What fills a template: single values, lists, and which lines are true."""

    values: Mapping[str, str]
    lists: Mapping[str, Sequence[str]]
    flags: frozenset[str]


def dpia_draft(
    document: Mapping[str, object],
    *,
    language: str = "en",
    verdict: Judged | None = None,
    name: str = "certificate.json",
) -> str:
    """The draft in Markdown; ``verdict`` is on the release that the certificate ``name`` speaks of."""
    if language not in LANGUAGES:
        raise InputError(f"There is no draft in '{language}'.", f"Choose from {', '.join(LANGUAGES)}.")
    if with_seal(document)[SEAL] != document.get(SEAL):
        raise VerificationFailed(
            "The certificate's own hash does not fit its content.", "It was changed: ask for it again."
        )
    facts = facts_of(document, verdict, name)
    values = facts.values
    if language != "en":  # decimals: 5.2 : 1 is 5,2 : 1
        values = {
            key: re.sub(r"(?<=\d)\.(?=\d)", ",", text) if key in _NUMBERS else text for key, text in values.items()
        }
    template = resources.files("sfumato.pages.dpia").joinpath(f"{language}.md").read_text(encoding="utf-8")
    blocks = groupby(
        _filled(template, DraftFacts(values, facts.lists, facts.flags)), key=lambda line: _kind(line)[1].lower()
    )
    return "\n\n".join("\n".join(block) for _, block in blocks) + "\n"


def _filled(template: str, facts: DraftFacts) -> Iterator[str]:
    for line in template.splitlines():
        flag, text = found.groups() if (found := re.fullmatch(r"\?(\w+): (.*)", line)) else ("", line)
        if flag and flag not in facts.flags:
            continue
        if (listed := re.fullmatch(r"\{(\w+)\}", text)) and listed[1] in facts.lists:
            yield from (f"    - {item}" for item in facts.lists[listed[1]])
        else:
            yield text.format_map(facts.values)


def facts_of(document: Mapping[str, object], verdict: Judged | None, name: str) -> DraftFacts:
    """Everything that the draft says, from the certificate (of a track, a table or a folder) and the verdict."""
    noise = document.get("noise") if "files" in document or "parts" in document else source_of(document)
    files = document.get("files", document.get("parts"))
    values = {"version": __version__, "today": time.strftime("%Y-%m-%d"), "name": name, "days": str(DAYS)}
    values["seal"] = str(document.get(SEAL, ""))[:16]
    lists: dict[str, Sequence[str]] = {"not_covered": list(map(about_people, NOT_COVERED))}
    flags = {"checked" if verdict is not None else "unchecked"}
    if isinstance(files, Sequence):
        flags.add("folder")
        values["files"] = str(len(files))
    if document.get("withheld"):
        flags.add("hidden")
    if verdict is not None:
        values["verdict"] = "good." if verdict.ok else verdict.head()
        lists["rows"] = [about_people(f"{label} {text}") for label, text in verdict.rows()]
    if isinstance(noise, Mapping):
        record = Certificate.of(noise)
        flags |= _add_noise(record, noise, values, lists)
        kept, times, simulation = record.kept, record.times, record.simulation
        if "hidden" in flags:
            lists["not_covered"] = [about_people(text) for text in (*NOT_COVERED, *record.guarantee.not_covered)]
    else:
        said, fields = document["times"], document["kept"]
        assert isinstance(said, Mapping)
        assert isinstance(fields, Sequence)
        kept, times, simulation = tuple(map(str, fields)), str(said["released"]), bool(document["simulation"])
        flags |= {"noodds", "nocost"}
        values["why"] = "no noise was added, so no odds are stated."
    flags |= {"kept" if kept else "nokept", "times_kept" if times == "keep" else "times_changed"}
    flags |= {"simulation"} if simulation else set()
    return DraftFacts({**values, "kept": ", ".join(kept), "times": times}, lists, frozenset(flags))


def _add_noise(
    record: Certificate, noise: Mapping[str, object], values: dict[str, str], lists: dict[str, Sequence[str]]
) -> set[str]:
    """What the noise promises and a month of it costs; the flags that come with it."""
    stated, people = record.stated.numbers, record.people
    flags = {"noise", "assumes", "one" if people == 1 else "many"}
    lists |= {
        "assumes": list(map(about_people, record.guarantee.assumes)),
        "not_covered": list(map(about_people, record.guarantee.not_covered)),
    }
    values |= {
        "points": str(record.points),
        "people": str(people),
        "each": f"{record.points / people:.0f}",
        "noise": "-" if record.noise_m is None else format_length(record.noise_m),
        "mechanism": record.mechanism.name,
        "radius": format_length(stated.radius_m),
        "releases": stated_verdict(noise).releases,
    }
    if stated.odds_99 is None:
        flags.add("noodds")
    else:
        flags.add("odds")
        values |= {"odds": odds_words(stated.odds_99) or "-", "either": odds_words(stated.odds_99_either_way) or "-"}
    try:
        costs = month_costs(record)
    except InputError as error:
        values["why"] = error.what
        return flags | {"nocost"}
    values |= {name: odds_words(odds) or "-" for name, odds in costs.items()}
    return flags | {"cost"} | ({"risky"} if costs["home_work_known"] > RISKY_ODDS else set())


def month_costs(record: Certificate) -> dict[str, float]:
    """Odds, 99 times in 100, after a month of one routine: home, work and a way, with what else is known."""
    noise, radius_m = noise_law(record)

    def month(*known: Hours) -> Days:
        return Days(noise, radius_m, list(known), [], DAYS, EVERY_S, False)

    return {
        "home": place_cost(month(), _HOME).odds_99,
        "home_work_known": place_cost(month(_WORK), _HOME).odds_99,
        "work_home_known": place_cost(month(_HOME), _WORK).odds_99,
        "way": route_cost(month(), _WAY).odds_99,
        "way_work_known": route_cost(month(_WORK), _WAY).odds_99,
        "two": companions_cost(record, 2).odds_99,
    }


_NUMBERS = frozenset(
    ("noise", "radius", "odds", "either", "home", "home_work_known", "work_home_known", "way", "way_work_known", "two")
)
_KINDS = (("## ", "h2"), ("# ", "h1"), ("    - ", "LI"), ("- ", "li"), ("|---", "TR"), ("| ", "tr"), ("", "p"))


def dpia_page(draft: str, language: str) -> str:
    """The same draft as one page that asks nothing of any host, to be printed or saved."""
    body, lines = [], [(*_kind(line), line) for line in draft.splitlines() if line and not line.startswith("|---")]
    for kind, run in groupby(lines, key=lambda line: line[1]):
        texts = [_inline(text.removeprefix(mark)) for mark, _, text in run]
        if kind in ("li", "LI"):
            body.append(
                element("ul", *(element("li", text) for text in texts), class_="inner" if kind == "LI" else None)
            )
        elif kind == "tr":
            rows = [element("tr", *(element("td", cell) for cell in text.strip("| ").split(" | "))) for text in texts]
            body.append(element("div", element("table", *rows, class_="list"), class_="sheet"))
        else:
            body += [element(kind, text) for text in texts]
    page = html_page(draft.splitlines()[0].lstrip("# "), *body, style="ul.inner{margin-left:1.5rem;font-size:.92em}")
    return page.replace('<html lang="en">', f'<html lang="{language}">', 1)


def _kind(line: str) -> tuple[str, str]:
    return next((mark, kind) for mark, kind in _KINDS if line.startswith(mark))


def _inline(text: str) -> str:
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
