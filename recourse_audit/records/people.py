"""Everybody in the graph, subject or not."""

from dataclasses import dataclass

from recourse_audit.records.base import Record

# (person's number, attribute, group); "" is unknown.
Member = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Person(Record):
    """Anybody in the graph: what the model decided on them, and their community.

    Where the model's answer is not a number, `decision` is "" and `favourable` is None;
    `community` is None where communities are not known.
    """

    number: int
    id: str
    decision: str
    favourable: bool | None
    community: int | None
