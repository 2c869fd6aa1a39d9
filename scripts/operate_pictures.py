"""Pictures of the operator's screens for docs/run_a_campaign.md, at 1280 and 390 px (needs `make web`, Chromium).

python scripts/operate_pictures.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from browsing import driven  # noqa: E402
from collector_harness import TOKEN, CollectorProcess, create, crowd  # noqa: E402
from page_pictures import small  # noqa: E402
from tile_maker import lyon  # noqa: E402

KEPT = {
    "operate-new-light.png": "operate_new.png",
    "operate-new-phone.png": "operate_new_phone.png",
    "operate-campaign-light.png": "operate_campaign.png",
    "operate-campaign-phone.png": "operate_campaign_phone.png",
    "operate-delete-dialog-dark.png": "operate_delete_dark.png",
}


def main() -> None:
    """docs/images/operate_*.png, from the day that tests/collect/service/test_operate_browser.py walks through."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/collector.db"
        with CollectorProcess(database, backup_folder=f"{folder}/kept", tiles=lyon(Path(folder))) as collector:
            create(collector.visitor, "old", title="Old", minimum_tickets=50)
            crowd(collector.visitor, 60, "old")
            driven("operate.mjs", pictures=Path(folder) / "pictures", url=collector.url, token=TOKEN)
        for name, target in KEPT.items():
            shutil.copy(Path(folder) / "pictures" / name, ROOT / "docs" / "images" / target)
            print(f"docs/images/{target}")
        small([ROOT / "docs" / "images" / target for target in KEPT.values()])


if __name__ == "__main__":
    main()
