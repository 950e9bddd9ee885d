"""PDFs are tagged, the same each time, and made of nothing that the program did not hand over."""

import io
import sys
from pathlib import Path
from random import Random

import pikepdf
import pytest
import weasyprint

from recourse_audit.errors import PaperError, TemplateError
from recourse_audit.render import pdf as paper
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


STYLED = (
    '<!doctype html><html lang="{lang}"><head><title>A title</title><style>{style}</style></head>'
    "<body{of_body}>{text}</body></html>"
)
STYLE = (
    "body { font-size: 10pt; overflow: hidden } .note { color: #57606a; margin-left: 1em }"
    "table { border-collapse: collapse; width: 50% } td { padding: 2mm } h2 { break-before: page }"
    "@page { size: A5; margin: 1cm; @bottom-left { content: string(name) counter(pages) } }"
    "main { string-set: name attr(data-name) } li { list-style-type: lower-greek }"
)
TEXTS = (
    '<main data-name="one"><p class="note">Some <strong>text</strong> and more.</p></main>',
    '<main data-name="two"><table><tr><td>1</td><td class="note">2</td></tr></table></main>',
    '<main data-name="one"><ol><li>A<li>B<li id="c">C</ol><h2>Over</h2><p id="d">leaf</main>',
    '<p style="color: red">Red</p><p style="color: blue">blue</p><p id="d">x',
    "<h2>Three</h2><h2>pages</h2>" + "<p>and <em>a long</em> line of text, </p>" * 20,
)


def pages_of_all_kinds() -> list[str]:
    texts = [
        STYLED.format(lang=lang, style=style, of_body=of_body, text=text)
        for style in (STYLE, STYLE.replace("#57606a", "red"), "@counter-style x { symbols: A B }")
        for lang in ("en", "de")
        for of_body in ("", ' class="note"')
        for text in TEXTS
    ]
    return Random(0).sample(texts, 12)


class Nothing(dict[object, object]):
    """Remembers nothing, so that every style is worked out anew, as WeasyPrint does it."""

    def get(self, *_: object) -> None:
        return None


def print_alone(page: str) -> bytes:
    printer = Printer(Templates())
    printer._fonts.styles = Nothing()
    return printer.pdf(page)


def test_a_page_does_not_depend_on_those_that_were_printed_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = pages_of_all_kinds()
    alone = {page: print_alone(page) for page in pages}
    printer = Printer(Templates())
    for order in (pages, pages[::-1], sorted(pages)):
        assert {page: printer.pdf(page) for page in order} == alone
    monkeypatch.setattr(paper, "MOST_STYLES", 8)
    assert {page: printer.pdf(page) for page in sorted(pages)} == alone


def test_styles_that_no_other_page_has_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "MOST_STYLES", 200)
    printer, most = Printer(Templates()), 0
    for number in range(30):
        text = f'<p id="p{number}">x</p>'
        printer.pdf(STYLED.format(lang="en", style=STYLE, of_body="", text=text))
        most = max(most, len(printer._fonts.styles))
    assert 200 < most < 300


def test_lists_ask_for_no_features_of_fonts_which_leak_memory() -> None:
    printer = Printer(Templates())
    for text in TEXTS:
        printer.pdf(STYLED.format(lang="en", style="", of_body="", text=text))
    assert printer._fonts.font_features == {}


def test_a_style_sheet_is_parsed_once_for_all_pages_that_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printer, parsed = Printer(Templates()), list[str]()
    parse = printer._parse

    def note(text: str) -> object:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(printer, "_parse", note)
    for text in TEXTS:
        printer.pdf(STYLED.format(lang="en", style=STYLE, of_body="", text=text))
    assert parsed == [STYLE]


def test_styles_are_worked_out_once_for_all_pages_that_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printer, made = Printer(Templates()), list[object]()
    style = weasyprint.css.ComputedStyle

    def note(*given: object) -> object:
        made.append(style(*given))
        return made[-1]

    monkeypatch.setattr(weasyprint.css, "ComputedStyle", note)
    for text in TEXTS[0], TEXTS[0].replace("more", "less"):
        made.clear()
        printer.pdf(STYLED.format(lang="en", style=STYLE, of_body="", text=text))
    assert len(made) == 3, "those of the root, the body and the page are each page's own"


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
