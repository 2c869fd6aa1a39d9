"""Classes of cycles by the clock of the place, declared before anybody reports."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation import Tally, changed_map, earth_movers_distance, log_smooth
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Calendar, Rules, close_cycle, first_channel

HOUR, DAY = 3600, 86_400
MONDAY = int(datetime(2026, 11, 16, tzinfo=UTC).timestamp())


def test_days_and_hours_are_those_of_the_declared_time_zone():
    assert Calendar("weekday-weekend").class_at(MONDAY - HOUR) == "weekend"
    assert Calendar("weekday-weekend", "Asia/Tokyo").class_at(MONDAY - HOUR) == "weekday"
    assert Calendar("parts-of-day", "America/New_York").class_at(MONDAY + 12 * HOUR) == "morning"
    assert Calendar("weekday-weekend-parts-of-day").class_at(MONDAY + 23 * HOUR) == "weekday evening"


def test_a_cycle_that_lies_in_several_classes_is_its_own():
    calendar = Calendar("weekday-weekend")
    spans = [(MONDAY, MONDAY + DAY), (MONDAY + 4.5 * DAY, MONDAY + 5.5 * DAY), (MONDAY + 5 * DAY, MONDAY + 6 * DAY)]
    assert calendar.classes_of(spans) == ("weekday", "mixed 2", "weekend")
    assert Calendar().classes_of(spans) is None


@pytest.mark.parametrize(
    ("classes", "zone", "duration"),
    [("weekday-weekend", "UTC", 7 * DAY), ("parts-of-day", "UTC", DAY), ("weekday-weekend", "UTC", None)],
)
def test_cycles_too_long_for_a_class_are_refused(classes, zone, duration):
    with pytest.raises(InputError, match="declare no classes"):
        Calendar(classes, zone).check_cycle(duration)


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "", "../etc/passwd", "/etc/localtime"])
def test_an_unknown_time_zone_is_refused(zone):
    with pytest.raises(InputError, match="time zone"):
        Calendar("weekday-weekend", zone)


@pytest.mark.parametrize("declared", [False, True])
def test_a_weekend_among_weekends_is_no_news_and_its_map_is_nearer_to_the_truth(declared):
    grid, rules = Grid.plain(6, 6), Rules(beta=1.0)
    rng = np.random.default_rng(3)
    week, end = rng.dirichlet(np.full(36, 2.0)), rng.dirichlet(np.full(36, 2.0))
    names = ["weekend" if day % 7 >= 5 else "weekday" for day in range(14)]
    channel = first_channel(grid, rules)
    truths = [rng.multinomial(3000, end if name == "weekend" else week) for name in names]
    tallies = [Tally(channel, draw_tally(channel, people, rng=day)) for day, people in enumerate(truths)]
    closed = close_cycle(
        tallies, rules, classes=names if declared else None, with_intervals=False, with_influence=False
    )
    assert closed.verdict.kind == ("fits" if declared else "changed")
    away = earth_movers_distance(closed.this_cycle.probabilities, end, grid)
    assert away < 0.7 * earth_movers_distance(closed.estimate.probabilities, end, grid)
    assert not declared or away < 0.2


def test_a_cycle_unlike_its_class_shows_itself_and_is_called_changed():
    grid, rules = Grid.plain(6, 6), Rules(beta=1.0)
    rng = np.random.default_rng(4)
    usual, feast = rng.dirichlet(np.full(36, 2.0)), rng.dirichlet(np.full(36, 0.5))
    channel = first_channel(grid, rules)
    maps = [usual] * 6 + [feast]
    tallies = [Tally(channel, draw_tally(channel, rng.multinomial(3000, one), rng=day)) for day, one in enumerate(maps)]
    closed = close_cycle(tallies, rules, classes=["weekday"] * 7, with_intervals=False, with_influence=False)
    assert closed.verdict.kind == "changed"
    assert "its class" in closed.verdict.words
    of_class = changed_map(tallies, log_smooth(tallies))
    own, of_class = (earth_movers_distance(one.probabilities, feast, grid) for one in (closed.this_cycle, of_class))
    assert own < 0.5 * of_class


def begun(first: datetime, duration_s: int, calendar: Calendar, rounds: int = 4) -> list[str]:
    """When rounds end by the clock of the place, the first opened then."""
    at, found = first.timestamp(), []
    for _ in range(rounds):
        at = calendar.due_s(at, duration_s)
        found.append(f"{datetime.fromtimestamp(at, first.tzinfo):%a %d %b %H:%M}")
        at += 2  # a moment passes until the next is open
    return found


def test_weeks_begin_on_mondays_at_eight_through_both_changes_of_the_clock():
    paris = ZoneInfo("Europe/Paris")
    eight = Calendar(time_zone="Europe/Paris", begins_hour=8)
    spring, autumn = datetime(2027, 3, 17, 15, tzinfo=paris), datetime(2027, 10, 20, 15, tzinfo=paris)
    assert begun(spring, 7 * DAY, eight, 3) == ["Mon 22 Mar 08:00", "Mon 29 Mar 08:00", "Mon 05 Apr 08:00"]
    assert begun(autumn, 7 * DAY, eight, 3) == ["Mon 25 Oct 08:00", "Mon 01 Nov 08:00", "Mon 08 Nov 08:00"]
    assert begun(spring, 14 * DAY, eight, 2) == ["Mon 29 Mar 08:00", "Mon 12 Apr 08:00"]
    friday = datetime(2027, 3, 26, 15, tzinfo=paris)
    assert begun(friday, DAY, eight) == ["Sat 27 Mar 08:00", "Sun 28 Mar 08:00", "Mon 29 Mar 08:00", "Tue 30 Mar 08:00"]
    parts = Calendar("parts-of-day", "Europe/Paris", 0)
    assert begun(friday, 6 * HOUR, parts, 2) == ["Fri 26 Mar 18:00", "Sat 27 Mar 00:00"]
    assert begun(friday, DAY, Calendar(), 1) == ["Sat 27 Mar 15:00"], "without an hour, when the one before ends"


def test_rounds_that_drift_through_the_week_cannot_begin_at_an_hour():
    calendar = Calendar(begins_hour=8)
    for duration_s in (HOUR, 6 * HOUR, DAY, 7 * DAY, 28 * DAY):
        calendar.check_steps(duration_s)
    for duration_s in (None, 1800, 5 * HOUR, 3 * DAY, 10 * DAY):
        with pytest.raises(InputError, match="begin at the same hour"):
            calendar.check_steps(duration_s)
