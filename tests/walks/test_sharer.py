"""Somebody who shares where they are: the console block of docs/live.md from nothing to a friend's page, and back."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from live_harness import asked, free_port
from repository import ROOT
from walking import Walker, installed

pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.xdist_group("sharer")]
HOME, ELSEWHERE = (48.85, 2.35), (48.8712345, 2.3812345)


@pytest.fixture(scope="module")
def sharer(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """Somebody who has installed what the page says: the extra [live]."""
    return installed(wheel, tmp_path_factory.mktemp("sharer"), "live")


def told() -> dict[str, list[str]]:
    """The commands of the page's first block as it writes them, by their second and third words."""
    (block,) = re.findall(r"```console\n(.*?)```", (ROOT / "docs" / "live.md").read_text("utf-8"), flags=re.DOTALL)
    lines = [re.split(r"\s+(?:#|>)\s", line[2:])[0].split() for line in block.splitlines() if line.startswith("$ ")]
    return {words[2]: words for words in lines}


def post(url: str, token: str, place: tuple[float, float], moment: int) -> int:
    """OwnTracks in HTTP mode: any user, the token as its password."""
    secret = base64.b64encode(f"anybody:{token}".encode()).decode()
    body = json.dumps({"_type": "location", "lat": place[0], "lon": place[1], "tst": moment}).encode()
    request = urllib.request.Request(f"{url}/pub", body, {"authorization": f"Basic {secret}"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return int(answer.status)


def test_from_nothing_to_a_friends_page_and_a_revoked_link_is_404(sharer: Walker) -> None:
    says = told()
    assert list(says) == ["'sfumato[live]'", "example", "token", "add", "check", "run", "link"]
    config = sharer.does(*says["example"])
    printed = sharer.does(*says["token"])
    token, mark = re.findall(r"^token \(shown once\): (\S+)\nin the file: +(sha256:\S+)$", printed, flags=re.MULTILINE)[
        0
    ]
    sharer.does(*says["add"])
    for commented, line in (
        ('# devices.phone = "sha256:..."', f'devices.phone = "{mark}"'),
        ('# places = "me.places"', 'places = "me.places"'),
    ):
        assert config.count(commented) == 1
        config = config.replace(commented, line)
    (sharer.folder / "live.toml").write_text(config, "utf-8")
    checked = sharer.does(*says["check"])
    assert "friends" in checked
    assert "Not covered" in checked
    port, now = free_port(), int(time.time())
    url = f"http://127.0.0.1:{port}"
    words = [str(sharer.bin / "sfumato"), *says["run"][1:], "--port", str(port)]
    server = subprocess.Popen(words, cwd=sharer.folder, env=sharer.environment(), stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 300
        while asked(f"{url}/health")[0] != 200:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        for at in range(3):
            place = ELSEWHERE[0] + at / 300, ELSEWHERE[1]
            assert post(url, token, place, now - 300 + 60 * at) == 200
        made = sharer.does(*says["link"]).strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:8077/s/[\w-]{43}", made)  # where there is no url in the file
        link = url + made.removeprefix("http://127.0.0.1:8077")
        status, page = asked(link)
        assert status == 200
        assert b"<circle" in page
        assert b"with 68 %" in page
        assert f"{ELSEWHERE[0]:.4f}".encode() not in page
        assert post(url, token, HOME, now - 60) == 200  # at home nothing more leaves
        assert b"48.85" not in asked(link)[1]
        assert sharer.does("sfumato", "live", "revoke", "live.toml", "friends").strip() == "1 link ended."
        assert asked(link) == (404, b"Not found\n") == asked(f"{url}/leads/nowhere")
    finally:
        server.terminate()
        said, _ = server.communicate(timeout=30)
    assert said.decode() == f"{url}\n"
