"""Whether a bundle is still what was sealed."""

from dataclasses import dataclass

from recourse_audit.records.base import Record

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification(Record):
    """What is wrong with a bundle, one line per problem.

    `subjects` and `signed_by` are what the manifest says, if it could be read.
    """

    format: int
    problems: tuple[str, ...]
    subjects: int | None = None
    signed_by: str | None = None
