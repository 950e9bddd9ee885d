"""The pages of a finished bundle: on each subject, on groups, by framework (packs), the index.

They are made from the bundle alone, into `pages/`, which is sealed by itself. Without Pango all
pages are made, but no PDF.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.layout import MANIFEST, writing
from recourse_audit.bundle.manifest import DerivedFolder, digest, digest_of
from recourse_audit.bundle.reader import StoredAudit, hold_finished_audit
from recourse_audit.bundle.register import read_register
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import MadeWith
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.batch import ALONE, RenderOptions, file_name, make_files
from recourse_audit.render.decision_axis import facts_of
from recourse_audit.render.i18n import Words, words_of
from recourse_audit.render.index import (
    Change,
    Ending,
    IndexPage,
    IndexSource,
    Links,
    change_of,
    list_order,
)
from recourse_audit.render.letter_inputs import load_profile
from recourse_audit.render.packs import Pack, PackPage, load_pack
from recourse_audit.render.pdf import Printer, open_printer
from recourse_audit.render.redaction import Level
from recourse_audit.render.subject import PageLinks, SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.render.write_letters import SIGNED
from recourse_audit.settings import Settings
from recourse_audit.settings.letters import AuditSettings

LETTERS = "letters"
SUMMARIES = 2  # the group report and the index
LEFT_TO_THE_AUDITOR = "the auditor's copy says why"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """How pages are made: for whom, in which language, with whose templates and which packs.

    With `pdf`, reports on subjects are made as PDFs too.
    """

    level: Level = "auditor"
    language: str = "en"
    auditor: str = ""
    templates: Path | None = None
    pdf: bool = False
    packs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPages:
    """What was made, or `kept` from before; `trouble` says why there are no PDFs, if so.

    `lacks` has a line for each item that is not present, by pack.
    """

    subjects: int
    kept: bool = False
    trouble: str = ""
    lacks: dict[str, tuple[str, ...]] = field(default_factory=dict)


FOR_THE_AUDITOR = PageOptions()


def write_pages(
    folder: Path, pages: PageOptions = FOR_THE_AUDITOR, options: RenderOptions = ALONE
) -> WrittenPages:
    """Make all pages of a bundle, in place of those that are there."""
    if pages.packs and pages.level != "auditor":
        raise InputError(f"--pack: is for the auditor; leave it or --level {pages.level} out")
    templates = Templates(pages.templates)
    packs = {name: load_pack(name, templates) for name in pages.packs}
    lacks: dict[str, tuple[str, ...]] = {}
    derived = DerivedFolder(bundle=folder, name="pages")
    printer, trouble = open_printer(templates)
    with hold_finished_audit(folder) as stored, writing(folder):
        names = stored.names()
        made_with = _describe_making(pages, templates, folder, paper=printer is not None)
        derived.tidy()
        kept = not options.again and derived.is_there(paper=printer is not None)
        if not kept:
            on_paper = pages.pdf and printer is not None
            factory = partial(PageMaker, pages=pages, on_paper=on_paper)
            with derived.remake(made_with, options.signer) as new:
                options.begin("Making pages", len(names) + SUMMARIES + len(packs))
                places = {
                    n: f"subjects/{page_name(n, own, pages.level)}.html" for n, own in names.items()
                }
                left = [number for number, place in places.items() if place not in new.digests]
                options.done(len(names) - len(left))
                for files in make_files(folder, factory, left, options):
                    new.put_together(files)
                for summary in _summaries(stored, templates, printer, pages, packs, lacks):
                    for name, content in summary.items():
                        new.put(name, content)
                    options.done(1)
    return WrittenPages(subjects=len(names), kept=kept, trouble=trouble, lacks=lacks)


def _describe_making(
    pages: PageOptions, templates: Templates, folder: Path, *, paper: bool
) -> MadeWith:
    return MadeWith(
        what="pages",
        version=version("recourse-audit"),
        templates=templates.digest,
        level=pages.level,
        language=pages.language,
        auditor=pages.auditor or None,
        pdf=pages.pdf,
        packs=pages.packs,
        paper=paper,
        letters=digest_of(
            " ".join([*sorted(_find_letters(folder)), "", *sorted(_find_letters(folder, SIGNED))])
        ),
    )


def _find_letters(folder: Path, ending: str = ".html") -> set[str]:
    """The names of the letters that have a file with this ending, without it."""
    return {path.name.removesuffix(ending) for path in (folder / LETTERS).glob(f"*{ending}")}


class PageMaker:
    """Makes the report on one subject after the other, in one process."""

    def __init__(self, stored: StoredAudit, *, pages: PageOptions, on_paper: bool) -> None:
        self.stored = stored
        self._templates = Templates(pages.templates)
        self._words = words_of(stored.settings, pages.language, self._templates)
        self._audit = _audit(stored.settings, pages)
        self._facts = facts_of(stored.settings, stored.fingerprint)
        if stored.settings.reasons.codes:
            profile = load_profile(stored.settings.letters, self._templates)
            self._facts = replace(self._facts, codes=profile.reasons)
        self._printer = Printer(self._templates) if on_paper else None
        self._letters = _find_letters(stored.folder)
        self._level = level = pages.level
        # A subject's own copy leads to nobody else's.
        self._neighbours = _neighbours(stored, level) if level != "subject" else {}
        people = stored.names() if level == "auditor" else {}
        self._people = {
            plain(name): f"{file_name(number, name)}.html" for number, name in people.items()
        }

    def __call__(self, number: int, report: SubjectReport) -> dict[str, bytes]:
        """The page of one subject, and its PDF if there is a printer."""
        name = file_name(number, report.subject.id)
        page = page_name(number, report.subject.id, self._level)
        before, after = self._neighbours.get(number, ("", ""))
        view = SubjectPage(
            report,
            self._facts,
            words=self._words,
            level=self._level,
            members=self.stored.groups_of(number),
            links=PageLinks(
                previous=before,
                next=after,
                letter=f"../../{LETTERS}/{name}.html" if name in self._letters else "",
                people=self._people,
            ),
        )
        html = self._templates.render("pages/subject.html", view=view, audit=self._audit)
        return _with_pdf(f"subjects/{page}", html, self._printer)


def _with_pdf(name: str, html: str, printer: Printer | None) -> dict[str, bytes]:
    """A page, and its PDF if there is a printer."""
    files = {f"{name}.html": html.encode()}
    return files if printer is None else files | {f"{name}.pdf": printer.pdf(html)}


def _neighbours(stored: StoredAudit, level: Level) -> dict[int, tuple[str, str]]:
    """The pages before and after that of each subject, in the order of the index's list."""
    rows = dict(stored.rows())
    pages = {number: page_name(number, row.id, level) for number, row in rows.items()}
    labels = {number: row.id for number, row in rows.items()} if level == "auditor" else pages
    order = list_order(rows, labels)
    links = ["", *(f"{pages[number]}.html" for number in order), ""]
    return {number: (links[place], links[place + 2]) for place, number in enumerate(order)}


