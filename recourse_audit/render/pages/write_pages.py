"""The pages of a finished bundle: a report on each subject, the group summary, the index.

Made from the store alone, into `pages/`, which is sealed by itself. Without Pango all pages are
made, and no PDF.
"""

import json
import sqlite3
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from recourse_audit.errors import PaperError
from recourse_audit.groups.report import groups_of
from recourse_audit.groups.csv_table import groups_csv
from recourse_audit.records.codec import GROUPS
from recourse_audit.render.templates import Pages
from recourse_audit.render.pdf import Paper
from recourse_audit.render.batch import ALONE, Job, Work, file_name, press_all
from recourse_audit.render.pages.facts import AuditFacts, facts_of
from recourse_audit.render.pages.groups import groups_view, verdicts_of
from recourse_audit.render.pages.index import index_view
from recourse_audit.render.pages.index_rows import Links
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject import subject_view
from recourse_audit.bundle.layout import MANIFEST, Bundle, writing
from recourse_audit.bundle.digests import digest_of
from recourse_audit.bundle.reader import finished_store
from recourse_audit.bundle.derived_folder import Rendered
from recourse_audit.bundle.store import meta_of, open_store

NAME = "pages"
LETTERS = "letters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """How pages are made: for whom, with whose templates, and whether reports go on paper too."""

    level: Level = "auditor"
    templates: Path | None = None
    pdf: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was made, or `kept` from before; `trouble` says why no PDF was, if one should be."""

    subjects: int
    kept: bool = False
    trouble: str = ""


def publish(folder: Path, edition: Edition, work: Work = ALONE) -> Published:
    """Make all pages of a bundle, in place of those that are there."""
    pages = Pages(edition.templates)
    rendered = Rendered(bundle=folder, name=NAME)
    paper, trouble = _paper(pages)
    facts = _facts(edition, pages, folder, on_paper=paper is not None)
    with finished_store(folder) as store, writing(folder):
        names = dict(store.execute("SELECT number, id FROM subjects ORDER BY number").fetchall())
        kept = not work.again and rendered.is_there(paper=paper is not None)
        if not kept:
            rendered.begin(facts)
            on_paper = edition.pdf and paper is not None
            opener = _Opener(bundle=folder, edition=edition, on_paper=on_paper)
            job = Job(rendered=rendered, opener=opener)
            files = press_all(job, list(names), work)
            for name, content in _summaries(store, folder, pages, paper, names).items():
                rendered.put(name, content)
                files.add(name)
            rendered.seal(files, work.signer)
    return Published(subjects=len(names), kept=kept, trouble=trouble)


def _facts(edition: Edition, pages: Pages, folder: Path, *, on_paper: bool) -> dict[str, Any]:
    return {
        "what": NAME,
        "version": version("recourse-audit"),
        "templates": pages.digest(),
        "level": edition.level,
        "pdf": edition.pdf,
        "paper": on_paper,
        "letters": digest_of(" ".join(sorted(_letters(folder)))),
    }


def _letters(folder: Path) -> set[str]:
    """The names of the letters that are there, without ending."""
    return {path.stem for path in (folder / LETTERS).glob("*.html")}


def _paper(pages: Pages) -> tuple[Paper | None, str]:
    try:
        return Paper(pages), ""
    except PaperError as error:
        return None, str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opener:
    """Makes the press of one process."""

    bundle: Path
    edition: Edition
    on_paper: bool

    def open(self) -> "_SubjectPress":
        pages = Pages(self.edition.templates)
        return _SubjectPress(
            bundle=self.bundle,
            level=self.edition.level,
            facts=_audit_facts(self.bundle),
            pages=pages,
            paper=Paper(pages) if self.on_paper else None,
            letters=_letters(self.bundle),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubjectPress:
    """Makes the report on one subject after the other."""

    bundle: Path
    level: Level
    facts: AuditFacts
    pages: Pages
    paper: Paper | None
    letters: set[str]

    def files(self, number: int, document: dict[str, Any]) -> dict[str, bytes]:
        name = file_name(number, document["subject"]["id"])
        link = f"../../{LETTERS}/{name}.html" if name in self.letters else ""
        view = subject_view(
            document,
            self.facts,
            level=self.level,
            members=self._members(number),
            letter_link=link,
        )
        html = self.pages.render("pages/subject.html", view=view)
        files = {f"subjects/{name}.html": html.encode()}
        if self.paper is not None:
            files[f"subjects/{name}.pdf"] = self.paper.pdf(html)
        return files

    def _members(self, number: int) -> dict[str, str]:
        with open_store(Bundle(folder=self.bundle).store) as store:
            rows = store.execute(
                "SELECT attribute, value FROM members WHERE person = ?", [number]
            ).fetchall()
        return dict(rows)


def _audit_facts(folder: Path) -> AuditFacts:
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    with open_store(Bundle(folder=folder).store) as store:
        return facts_of(meta_of(store), settings)


def _summaries(
    store: sqlite3.Connection,
    folder: Path,
    pages: Pages,
    paper: Paper | None,
    names: dict[int, str],
) -> dict[str, bytes]:
    """The pages about everybody: the group summary, if groups are compared, and the index."""
    files: dict[str, bytes] = {}
    facts = _audit_facts(folder)
    verdicts = None
    if facts.protected:
        report = groups_of(folder)
        html = pages.render("pages/groups.html", view=groups_view(report, paper=paper is not None))
        files["groups.html"] = html.encode()
        if paper is not None:
            files["groups.pdf"] = paper.pdf(html)
        files["groups.json"] = GROUPS.write_indented(report).encode()
        files["groups.csv"] = groups_csv(report).encode()
        verdicts = verdicts_of(report, "groups.html")
    letters = _letters(folder)
    ending: Literal["pdf", "html"] = "pdf" if any((folder / LETTERS).glob("*.pdf")) else "html"
    links = {
        number: Links(file=name, page=True, letter=name in letters, ending=ending)
        for number, name in ((number, file_name(number, one)) for number, one in names.items())
    }
    manifest = (folder / MANIFEST).read_text(encoding="utf-8")
    view = index_view(store, manifest=manifest, links=links, groups=verdicts)
    files["index.html"] = pages.render("pages/index.html", view=view).encode()
    return files
