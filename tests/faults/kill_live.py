"""kill -9 of bridge and broker under load: nothing acknowledged lost, nothing sent on twice with other noise.

    python tests/faults/kill_live.py --kills 50 [--every-broker 5]

Two people send: one by HTTP, every position again until it is acknowledged, one by MQTT. Two blurred audiences
are sent to, by Traccar's protocol and by MQTT. Every byte they get is searched for the true positions.

A witness between bridge and broker writes down what the bridge was handed and what it acknowledged. So a position that
the broker acknowledged to the phone and the bridge does not have is either the bridge's fault (it acknowledged it) or
the broker's alone (it never handed it over, or handed it over, was killed, and did not know it any more).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))

from live_harness import TOKEN, Witness, asked, broker_process, free_port, live_process, traccar
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion
from scipy.stats import poisson

from sfumato.tracks.live.audiences import token_hash
from sfumato.tracks.live.store import LiveStore, live_key

START_S = 1_790_000_000
EVERY_BROKER = 5
SETTLE_S = 300.0
MIDDLE, SIDE_DEG = (48.86, 2.36), 0.02
_LAT, _LON = re.compile(rb'\blat"?[=:]\s*(-?[\d.]+)'), re.compile(rb'\blon"?[=:]\s*(-?[\d.]+)')


class Load:
    """What was sent, acknowledged and received."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.true: dict[str, dict[int, tuple[float, float]]] = {"me": {}, "ann": {}}
        self.acknowledged: dict[str, set[int]] = {"me": set(), "ann": set()}
        self.messages: list[bytes] = []
        self.over = threading.Event()

    def place(self, person: str, number: int) -> dict[str, object]:
        """The next true position of somebody."""
        lat, lon = (at + SIDE_DEG * (random.random() - 0.5) for at in MIDDLE)
        self.true[person][START_S + number] = lat, lon
        return {"_type": "location", "lat": lat, "lon": lon, "tst": START_S + number}

    def by_http(self) -> None:
        """One after the other, each until it is acknowledged."""
        number = 0
        while not self.over.is_set():
            body = json.dumps(self.place("me", number)).encode()
            while asked(f"{self.url}/pub", data=body, token=TOKEN, wait_s=5.0)[0] != 200:
                time.sleep(0.05)
            self.acknowledged["me"].add(START_S + number)
            number += 1

    def by_mqtt(self, port: int) -> None:
        """A few a second, each counted once the broker acknowledged it."""
        client = Client(CallbackAPIVersion.VERSION2, client_id="phone", clean_session=False)
        client.reconnect_delay_set(1, 1)
        client.connect_async("127.0.0.1", port)
        client.loop_start()
        number = 0
        while not self.over.is_set():
            body, sent = json.dumps(self.place("ann", number)), None
            while sent is None or sent.rc or not sent.is_published():
                time.sleep(0.01)
                if sent is None or sent.rc:  # there was no connection
                    sent = client.publish("owntracks/ann/phone", body, qos=1)
            self.acknowledged["ann"].add(START_S + number)
            number += 1
        client.loop_stop()

    def wait_for(self, more: int, within_s: float = 120.0) -> None:
        """Until so many more of everybody were acknowledged: on a busy machine a time alone may see none."""
        goals = {person: len(taken) + more for person, taken in self.acknowledged.items()}
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and any(len(self.acknowledged[one]) < goals[one] for one in goals):
            time.sleep(0.02)

    def listen(self, port: int) -> Client:
        """Keep every message that the second audience gets."""

        def came(_client: Client, _data: object, message: MQTTMessage) -> None:
            self.messages.append(bytes(message.payload))

        client = Client(CallbackAPIVersion.VERSION2, client_id="friend", clean_session=False)
        client.reconnect_delay_set(1, 1)
        client.on_connect = lambda one, *_rest: one.subscribe("share/#", qos=1)
        client.on_message = came
        client.connect_async("127.0.0.1", port)
        client.loop_start()
        return client


def kill_under_load(folder: Path, kills: int, every_broker: int = EVERY_BROKER) -> dict[str, object]:
    """Counts of what was acknowledged, lost, sent on twice differently, and exact in a blurred stream."""
    broker, port = broker_process(folder), free_port()
    assert broker is not None, "mosquitto is not installed"
    with traccar() as (theirs, came):
        config, witness = folder / "live.toml", Witness(broker.port)
        config.write_text(
            f'[bridge]\nfolder = "live"\npositions_per_minute = 0\n[mqtt]\nurl = "mqtt://127.0.0.1:{witness.port}"\n'
            f'topics = ["owntracks/+/+"]\n[person.me]\ndevices.phone = "{token_hash(TOKEN)}"\n[person.ann]\n'
            '[audience.friends]\nsees = "blurred"\nnoise = "900m"\nkeep = "1000week"\n'
            f'send = ["traccar:http://127.0.0.1:{theirs}/"]\n'
            '[audience.club]\nsees = "blurred"\nnoise = "2km"\nkeep = "1000week"\nsend = ["mqtt:share/{person}"]\n'
        )
        bridge, load = live_process(config, port), Load(port)
        broker.start()
        bridge.start()
        listening = load.listen(broker.port)
        senders = [threading.Thread(target=load.by_http), threading.Thread(target=load.by_mqtt, args=(broker.port,))]
        for one in senders:
            one.start()
        for number in range(kills):
            load.wait_for(3)
            time.sleep(random.uniform(0.2, 1.5))
            some = broker if number % every_broker == every_broker - 1 else bridge
            some.end()
            some.start()
        load.wait_for(20)
        load.over.set()
        for one in senders:
            one.join()
        store = _settled(folder)
        listening.loop_stop()
        bridge.end()
        broker.end()
        return _counts(store, load, came, witness)


