"""How fast letters are made, how much of that time is layout, and how large pages get.

Audits some subjects of the lending sample and writes their letters, first with two processes, then
with one while timing WeasyPrint. The index lists 20,000 subjects: the same few repeated, each time
with a new id.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from unittest.mock import patch

import recourse_audit as ra
from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.records.bundle import SummaryRow
from recourse_audit.render.batch import file_name
from recourse_audit.render.index import IndexPage, IndexSource, Links
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"
MANY = 20_000


def letters_per_second(bundle: ra.Bundle) -> float:
    """The letters per second of a whole command with two processes, start-up included."""
    start = time.perf_counter()
    bundle.write_letters(workers=2)
    return len(bundle) / (time.perf_counter() - start)


def outside_layout(bundle: ra.Bundle) -> float:
    """The share of one process's time that is spent outside WeasyPrint."""
    inside = 0.0
    pdf = Printer.pdf

    def timed(printer: Printer, html: str) -> bytes:
        nonlocal inside
        start = time.perf_counter()
        content = pdf(printer, html)
        inside += time.perf_counter() - start
        return content

    start = time.perf_counter()
    with patch.object(Printer, "pdf", timed):
        bundle.write_letters(workers=1)
    return 1 - inside / (time.perf_counter() - start)


def many_rows(few: list[SummaryRow]) -> Iterator[tuple[int, SummaryRow]]:
    """Repeat a few summary rows 20,000 times, each time with a new id."""
    for number, row in enumerate(islice(cycle(few), MANY)):
        yield number, replace(row, id=f"P{number:06d}")


def index_of_many(bundle: ra.Bundle) -> int:
    """The size in bytes of an index of 20,000 subjects."""
    links = {n: Links(file=file_name(n, f"P{n:06d}"), page=True, letter=True) for n in range(MANY)}
    digest = sha256((bundle.folder / "manifest.json").read_bytes()).hexdigest()
    with open_finished_audit(bundle.folder) as stored:
        few = list(stored.rows())
        scores, numbers = stored.scores(), islice(cycle(number for number, _ in few), MANY)
        source = IndexSource(
            subjects=tuple(many_rows([row for _, row in few])),
            manifest=stored.manifest,
            manifest_digest=digest,
            links=links,
            settings=stored.settings,
            scores={place: scores[number] for place, number in enumerate(numbers)},
        )
        view = IndexPage(source)
    return len(Templates().render("pages/index.html", view=view).encode())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=96)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        audit = ra.Audit.from_toml(SAMPLE)
        bundle = audit.run(Path(folder) / "bundle", sample=given.subjects, workers=2)
        print(f"letters_per_second: {letters_per_second(bundle):.3g}", flush=True)
        print(f"letters_outside_layout: {outside_layout(bundle):.3g}", flush=True)
        bundle.write_pages(workers=2)
        pages = [
            path.stat().st_size for path in (bundle.folder / "pages" / "subjects").glob("*.html")
        ]
        print(f"report_page_kb: {max(pages) / 1000:.0f}")
        print(f"index_of_20000_mb: {index_of_many(bundle) / 1e6:.2f}", flush=True)


if __name__ == "__main__":
    main()
