"""The only door to weasyprint: a page becomes a tagged PDF (PDF/UA-1), the same bytes each time.

Nothing is fetched except files of the templates, such as fonts: `piece:fonts/name.ttf` in
`styles/paper.css`, a style sheet that is added to every page that is printed.

Pages that follow each other mostly have the same style sheet, and their elements the same styles.
So a printer parses a sheet once, and works out each style once, not for every page.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import Any

from recourse_audit.errors import PaperError, TemplateError
from recourse_audit.render.templates import Templates

SCHEME = "piece:"
SHEET = "styles/paper.css"
VARIANT = "pdf/ua-1"
MOST_STYLES = 5_000
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
        self._weasyprint = _import_weasyprint()
        self._fetcher = _fetcher(templates)
        self._fonts = self._weasyprint.text.fonts.FontConfiguration()
        self._fonts.styles = {}
        self._paper, self._text = templates.text(SHEET), ""
        with self._fetcher.watch():
            self._given = self._parse(self._text)

    def pdf(self, html: str) -> bytes:
        """The page as a PDF, dated by the `dcterms` elements of the page alone."""
        before, _, rest = html.partition("<style>")
        text, _, after = rest.partition("</style>")
        document = self._weasyprint.HTML(string=before + after, url_fetcher=self._fetcher)
        with self._fetcher.watch():
            if text != self._text or len(self._fonts.styles) > MOST_STYLES:
                self._fonts.styles.clear()
                self._text, self._given = text, self._parse(text)
            content: bytes = document.write_pdf(pdf_variant=VARIANT, **self._given)
        return content

    def _parse(self, text: str) -> dict[str, Any]:
        """What a page is printed with: `styles/paper.css`, then the style sheet that it has."""
        counters = self._weasyprint.css.counters.CounterStyle()
        shared = {"font_config": self._fonts, "counter_style": counters}
        css = partial(self._weasyprint.CSS, url_fetcher=self._fetcher, **shared)
        return {"stylesheets": [css(string=self._paper), css(string=text)], **shared}

    def unprintable(self, characters: Iterable[str]) -> frozenset[str]:
        """The characters that no installed font has, and that would be printed as boxes."""
        asked = frozenset(characters)
        text = escape(" ".join(sorted(asked)))
        document = self._weasyprint.HTML(string=f"<p>{text}</p>", url_fetcher=self._fetcher).render(
            **self._parse("")
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


def _import_weasyprint() -> Any:
    try:
        import weasyprint
        import weasyprint.text.fonts
    except OSError:
        raise PaperError(NO_PANGO) from None
    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    logging.getLogger("fontTools").setLevel(logging.CRITICAL)
    styles = getattr(weasyprint.css, "StyleFor", None)  # without it, letters take longer
    if styles is not None and not hasattr(styles, "shares"):
        weasyprint.css.StyleFor = _share_styles(styles)
    return weasyprint


def _share_styles(styles_for: Any) -> Any:
    """WeasyPrint's styles of a document, taken from documents before where they are the same.

    WeasyPrint works out some hundred properties of every element, a quarter of a letter's time, and
    forgets them. A style is the same if that of the parent is, and the declarations that apply,
    which live as long as their sheet. The layout changes those of the root, the body and the page.
    """

    class SharedStyles(styles_for):  # type: ignore[misc]
        shares = True

        def set_computed_styles(
            self, element: Any, parent: Any, root: Any = None, pseudo_type: Any = None, **more: Any
        ) -> None:
            styles = getattr(self.font_config, "styles", {})  # whose printer is not ours has none
            computed = self.get_computed_styles()
            declared = self.get_cascaded_styles().get((element, pseudo_type), {})
            above = -1 if parent is None else computed[parent, None].number
            apply = tuple(
                (name, value if name == "lang" else id(value), rank, layer, *specificity)
                for name, (value, (rank, layer, specificity)) in declared.items()
            )
            known = styles.get(key := (above, pseudo_type, apply))
            changes = pseudo_type is None and getattr(element, "tag", "body") in ("html", "body")
            if known is not None and not changes:
                computed[element, pseudo_type] = known
                return
            super().set_computed_styles(element, parent, root, pseudo_type, **more)
            style = styles.setdefault(key, computed[element, pseudo_type])
            computed[element, pseudo_type].number = getattr(style, "number", len(styles))

    return SharedStyles


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
        def watch(self) -> Iterator[None]:
            yield
            if self._refused:
                first = self._refused[0]
                self._refused.clear()
                raise TemplateError(first)

    return Pieces()
