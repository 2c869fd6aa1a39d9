"""What a benchmark needs beside sfumato, by name: where it is missing the benchmark says so and is left out.

``benchmarks/run.py`` knows that by the exit status, and says it again in its summary.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec

LEFT_OUT = 77
HOW = {
    "java": "apt-get install openjdk-17-jre-headless",
    "postgres": "apt-get install postgresql",
    "pyspark": "pip install 'sfumato[spark]'",
    "sklearn": "pip install 'sfumato[bench]'",
    "torch": "pip install torch",
    "wrk": "apt-get install wrk",
}


def missing(*names: str) -> str:
    """Which of these programs or packages are not there and how to get them, in words; empty where all are."""
    absent = [name for name in names if shutil.which(name) is None and find_spec(name) is None]
    return ", ".join(f"{name} is not installed ({HOW[name]})" for name in absent)


def need(*names: str) -> None:
    """End with the status of what was left out, unless all of these are there."""
    if absent := missing(*names):
        print(f"left out: {absent}")
        raise SystemExit(LEFT_OUT)
