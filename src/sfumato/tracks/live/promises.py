"""What a configuration means, in words: who sees whom how, when and until when, and what a year of it costs."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from sfumato.base.numbers.odds import mu_of, odds_at, odds_words
from sfumato.base.units import count_of, format_duration, format_length
from sfumato.tracks.adversary.known_point import known_point_loss
from sfumato.tracks.adversary.routine import Days, Hours, place_cost, route_cost
from sfumato.tracks.certificates.build import stated_by
from sfumato.tracks.live.audiences import TOWN_NOISE, Audience, LiveConfig
from sfumato.tracks.live.chain import Chain
from sfumato.tracks.plan import Target
from sfumato.tracks.priors.kernels import Matern32

RADIUS_M = 200.0  # as in `sfumato protect`
_YEAR, _WORKDAYS = 365, 250
_HOME, _WORK, _WAY = (Hours.parse(text) for text in ("home=22:00-7:00", "work=9:00-17:00", "commute=8:00-8:30"))
_KNOWN_PRIOR = Matern32(600.0, 4000.0)
_SEES = {
    "exact": "the exact position",
    "zone": "only the name of the zone somebody is in, or “away”",
    "nothing": "nothing",
}


def audience_words(one: Audience, config: LiveConfig) -> str:
    """One sentence: who sees what of whom, when, until when, and how far back."""
    whose = "everybody" if one.people is None else ", ".join(sorted(one.people)) or "nobody"
    if one.sees == "nothing":
        return f"{one.name}: sees nothing."
    what = _SEES.get(one.sees, "")
    if one.noise_m is not None:
        size = format_length(one.noise_m)
        what = f"a position blurred by {size} per coordinate"
        if one.sees == "town":
            what = f"the name of the town nearest to a position blurred by {size} per coordinate"
    delay = f"{format_duration(one.delay_s)} after it was measured" if one.delay_s else "at once"
    hours = f", of what was measured {one.hours.words} ({config.zone.key})" if one.hours else ""
    until = ""
    if one.until_s is not None:
        ends = datetime.fromtimestamp(one.until_s, config.zone)
        over = " (it is over)" if ends <= datetime.now(UTC) else ""
        until = f", until {ends:%Y-%m-%d %H:%M}{over}"
    back = "the last position only" if one.keep_s is None else f"{format_duration(one.keep_s)} back"
    return f"{one.name}: sees of {whose} {what}, {delay}{hours}{until}; {back}."


def promise_words(config: LiveConfig) -> list[str]:
    """What the blurred audiences learn, one by one and all together, and what zones add and cost."""
    chain, out = config.chain, []
    if chain is not None:
        finest = chain.sizes_m[0]
        for one in config.audiences:
            if one.noise_m is not None:
                out.append(f"{one.name}: {headline(chain, one.noise_m)}")
        if len(chain.sizes_m) > 1:
            apart = ", ".join(format_length(step) for step in chain.steps_m)
            out.append(
                f"Together: blurred audiences that compare notes learn no more than the finest "
                f"({format_length(finest)}) would of all moments that any of them sees; the independent steps are "
                f"{apart}. On a day of one fix in ten minutes the exact loss of all of them is "
                f"{_day_loss(chain) * finest**2:.2f} x the floor (bound "
                f"{chain.mechanism(finest).bound().worst_loss:.2f})."
            )
    for person in config.people.values():
        if len(person.devices) > 1:
            out.append(
                f"{person.name} has {len(person.devices)} devices and one noise: carry them together. Where they "
                "lie apart, releases of nearly one time show how far and where to, and their noise cancels; a device "
                "that stays behind is a [person] of its own."
            )
    if config.mqtt_topics:
        out.append(
            "MQTT: a broker acknowledges to the phone before its own disk has the message, and how it is set cannot be "
            "asked: docs/live.md says what mosquitto needs. HTTP is acknowledged by the bridge, after its disk."
        )
    exact = [one.name for one in config.audiences if one.sees == "exact"]
    if exact:
        out.append(f"Exact: {', '.join(exact)} see true positions; whoever is told them by these knows all there is.")
    if config.places is not None or any(person.places for person in config.people.values()):
        out += _zone_words(config, chain)
    else:
        out.append("No places are named: home and work are sent like everything else. `sfumato places add` names them.")
    return out


def headline(chain: Chain, noise_m: float) -> str:
    """The certificate's own two sentences."""
    mechanism = chain.mechanism(noise_m)
    return mechanism.headline(stated_by(mechanism, Target(RADIUS_M, noise_m=noise_m), ()))


