"""Take the pictures of the README and the documentation from the demo's own bundle.

    make pictures                                     # runs the demo if need be
    python scripts/pictures.py recourse-audit-demo/bundle

Each picture is the first screen of a page in Chromium, in a quarter of the colours, so that it is
small. Run it again whenever a page changes.
"""

import io
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SUBJECT = "P0570"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture of a page: its name, the page within the bundle, and how much of it."""

    name: str
    page: str
    width: int
    height: int


SHOTS = (
    Shot(name="index", page="pages/index.html", width=1200, height=1130),
    Shot(name="subject", page=f"pages/subjects/*-{SUBJECT}.html", width=1200, height=1130),
    Shot(name="groups", page="pages/groups.html", width=1200, height=1130),
    Shot(name="letter", page=f"letters/*-{SUBJECT}.html", width=900, height=1130),
)


def main(bundle: Path) -> int:
    """Take every picture; what is missing from the bundle is said."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        for shot in SHOTS:
            found = sorted(bundle.glob(shot.page))
            if not found:
                print(f"{bundle / shot.page}: there is no such page; run `make demo` first")
                return 2
            (PICTURES / f"{shot.name}.png").write_bytes(_taken(page, found[0], shot))
        browser.close()
    return 0


def _taken(page: Page, path: Path, shot: Shot) -> bytes:
    page.set_viewport_size({"width": shot.width, "height": shot.height})
    page.goto(path.resolve().as_uri())
    seen = Image.open(io.BytesIO(page.screenshot()))
    small = io.BytesIO()
    seen.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(small, "PNG", optimize=True)
    return small.getvalue()


def _chromium() -> str | None:
    import shutil

    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
