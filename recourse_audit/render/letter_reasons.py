"""Reasons for a decision: what the audit proposes, what a person confirms, and what keeps one back.

`reasons.csv` has one row per candidate. Staff write `yes` into `confirm`, may change the code or
the text, may add rows of their own, and hand the file back; a letter states the confirmed rows
only, in their order. What the audit does not bear out needs a note. A reason must name nobody but
its reader: it is compared with the id and the given names of everybody in the report, word by word;
case, accents and punctuation make no difference, and what is spelled otherwise is not found. The
column `allow` has words that look like another person's name and are not, between semicolons.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.bundle import SignedLetter, StatedReason
from recourse_audit.records.recourse import Part
from recourse_audit.records.subject import OwnColumn, OwnTies, SubjectReport
from recourse_audit.records.texts import Cell, fold, unguard
from recourse_audit.records.texts import words_of as split_text
from recourse_audit.render.i18n import Words, words_of
from recourse_audit.render.letter_facts import OptionReader, Vocabulary, protected_by_name
from recourse_audit.render.letter_inputs import Profile, read_rows
from recourse_audit.render.redaction import people_in
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings
from recourse_audit.settings.section import near_matches

LONGEST = 200
CONFIRMED = "yes"
COLUMNS = (
    *("id", "confirm", "what", "name", "code", "reason", "answer_now", "answer_without", "share"),
    *("permitted", "flips", "fixed", "concerns", "checked_by", "note", "allow"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """A row of the file as somebody wrote it; `place` is its file and line."""

    place: str
    confirmed: bool
    reason: StatedReason
    allow: str = ""


def read_reasons(path: Path, prefix: str = "") -> dict[str, tuple[ReasonRow, ...]]:
    """The rows of each person, by id, in the order of the file."""
    reasons: dict[str, tuple[ReasonRow, ...]] = {}
    for line, own, row in read_rows(path, prefix, ("confirm", "reason")):
        given = {name: unguard(row.get(name, "")) for name in COLUMNS}
        text, what, name = given["reason"], given["what"], given["name"]
        problem = ""
        if given["confirm"].casefold() not in ("", CONFIRMED):
            problem = f"confirm must be {CONFIRMED} or empty (got {given['confirm']!r})"
        elif what not in ("", "column", "ties") or bool(what) != bool(name):
            problem = (
                "what must be column or ties, with which of them in name, or both empty for a "
                f"reason in your own words (got {what!r} and {name!r})"
            )
        elif len(text) > LONGEST:
            problem = f"a reason has at most {LONGEST} characters (got {len(text)}); split it"
        elif not (text or name or given["code"]):
            problem = "a row needs a reason, a code or a name; fill in one, or remove the row"
        if problem:
            raise InputError(f"{path}{line}, for {own}: {problem}")
        part = Part(what="ties" if what == "ties" else "column", name=name) if name else None
        about = {key: given[key] for key in ("code", "note", "checked_by")}
        read = ReasonRow(
            place=f"{path}{line}",
            confirmed=bool(given["confirm"]),
            reason=StatedReason(text=text, part=part, **about),
            allow=given["allow"],
        )
        reasons[own] = (*reasons.get(own, ()), read)
    return reasons


class Reasons:
    """Proposes reasons to staff, and checks those that they confirm.

    A text that staff left as it was proposed in one language is said in that of the letters.
    """

    def __init__(
        self,
        settings: Settings,
        profile: Profile,
        pages: Templates,
        words: Words,
        mentions: "Mentions",
    ) -> None:
        self._settings, self._profile, self._mentions = settings, profile, mentions
        self._words, self._words_in = words, cache(lambda name: words_of(settings, name, pages))
        self._language = settings.letters.language.partition("_")[0]
        self._vocabulary = Vocabulary(settings)
        self._codes = settings.reasons.codes
        worded = {kind for words in settings.words.values() for kind in words.ties}
        self._kinds = worded | {rule.kind for rule in settings.recourse.ties} - {"*", ""}
        for name, code in self._codes.items():
            if code not in profile.reasons:
                raise SettingsError(
                    f"reasons.codes.{name}: the profile {settings.letters.profile} has no reason "
                    f"{code!r}; {near_matches(code, profile.reasons)}"
                )

    def state(
        self, report: SubjectReport, before: SignedLetter | None = None
    ) -> tuple[StatedReason, ...]:
        """The reasons that a letter states: those confirmed, or what it was signed with before."""
        own, most = report.subject.id, self._profile.max_reasons
        rows = [row for row in self._mentions.rows.get(own, ()) if row.confirmed]
        if len(rows) > most:
            raise InputError(
                f"{rows[most].place}: {own} has {len(rows)} confirmed reasons, and the profile "
                f"allows {most}; keep the most important ones"
            )
        for row in rows:
            objection = "" if row.reason.note else self._object_to(report, row.reason.part)
            if objection:
                name = row.reason.part.name if row.reason.part else repr(row.reason.text)
                raise InputError(
                    f"{row.place}: {own} cannot be given the reason {name} as it is, because "
                    f"{objection}; clear confirm, or say in the column note why it is one"
                )
        stated = tuple(map(self._settle, rows))
        for person, text in self._mentions.find(report, stated):
            raise InputError(
                f"a reason given for {own} names another person, {person}: it contains {text!r}; "
                f"reword it, or, if something else is meant, put {text!r} into the column allow"
            )
        return before.reasons if before is not None and not stated else stated

    def table_rows(
        self, report: SubjectReport, stated: tuple[StatedReason, ...]
    ) -> Iterator[tuple[Cell, ...]]:
        """The rows of one person: what staff wrote, and the candidates that are not among it."""
        rows = self._mentions.rows.get(report.subject.id, ())
        codes = ("", *self._profile.reasons)  # another profile may have proposed others
        rows = tuple(row for row in rows if row.confirmed or row.reason.code in codes)
        reasons = [(self._settle(row), row.confirmed, row.allow) for row in rows]
        if not any(row.confirmed for row in rows):
            reasons = [*((reason, True, "") for reason in stated), *reasons]
        known = {reason.part for reason, _, _ in reasons}
        for part in (candidate.part for candidate in report.reasons):
            if part not in known:
                code = self._codes.get(part.name, "")
                text = self._text(part, code, self._words)
                reasons.append((StatedReason(text=text, part=part, code=code), False, ""))
        for reason, confirmed, allow in reasons:
            what, name = (reason.part.what, reason.part.name) if reason.part else ("", "")
            yield (
                *(report.subject.id, CONFIRMED if confirmed else "", what, name),
                *(reason.code, reason.text, *self._figures(report, reason.part)),
                *(reason.checked_by, reason.note, allow),
            )

    def is_unchecked(self, report: SubjectReport, reason: StatedReason) -> bool:
        """Whether a reason rests on ties or on a protected attribute, and nobody has checked it."""
        delicate = self.kinds_of(reason) or self._proxy_of(report, reason.part)
        return not reason.checked_by and bool(delicate)

    def kinds_of(self, reason: StatedReason) -> set[str]:
        """The kinds of ties that a reason rests on; of one in free words, those it speaks of."""
        if reason.part is not None:
            return {reason.part.name} if reason.part.what == "ties" else set()
        text, name = fold(reason.text), self._words.tie_name
        names = {kind: (kind, name(kind, 1), name(kind, 2)) for kind in self._kinds}
        return {kind for kind in names if any(fold(word) in text for word in names[kind])}

    def is_fixed(self, report: SubjectReport, part: Part | None) -> bool:
        """Whether no permitted change of a part moves the answer noticeably."""
        return any(candidate.part == part and candidate.fixed for candidate in report.reasons)

    def _settle(self, row: ReasonRow) -> StatedReason:
        """A row as a reason: a text that staff left as it was proposed is said anew."""
        reason, known = row.reason, self._profile.reasons
        part, code = reason.part, reason.code
        if code and code not in known:
            raise InputError(
                f"{row.place}: the code {code!r} is not in the list of the profile; "
                f"{near_matches(code, known)}"
            )
        codes = {code, *([self._codes.get(part.name, "")] if part else [])}
        proposed = not reason.text or any(
            reason.text == self._text(part, each, self._words_in(language))
            for language in (self._language, *self._profile.languages)
            for each in codes
            if each or part
        )
        return replace(reason, text=self._text(part, code, self._words)) if proposed else reason

    def _text(self, part: Part | None, code: str, words: Words) -> str:
        """The text of a reason: of its code, else the user's phrase, else the name of its part."""
        if code:
            return self._profile.reasons[code][words.language.partition("_")[0]]
        assert part is not None
        phrase = words.reason(part.name)
        if phrase is None and part.what == "ties":
            phrase = words.say("reason.ties", kinds=words.tie_name(part.name, 2))
        phrase = phrase or words.say("reason.column", name=words.name(part.name))
        return phrase[:1].upper() + phrase[1:]

    def _object_to(self, report: SubjectReport, part: Part | None) -> str:
        """Why a part cannot be a reason without a note; "" if it can."""
        if part is None:
            return "it names no column or kind of tie, so that nothing shows what it rests on"
        if part.what == "ties" and not self._may_name(report, part.name):
            return "a letter may not name this kind of tie"
        share, smallest = _share_of(report, part), self._settings.reasons.smallest
        if share is None:
            return "the audit does not know how far the answer moves without it"
        if share <= 0:
            return "it does not count against the person: without it, the answer would be no better"
        if share >= smallest or any(candidate.part == part for candidate in report.reasons):
            return ""
        return (
            f"without it the answer moves by {share:.1%} of its distance to the cut-off, and a "
            f"reason moves it by {smallest:.0%} (reasons.smallest)"
        )

    def _may_name(self, report: SubjectReport, kind: str) -> bool:
        return OptionReader(report, self._vocabulary, self._settings).may_name(kind)

    def _proxy_of(self, report: SubjectReport, part: Part | None) -> str:
        """The protected attribute that a column is, gives away or is named like."""
        if part is None or part.what == "ties":
            return ""
        known = [candidate.proxy for candidate in report.reasons if candidate.part == part]
        return [*known, protected_by_name(part.name, self._settings)][0]

    def _figures(self, report: SubjectReport, part: Part | None) -> tuple[Cell, ...]:
        """From `answer_now` to `concerns`."""
        measured = () if report.recourse is None or part is None else report.recourse.responsiveness
        moved = next((item for item in measured if item.part == part), None)
        effect, share = _effect_of(report, part), _share_of(report, part)
        answer = None if effect is None else effect.answer
        concerns: list[str] = []
        if part is not None and part.what == "ties":
            key = "ties" if self._may_name(report, part.name) else "hidden"
            concerns.append(self._words.say(f"concern.{key}"))
        if proxy := self._proxy_of(report, part):
            name = self._words.name(proxy)
            concerns.append(self._words.say("concern.protected", attribute=name))
        return (
            self._value(report.subject.probabilities, report.decision.score),
            None if answer is None else self._value(answer.probabilities, answer.score),
            None if share is None else round(share, 4),
            *((None, None) if part is None else (moved.moves, moved.flips) if moved else (0, 0)),
            *(CONFIRMED if self.is_fixed(report, part) else "", "; ".join(concerns)),
        )

    def _value(self, probabilities: Mapping[str, float], score: float | None) -> float:
        """What the rule compares."""
        summed = sum(probabilities.get(name, 0.0) for name in self._settings.decision.favourable)
        return round(summed if score is None else score, 6)


