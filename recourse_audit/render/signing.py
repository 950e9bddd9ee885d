"""Which letters are signed off: those that somebody named, if nothing speaks against them.

Four things do: an option that often failed its tests (`fragile`), no reason that a person has
confirmed (`no-reason`), options that only end ties while no reason speaks of them (`ties-only`),
and no reviewer (`unreviewed`). Each needs its own word to be accepted, and only for letters that
are named. What is refused stays a draft and is listed with its causes.

Letters that were signed off before stay as they are, byte for byte: they may have been sent, and
the folder is the record of what people were told. If one would now read differently, nothing is
written, and the command says which letters these are.
"""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from recourse_audit.bundle.layout import MANIFEST, read_plain
from recourse_audit.bundle.manifest import DerivedFolder, digest
from recourse_audit.errors import DocumentError, InputError, SubjectError
from recourse_audit.records.bundle import (
    CAUSES,
    Cause,
    Review,
    SignedLetter,
)
from recourse_audit.records.bundle import SignOff as RecordedSignOff
from recourse_audit.records.codec import DERIVED_MANIFEST, SIGNED_LETTER
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.batch import Files, file_name
from recourse_audit.render.letter_facts import Letter, SignOff
from recourse_audit.render.text import plain

ALL: Literal["all"] = "all"
Ids = tuple[str, ...] | Literal["all"] | None
Status = Literal["signed", "draft", "refused"]
TABLE = "signing.csv"
SIGNED = ".signed.json"
ALLOWED = ".allowed.json"
MOST_NAMED = 5
COLUMNS = (
    *("id", "letter", "status", "signed_by", "date", "against", "accepted"),
    *("reviewer", "reviewed", "draft"),
)
BETWEEN = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """What somebody asks for: letters to sign off, or signed letters to make drafts again.

    Raises
    ------
    InputError
        Nobody is named, or the words do not go together.
    """

    by: SignOff | None = None
    ids: Ids = None
    accept: frozenset[str] = frozenset()
    reopen: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(self.accept - set(CAUSES))
        if unknown:
            raise InputError(f"--accept must be one of {', '.join(CAUSES)} (got {unknown[0]!r})")
        if self.by is not None and self.reopen:
            raise InputError(
                "--reopen makes drafts of letters, and --sign-off signs them off; reopen them "
                "first, review the drafts, then sign them off"
            )
        if self.ids is None and (self.by is not None or self.reopen):
            word = "--reopen" if self.reopen else "--sign-off"
            every = "all of them" if self.reopen else "every letter that nothing speaks against"
            raise InputError(
                f"{word} needs to know which letters: name them with --ids P0012,P0034 or with "
                f"--ids-file FILE, or give --all for {every}"
            )
        if self.ids == ():
            raise InputError("no letter is named; give at least one id")
        if self.ids is not None and self.by is None and not self.reopen:
            raise InputError("letters are named for --sign-off NAME or --reopen: give one of them")
        if self.accept and (self.by is None or self.ids == ALL):
            raise InputError(
                "--accept is for letters that are signed off by name: give --sign-off NAME with "
                "--ids or --ids-file, not with --all"
            )

    def names(self, own: str) -> bool:
        """Whether this is about the letter to a subject."""
        return self.ids is not None and (self.ids == ALL or own in self.ids)

    def check_known(self, subjects: Collection[str]) -> None:
        """Refuse ids that belong to no subject: a misspelt one would go unnoticed."""
        unknown = [] if self.ids is None or self.ids == ALL else sorted({*self.ids} - {*subjects})
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            raise SubjectError(
                f"there is no subject {plain(unknown[0])!r}{more} in this audit; correct the ids"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A letter in the table of the folder: whether it is signed, and what speaks against it.

    `draft` is the fingerprint of the letter before it is signed. `signed` is None for a draft.
    """

    id: str
    letter: str
    status: Status
    against: tuple[Cause, ...]
    draft: str
    review: Review | None
    signed: SignedLetter | None = None

    @property
    def row(self) -> tuple[str, ...]:
        signed, review = self.signed, self.review
        by = ("", "") if signed is None else (signed.sign_off.name, signed.sign_off.day)
        accepted = () if signed is None else signed.accepted
        read = ("", "") if review is None else (review.reviewer, review.day)
        causes = (BETWEEN.join(self.against), BETWEEN.join(accepted))
        return (self.id, self.letter, self.status, *by, *causes, *read, self.draft)


def decide(
    letter: Letter,
    causes: Sequence[Cause],
    *,
    file: str,
    draft: str,
    signing: Signing,
    reviews: Mapping[str, Review],
) -> Entry:
    """Sign a letter off, refuse that, or leave it a draft, and say why."""
    own = str(letter.reference)
    review = reviews.get(own)
    if review is not None and review.draft not in ("", draft):
        review = None
    against: tuple[Cause, ...] = (*causes, *(() if review is not None else ("unreviewed",)))
    status: Status = "draft"
    signed = None
    if signing.by is not None and signing.names(own):
        status = "signed" if signing.accept.issuperset(against) else "refused"
        if status == "signed":
            signed = SignedLetter(
                id=own,
                sign_off=record_sign_off(signing.by),
                accepted=against,
                review=review,
                reasons=letter.reasons,
                recipient=letter.recipient,
            )
    return Entry(
        id=own,
        letter=file,
        status=status,
        against=against,
        draft=draft,
        review=review,
        signed=signed,
    )


def keep(signed: SignedLetter, *, file: str, draft: str) -> Entry:
    """The entry of a letter that was signed off before."""
    return Entry(
        id=signed.id,
        letter=file,
        status="signed",
        against=signed.accepted,
        draft=draft,
        review=signed.review,
        signed=signed,
    )


def record_sign_off(by: SignOff) -> RecordedSignOff:
    """Who answers for letters, as documents record it."""
    return RecordedSignOff(name=by.name, day=by.day.isoformat())


def signing_table(entries: Iterable[Entry]) -> str:
    """All letters of the folder as CSV, in the order of the subjects."""
    return "".join(csv_lines([COLUMNS, *(entry.row for entry in entries)]))


# ---------------------------------------------------------------- what is there from before


class LettersBefore:
    """The letters that the folder holds from before, as far as they are of this bundle."""

    def __init__(self, derived: DerivedFolder, names: Mapping[int, str]) -> None:
        self._folder = derived.folder
        self._files = {number: file_name(number, own) for number, own in names.items()}
        try:
            manifest = DERIVED_MANIFEST.read(read_plain(self._folder / MANIFEST) or b"")
        except DocumentError:
            manifest = None
        self._sealed = {} if manifest is None else manifest.files
        self._is_ours = manifest is not None and manifest.of == digest(derived.bundle / MANIFEST)

    def signed(self) -> dict[int, SignedLetter]:
        """The letters that are signed off, by the number of their subject.

        Raises
        ------
        InputError
            There are signed letters, but not of this bundle, or not as they were sealed.
        """
        there = any(self._folder.glob(f"*{SIGNED}"))
        sealed = any(name.endswith(SIGNED) for name in self._sealed)
        if (there or sealed) and not (there and self._is_ours):
            raise InputError(
                f"{self._folder}: has letters that were signed off, and not by this version from "
                "this bundle; move the folder elsewhere to keep them, and run the command again"
            )
        return {
            number: self._record(name)
            for number, name in self._files.items()
            if f"{name}{SIGNED}" in self._sealed
        }

    def drafts(self) -> dict[int, str]:
        """The fingerprints of drafts that are still as they were sealed, by number.

        Signing one letter off need not make all drafts again.
        """
        table = read_plain(self._folder / TABLE) or b""
        if not self._is_ours or sha256(table).hexdigest() != self._sealed.get(TABLE):
            return {}
        rows = csv.DictReader(table.decode().splitlines())
        drafts = {row["letter"]: row["draft"] for row in rows if row["status"] != "signed"}
        return {
            number: drafts[name]
            for number, name in self._files.items()
            if name in drafts and self._changed_file(name) is None
        }

    def _record(self, name: str) -> SignedLetter:
        file = self._changed_file(name)
        if file is not None:
            raise InputError(
                f"{self._folder / file}: belongs to a letter that is signed off, and was changed, "
                "added or removed since; restore it, or move the folder elsewhere"
            )
        try:
            return SIGNED_LETTER.read(files_of(self._folder, name)[f"{name}{SIGNED}"])
        except DocumentError as error:
            raise InputError(f"{self._folder / name}{SIGNED}: {error}") from None

    def _changed_file(self, name: str) -> str | None:
        """The first file of a letter that is not what was sealed."""
        files = files_of(self._folder, name)
        for file in _possible_files(name):
            now = sha256(files[file]).hexdigest() if file in files else None
            if now != self._sealed.get(file):
                return file
        return None


def files_of(folder: Path, name: str) -> Files:
    """All files of a letter, as they are."""
    contents = {file: read_plain(folder / file) for file in _possible_files(name)}
    return {file: content for file, content in contents.items() if content is not None}


def reads_the_same(before: bytes, now: str) -> bool:
    """Whether two letters say the same; their style may differ."""
    return before.decode("utf-8", "replace").partition("<body")[2] == now.partition("<body")[2]


def refuse_changed(changed: Sequence[str]) -> None:
    """Refuse to write if letters that are signed off would read differently."""
    if not changed:
        return
    named = plain(",".join(changed[:MOST_NAMED]))
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    raise InputError(
        f"these letters are signed off and would now read differently: {named}{more}; give the "
        "settings, language, templates and files that they were signed with, or make them drafts "
        "again with --reopen and --ids"
    )


def _possible_files(name: str) -> tuple[str, ...]:
    return tuple(f"{name}{ending}" for ending in (".html", ".pdf", SIGNED, ALLOWED))
