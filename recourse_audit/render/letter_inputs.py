"""Files that staff write for letters: confirmed reasons, addresses, names, ids and reviews.

A reason must name nobody but its reader: it is compared with the id and the given names of
everybody in the report, word by word; case, accents and punctuation make no difference, and
whatever is spelled otherwise is not found.

Reasons come as CSV (`id`, then columns whose names start with `reason`; a person may have several
rows) or as TOML (`[reasons]`, then `P0012 = ["…", "…"]`). What looks like another person's name
and is not can be allowed: in the CSV column `allow`, with semicolons between words, or in the TOML
table `[allow]`. Addresses come as CSV: `id`, then one column per line of the address. Names come
as CSV: `id`, and columns of names. The letters to sign off come as ids, and reviews as CSV.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NewType
from unicodedata import category

from recourse_audit.errors import InputError
from recourse_audit.graph.columns import near_matches
from recourse_audit.records.bundle import Review, SignedLetter
from recourse_audit.records.recourse import SetAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import unguard, words_of
from recourse_audit.settings.section import read_toml

LONGEST = 200
MOST_LINES = 5
ALLOW = "allow"
Reason = NewType("Reason", str)
AddressLine = NewType("AddressLine", str)
Signer = NewType("Signer", str)
_BREAKS = re.compile(r"[ \t\r\n]+")


def read_reasons(path: Path, *, most: int) -> dict[str, tuple[Reason, ...]]:
    """The confirmed reasons of each person, by id; more than `most` are refused."""
    rows = _toml(path, "reasons") if path.suffix == ".toml" else _csv(path, "reason")
    reasons: dict[str, list[Reason]] = {}
    for place, own, texts in rows:
        own_reasons = reasons.setdefault(own, [])
        for text in texts:
            if len(text) > LONGEST:
                raise InputError(
                    f"{path}{place}: a reason for {own} has {len(text)} characters; use at most "
                    f"{LONGEST}, and give one reason per field"
                )
            own_reasons.append(Reason(text))
        if len(own_reasons) > most:
            raise InputError(
                f"{path}{place}: {own} has {len(own_reasons)} reasons, and the profile allows "
                f"{most}; keep the most important ones"
            )
    return {own: tuple(texts) for own, texts in reasons.items() if texts}


def read_addresses(path: Path) -> dict[str, tuple[AddressLine, ...]]:
    """The lines of each person's address, by id."""
    addresses: dict[str, tuple[AddressLine, ...]] = {}
    for place, own, lines in _csv(path, ""):
        if own in addresses:
            raise InputError(f"{path}{place}: has a second address for {own}; keep one of them")
        if len(lines) > MOST_LINES:
            raise InputError(
                f"{path}{place}: the address of {own} has {len(lines)} lines, and the envelope "
                f"window shows {MOST_LINES}; shorten it"
            )
        addresses[own] = tuple(AddressLine(line) for line in lines)
    return addresses


def read_allowed(path: Path) -> dict[str, frozenset[str]]:
    """What each person's reasons may say although it looks like another person's name, by id."""
    rows = _toml(path, ALLOW) if path.suffix == ".toml" else _csv(path, ALLOW, optional=True)
    allowed: dict[str, set[str]] = {}
    for _, own, texts in rows:
        words = {word.strip() for text in texts for word in text.split(";")} - {""}
        allowed.setdefault(own, set()).update(words)
    return {own: frozenset(words) for own, words in allowed.items() if words}


