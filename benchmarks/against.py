"""Did anything get slower? Every benchmark of an older checkout and of this one, by turns, in one run.

git worktree add ../before COMMIT
python benchmarks/against.py ../before                     5 rounds of --quick, every benchmark that both have
python benchmarks/against.py ../before --rounds 9 --only protect,losses

A line that both print with the same words is compared number by number: seconds, milliseconds, microseconds and
ratios. For each the median over the rounds is printed, before and now. What a ratio is against (a peer, a plain
copy) runs in the same process, so a busy machine moves both; exit 1 when more than 5 % was lost.
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
# Only seconds and ratios: counts, sizes and gaps are no speed.
TIMED = re.compile(
    r"(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?) ?(?P<unit>s|ms|us|x|times|reports/s)(?![\w/])|ratio (?P<ratio>\d+(?:\.\d+)?)"
)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def seen(root: Path, script: str) -> dict[tuple[str, int], float]:
    """Every timed number of one run, by the words of its line and its place in it."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, str(root / "benchmarks" / script), "--quick"]
    ran = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    if not ran.stdout:
        raise SystemExit(f"{script} of {root.name} printed nothing: {ran.stderr[-500:]}")
    found: dict[tuple[str, int], float] = {}
    for line in ran.stdout.splitlines():
        words = " ".join(NUMBER.sub("#", line).split())
        for place, match in enumerate(TIMED.finditer(line)):
            found[words, place] = float(match["value"] or match["ratio"])
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
        was: dict[tuple[str, int], list[float]] = defaultdict(list)
        now: dict[tuple[str, int], list[float]] = defaultdict(list)
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
            print(f"  {old:10.4g} {new:10.4g} {new / old:6.2f}   {words[:100]} [{place + 1}]", flush=True)
            if new / old > LOST or new / old < 1 / LOST:
                slower.append(f"{script}: {words[:80]} [{place + 1}] {new / old:.2f}")
    print(
        "\nmoved by more than 5 %, either way:\n  " + "\n  ".join(slower)
        if slower
        else "\nnothing moved by more than 5 %"
    )
    return int(bool(slower))


if __name__ == "__main__":
    raise SystemExit(main())