def page_name(number: int, subject: str, level: Level) -> str:
    """The name of a subject's page, without ending: only the auditor's has the id in it.

    The names of all pages are in the seal of the folder, which everybody gets.
    """
    return file_name(number, subject if level == "auditor" else "")


def _audit(settings: Settings, pages: PageOptions) -> AuditSettings:
    """What was audited, for whom and by whom; only the auditor's pages name who audited."""
    told = settings.audit.model_dump()
    told["auditor"] = (pages.auditor or told["auditor"]) if pages.level == "auditor" else ""
    return AuditSettings(**{name: plain(text) for name, text in told.items()})


def _summaries(
    stored: StoredAudit,
    templates: Templates,
    printer: Printer | None,
    pages: PageOptions,
    packs: dict[str, Pack],
    lacks: dict[str, tuple[str, ...]],
) -> Iterator[dict[str, bytes]]:
    """The pages about everybody: the group report, if groups are compared, packs, and the index.

    What a bundle lacks for each pack is added to `lacks`.
    """
    level = pages.level
    names = stored.names()
    words = words_of(stored.settings, pages.language, templates)
    audit = _audit(stored.settings, pages)
    report: GroupReport | None = None
    if stored.settings.groups.attributes:
        report = stored.group_report()
        if level != "auditor":
            report = for_others(report)
        yield _group_files(report, words, templates, printer, audit)
    source, paper = _index_source(stored, pages, report), printer is not None
    sent = len(read_register(stored.folder / LETTERS)) if packs else 0
    for name, pack in packs.items():
        page = PackPage(name, pack, source, audit, words, sent=sent, paper=paper)
        html = templates.render("pages/pack.html", view=page, audit=audit)
        tables = {file: text.encode() for file, text in page.files().items()}
        yield _with_pdf(f"pack_{name}", html, printer) | tables
        lacks[name] = page.lacks
    view = IndexPage(
        source,
        words=words,
        templates=templates,
        level=level,
        results=level == "auditor"
        or shows_results(len(names), stored.settings.groups.smallest, report),
        sizes=level == "auditor" or shows_sizes(report),
        paper=paper,
        packs=packs,
    )
    html = templates.render("pages/index.html", view=view, audit=audit)
    yield _with_pdf("index", html, printer)


