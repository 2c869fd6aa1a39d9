"""Did anything get slower? Every benchmark of an older checkout and of this one, by turns, in one run.

git worktree add ../before COMMIT
python benchmarks/against.py ../before                     5 rounds of --quick, every benchmark that both have
python benchmarks/against.py ../before --rounds 9 --only protect,losses

A line that both print with the same words and sizes is compared number by number, by its median over the rounds. What
counts is a ratio against something real in the same process (a peer, a plain copy), which a busy machine moves on
both sides; seconds count only in lines without one, and are shown everywhere. Exit 1 when a counted number moved by
more than 5 %, either way: a reader decides which way is worse.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOST = 1.05
RATIO = re.compile(
    r"(?:ratio|share|speed[^:]*:) ?(\d[\d.e+-]*)|(?<![x\d] )\b(\d[\d.e+-]*) (?:x|times)\b(?! \d)", re.IGNORECASE
)
SECONDS = re.compile(r"(\d[\d.e+-]*) (?:s|ms|us)(?![\w/])")
SIZE = re.compile(r"\d[\d.e+,]*(?= (?:cells|points|traces|reports))")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def seen(root: Path, script: str) -> dict[tuple[str, str], float]:
    """Every timed number of one run, by the words of its line and its place in it."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, str(root / "benchmarks" / script), "--quick"]
    ran = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    if not ran.stdout:
        raise SystemExit(f"{script} of {root.name} printed nothing: {ran.stderr[-500:]}")
    found: dict[tuple[str, str], float] = {}
    for line in ran.stdout.splitlines():
        sizes = " ".join(SIZE.findall(line))
        words = f"{' '.join(NUMBER.sub('#', line).split())} ({sizes})"
        ratios = [next(value for value in match.groups() if value) for match in RATIO.finditer(line)]
        seconds = [match[1] for match in SECONDS.finditer(line)]
        found |= {(words, f"ratio {place}"): float(value) for place, value in enumerate(ratios, 1)}
        found |= {(words, f"{'also' if ratios else 'seconds'} {place}"): float(v) for place, v in enumerate(seconds, 1)}
    return found


def main() -> int:
    """Run by turns, print medians, say what got slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="an older checkout of this repository")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="names of benchmarks, separated by commas")
    asked = parser.parse_args()
    before = asked.before.resolve()
    both = [path.name for path in sorted(HERE.glob("bench_*.py")) if (before / "benchmarks" / path.name).exists()]
    wanted = [f"bench_{name}.py" for name in asked.only.split(",") if name] or both
    slower = []
    for script in wanted:
        was: dict[tuple[str, str], list[float]] = defaultdict(list)
        now: dict[tuple[str, str], list[float]] = defaultdict(list)
        for turn in range(asked.rounds):
            order = [(before, was), (HERE.parent, now)]
            for root, kept in order if turn % 2 == 0 else order[::-1]:
                for key, value in seen(root, script).items():
                    kept[key].append(value)
        print(f"\n{script}, medians of {asked.rounds} rounds: before, now, now / before")
        for (words, place), values in was.items():
            if (words, place) not in now or not (old := statistics.median(values)):
                continue
            new = statistics.median(now[words, place])
            print(f"  {old:10.4g} {new:10.4g} {new / old:6.2f}   {words[:100]} [{place}]", flush=True)
            if not place.startswith("also") and not 1 / LOST <= new / old <= LOST:
                slower.append(f"{script}: {words[:80]} [{place}] {new / old:.2f}")
    print(
        "\nmoved by more than 5 %, either way:\n  " + "\n  ".join(slower)
        if slower
        else "\nnothing moved by more than 5 %"
    )
    return int(bool(slower))


if __name__ == "__main__":
    raise SystemExit(main())
