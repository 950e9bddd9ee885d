"""The page of a subject as its reader meets it: rendered, then read again by its structure."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from xml.etree.ElementTree import Element

import tinyhtml5

from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.decision_axis import AuditFacts
from recourse_audit.render.i18n import Words
from recourse_audit.render.redaction import Level
from recourse_audit.render.subject import PageLinks, SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LanguageWords
from tests.render.subject_reports import facts, made_report


class ReadPage:
    """A rendered page; texts have single spaces, and drawings speak by their alternative."""

    def __init__(self, html: str) -> None:
        self.html = html

    @cached_property
    def _tree(self) -> Element:
        tree: Element = tinyhtml5.parse(self.html, namespace_html_elements=False)
        return tree

    def text(self, path: str = ".//main") -> str:
        """The text of the first element at a path; empty if there is none."""
        found = self._tree.find(path)
        return "" if found is None else text_of(found)

    def texts(self, path: str) -> list[str]:
        return [text_of(element) for element in self._tree.findall(path)]

    @property
    def title(self) -> str:
        return self.text(".//h1")

    @property
    def lead(self) -> str:
        return self.text(".//p[@class='lead']")

    @property
    def clerk(self) -> str:
        return self.text(".//section[@class='notice clerk']")

    @property
    def ladder(self) -> list[list[str]]:
        """The rows of the ladder, without the names of sides and the figures of the axis."""
        rows = self._tree.findall(".//div[@class='ladder']//tbody/tr")
        return [
            [text_of(cell) for cell in row if "strip" not in cell.get("class", "")]
            for row in rows
            if row.get("aria-hidden") is None
        ]

    @property
    def options(self) -> list[list[str]]:
        """The rows of options: number, changes, effort, answer, tests."""
        rows = self._tree.findall(".//table[@class='options']/tbody/tr")
        return [[text_of(cell) for cell in row] for row in rows]

    @property
    def reasons(self) -> list[list[str]]:
        """The rows of candidates: number, candidate, effect, permitted changes, person, code."""
        rows = self._tree.findall(".//table[@class='options reasons']/tbody/tr")
        return [[text_of(cell) for cell in row] for row in rows]

    @property
    def pairs(self) -> list[str]:
        """The rows of counterfactuals."""
        return self.texts(".//table[@class='options pairs']/tbody/tr")

    @property
    def columns(self) -> list[str]:
        """The cells of own data."""
        return self.texts(".//dl[@class='columns']/div")

    def section(self, heading: str) -> str:
        """The text of the section whose heading starts so; empty if the page has none."""
        for section in self._tree.findall(".//section"):
            if section.find("h2") is not None and text_of(section[0]).startswith(heading):
                return text_of(section)
        return ""

    def annex(self, title: str) -> str:
        """The text of a section of the annex, with its letter; empty if the page has none."""
        for details in self._tree.findall(".//details"):
            if title in text_of(details[0]):
                return text_of(details)
        return ""

    def column(self, caption: str, heading: str) -> list[str]:
        """A column of the table with a caption."""
        for table in self._tree.findall(".//table"):
            found = table.find("caption")
            if found is not None and text_of(found) == caption:
                headings = [text_of(cell) for cell in table.findall("thead/tr/th")]
                place = headings.index(heading)
                return [text_of(row[place]) for row in table.findall("tbody/tr")]
        raise AssertionError(f"no table {caption!r}")


def text_of(element: Element) -> str:
    """Everything that an element says, drawings by their alternative."""
    parts: list[str] = []

    def walk(node: Element) -> None:
        if node.tag in ("style", "script"):
            return
        if node.tag.endswith("svg"):
            title = next((child for child in node if child.tag.endswith("title")), None)
            parts.append(f" [{'' if title is None else title.text}] ")
        else:
            parts.append(node.text or "")
            for child in node:
                walk(child)
                parts.append(child.tail or "")
        if node.tag in ("td", "th", "p", "tr", "li", "h2", "h3", "div", "dt", "dd") or (
            "cell-line" in node.get("class", "") or node.get("class") == "test"
        ):
            parts.append(" ")

    walk(element)
    return re.sub(r"[ \t\n]+", " ", "".join(parts)).strip()


CLASS_WORDS = {"denied": "refused", "approved": "approved"}


def named(language: str = "en", **own: Any) -> Words:
    """Words with names for the classes of the made reports, and others if given."""
    table = LanguageWords.model_validate(CLASS_WORDS | own)
    return Words(language, Templates(), {language: table}, {"euros": "EUR"})


NAMED = named()


def read(
    report: SubjectReport,
    own: AuditFacts | None = None,
    *,
    level: Level = "auditor",
    words: Words | None = None,
    members: Mapping[str, str] | None = None,
    **links: Any,
) -> ReadPage:
    """Render the page of a report, and read it."""
    page = SubjectPage(
        report,
        own or facts(),
        words=words or NAMED,
        level=level,
        members=members,
        links=PageLinks(**links),
    )
    return ReadPage(Templates().render("pages/subject.html", view=page))


def read_made(level: Level = "auditor", **changes: Any) -> ReadPage:
    return read(made_report(**changes), level=level, members={"gender": "x-female"})
