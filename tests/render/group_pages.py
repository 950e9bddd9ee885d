"""The group report as its readers meet it: rendered, then read again by its structure."""

from dataclasses import dataclass
from functools import cached_property
from xml.etree.ElementTree import Element

import tinyhtml5

from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import Templates
from tests.render.subject_pages import text_of

PAGES = ("groups", "groups_annex")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table: the attribute that it stands below, and its cells without drawings."""

    attribute: str
    cells: list[str]


class ReadGroups:
    """Both pages of a group report."""

    def __init__(
        self,
        report: GroupReport,
        language: str = "en",
        *,
        words: Words | None = None,
        templates: Templates | None = None,
        has_paper: bool = True,
    ) -> None:
        templates = templates or Templates()
        words = words or Words(language, templates)
        view = GroupPage(report, words, templates, has_paper=has_paper)
        self.html = {name: templates.render(f"pages/{name}.html", view=view) for name in PAGES}

    @cached_property
    def trees(self) -> dict[str, Element]:
        return {
            name: tinyhtml5.parse(html, namespace_html_elements=False)
            for name, html in self.html.items()
        }

    @property
    def text(self) -> str:
        """The text of both pages."""
        return " ".join(self.texts(".//main"))

    def texts(self, path: str) -> list[str]:
        return [text_of(one) for tree in self.trees.values() for one in tree.findall(path)]

    def tables(self, caption: str) -> list[Row]:
        """The rows of the last table with a caption, which is in the annex; nothing without one."""
        found = self._tables(caption)
        return rows_of(found[-1]) if found else []

    def all_tables(self, caption: str) -> list[list[Row]]:
        """The rows of every table with a caption."""
        return [rows_of(table) for table in self._tables(caption)]

    def _tables(self, caption: str) -> list[Element]:
        return [
            table
            for tree in self.trees.values()
            for table in tree.findall(".//table[caption]")
            if text_of(table[0]) == caption
        ]

    @property
    def captions(self) -> list[str]:
        return self.texts(".//table/caption")

    def heads(self, caption: str) -> list[str]:
        """The headings of all columns of the last table with a caption."""
        return [text_of(head) for head in self._tables(caption)[-1].findall("thead/tr/th")]

    def charts(self, heading: str) -> dict[str, list[list[str]]]:
        """The charts of one attribute: the rows of each, by its title."""
        sections = [
            section
            for tree in self.trees.values()
            for section in tree.findall(".//section[h2]")
            if text_of(section[0]) == heading
        ]
        return {
            text_of(table[0]): [row.cells for row in rows_of(table)]
            for section in sections
            for table in section.findall("div/table")
        }


def rows_of(table: Element) -> list[Row]:
    """The rows of a table in the order in which they are read."""
    rows, attribute = [], ""
    for row in table.findall("tbody/tr"):
        if row.get("class") == "apart":
            attribute = text_of(row)
        elif row.get("aria-hidden") is None:
            cells = [cell for cell in row if cell.get("class") != "strip"]
            rows.append(Row(attribute=attribute, cells=[text_of(cell) for cell in cells]))
    return rows
