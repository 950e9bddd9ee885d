"""Signed letters on their way out: for the printer, as e-mails, and in the register of those sent.

Letters go out as they were signed, byte for byte; drafts and letters that were changed are refused.
An e-mail is an `.eml` file, which mail programs open as a message to be sent: the letter as plain
text, and as HTML with its styles on each element, without anything to be loaded.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from email.message import EmailMessage
from email.policy import SMTP
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from markupsafe import Markup

from recourse_audit.bundle.layout import writing
from recourse_audit.bundle.manifest import DerivedFolder
from recourse_audit.bundle.reader import hold_finished_audit
from recourse_audit.bundle.register import (
    COLUMNS,
    HOW,
    REGISTER,
    SentLetter,
    read_register,
    register_text,
)
from recourse_audit.bundle.signature import Signer
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import DerivedManifest, SignedLetter
from recourse_audit.render.batch import file_name
from recourse_audit.render.clerk import PAGE, ClerkPage
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.render.write_letters import (
    ALL,
    DRAFTS,
    TABLE,
    Ids,
    LetterOptions,
    Signing,
    letter_settings,
    read_before,
)
from recourse_audit.settings.section import exists

PER_FILE = 1000  # letters in one PDF, so that memory stays below 150 MB
_POLICY = re.compile(r"<meta http-equiv=.*?</style>", re.DOTALL)
_BLOCK = re.compile(r"</?(?:div|h\d|li|ol|p|section|table|tr|ul)\b[^>]*>")


@contextmanager
def open_outbox(
    folder: Path, ids: Ids = None, options: LetterOptions = DRAFTS
) -> Iterator["Outbox"]:
    """Hold signed letters of a bundle: those that are named, or all that have not been sent."""
    derived = DerivedFolder(bundle=folder, name="letters")
    with hold_finished_audit(folder) as stored:
        with writing(folder):
            derived.tidy()
        asked = Signing(ids=ids or ALL, reopen=True).of_kind(stored.settings.subject_prefix)
        asked.check_known(stored.names().values())
        names = {number: own for number, own in stored.names().items() if asked.names(own)}
        signed = read_before(derived, names)[0]
        register, manifest = read_register(derived.folder), derived.read_manifest()
        letters = {names[n]: (file_name(n, names[n]), letter) for n, letter in signed.items()}
        unsent = letters.keys() - {row["id"] for row in register}
        chosen = asked.ids if isinstance(asked.ids, tuple) else [x for x in letters if x in unsent]
        for own in sorted({*chosen} - {*letters}):
            raise InputError(
                f"there is no signed letter to {plain(own)}; sign it off, or leave this id out"
            )
        if not chosen or manifest is None:
            raise InputError(
                f"{folder}: no signed letter waits to be sent; sign letters off first, or name "
                "letters that were sent before with --ids"
            )
        made_in = replace(options, language=options.language or manifest.made_with.language)
        settings, pages = letter_settings(stored.settings, made_in), Templates(options.templates)
        writer = LetterWriter(settings, pages, addresses=options.addresses)
        outgoing = dict(letters[own] for own in chosen)
        yield Outbox(derived, manifest, register, outgoing, writer)


@dataclass(frozen=True, slots=True)
class Outbox:
    """Signed letters by the names of their files, in the order that was asked for."""

    derived: DerivedFolder
    manifest: DerivedManifest
    register: tuple[SentLetter, ...]
    letters: dict[str, SignedLetter]
    writer: LetterWriter

    def print_letters(self, file: Path, *, duplex: bool = False) -> tuple[Path, ...]:
        """Put the letters into one PDF, or several; in `duplex` each begins on a fresh sheet."""
        import pikepdf

        papers = [self.derived.folder / f"{name}.pdf" for name in self.letters]
        for paper in papers:
            if not paper.is_file():
                raise InputError(f"{paper}: is missing; PDFs need Pango when letters are signed")
        parts = [papers[first : first + PER_FILE] for first in range(0, len(papers), PER_FILE)]
        files = [file, *(file.with_stem(f"{file.stem}-{n}") for n in range(2, len(parts) + 1))]
        with _put_at_once(*files) as place:
            for target, part in zip(files, parts, strict=True):
                with pikepdf.new() as batch:
                    for paper in part:
                        with pikepdf.open(paper) as letter:
                            batch.pages.extend(letter.pages)
                        if duplex and len(batch.pages) % 2:
                            batch.add_blank_page()
                            batch.pages[-1].mediabox = batch.pages[-2].mediabox
                    batch.save(place / target.name, min_version="1.7", deterministic_id=True)
        return tuple(files)

    def write_emails(self, folder: Path) -> dict[str, str]:
        """Write one e-mail per letter into a new folder; each address by id, "" if unknown."""
        from css_inline import CSSInliner

        inliner = CSSInliner(extra_css=self.writer.pages.text("styles/email.css"))
        emails = {letter.id: "" for letter in self.letters.values()}
        emails |= {own: to.email for own, to in self.writer.addresses.items() if own in emails}
        with _put_at_once(folder) as place:
            new = place / folder.name
            new.mkdir()
            for name, letter in self.letters.items():
                page = (self.derived.folder / f"{name}.html").read_text(encoding="utf-8")
                bare = _POLICY.sub("", page)  # which would forbid styles on elements
                message = make_email(page, inliner.inline(bare), emails[letter.id])
                (new / f"{name}.eml").write_bytes(message.as_bytes())
        return emails

    def record_sent(
        self,
        by: str,
        day: date,
        how: str = "",
        *,
        again: bool = False,
        signer: Signer | None = None,
    ) -> int:
        """Add the letters to the register, and say how many; those in it were sent `again`."""
        if not by.strip() or how not in ("", *HOW):
            raise InputError(
                f"--sent-by needs the name of a person, and --how is one of {', '.join(HOW)} (got "
                f"{by!r} and {how!r})"
            )
        before, rows = {row["id"]: row for row in self.register}, [*self.register]
        for name, letter in self.letters.items():
            signed, old, problem = letter.sign_off, before.get(letter.id), ""
            if old is not None and not again:
                problem = f"sent on {old['sent']} ({REGISTER}, no. {old['number']}); leave this id "
                problem += "out, or, if it was sent again, accept that with --accept sent"
            elif str(day) < signed.day:
                problem = f"signed off on {signed.day}, so it was not sent on {day}; correct --date"
            if problem:
                raise InputError(f"the letter to {plain(letter.id)} was {problem}")
            contents = (self.manifest.files.get(f"{name}.{end}", "") for end in ("html", "pdf"))
            staff = (signed.name, signed.day, plain(by.strip()), str(day))
            cells = (str(len(rows) + 1), letter.id, name, *contents, *staff, how)
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
        table = (self.derived.folder / TABLE).read_text(encoding="utf-8")
        page = ClerkPage(table, rows, self.writer, self.manifest.made_with).html()
        with writing(self.derived.bundle):
            self.derived.amend({REGISTER: register_text(rows), PAGE: page}, signer)
        return len(self.letters)


def make_email(page: str, inlined: str, to: str = "") -> EmailMessage:
    """A letter as an e-mail that is yet to be sent; the same bytes each time."""
    title, body = page.partition("<title>")[2], page.partition("<body")[2].partition(">")[2]
    body = body.replace("<li>", "<li>- ").replace("<td>", "<td> ")
    blocks = (
        "\n".join(Markup(line).striptags() for line in block.split("<br>"))  # noqa: S704
        for block in (title.partition("</title>")[0], *_BLOCK.split(body))
    )
    message = EmailMessage(policy=SMTP)
    message["Subject"], message["X-Unsent"] = next(blocks), "1"
    if to:
        message["To"] = to
    message.set_content("\n\n".join(filter(None, blocks)) + "\n")
    message.add_alternative(inlined, subtype="html")
    message.set_boundary(sha256(inlined.encode()).hexdigest())
    return message


@contextmanager
def _put_at_once(*targets: Path) -> Iterator[Path]:
    """Give a folder in which files or folders wait; then they are put where they belong."""
    for target in filter(exists, targets):
        raise InputError(f"{target}: is there already; choose another name")
    beside = targets[0].parent
    with writing(targets[0]), TemporaryDirectory(prefix=".letters-", dir=beside) as place:
        yield Path(place)
        for target in targets:
            (Path(place) / target.name).rename(target)
