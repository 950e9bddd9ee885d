"""Which letters are signed off: those that somebody named, if nothing speaks against them.

Three things do: an option that often stopped working (`fragile`), no reason that a person has
confirmed (`no-reason`), and no reviewer (`unreviewed`). Each needs its own word to be accepted, and
only for letters that are named. What is refused stays a draft and is listed with its causes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from recourse_audit.errors import InputError, SubjectError
from recourse_audit.records.bundle import CAUSES, SIGNED_LETTER_FORMAT, Cause, Review, SignedLetter
from recourse_audit.records.bundle import SignOff as RecordedSignOff
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.letters.letter import Letter, SignOff
from recourse_audit.render.text import plain

ALL: Literal["all"] = "all"
Ids = tuple[str, ...] | Literal["all"] | None
Status = Literal["signed", "draft", "refused"]
TABLE = "signing.csv"
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
    against = tuple(_against(letter, review))
    status: Status = "draft"
    signed = None
    if signing.by is not None and signing.names(own):
        status = "signed" if signing.accept.issuperset(against) else "refused"
        if status == "signed":
            signed = _signed(letter, signing.by, against, review)
    return Entry(
        id=own,
        letter=file,
        status=status,
        against=against,
        draft=draft,
        review=review,
        signed=signed,
    )


def kept(signed: SignedLetter, *, file: str, draft: str) -> Entry:
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


def signing_table(entries: Iterable[Entry]) -> str:
    """All letters of the folder as CSV, in the order of the subjects."""
    return "".join(csv_lines([COLUMNS, *(entry.row for entry in entries)]))


def _against(letter: Letter, review: Review | None) -> Iterator[Cause]:
    if letter.is_fragile:
        yield "fragile"
    if not letter.reasons:
        yield "no-reason"
    if review is None:
        yield "unreviewed"


def _signed(
    letter: Letter, by: SignOff, accepted: tuple[Cause, ...], review: Review | None
) -> SignedLetter:
    return SignedLetter(
        format=SIGNED_LETTER_FORMAT,
        id=letter.reference,
        sign_off=RecordedSignOff(name=by.name, day=by.day.isoformat()),
        accepted=accepted,
        review=review,
        reasons=letter.reasons,
        recipient=letter.recipient,
    )
