"""How fast letters are made, how much of that time is layout, and how large pages get.

Audits some subjects of the lending sample and writes their letters, first with two processes, then
with one while timing WeasyPrint. Times are processor times, so that other programs on the machine
change them little: a rate on two cores is that of two cores that have nothing else to do.

`--many 20000` prints that many letters with one printer, each with another reference, and looks at
the memory meanwhile. The index lists 20,000 subjects: the same few repeated, each time with a new
id.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from unittest.mock import patch

import psutil
import weasyprint

import recourse_audit as ra
from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.records.bundle import SummaryRow
from recourse_audit.render.batch import file_name
from recourse_audit.render.index import IndexPage, IndexSource, Links
from recourse_audit.render.pdf import SHEET, VARIANT, Printer
from recourse_audit.render.templates import Templates

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"
MANY = 20_000
CORES = 2
LOOKS = 10


def processor_time() -> float:
    """Seconds that this process and those that it has ended have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def letters_per_second(bundle: ra.Bundle, workers: int) -> float:
    """The letters that two cores make per second, with the start of further processes included."""
    start = processor_time()
    letters = bundle.write_letters(workers=workers).letters
    return CORES * letters / (processor_time() - start)


def outside_layout(bundle: ra.Bundle) -> float:
    """The share of one process's time that is spent outside WeasyPrint."""
    inside = 0.0
    pdf = Printer.pdf

    def timed(printer: Printer, html: str) -> bytes:
        nonlocal inside
        start = time.process_time()
        content = pdf(printer, html)
        inside += time.process_time() - start
        return content

    start = time.process_time()
    with patch.object(Printer, "pdf", timed):
        bundle.write_letters(workers=1)
    return 1 - inside / (time.process_time() - start)


def gain_over_weasyprint(pages: list[str]) -> float:
    """The time that WeasyPrint takes for pages one by one, divided by that of a printer."""
    printer, fonts = Printer(Templates()), weasyprint.text.fonts.FontConfiguration()
    sheet = weasyprint.CSS(
        string=Templates().text(SHEET), url_fetcher=printer._fetcher, font_config=fonts
    )

    def plain(page: str) -> bytes:
        content: bytes = weasyprint.HTML(string=page).write_pdf(
            stylesheets=[sheet], font_config=fonts, pdf_variant=VARIANT
        )
        return content

    def seconds(make: Callable[[str], bytes]) -> float:
        start = time.process_time()
        for page in pages:
            make(page)
        return time.process_time() - start

    assert plain(pages[0]) == printer.pdf(pages[0])
    return seconds(plain) / seconds(printer.pdf)


def memory_of_many(pages: list[str], references: list[str], many: int) -> Iterator[int]:
    """The memory of a process in bytes, every so many letters, each with another reference."""
    printer = Printer(Templates())
    letters = islice(cycle(zip(pages, references, strict=True)), many)
    for number, (page, reference) in enumerate(letters, 1):
        printer.pdf(page.replace(reference, f"R{number:06d}"))
        if number % (many // LOOKS) == 0:
            yield psutil.Process().memory_info().rss


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
    parser.add_argument("--many", type=int, default=0, help="letters to print one after another")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        audit = ra.Audit.from_toml(SAMPLE)
        bundle = audit.run(Path(folder) / "bundle", sample=given.subjects, workers=2)
        print(f"letters_per_second: {letters_per_second(bundle, 2):.3g}", flush=True)
        print(f"letters_per_second_started: {letters_per_second(bundle, 1):.3g}", flush=True)
        print(f"letters_outside_layout: {outside_layout(bundle):.3g}", flush=True)
        paths = sorted((bundle.folder / "letters").glob("0*.html"))
        letters = [path.read_text(encoding="utf-8") for path in paths]
        print(f"letters_vs_weasyprint: {gain_over_weasyprint(letters):.3g}", flush=True)
        if given.many:
            ids = [path.stem.split("-", 1)[1] for path in paths]
            for look, size in enumerate(memory_of_many(letters, ids, given.many), 1):
                print(
                    f"letters_memory_mb_{look * given.many // LOOKS}: {size / 1e6:.0f}", flush=True
                )
        bundle.write_pages(workers=2)
        pages = [
            path.stat().st_size for path in (bundle.folder / "pages" / "subjects").glob("*.html")
        ]
        print(f"report_page_kb: {max(pages) / 1000:.0f}")
        print(f"index_of_20000_mb: {index_of_many(bundle) / 1e6:.2f}", flush=True)


if __name__ == "__main__":
    main()
