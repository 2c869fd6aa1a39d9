"""The documentation site hosts the browser page where it was built (`make web`), and says how to build it where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "web" / "dist-page" / "sfumato-protect.html"
MARK = "<!-- the page itself -->"
HOSTED = "[Open the page](sfumato-protect.html), or save it and open it from your disk: it is one file of {size} kB."
NOT_BUILT = "This site was built without the page: `make web` writes it to `web/dist-page/sfumato-protect.html`."


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: the browser page is added as it is."""
    from mkdocs.structure.files import File

    if PAGE.exists():
        files.append(File.generated(config, PAGE.name, abs_src_path=str(PAGE)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with a page's text: the mark becomes the link."""
    return linked(markdown, PAGE)


def linked(markdown: str, page: Path) -> str:
    """The text with a link where the page was built, and how to build it where it was not."""
    words = HOSTED.format(size=round(page.stat().st_size / 1000)) if page.exists() else NOT_BUILT
    return markdown.replace(MARK, words)