def _effect_of(report: SubjectReport, part: Part | None) -> OwnColumn | OwnTies | None:
    """What the report knows of a part."""
    return None if part is None or report.own_data is None else report.own_data.parts.get(part)


def _share_of(report: SubjectReport, part: Part | None) -> float | None:
    """How far the answer moves without a part, as a share of its distance to the cut-off."""
    distance = (report.own_data.distance if report.own_data else None) or 0.0
    moves = getattr(_effect_of(report, part), "moves", None)
    return moves / distance if moves is not None and distance > 0 else None


# ---------------------------------------------------------------- other people in reasons


class Mentions:
    """Looks for other people in reasons, by id and by the names that a file gives in `columns`.

    `rows` are what staff wrote, by id, with the words that they allow.
    `everybody` gives all ids of the graph, for people whose report does not show all of their
    neighbours; ids that are ordinary words or numbers are then not looked up: among a million
    people, some are. In a graph of several kinds ids begin with a `prefix`, which reasons may omit.
    """

    def __init__(
        self,
        rows: Mapping[str, tuple[ReasonRow, ...]],
        names: Path | None,
        columns: Collection[str],
        everybody: Callable[[], Iterable[str]],
        prefix: str = "",
    ) -> None:
        self.rows, self._prefix = rows, prefix
        self._names: dict[str, list[str]] = {}
        self._everybody = everybody
        self._ids: dict[tuple[str, ...], str] | None = None
        for _, own, row in () if names is None else read_rows(names, prefix, columns):
            given = [row[column] for column in columns or row]
            self._names.setdefault(own, []).extend(filter(None, given))

    def find(
        self, report: SubjectReport, reasons: Collection[StatedReason]
    ) -> tuple[tuple[str, str], ...]:
        """Whom else reasons name, and by which words that nobody has allowed, by id."""
        if not reasons:
            return ()
        own, near = report.subject.id, report.ego_network
        mine = {split_text(name) for name in (*self._ids_of(own), *self._names.get(own, ()))}
        runs = {run for reason in reasons for run in _runs(split_text(reason.text))}
        mentions = {
            (person, name)
            for person in others_in(report)
            for name in (*self._ids_of(person), *self._names.get(person, ()))
            if (words := split_text(name)) in runs and words not in mine
        }
        if near is not None and near.shown < near.total:
            known = {person for person, _ in mentions} | {own}
            ids = self._all_ids()
            mentions |= {(ids[run], ids[run]) for run in runs if ids.get(run, own) not in known}
        allowed = {split_text(w) for row in self.rows.get(own, ()) for w in row.allow.split(";")}
        return tuple(sorted(item for item in mentions if split_text(item[1]) not in allowed))

    def _ids_of(self, node: str) -> tuple[str, ...]:
        """The id of a node, and without its kind if it has one."""
        return (node, node.partition(":")[2]) if self._prefix and ":" in node else (node,)

    def _all_ids(self) -> dict[tuple[str, ...], str]:
        if self._ids is None:
            self._ids = {}
            for name in self._everybody():
                for words in map(split_text, self._ids_of(name)):
                    if len(words) > 1 or (words and not (words[0].isdigit() or words[0].isalpha())):
                        self._ids.setdefault(words, name)
        return self._ids


def others_in(report: SubjectReport) -> tuple[str, ...]:
    """The ids of everybody but the subject whom a report names anywhere."""
    return tuple(sorted({*people_in(report)} - {report.subject.id}))


def _runs(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every run of words that follow one another."""
    for first in range(len(words)):
        yield from (words[first : last + 1] for last in range(first, len(words)))
