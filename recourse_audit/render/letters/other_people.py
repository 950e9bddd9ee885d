"""Whether a reason that staff wrote names somebody other than its reader.

Reasons are compared with the id and the names of everybody in the report, as a reader would compare
them: whatever the case, accents, punctuation and spaces, and also inside words.

- An id of letters and digits (`P1`, `K/17`) is found wherever its characters follow one another:
  "p1", "P0-P1", "K 17", "theP1file"; but not in "P12", which is another id.
- Letters that stand apart are read as a word ("A n n a"), and 12,345 as 12345.
- A name of letters (`Anna Smith`) is found in any order and by each of its parts of three letters
  or more, unless the reader shares that part; a single name of six letters or more inside a word.
- An id of up to four digits, or of one letter, is found only where it is announced as a person:
  "customer 17", "no. 17", "#17". Other numbers in a reason are usually just numbers.

False alarms happen, so a person may allow what was found, word by word.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from recourse_audit.records.names import folded, spelled_out, split_words_of, words_of
from recourse_audit.records.recourse import TieAction
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.letters.letter import Reason

SHORTEST_PART = 3
SHORTEST_INSIDE = 6
SHORTEST_NUMBER = 5
MOST_WORDS = 6  # of an id that is looked up among everybody
# Scripts that do not put spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\ud7ff]")
# A number with marks between its thousands, and a word of which all letters stand apart.
_THOUSANDS = re.compile(r"(?<=[0-9])[ .,'\u2019\u00a0\u202f](?=[0-9]{3}(?![0-9]))")
_SPACED = re.compile(r"\b[^\W\d_](?: [^\W\d_]){2,}\b")
_RUN = re.compile(r"[0-9]+|[^\W\d_]+|[^\W_]")
# Parts of names that name nobody.
PARTICLES = """
    and aus bin das del den der des die dos frau gmbh herr inc las les los ltd miss mme mrs per por
    prof san the und van von zum zur
"""
# Words after which a number or a letter stands for a person or a record.
ANNOUNCING = """
    account applicant borrower client colleague contract customer guarantor id member neighbor
    neighbour no node nr num number partner person record reference subject user
    antragsteller arbeitgeber burge buerge kennung konto kunde kundin mitglied nachbar nummer
    collegue compte dossier garant membre numero personne voisin
    avalista cliente cuenta expediente miembro persona solicitante vecino
"""
_PARTICLES, _ANNOUNCING = frozenset(PARTICLES.split()), frozenset(ANNOUNCING.split())


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
    readings = tuple({reading for reason in reasons for reading in _readings(reason)})
    if not readings:
        return ()
    shared = {word for name in (own.id, *own.names) for word in _all_words(name)}
    found = {
        Mention(person=person.id, text=text)
        for person in others
        for name in (person.id, *person.names)
        for text in _found(name, readings, shared)
    }
    return tuple(sorted(found, key=lambda one: (one.person, one.text)))


def others_in(report: SubjectReport) -> tuple[str, ...]:
    """The ids of everybody but the subject whom a report names anywhere."""
    near, recourse = report.ego_network, report.recourse
    found: set[str] = set() if near is None else {node.id for node in near.nodes}
    for one in report.counterfactuals:
        ties = (*one.explanation.edges, *one.removed, *one.kept)
        found.update(one.explanation.nodes, *ties)
    if recourse is not None:
        found.update(*(one.tie for one in recourse.droppable))
        for option in recourse.options:
            effects = option.side_effects
            found.update(effects.to_favourable, effects.to_unfavourable, effects.other)
            found.update(*(one.tie for one in option.actions if isinstance(one, TieAction)))
    return tuple(sorted(found - {report.subject.id}))


class Everybody:
    """All ids of a graph, for people whose report does not show all of their neighbours.

    Only ids of letters and digits, or of several words, are looked up, and only as whole words:
    among a million people, some have ids that are ordinary words or numbers.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids: dict[str, str] = {}
        for name in ids:
            words = words_of(name)
            compact = "".join(words)
            if compact.isdigit() or (len(words) == 1 and compact.isalpha()):
                continue
            self._ids.setdefault(compact, name)

    def find(self, reasons: Iterable[Reason], own: str) -> tuple[Mention, ...]:
        """Everybody but the reader whose id stands in a reason."""
        found = {
            self._ids[part]
            for reason in reasons
            for reading in _readings(reason)
            for part in _parts(reading.words)
            if part in self._ids
        }
        return tuple(Mention(person=name, text=name) for name in sorted(found - {own}))


