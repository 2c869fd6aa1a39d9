"""Random requests to every POST route: whatever is sent, the collector answers in words and never with a 5xx.

SFUMATO_RANDOM_POSTS says how many requests each route gets (30 in the usual run; issue 28 asks for 10,000).
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from collector_harness import client, create, operator
from starlette.testclient import TestClient

pytestmark = [pytest.mark.service]
EACH = int(os.environ.get("SFUMATO_RANDOM_POSTS", "30"))
NUMBERS = [0, -1, 1, 2, 0.5, 7.0, 1e-9, 1e-308, 1e308, -1e308, 2**31, 2**53, 2**63, 10**30, 89.9999, 180, 360, 1e6, 500]
TEXTS = ["", "town", "x", "../..", "\u0000", "é" * 100, "a" * 64, "0" * 64, "f" * 32, "UTC", "once", "epsilon", "blind"]


def anything(rng: random.Random, depth: int = 0) -> object:
    """A value that fits nothing in particular."""
    kinds = [lambda: rng.choice(NUMBERS), lambda: rng.choice(TEXTS), lambda: None, lambda: rng.random() < 0.5]
    if depth < 3:
        kinds.append(lambda: [anything(rng, depth + 1) for _ in range(rng.randrange(4))])
        kinds.append(lambda: {rng.choice(TEXTS): anything(rng, depth + 1) for _ in range(rng.randrange(4))})
    return rng.choice(kinds)()


def like(schema: dict[str, Any], rng: random.Random) -> object:
    """A value of this schema, most of the time: within its bounds, at them, a little beyond, or anything at all."""
    if rng.random() < 0.04:
        return anything(rng)
    if "anyOf" in schema:
        return like(rng.choice(schema["anyOf"]), rng)
    if "const" in schema or "enum" in schema:
        return rng.choice(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "object":
        wanted = set(schema.get("required", ()))
        named = schema.get("properties", {}).items()
        return {name: like(one, rng) for name, one in named if name in wanted or rng.random() < 0.5}
    if kind == "array":
        return [like(schema["items"], rng) for _ in range(rng.choice([0, 1, 2, 20]))]
    if kind in ("integer", "number"):
        least = schema.get("minimum", schema.get("exclusiveMinimum", -1e9))
        most = schema.get("maximum", schema.get("exclusiveMaximum", 1e9))
        drawn = rng.choice([least, most, least - 1, most + 1, rng.uniform(least, most), least + rng.expovariate(0.1)])
        return int(drawn) if kind == "integer" else drawn
    if kind == "string":
        pattern, drawn = str(schema.get("pattern", "")), rng.choice(TEXTS)
        if "[0-9a-f]{" in pattern:
            return "".join(rng.choices("0123456789abcdef", k=int(schema.get("maxLength", 64))))
        return f"c{rng.randrange(50)}" if pattern.startswith("^[a-z0-9]") and rng.random() < 0.7 else drawn
    return rng.random() < 0.5 if kind == "boolean" else None


def a_body(schema: dict[str, Any], rng: random.Random) -> bytes:
    """Mostly JSON like the schema; sometimes other JSON, cut JSON, or no JSON."""
    whole = json.dumps(like(schema, rng) if rng.random() < 0.9 else anything(rng)).encode()
    return rng.choice([whole] * 12 + [whole[: len(whole) // 2], rng.randbytes(40), b"", b"[" * 500])


def routes(visitor: TestClient) -> dict[str, dict[str, Any]]:
    """Every POST path of the contract with the schema of its body."""
    paths = visitor.get("/openapi.json").json()["paths"]
    posts = {path: one["post"] for path, one in paths.items() if "post" in one}
    return {path: one["requestBody"]["content"]["application/json"]["schema"] for path, one in posts.items()}


@pytest.mark.parametrize("seed", range(2))
def test_no_random_request_to_any_post_route_ends_in_a_5xx(tmp_path: Path, seed: int) -> None:
    rng, broken, seen = random.Random(seed), [], 0
    with client(f"sqlite:///{tmp_path}/x.db", backup_folder=str(tmp_path / "backups")) as visitor:
        create(visitor)
        found = routes(visitor)
        assert len(found) >= 20
        for path, schema in found.items():
            for number in range(max(1, EACH // 2)):
                if number % 500 == 0:  # what was ended or deleted on the way is there again
                    visitor.post("/api/v1/campaigns", json={"name": "fresh"}, headers=operator())
                names = {"campaign": rng.choice(["town", "c1", "gone"]), "number": str(rng.choice([0, 1, 2, 10**9]))}
                names |= {"name": rng.choice(["ada", "operator", "sfumato-20260101-000000.backup"])}
                address = path
                for name, value in names.items():
                    address = address.replace(f"{{{name}}}", value)
                headers = {"content-type": "application/json", **(operator() if rng.random() < 0.9 else {})}
                answer = visitor.post(address, content=a_body(schema, rng), headers=headers)
                seen += 1
                if answer.status_code >= 500:
                    broken.append((path, answer.status_code, answer.text[:200]))
        assert visitor.get("/health").status_code == 200
    assert seen >= 20
    assert not broken, broken[:5]