def _settled(folder: Path) -> LiveStore:
    """The store, once everything in it was sent on, or after a time."""
    store = LiveStore(folder / "live", live_key(folder / "live"))
    deadline, idle = time.monotonic() + SETTLE_S, 0
    while time.monotonic() < deadline and idle < 3:
        idle = idle + 1 if not store.waiting(10**15) else 0
        time.sleep(1.0)
    return store


def _counts(store: LiveStore, load: Load, came: list[str], witness: Witness) -> dict[str, object]:
    kept = {
        (audience, person): {one.time_ms // 1000: one for one in store.visible(audience, person, 10**15, most=10**6)}
        for audience in ("friends", "club")
        for person in ("me", "ann")
    }
    sent: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for asked_for in came:
        row = {name: value[0] for name, value in parse_qs(urlsplit(asked_for).query).items()}
        sent[row["id"], row["timestamp"]].add((row["lat"], row["lon"]))
    for (person, moment), places in sent.items():
        one = kept["friends", person][int(moment)]
        places.add((f"{one.lat_deg:.7f}", f"{one.lon_deg:.7f}"))
    lost = {
        person: load.acknowledged[person] - (set(kept["friends", person]) & set(kept["club", person]))
        for person in ("me", "ann")
    }
    told, handed = ({int(json.loads(one)["tst"]) for one in some} for some in (witness.acknowledged, witness.handed))
    queued = {
        (audience, one.person, one.time_ms // 1000)
        for audience in ("friends", "club")
        for one in store.due(10**15, audience, most=10**6)
    }
    published = {(one["topic"].split("/")[1], int(one["tst"])) for one in map(json.loads, load.messages)}
    waiting, now_ms = store.waiting(10**15), 1000 * time.time()
    had = {
        (person, moment) for person in ("me", "ann") for moment in kept["friends", person]
    }  # what the broker lost is counted above
    acknowledged = {("me", moment) for moment in load.acknowledged["me"]} | had
    at_friends = {(person, int(moment)) for person, moment in sent}
    return {
        "acknowledged by HTTP": len(load.acknowledged["me"]),
        "lost": len(lost["me"]),
        "acknowledged by the broker": len(load.acknowledged["ann"]),
        "handed to the bridge": len(handed),
        "acknowledged by the bridge": len(told),
        "lost though the bridge acknowledged it": len(lost["ann"] & told),
        "lost by the broker alone": len(lost["ann"] - told),
        "of these never handed over": len(lost["ann"] - handed),
        "sent on": len(sent),
        "queued": {
            name: {"positions": count, "age_s": round((now_ms - oldest) / 1000)}
            for name, (count, oldest) in waiting.items()
        },
        "neither sent on nor queued": sum(
            one not in at_friends and ("friends", *one) not in queued for one in acknowledged
        ),
        "neither published nor queued": sum(
            one not in published and ("club", *one) not in queued for one in acknowledged
        ),
        "sent again": len(came) - len(sent),
        "sent with other noise": sum(len(places) > 1 for places in sent.values()),
        **searched([one.encode() for one in came] + load.messages, load.true),
    }


def searched(
    stream: list[bytes], true: Mapping[str, Mapping[int, tuple[float, float]]], side_deg: float = SIDE_DEG
) -> dict[str, object]:
    """What of the true positions is in the messages: any coordinate whole, and pairs that agree to five decimals.

    The true positions are even over a square of ``side_deg``, so each place that was told in it is within 1e-5
    degrees of one of *n* of them on both axes n · (2e-5 / side)² times on average: what chance explains. Each hit is
    told with whose it was, and when.
    """
    cells: dict[tuple[int, int], list[tuple[str, int, float, float]]] = defaultdict(list)
    whole = set[bytes]()
    for person, places in true.items():
        for moment, (lat, lon) in places.items():
            cells[int(lat * 1e5), int(lon * 1e5)].append((person, moment, lat, lon))
            whole |= {repr(lat).encode(), repr(lon).encode()}
    hits, own, exact, count = set[str](), 0, 0, sum(map(len, true.values()))
    places = set[tuple[float, float]]()
    for message in stream:
        exact += any(one in whole for one in re.findall(rb"-?\d+\.\d+", message))
        found = _LAT.search(message), _LON.search(message)
        assert found[0], "a message without a latitude"
        assert found[1]
        lat, lon = float(found[0][1]), float(found[1][1])
        if abs(lat - MIDDLE[0]) <= side_deg / 2 and abs(lon - MIDDLE[1]) <= side_deg / 2:
            places.add((lat, lon))
        x, y = int(lat * 1e5), int(lon * 1e5)
        for near in (one for i in (-1, 0, 1) for j in (-1, 0, 1) for one in cells.get((x + i, y + j), ())):
            if abs(near[2] - lat) < 1e-5 and abs(near[3] - lon) < 1e-5:
                same = str(near[1]).encode() in message
                own += same
                hits.add(f"{lat} {lon} is near {near[0]}'s at {near[1]}{' (the same moment)' if same else ''}")
    expected = len(places) * count * (2e-5 / side_deg) ** 2
    return {
        "bytes searched": sum(map(len, stream)),
        "a whole coordinate in a blurred stream": exact,
        "pairs within 1e-5 degrees": len(hits),
        "of the same moment": own,
        "expected by chance": round(expected, 4),
        "odds of so many by chance": float(poisson.sf(len(hits) - 1, expected)) if hits else 1.0,
        "hits": sorted(hits)[:20],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--every-broker", type=int, default=EVERY_BROKER, help="Of so many kills one is the broker's.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as chosen:
        print(json.dumps(kill_under_load(Path(chosen), given.kills, given.every_broker), indent=1))