def _parts(words: tuple[str, ...]) -> Iterator[str]:
    """Every run of up to `MOST_WORDS` words, as one word."""
    for first in range(len(words)):
        for last in range(first + 1, min(first + MOST_WORDS, len(words)) + 1):
            yield "".join(words[first:last])


def is_allowed(mention: Mention, allowed: Collection[str]) -> bool:
    """Whether a person has allowed the very word that was found."""
    return words_of(mention.text) in {words_of(word) for word in allowed}


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reason as words, as runs of letters or digits, and as one text with spaces."""

    words: tuple[str, ...]
    runs: tuple[str, ...]
    text: str
    marked: frozenset[str]  # numbers after a #


def _readings(reason: str) -> Iterator[_Reading]:
    for text in {reason, spelled_out(reason), _THOUSANDS.sub("", reason)}:
        marked = frozenset(re.findall(r"#\s*(\w+)", folded(text)))
        apart = " ".join(words_of(text))
        closed = tuple(_SPACED.sub(lambda found: found[0].replace(" ", ""), apart).split())
        for words in {words_of(text), split_words_of(text), closed}:
            joined = " ".join(words)
            yield _Reading(words, tuple(_RUN.findall(joined)), joined, marked)


def _all_words(name: str) -> set[str]:
    return {*words_of(name), *words_of(spelled_out(name)), *split_words_of(name)}


def _found(name: str, readings: Iterable[_Reading], shared: Collection[str]) -> Iterator[str]:
    """What of a name the readings contain: the whole name, or a part of it."""
    for words in {words_of(name), words_of(spelled_out(name))}:
        if any(_has_whole(words, reading) for reading in readings):
            yield name
            return
    parts = {part for part in _all_words(name) if part.isalpha() and part not in shared}
    for part in sorted(parts - _PARTICLES):
        if len(part) >= SHORTEST_PART and any(_has_word(part, reading) for reading in readings):
            yield part


def _has_whole(words: tuple[str, ...], reading: _Reading) -> bool:
    compact = "".join(words)
    runs = tuple(_RUN.findall(compact if len(words) == 1 else " ".join(words)))
    if not compact:
        return False
    if compact.isdigit():
        return _has_number(runs, reading)
    if any(letter.isdigit() for letter in compact):
        return _has_mixed(runs, reading)
    if _UNSPACED.search(compact):
        return compact in "".join(reading.words)
    if len(words) > 1:
        orders = (words, words[::-1])
        inside = len(compact) >= SHORTEST_INSIDE and compact in "".join(reading.words)
        return (
            inside
            or compact in reading.words
            or any(_follow(order, reading.words) for order in orders)
        )
    if len(compact) == 1:
        return compact in reading.marked or _is_announced(compact, reading.words)
    return _has_word(compact, reading)


def _has_word(word: str, reading: _Reading) -> bool:
    """Whether a word of letters is there, perhaps in the genitive or plural."""
    forms = {word, f"{word}s", f"{word}es"}
    return any(
        one in forms or (len(word) >= SHORTEST_INSIDE and word in one) for one in reading.words
    )


def _has_number(runs: tuple[str, ...], reading: _Reading) -> bool:
    if sum(map(len, runs)) >= SHORTEST_NUMBER or len(runs) > 1:
        return _follow(runs, reading.runs)
    return runs[0] in reading.marked or _is_announced(runs[0], reading.runs)


def _has_mixed(runs: tuple[str, ...], reading: _Reading) -> bool:
    """Letters and digits: together anywhere, or apart as whole runs."""
    compact = "".join(runs)
    start = "(?<![0-9])" if compact[0].isdigit() else ""
    end = "(?![0-9])" if compact[-1].isdigit() else ""
    together = re.search(f"{start}{re.escape(compact)}{end}", reading.text)
    return together is not None or _follow(runs, reading.runs)


def _follow(wanted: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Whether words or runs follow one another."""
    width = len(wanted)
    return any(given[place : place + width] == wanted for place in range(len(given) - width + 1))


def _is_announced(wanted: str, given: tuple[str, ...]) -> bool:
    """Whether a short id stands after a word that announces a person or a record."""
    pairs = pairwise(given)
    return any(
        one == wanted and (before in _ANNOUNCING or before.removesuffix("s") in _ANNOUNCING)
        for before, one in pairs
    )
