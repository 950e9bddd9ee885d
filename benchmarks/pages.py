"""How fast letters are made, how much of that is layout, and how large pages get.

An audit of some subjects of the lending sample; letters by two processes, then by this one with a
watch on WeasyPrint. The index is that of 20,000 subjects, who are the same few over and over, each
with an id of its own.
"""

import argparse
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from recourse_audit.render.letters.write_letters import Mailing, mail
from recourse_audit.render.templates import Pages
from recourse_audit.render.pdf import Paper
from recourse_audit.render.batch import Work, file_name
from recourse_audit.render.pages.write_pages import Edition, publish
from recourse_audit.render.pages.index import index_view
from recourse_audit.render.pages.index_rows import Links
from recourse_audit.execute.pipeline import Request, run_audit
from recourse_audit.audit.selection import Selection
from recourse_audit.bundle.store import open_store
from recourse_audit.execute.process_pool import Workers

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"
MANY = 20_000


def letters_a_second(bundle: Path, letters: int) -> float:
    """Letters of a whole command with two processes, their start included."""
    start = time.perf_counter()
    mail(bundle, Mailing(), Work(workers=2))
    return letters / (time.perf_counter() - start)


def outside_layout(bundle: Path) -> float:
    """The share of one process's time that is not spent inside WeasyPrint."""
    inside = 0.0
    pdf = Paper.pdf

    def watched(paper: Paper, html: str) -> bytes:
        nonlocal inside
        start = time.perf_counter()
        content = pdf(paper, html)
        inside += time.perf_counter() - start
        return content

    start = time.perf_counter()
    with patch.object(Paper, "pdf", watched):
        mail(bundle, Mailing())
    return 1 - inside / (time.perf_counter() - start)


def index_of_many(bundle: Path, folder: Path) -> int:
    """Bytes of the index of 20,000 subjects."""
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
    return len(Pages().render("pages/index.html", view=view).encode())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=96)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as place:
        bundle = Path(place) / "bundle"
        request = Request(settings=SAMPLE, out=bundle, selection=Selection(sample=given.subjects))
        run_audit(request, Workers(2, timeout=3600.0, clock=time.monotonic), now=lambda: "")
        print(f"letters_a_second: {letters_a_second(bundle, given.subjects):.3g}", flush=True)
        print(f"letters_outside_layout: {outside_layout(bundle):.3g}", flush=True)
        publish(bundle, Edition(), Work(workers=2))
        pages = [path.stat().st_size for path in (bundle / "pages" / "subjects").glob("*.html")]
        print(f"report_page_kb: {max(pages) / 1000:.0f}")
        print(f"index_of_20000_mb: {index_of_many(bundle, Path(place)) / 1e6:.2f}", flush=True)


if __name__ == "__main__":
    main()