def read_names(path: Path, columns: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Everybody's names, by id, from these columns, or from all columns if none are given."""
    names: dict[str, tuple[str, ...]] = {}
    for _, own, texts in _csv(path, "", only=columns):
        names[own] = (*names.get(own, ()), *texts)
    return names


def read_ids(path: Path) -> tuple[str, ...]:
    """The ids in a file: one per line, or the column `id` of a CSV file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    if lines and "id" in next(csv.reader(lines[:1]), []):
        return tuple(dict.fromkeys(own for _, own, _ in _csv(path, "", optional=True)))
    ids = (unguard(line.strip()) for line in lines)
    return tuple(dict.fromkeys(own for own in ids if own))


def read_reviews(path: Path) -> dict[str, Review]:
    """Who has read whose draft: columns `id`, `reviewer`, `reviewed` (a day) and perhaps `draft`.

    The table of the letters' folder has these columns, so that a reviewer can fill it in.
    """

    def choose(columns: list[str]) -> list[str]:
        if not {"id", "reviewer", "reviewed"} <= set(columns):
            raise InputError(
                f"{path}: needs columns named id, reviewer and reviewed (got "
                f"{', '.join(columns) or 'no columns'})"
            )
        return ["reviewer", "reviewed", *(["draft"] if "draft" in columns else [])]

    reviews: dict[str, Review] = {}
    for place, own, texts in _rows(path, choose):
        reviewer, day = texts["reviewer"], texts["reviewed"]
        if not reviewer:
            continue
        try:
            date.fromisoformat(day)
        except ValueError:
            raise InputError(
                f"{path}{place}: needs the day of the review of {own}, such as 2026-03-31 "
                f"(got {day!r})"
            ) from None
        if own in reviews:
            raise InputError(f"{path}{place}: has a second review of {own}; keep one of them")
        draft = texts.get("draft", "")
        reviews[own] = Review(reviewer=unguard(reviewer), day=day, draft=draft)
    return reviews


def staff_texts(
    signed: SignedLetter | None,
) -> tuple[tuple[Reason, ...], tuple[AddressLine, ...]]:
    """The reasons and the address that a letter was signed off with; none if it was not."""
    if signed is None:
        return (), ()
    return tuple(map(Reason, signed.reasons)), tuple(map(AddressLine, signed.recipient))


def sign_off_of(signed: SignedLetter) -> tuple[Signer, date]:
    """Who had signed a letter off, and the date on it."""
    try:
        return Signer(signed.sign_off.name), date.fromisoformat(signed.sign_off.day)
    except ValueError:
        raise InputError(f"the record of the signed letter to {signed.id} was changed") from None


# ---------------------------------------------------------------- reasons that name somebody else


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mention:
    """What a reason says that is the id or the name of somebody else."""

    person: str
    text: str


class Mentions:
    """Looks for other people in reasons.

    Parameters
    ----------
    reasons
        The file of reasons, in which a person may allow a false alarm, word by word.
    names, columns
        A file of everybody's names, and the columns of it that hold names.
    everybody
        Gives all ids of the graph, for people whose report does not show all of their neighbours.
        Ids that are ordinary words or numbers are not looked up: among a million people, some are.
    """

    def __init__(
        self,
        reasons: Path | None,
        names: Path | None,
        columns: Collection[str],
        everybody: Callable[[], Iterable[str]],
    ) -> None:
        self._allowed = {} if reasons is None else read_allowed(reasons)
        self._names = {} if names is None else read_names(names, columns)
        self._everybody = everybody
        self._ids: dict[tuple[str, ...], str] | None = None

    def find(self, report: SubjectReport, reasons: Collection[Reason]) -> tuple[Mention, ...]:
        """Everybody else whom reasons name, in the order of their ids; empty if nobody is named."""
        if not reasons:
            return ()
        own, near = report.subject.id, report.ego_network
        mine = {words_of(name) for name in (own, *self._names.get(own, ()))}
        runs = {run for reason in reasons for run in _runs(words_of(reason))}
        mentions = {
            Mention(person=person, text=name)
            for person in others_in(report)
            for name in (person, *self._names.get(person, ()))
            if (words := words_of(name)) in runs and words not in mine
        }
        if near is not None and near.shown < near.total:
            known = {mention.person for mention in mentions} | {own}
            ids = self._all_ids()
            hidden = {ids[run] for run in runs if run in ids}
            mentions |= {Mention(person=name, text=name) for name in hidden - known}
        return tuple(sorted(mentions))

    def is_allowed(self, own: str, text: str) -> bool:
        """Whether a person has allowed this very word in the reasons for a subject."""
        return words_of(text) in {words_of(word) for word in self._allowed.get(own, ())}

    def _all_ids(self) -> dict[tuple[str, ...], str]:
        if self._ids is None:
            self._ids = {}
            for name in self._everybody():
                words = words_of(name)
                if len(words) > 1 or (words and not (words[0].isdigit() or words[0].isalpha())):
                    self._ids.setdefault(words, name)
        return self._ids


def others_in(report: SubjectReport) -> tuple[str, ...]:
    """The ids of everybody but the subject whom a report names anywhere."""
    near, recourse = report.ego_network, report.recourse
    ids: set[str] = set() if near is None else {node.id for node in near.nodes}
    for counterfactual in report.counterfactuals:
        explanation = counterfactual.explanation
        ids.update(explanation.nodes, *explanation.edges)
        ids.update(*counterfactual.removed, *counterfactual.kept)
    if recourse is not None:
        ids.update(*(droppable.tie for droppable in recourse.droppable))
        for option in recourse.options:
            effects = option.side_effects
            ids.update(effects.to_favourable, effects.to_unfavourable, effects.other)
            for action in option.actions:
                ids.update(*(() if isinstance(action, SetAction) else action.ties))
    return tuple(sorted(ids - {report.subject.id}))


def _runs(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every run of words that follow one another."""
    for first in range(len(words)):
        yield from (words[first : last + 1] for last in range(first, len(words)))


# ---------------------------------------------------------------- tables


def _csv(
    path: Path, prefix: str, *, optional: bool = False, only: Collection[str] = ()
) -> Iterator[tuple[str, str, list[str]]]:
    """For each row: its place, the id, and the texts in columns whose names have the prefix.

    With `only`, the columns with these names. There need be none if they are `optional`.
    """

    def choose(columns: list[str]) -> list[str]:
        chosen = [name for name in columns if name != "id" and name.startswith(prefix)]
        missing = sorted(set(only) - set(chosen))
        if missing:
            raise InputError(
                f"{path}: there is no column {missing[0]!r} (from letters.name_columns); "
                f"{near_matches(missing[0], columns)}"
            )
        chosen = [name for name in chosen if name in only] if only else chosen
        if "id" not in columns or not (chosen or optional):
            raise InputError(
                f"{path}: needs a column named id and at least one more, such as "
                f"{prefix or 'line'}1 (got {', '.join(columns) or 'no columns'})"
            )
        return chosen

    for place, own, texts in _rows(path, choose):
        yield place, own, [text for text in texts.values() if text]


def _rows(
    path: Path, choose: Callable[[list[str]], list[str]]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """For each row: its place, the id, and the text in each of the columns that are chosen."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = list(table.fieldnames or ())
            chosen = choose(columns)
            twice = [name for name in columns if columns.count(name) > 1]
            if twice:
                raise InputError(f"{path}: has two columns named {twice[0]!r}; number them")
            for row in table:
                if not row["id"]:
                    raise InputError(f"{path}, line {table.line_num}: has no id; add one")
                if None in row:
                    # Text after a stray comma would be missing from the letter unnoticed.
                    raise InputError(
                        f"{path}, line {table.line_num}: has more fields than the header; "
                        "put text that contains a comma in quotation marks"
                    )
                texts = {name: _text(path, row[name] or "") for name in chosen}
                yield f", line {table.line_num}", unguard(row["id"]), texts
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None


def _toml(path: Path, key: str) -> Iterator[tuple[str, str, list[str]]]:
    try:
        table = read_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(table.get("reasons"), dict) or not set(table) <= {"reasons", ALLOW}:
        raise InputError(
            f'{path}: needs one table [reasons] with lines such as P0012 = ["…"], and perhaps a '
            f"table [{ALLOW}]"
        )
    rows = table.get(key, {})
    if not isinstance(rows, dict):
        raise InputError(f'{path}: {key} must be a table with lines such as P0012 = ["…"]')
    for own, texts in rows.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: {key}.{own} must be a list of texts")
        yield "", own, [text for text in (_text(path, one) for one in texts) if text]


def _text(path: Path, text: str) -> str:
    """The text on one line; control characters, which cannot be printed, are refused."""
    line = _BREAKS.sub(" ", text).strip()
    if any(category(letter) == "Cc" for letter in line):
        raise InputError(f"{path}: has a control character in {line!r}; remove it")
    return line


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{path}: cannot be read ({reason}); give a CSV or TOML file in UTF-8")
