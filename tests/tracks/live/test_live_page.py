"""Every kind of audience from a phone's request to a friend's browser, with the real bridge and a real Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from live_harness import TOKEN, asked, free_port, live_process

from sfumato.tracks.live.audiences import token_hash
from sfumato.tracks.live.store import LiveStore, live_key
from sfumato.tracks.places.places_file import Places, place_at, save_places

BROWSERS_OWN = ("google", "gvt1.com")  # Chromium's own updates, whatever the page is
KINDS = {
    "family": ('sees = "exact"', "exactly here"),
    "friends": ('sees = "blurred"\nnoise = "900m"', "with 68 %"),
    "work": ('sees = "zone"', "away"),
    "press": ('sees = "town"', "<strong>"),
    "nobody": ('sees = "nothing"', "Not found"),
    "later": ('sees = "exact"\ndelay = "1week"', "with 68 %|exactly here"),
}


def _opened(url: str, folder: Path) -> tuple[str, set[str]]:
    """The page as the browser has it, and the hosts that it asked."""
    log = folder / "net.json"
    browser = shutil.which("chromium")
    assert browser is not None
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}", "--timeout=5000", "--dump-dom", url,
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    text = log.read_text(errors="replace")
    wanted = re.findall(r'"url":"(https?://[^"]+)"', text)
    return done.stdout, {urlsplit(one).hostname or "" for one in wanted if not any(own in one for own in BROWSERS_OWN)}


@pytest.mark.browser
@pytest.mark.service
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_every_audience_end_to_end_in_a_browser_and_revoked_and_ended_links_are_404(tmp_path: Path) -> None:
    save_places(tmp_path / "me.places", Places.none(rng=1).add(place_at("home", 48.85, 2.35, radius_m=400.0, rng=1)))
    audiences = "".join(f"[audience.{name}]\n{words}\n" for name, (words, _) in KINDS.items())
    config = tmp_path / "live.toml"
    config.write_text(
        '[bridge]\nfolder = "live"\nplaces = "me.places"\n[person.me]\n'
        f'devices.phone = "{token_hash(TOKEN)}"\n{audiences}'
    )
    port, now = free_port(), int(time.time())
    bridge = live_process(config, port)
    bridge.start()
    try:
        url = f"http://127.0.0.1:{port}"
        for at in range(4):
            row = {"_type": "location", "lat": 48.8712345 + at / 300, "lon": 2.3512345, "tst": now - 300 + 60 * at}
            assert asked(f"{url}/pub", data=json.dumps(row).encode(), token=TOKEN)[0] == 200
        store = LiveStore(tmp_path / "live", live_key(tmp_path / "live"))
        for name, (_, said) in KINDS.items():
            link = f"link-{name}"
            store.add_link(token_hash(link), name, "me", 1000 * (now + 3600))
            page, hosts = _opened(f"{url}/s/{link}", tmp_path)
            assert hosts <= {"127.0.0.1"}, name
            if name == "later":
                assert "Nothing is shared at the moment" in page
                assert "<svg" not in page
            else:
                assert re.search(said, page), (name, page[-600:])
            store.revoke(name)
            assert asked(f"{url}/s/{link}") == (404, b"Not found\n")
        store.add_link(token_hash("over"), "family", "me", 1000 * (now - 1))
        assert asked(f"{url}/s/over") == (404, b"Not found\n")
        assert (tmp_path / "bridge.log").read_text() == f"{url}\n"
    finally:
        bridge.end()
    assert os.stat(tmp_path / "live").st_mode & 0o077 == 0