def _day_loss(chain: Chain) -> float:
    times = np.arange(0.0, 86400.0, 600.0)
    return chain.loss_together(dict.fromkeys(chain.sizes_m, times))


def _zone_words(config: LiveConfig, chain: Chain | None) -> list[str]:
    out = [
        "Zones: nothing but a zone's name ever leaves from inside one. After leaving, positions wait until there are "
        "two and one is 100 m away from every zone, then leave together; what is sent is a part of what `sfumato hide` "
        "would leave of all that came before, and what comes late takes nothing back. Silence itself is seen: that "
        "somebody is in some zone, since when and until when."
    ]
    told = [one.name for one in config.audiences if one.sees == "zone"]
    if told and chain is not None:
        finest = chain.sizes_m[0]
        noise = chain.mechanism(finest).kernel()
        odds = [odds_at(mu_of(known_point_loss(noise, _KNOWN_PRIOR, lag), RADIUS_M)) for lag in (60.0, 600.0)]
        out.append(
            f"Zone names ({', '.join(told)}) come from the truth. To who also sees a blurred position they add which "
            "zone it is, and at its border a nearly known position: odds 1 min and 10 min after one rise to about "
            f"{odds_words(odds[0])} and {odds_words(odds[1])} for a way like {_KNOWN_PRIOR.sd_m / 1000:g} km, "
            f"{_KNOWN_PRIOR.length_scale_s / 60:g} min."
        )
    return out


def cost_rows(config: LiveConfig) -> list[tuple[str, str]]:
    """What a year of a routine gives away to the finest blurred audience: what, and the odds."""
    chain = config.chain
    if chain is None:
        return []
    noise = chain.mechanism(chain.sizes_m[0]).kernel()
    year, work = Days(noise, RADIUS_M, days=_YEAR), Days(noise, RADIUS_M, days=_WORKDAYS)
    known = Days(noise, RADIUS_M, known=(_WORK,), days=_WORKDAYS)
    rows = [
        (f"home, every night of a year ({count_of(_YEAR, 'night')})", place_cost(year, _HOME)),
        (f"home, by who knows the place of work ({count_of(_WORKDAYS, 'day')})", place_cost(known, _HOME)),
        (f"the same way to work ({count_of(_WORKDAYS, 'day')})", route_cost(work, _WAY)),
    ]
    return [(what, str(odds_words(cost.odds_99))) for what, cost in rows]


def earlier_words(began: dict[str, list[float]], chain: Chain | None) -> list[str]:
    """People whose finest process had another size before: independent looks at one path, whose losses add."""
    out = []
    for person, sizes in began.items():
        if chain is None or not sizes or set(sizes) <= {chain.sizes_m[0]}:
            continue
        every = sorted({*sizes, chain.sizes_m[0]})
        loss = sum(chain.mechanism(size).bound().worst_loss / size**2 for size in every)
        listed = ", ".join(format_length(size) for size in every)
        odds = odds_words(odds_at(mu_of(loss, RADIUS_M)))
        out.append(f"{person} was blurred by other sizes before: {listed} together give odds of at most {odds}.")
    return out


COPIED = (
    "live.db is a COPY from before: what was paused, revoked and forgotten since is not known. At the next start every "
    "audience is paused, all links are ended, and what was kept is deleted; end each pause when you have looked."
)
EXAMPLE = f"""# Who sees what, when and until when. Say `sfumato live check live.toml` after every change.
[bridge]
folder = "live"                  # key and positions: keep a copy of live.key
time_zone = "Europe/Paris"
# places = "me.places"           # made by `sfumato places add home ... --places me.places`
# url = "https://where.example.org"

[person.me]
# devices.phone = "sha256:..."   # `sfumato live token` prints the token for the phone, and this line

[audience.friends]
sees = "blurred"
noise = "900m"                   # per coordinate; `sfumato live check` says what that means
keep = "last"                    # or a length of time to look back: "1day"

[audience.colleagues]
sees = "town"                    # the nearest town of a position blurred by {TOWN_NOISE}
hours = "Mon-Fri 8:00-18:00"
delay = "15min"
until = 2027-06-30
"""
