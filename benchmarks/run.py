"""Run every benchmark in this folder, one after the other, and fail if one of them misses its ratio."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run ``bench_*.py`` with the arguments given (``--quick`` for the small sizes)."""
    failed = []
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n=== {path.stem}", flush=True)
        if subprocess.run([sys.executable, str(path), *sys.argv[1:]], check=False).returncode:
            failed.append(path.stem)
    print("\n" + (f"missed: {', '.join(failed)}" if failed else "every benchmark met its ratio"))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