def _index_source(
    stored: StoredAudit, pages: PageOptions, report: GroupReport | None
) -> IndexSource:
    """What the index is made from; only the auditor's has protected attributes."""
    folder, level = stored.folder, pages.level
    letters, signed = _find_letters(folder), _find_letters(folder, SIGNED)
    ending: Ending = "pdf" if any((folder / LETTERS).glob("*.pdf")) else "html"
    cheapest: dict[int, tuple[Change, ...]] = {}
    for number, do, kind, attribute, before, after in stored.first_options():
        change = change_of(do, kind, attribute, before, after)
        cheapest[number] = (*cheapest.get(number, ()), change)
    return IndexSource(
        subjects=stored.rows(),
        manifest=stored.manifest,
        manifest_digest=digest(folder / MANIFEST),
        links={
            number: Links(
                file=page_name(number, one, level),
                letter=file_name(number, one) in letters,
                signed=file_name(number, one) in signed,
                ending=ending,
            )
            for number, one in stored.names().items()
        },
        settings=stored.settings,
        scores=stored.scores(),
        cheapest=cheapest,
        members=stored.groups_of_subjects() if level == "auditor" else {},
        agreement=stored.agreement,
        groups=report,
        day=stored.days[1] if stored.days else "",
    )


def shows_results(subjects: int, smallest: int, report: GroupReport | None) -> bool:
    """Whether an index that lists nobody counts results: not of a handful, nor if withheld."""
    return subjects >= smallest and (report is None or report.overall.outcomes is not None)


def for_others(report: GroupReport) -> GroupReport:
    """The same for readers other than the auditor: without the messages of errors.

    These may name people. Where all figures are withheld, it does not say how many subjects there
    were either.
    """
    excluded = sum(report.overall.excluded.values())
    reasons = {LEFT_TO_THE_AUDITOR: excluded} if excluded else {}
    shown = replace(report, overall=replace(report.overall, excluded=reasons))
    return shown if shows_sizes(report) else replace(shown, done=0, total=0)


def shows_sizes(report: GroupReport | None) -> bool:
    """Whether an index for readers other than the auditor says how many people there are."""
    return report is None or report.overall.decisions is not None


def _group_files(
    report: GroupReport,
    words: Words,
    templates: Templates,
    printer: Printer | None,
    audit: AuditSettings,
) -> dict[str, bytes]:
    """The group report and its annex as pages, as PDFs if there is a printer; as JSON and CSV."""
    from recourse_audit.render.groups import GroupPage
    from recourse_audit.render.groups_csv import cut_offs_csv, groups_csv

    page = GroupPage(report, words, templates, has_paper=printer is not None)
    files = {
        "groups.json": GROUPS.write_indented(report).encode(),
        "groups.csv": groups_csv(report, words).encode(),
        "groups_cut_offs.csv": cut_offs_csv(report).encode(),
    }
    for name in ("groups", "groups_annex"):
        html = templates.render(f"pages/{name}.html", view=page, audit=audit)
        files |= _with_pdf(name, html, printer)
    return files
