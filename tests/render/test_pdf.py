"""PDFs are tagged, the same each time, and made of nothing that the program did not hand over."""

import io
import sys
from pathlib import Path

import pikepdf
import pytest

from recourse_audit.errors import PaperError, TemplateError
from recourse_audit.render.pdf import NO_PANGO, Printer, open_printer
from recourse_audit.render.templates import Templates

PAGE = (
    '<!doctype html><html lang="en"><head><title>A title</title></head>'
    "<body><h1>A head</h1><p>Some text.</p>{}</body></html>"
)


def test_a_page_on_paper_is_tagged_and_has_its_language_and_title() -> None:
    content = Printer(Templates()).pdf(PAGE.format(""))
    with pikepdf.open(io.BytesIO(content)) as pdf:
        assert pdf.Root.MarkInfo.Marked
        assert str(pdf.Root.Lang) == "en"
        assert "/StructTreeRoot" in pdf.Root
        assert pdf.open_metadata()["pdfuaid:part"] == "1"
        assert pdf.open_metadata()["dc:title"] == "A title"


def test_the_same_page_gives_the_same_bytes() -> None:
    printer = Printer(Templates())
    first = printer.pdf(PAGE.format(""))
    other = printer.pdf(PAGE.format("<p>Another.</p>"))
    assert (
        Printer(Templates()).pdf(PAGE.format("")) == first == printer.pdf(PAGE.format("")) != other
    )


@pytest.mark.parametrize(
    "piece",
    [
        '<img src="file:///etc/hostname" alt="">',
        '<img src="http://localhost:9/x.png" alt="">',
        '<style>@import "file:///etc/hostname";</style>',
        '<link rel="stylesheet" href="http://localhost:9/x.css">',
        '<p style="background: url(file:///etc/hostname)">x</p>',
        '<svg width="9" height="9"><image href="file:///etc/x" width="9" height="9"/></svg>',
        '<link rel="attachment" href="file:///etc/hostname">',
        '<img src="piece:../pyproject.toml" alt="">',
    ],
)
def test_nothing_is_fetched_but_pieces_of_the_templates(piece: str) -> None:
    with pytest.raises(TemplateError):
        Printer(Templates()).pdf(PAGE.format(piece))


def test_without_pango_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    for name in [name for name in sys.modules if name.split(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(PaperError, match="Pango is missing; install libpango"):
        Printer(Templates())
    assert open_printer(Templates()) == (None, NO_PANGO)


def test_with_pango_there_is_a_printer_and_no_reason() -> None:
    printer, why = open_printer(Templates())
    assert printer is not None
    assert why == ""


def test_a_font_of_the_user_comes_from_their_templates(tmp_path: Path) -> None:
    (tmp_path / "styles").mkdir()
    sheet = '@font-face { font-family: Mine; src: url("piece:fonts/absent.woff2") }'
    (tmp_path / "styles" / "paper.css").write_text(sheet, encoding="utf-8")
    with pytest.raises(TemplateError, match=r"fonts/absent\.woff2: there is no such piece"):
        Printer(Templates(tmp_path)).pdf(PAGE.format(""))
