"""Ties in words: by their ends, or, in the subject's own copy, by kind and count only."""

from collections import Counter
from collections.abc import Mapping, Sequence

from recourse_audit.records.report import EgoTie, SubjectReport
from recourse_audit.records.search import Tie
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.text import plain

Between = Mapping[frozenset[str], Sequence[EgoTie]]


def tie_name(tie: Tie) -> str:
    """A tie by its ends."""
    one, other = tie
    return f"{one}\N{EN DASH}{other}"


def ties_between(report: SubjectReport) -> Between:
    """The ties between two people by kind, as far as the report has them."""
    found: dict[frozenset[str], list[EgoTie]] = {}
    for tie in report.ego_network.ties if report.ego_network else ():
        found.setdefault(frozenset(tie.ends), []).append(tie)
    return found


def shown_ties(
    ties: Sequence[Tie], shown: Sequence[Tie], between: Between, level: Level, words: PageWords
) -> tuple[str, ...]:
    """Ties as their reader may see them.

    `ties` still have all names: kinds and numbers of ties between two people can be looked up by
    them alone, because the subject's copy does not tell others apart. None of the names gets out.
    """
    if level != "subject":
        return tuple(map(tie_name, shown))
    counts = Counter[str]()
    for ends in ties:
        for tie in between.get(frozenset(ends), (EgoTie(ends=ends, kind=""),)):
            counts[plain(tie.kind)] += tie.count
    return tuple(
        words.say_count("subject.ties_of_kind", count, kind=kind)
        if kind
        else words.say_count("subject.ties", count)
        for kind, count in counts.items()
    )
