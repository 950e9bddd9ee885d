"""Whether a reason that staff wrote names somebody other than its reader.

Reasons are compared with the id and the given names of everybody in the report, word by word: case,
accents and punctuation make no difference, and whatever is spelled otherwise is not found. A
person may allow a false alarm, word by word.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from recourse_audit.records.recourse import SetAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import words_of
from recourse_audit.render.letters.letter import Reason

MOST_WORDS = 6  # of an id that is looked up among everybody
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPerson:
    """Somebody in the report on a subject: their id, and their names as far as they are known."""

    id: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """What a reason says that is the id or the name of somebody else."""

    person: str
    text: str


def find_mentions(
    reasons: Iterable[Reason], others: Iterable[OtherPerson], own: OtherPerson
) -> tuple[Mention, ...]:
    """Everybody else whom reasons name, in the order of their ids; empty if they name nobody."""
    texts = [words_of(reason) for reason in reasons]
    shared = {words_of(name) for name in (own.id, *own.names)} | {()}
    mentions = {
        Mention(person=person.id, text=name)
        for person in others
        for name in (person.id, *person.names)
        if (words := words_of(name)) not in shared and any(_contains(text, words) for text in texts)
    }
    return tuple(sorted(mentions, key=lambda mention: (mention.person, mention.text)))


def others_in(report: SubjectReport) -> tuple[str, ...]:
    """The ids of everybody but the subject whom a report names anywhere."""
    near, recourse = report.ego_network, report.recourse
    ids: set[str] = set() if near is None else {node.id for node in near.nodes}
    for counterfactual in report.counterfactuals:
        explanation = counterfactual.explanation
        ties = (*explanation.edges, *counterfactual.removed, *counterfactual.kept)
        ids.update(explanation.nodes, *ties)
    if recourse is not None:
        ids.update(*(droppable.tie for droppable in recourse.droppable))
        for option in recourse.options:
            effects = option.side_effects
            ids.update(effects.to_favourable, effects.to_unfavourable, effects.other)
            changed = (act for act in option.actions if not isinstance(act, SetAction))
            ids.update(*(tie for action in changed for tie in action.ties))
    return tuple(sorted(ids - {report.subject.id}))


class Everybody:
    """All ids of a graph, for people whose report does not show all of their neighbours.

    Ids that are ordinary words or numbers are not looked up: among a million people, some are.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids: dict[Words, str] = {}
        for name in ids:
            words = words_of(name)
            is_plain = len(words) == 1 and (words[0].isdigit() or words[0].isalpha())
            if words and not is_plain:
                self._ids.setdefault(words, name)

    def find(self, reasons: Iterable[Reason], own: str) -> tuple[Mention, ...]:
        """Everybody but the reader whose id stands in a reason."""
        runs = {run for reason in reasons for run in _runs(words_of(reason))}
        named = {self._ids[run] for run in runs if run in self._ids}
        return tuple(Mention(person=name, text=name) for name in sorted(named - {own}))


def is_allowed(mention: Mention, allowed: Collection[str]) -> bool:
    """Whether a person has allowed the very word that was found."""
    return words_of(mention.text) in {words_of(word) for word in allowed}


def _contains(text: Words, words: Words) -> bool:
    """Whether the words follow one another in the text."""
    places = range(len(text) - len(words) + 1)
    return any(text[place : place + len(words)] == words for place in places)


def _runs(words: Words) -> Iterator[Words]:
    """Every run of up to `MOST_WORDS` words."""
    for first in range(len(words)):
        for last in range(first + 1, min(first + MOST_WORDS, len(words)) + 1):
            yield words[first:last]
