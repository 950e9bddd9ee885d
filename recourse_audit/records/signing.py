"""The record of one letter that somebody signed off, kept beside it."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.manifest import SignOff

FORMAT = 1
# What speaks against signing a letter off, each to be accepted by its own word.
Cause = Literal["fragile", "no-reason", "unreviewed"]
CAUSES: tuple[Cause, ...] = ("fragile", "no-reason", "unreviewed")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Review(Record):
    """Who read a draft, and when (as 2026-03-31); `draft` is the fingerprint of what they read.

    The fingerprint is "" if the reviewer's file gives none; then any draft counts as reviewed.
    """

    reviewer: str
    day: str
    draft: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SignedLetter(Record):
    """Who signed a letter off, what they accepted, and what staff had given for it.

    `accepted` is what spoke against the letter and was accepted. With `reasons` and `recipient` the
    letter can be made again, to see whether it would still read the same.
    """

    format: int
    id: str
    sign_off: SignOff
    accepted: tuple[Cause, ...]
    review: Review | None
    reasons: tuple[str, ...]
    recipient: tuple[str, ...]
