"""How fast letters are made, how much of that time is layout, and how large pages get.

Audits some subjects of the lending sample and writes their letters, first with two processes, then
with one while timing WeasyPrint. The index lists 20,000 subjects: the same few repeated, each time
with a new id.
"""

import argparse
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from benchmarks.audits import audit, write_letters, write_pages
from recourse_audit.bundle.store import open_store
from recourse_audit.render.batch import file_name
from recourse_audit.render.pages.index import index_view
from recourse_audit.render.pages.index_rows import Links
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"
MANY = 20_000


def letters_per_second(bundle: Path, letters: int) -> float:
    """The letters per second of a whole command with two processes, start-up included."""
    start = time.perf_counter()
    write_letters(bundle, workers=2)
    return letters / (time.perf_counter() - start)


def outside_layout(bundle: Path) -> float:
    """The share of one process's time that is spent outside WeasyPrint."""
    inside = 0.0
    pdf = Printer.pdf

    def watched(paper: Printer, html: str) -> bytes:
        nonlocal inside
        start = time.perf_counter()
        content = pdf(paper, html)
        inside += time.perf_counter() - start
        return content

    start = time.perf_counter()
    with patch.object(Printer, "pdf", watched):
        write_letters(bundle, workers=1)
    return 1 - inside / (time.perf_counter() - start)


def index_of_many(bundle: Path, folder: Path) -> int:
    """The size in bytes of an index of 20,000 subjects."""
    copy = folder / "many.sqlite"
    shutil.copy(bundle / "store.sqlite", copy)
    with closing(sqlite3.connect(copy)) as store:
        columns = [row[1] for row in store.execute("PRAGMA table_info(subjects)")]
        kept = ", ".join(name for name in columns if name not in {"number", "id", "document"})
        rows = store.execute(f"SELECT {kept} FROM subjects").fetchall()
        places = ", ".join("?" * (len(columns)))
        store.execute("DELETE FROM subjects")
        store.executemany(
            f"INSERT INTO subjects (number, id, document, {kept}) VALUES ({places})",
            ((n, f"P{n:06d}", "{}", *rows[n % len(rows)]) for n in range(MANY)),
        )
        store.commit()
    links = {n: Links(file=file_name(n, f"P{n:06d}"), page=True, letter=True) for n in range(MANY)}
    manifest = (bundle / "manifest.json").read_text(encoding="utf-8")
    with open_store(copy) as store:
        view = index_view(store, manifest=manifest, links=links, groups=None)
    return len(Templates().render("pages/index.html", view=view).encode())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=96)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as place:
        bundle = Path(place) / "bundle"
        audit(SAMPLE, bundle, sample=given.subjects, workers=2)
        print(f"letters_per_second: {letters_per_second(bundle, given.subjects):.3g}", flush=True)
        print(f"letters_outside_layout: {outside_layout(bundle):.3g}", flush=True)
        write_pages(bundle, workers=2)
        pages = [path.stat().st_size for path in (bundle / "pages" / "subjects").glob("*.html")]
        print(f"report_page_kb: {max(pages) / 1000:.0f}")
        print(f"index_of_20000_mb: {index_of_many(bundle, Path(place)) / 1e6:.2f}", flush=True)


if __name__ == "__main__":
    main()
