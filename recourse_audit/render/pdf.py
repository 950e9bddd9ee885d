"""The only door to weasyprint: a page becomes a tagged PDF (PDF/UA-1), the same bytes each time.

Nothing is fetched except files of the templates, such as fonts: `piece:fonts/name.woff2` in
`styles/paper.css`, a style sheet that is added to every page that is printed.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from recourse_audit.errors import PaperError, TemplateError
from recourse_audit.render.templates import Templates

SCHEME = "piece:"
SHEET = "styles/paper.css"
VARIANT = "pdf/ua-1"
NO_PANGO = (
    "no PDF can be made on this machine, because Pango is missing; install libpango-1.0-0, "
    "libpangoft2-1.0-0, libharfbuzz0b and libharfbuzz-subset0 (Debian, Ubuntu) or pango (brew)"
)


class Printer:
    """Turns pages into PDFs; make one and keep it, since finding the fonts takes a while.

    Raises
    ------
    PaperError
        Pango is not installed on this machine.
    """

    def __init__(self, templates: Templates) -> None:
        self._weasyprint = _imported()
        self._fetcher = _fetcher(templates)
        self._fonts = self._weasyprint.text.fonts.FontConfiguration()
        with self._fetcher.watched():
            self._sheet = self._weasyprint.CSS(
                string=templates.text(SHEET), url_fetcher=self._fetcher, font_config=self._fonts
            )

    def pdf(self, html: str) -> bytes:
        """The page as a PDF, dated by the `dcterms` elements of the page alone."""
        document = self._weasyprint.HTML(string=html, url_fetcher=self._fetcher)
        with self._fetcher.watched():
            content: bytes = document.write_pdf(
                stylesheets=[self._sheet], font_config=self._fonts, pdf_variant=VARIANT
            )
        return content

    def unprintable(self, characters: Iterable[str]) -> frozenset[str]:
        """The characters that no installed font has, and that would be printed as boxes."""
        asked = frozenset(characters)
        text = escape(" ".join(sorted(asked)))
        document = self._weasyprint.HTML(string=f"<p>{text}</p>", url_fetcher=self._fetcher).render(
            stylesheets=[self._sheet], font_config=self._fonts
        )
        document.write_pdf()
        # WeasyPrint does not document this attribute; without it no character is reported.
        missing = (getattr(font, "missing", ()) for font in document.fonts.values())
        return asked & {chr(code) for codes in missing for code in codes}


def open_printer(templates: Templates) -> tuple[Printer | None, str]:
    """A printer; or None, and a sentence on why there is none."""
    try:
        return Printer(templates), ""
    except PaperError as error:
        return None, str(error)


def _imported() -> Any:
    try:
        import weasyprint
        import weasyprint.text.fonts
    except OSError:
        raise PaperError(NO_PANGO) from None
    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    logging.getLogger("fontTools").setLevel(logging.CRITICAL)
    return weasyprint


def _fetcher(templates: Templates) -> Any:
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class Pieces(URLFetcher):  # type: ignore[misc]
        """Serves files of the templates, and refuses everything else.

        Refusals are kept until the page is done, because WeasyPrint carries on after an error
        inside a picture.
        """

        def __init__(self) -> None:
            super().__init__()
            self._refused: list[str] = []

        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Any:
            try:
                if url.startswith(SCHEME):
                    return URLFetcherResponse(url, templates.piece(url.removeprefix(SCHEME)))
                self._refused.append(f"a template asks for {url}, which no page may")
            except TemplateError as error:
                self._refused.append(str(error))
            raise ValueError(self._refused[-1])

        @contextmanager
        def watched(self) -> Iterator[None]:
            yield
            if self._refused:
                first = self._refused[0]
                self._refused.clear()
                raise TemplateError(first)

    return Pieces()
