"""Letters: the facts that may be said to a person, and the template that says them.

A `Letter` is the privacy boundary. Of a report only the person's own reference and categories pass
it; every other text comes from the settings or from staff, and each has a type of its own. Ids,
labels, decisions and probabilities of other people have no place in it: it holds kinds and counts
of ties, and the person's own attributes. An option that cannot be described in these terms is only
counted, and so is one with a kind of tie that would tell who is meant: a kind is named if
`letters.known_kinds` lists it, or if the person has ties of it with at least `letters.k` people and
either all of them end together or some stay. Every sentence is in the template, the catalogue or
the legal profile.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NewType

from recourse_audit.bundle.manifest import digest_of
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.bundle import Cause, SignedLetter, SignOff
from recourse_audit.records.recourse import Move, Option, SetAction, TogetherAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import fold, same_name
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import relation_by_name
from recourse_audit.render.i18n import PLACEHOLDER, Words, words_of
from recourse_audit.render.letter_inputs import (
    AddressLine,
    Block,
    Mentions,
    Reason,
    Signer,
    check_sign_off,
    load_profile,
    read_addresses,
    read_reasons,
    read_sign_off,
    staff_texts,
)
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import LetterSettings, Settings

TEMPLATE = "letters/letter.html"
MOST_OPTIONS = 3
FINGERPRINT = 16
LONGEST_LEAD = 80
Reference = NewType("Reference", str)
Kind = NewType("Kind", str)
Attribute = NewType("Attribute", str)
Unit = NewType("Unit", str)
OwnCategory = NewType("OwnCategory", str)
DecisionClass = NewType("DecisionClass", str)

Outcome = Literal["options", "staff", "none_exists", "none_found", "not_worked_out"]
Strength = Literal["steady", "unsteady", "fragile", "unmeasured"]
_OUTCOMES: dict[str, Outcome] = {
    "verified": "options",
    "certified_infeasible": "none_exists",
    "not_found_within_budget": "none_found",
}
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_FIRST_SENTENCE = re.compile(r"(.+?[.!]) (.+)", re.DOTALL)

# ---------------------------------------------------------------- the facts that may be said


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """Ties of one kind to end or to form; `count` is None where all of them end together.

    `only` if the person has no others of this kind, so that they know which are meant.
    """

    do: Literal["drop", "add"]
    kind: Kind
    count: int | None
    only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """One of the person's own attributes, before and after: a number in its unit, or a category.

    `yes_no` if it can only be 0 or 1, which a letter writes as words; `implied` are attributes that
    are assumed to change with it.
    """

    attribute: Attribute
    before: float | OwnCategory
    after: float | OwnCategory
    unit: Unit
    yes_no: bool
    implied: "tuple[AttributeChange, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOption:
    """Changes to be made together, and how often they worked when other data changed.

    `alike` counts the options that are told as this one, because they differ only in who the other
    people are; `partners` are the people with whom a new tie worked. `unconfirmed` says that the
    effect of the ties that it ends was not found to stay with other data.
    """

    ties: tuple[TieChange, ...]
    attributes: tuple[AttributeChange, ...]
    strength: Strength
    alike: int
    partners: int
    unconfirmed: bool

    @property
    def new_ties(self) -> int:
        return sum(tie.count or 1 for tie in self.ties if tie.do == "add")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """Everything that one letter says, as keys, numbers, dates and texts with a type of their own.

    `details` are what staff's addresses say besides the lines: the name in the greeting, then the
    details of the profile. `withheld` counts the options that only staff may talk about, `unlisted`
    those for which there is no room; with those that are told they are the `option_count` of
    the report. `tries_ties` and `tries_attributes` are what the search could change, up to
    `max_changes` at a time. Without a `signer`, it is a draft and has no date.
    """

    reference: Reference
    recipient: tuple[AddressLine, ...]
    details: tuple[AddressLine | None, ...]
    decision: DecisionClass
    reasons: tuple[Reason, ...]
    outcome: Outcome
    options: tuple[LetterOption, ...]
    withheld: int
    unlisted: int
    max_changes: int
    tries_ties: bool
    tries_attributes: tuple[Attribute, ...]
    data_as_of: date | None
    valid_days: int
    signer: Signer | None
    day: date | None

    @property
    def valid_until(self) -> date | None:
        return None if self.day is None else self.day + timedelta(self.valid_days)

    @property
    def option_count(self) -> int:
        """How many options were found, as the report counts them."""
        return sum(option.alike for option in self.options) + self.withheld + self.unlisted

    @property
    def is_fragile(self) -> bool:
        """Whether an option that the letter tells is fragile."""
        return any(option.strength == "fragile" for option in self.options)

    @property
    def ties_to_end(self) -> tuple[TieChange, ...]:
        """The ties that options end."""
        return tuple(tie for option in self.options for tie in option.ties if tie.do == "drop")

    @property
    def unnamed_ties(self) -> tuple[TieChange, ...]:
        """Those of them of which the person has others, and cannot know which are meant."""
        return tuple(tie for tie in self.ties_to_end if tie.count is not None and not tie.only)


class Vocabulary:
    """The names that a letter may use: only those that the settings themselves mention.

    A kind of tie is known if a rule, a word or `known_kinds` names it and it may be suggested at
    all, which family ties and the like may not. An attribute is known if a rule moves it and it is
    neither protected nor named like a protected one.
    """

    def __init__(self, settings: Settings) -> None:
        recourse = settings.recourse
        worded = {kind for words in settings.words.values() for kind in words.ties}
        kinds = {rule.kind for rule in recourse.ties} | {*settings.letters.known_kinds} | worded
        never = {"*", "", *recourse.never}
        self._kinds = {kind for kind in kinds - never if not is_denied(kind)}
        self._rules = {rule.name: rule for rule in recourse.attributes}
        implied = {along.name for rule in recourse.attributes for along in rule.implies}
        self._attributes = {
            name
            for name in {*self._rules, *implied}
            if not any(
                relation_by_name(name, protected) is not None
                and (name not in recourse.not_protected or same_name(name, protected))
                for protected in settings.groups.attributes
            )
        }
        self._refusals = set(settings.decision.classes) - set(settings.decision.favourable)
        self.only_refusal = len(self._refusals) == 1

    def kind(self, name: str) -> Kind | None:
        return Kind(name) if name in self._kinds else None

    def attribute(self, name: str) -> Attribute | None:
        return Attribute(name) if name in self._attributes else None

    def refusal(self, name: str) -> DecisionClass | None:
        """An unfavourable class."""
        return DecisionClass(name) if name in self._refusals else None

    def change(self, move: SetAction | Move, levels: int | None = None) -> AttributeChange | None:
        """A change of an attribute; None if a letter may not name all that changes."""
        attribute, rule = self.attribute(move.attribute), self._rules.get(move.attribute)
        along = [self.change(other) for other in getattr(move, "implied", ())]
        implied = tuple(change for change in along if change is not None)
        if attribute is None or len(implied) < len(along):
            return None
        return AttributeChange(
            attribute=attribute,
            before=_own(move.before),
            after=_own(move.after),
            unit=Unit("" if rule is None else rule.unit),
            yes_no=self._is_yes_no(attribute, {move.before, move.after}, levels),
            implied=implied,
        )

    def _is_yes_no(
        self, attribute: Attribute, values: set[float | str], levels: int | None
    ) -> bool:
        """Whether an attribute can only be 0 or 1, by its rule or by the levels in reach.

        With whole steps and a single level in reach (1 from 0, or 0 from 1), nothing else is in
        its range. That does not follow if the attribute may only fall, or if attributes that move
        along may keep it from other levels.
        """
        rule = self._rules.get(attribute)
        if rule is None or rule.unit or rule.step != 1 or values != {0.0, 1.0}:
            return False
        if (rule.min, rule.max) == (0, 1):
            return True
        return levels == 1 and rule.direction != "down" and not rule.implies


def _own(value: float | str) -> float | OwnCategory:
    return OwnCategory(value) if isinstance(value, str) else value


_Changes = tuple[tuple[TieChange, ...], tuple[AttributeChange, ...]]


class _OptionReader:
    """Reads the options of one report; who the other people are does not leave this class."""

    def __init__(
        self, report: SubjectReport, vocabulary: Vocabulary, settings: LetterSettings
    ) -> None:
        recourse, near = report.recourse, report.ego_network
        self._own = report.subject.id
        self._vocabulary, self._settings = vocabulary, settings
        self._levels = {} if recourse is None else recourse.certificate.permitted.set
        ties = [(tie.ends, tie.kind) for tie in (near.ties if near is not None else ())]
        ties += [(tie.tie, tie.kind) for tie in (recourse.droppable if recourse else ())]
        self._neighbours: dict[str, set[str]] = {}
        for ends, kind in ties:
            if self._own in ends:
                self._neighbours.setdefault(kind, set()).update({*ends} - {self._own})
        # A caveat is about the ties that a counterfactual removes: an option must end them all.
        removed = [_pairs(found.removed) for found in report.counterfactuals]
        self._doubtful = [
            removed[number - 1]
            for caveat in report.caveats
            if caveat.kind == "confounders"
            and caveat.grade != "holds"
            and 0 < (number := caveat.counterfactual or 0) <= len(removed)
        ]
        self._unmeasured = any(caveat.kind == "unknown_reach" for caveat in report.caveats)

    def read(self, options: Sequence[Option]) -> tuple[list[LetterOption], int]:
        """Options that read differently, the fragile last; and how many may not be told."""
        alike: dict[_Changes, list[tuple[Option, frozenset[str]]]] = {}
        for option in options:
            if (told := self._changes(option)) is not None:
                changes, partners = told
                alike.setdefault(changes, []).append((option, partners))
        distinct = [self._merge(changes, same) for changes, same in alike.items()]
        withheld = len(options) - sum(option.alike for option in distinct)
        return sorted(distinct, key=lambda option: option.strength == "fragile"), withheld

    def _changes(self, option: Option) -> tuple[_Changes, frozenset[str]] | None:
        """The changes of an option, and with whom its new ties are; None if it may not be told."""
        ties: dict[tuple[Literal["drop", "add"], Kind, bool], list[Tie]] = {}
        attributes: list[AttributeChange] = []
        for action in option.actions:
            if isinstance(action, SetAction):
                change = self._vocabulary.change(action, self._levels.get(action.attribute))
                if change is None:
                    return None
                attributes.append(change)
                continue
            kind = self._vocabulary.kind(action.kind)
            if kind is None or any(self._own not in tie for tie in action.ties):
                return None
            together = isinstance(action, TogetherAction)
            ties.setdefault((action.do, kind, together), []).extend(action.ties)
        changes: list[TieChange] = []
        partners: set[str] = set()
        for (do, kind, together), ends in sorted(ties.items()):
            others = {name for tie in ends for name in tie} - {self._own}
            near = len(self._neighbours.get(kind, ()))
            hides = near >= self._settings.k and (do == "add" or together or len(others) < near)
            if not hides and kind not in self._settings.known_kinds:
                return None
            partners |= others if do == "add" else set()
            only = do == "drop" and len(others) == near == len(ends)
            count = None if together else len(ends)
            changes.append(TieChange(do=do, kind=kind, count=count, only=only))
        return (tuple(changes), tuple(attributes)), frozenset(partners)

    def _merge(
        self, changes: _Changes, same: Sequence[tuple[Option, frozenset[str]]]
    ) -> LetterOption:
        """Options that read the same as one, which is as steady as the least steady of them."""
        tests = [option.robustness for option, _ in same if option.robustness is not None]
        return LetterOption(
            ties=changes[0],
            attributes=changes[1],
            strength=self._strength(min((test.success_share for test in tests), default=None)),
            alike=len(same),
            partners=len(frozenset[str]().union(*(partners for _, partners in same))),
            unconfirmed=any(self._is_doubtful(option) for option, _ in same),
        )

    def _strength(self, share: float | None) -> Strength:
        if share is None:
            return "unmeasured"
        if share <= self._settings.fragile_share:
            return "fragile"
        return "steady" if share >= self._settings.steady_share else "unsteady"

    def _is_doubtful(self, option: Option) -> bool:
        """Whether the effect of the ties that an option ends was not found to stay."""
        changed = (action for action in option.actions if not isinstance(action, SetAction))
        ended = _pairs(tie for action in changed if action.do == "drop" for tie in action.ties)
        return bool(ended) and (
            self._unmeasured or any(removed and removed <= ended for removed in self._doubtful)
        )


def _pairs(ties: Iterable[Tie]) -> frozenset[frozenset[str]]:
    """Ties without direction: a counterfactual removes every tie between two people."""
    return frozenset(frozenset(tie) for tie in ties)


# ---------------------------------------------------------------- facts, profile and words meet


class LetterWriter:
    """Writes letters; the catalogue, the profile and staff's files are read and checked once.

    `reasons`, `addresses` and `names` are files that staff wrote; `everybody` gives all ids of the
    graph, which is needed where a report does not show all neighbours. `open_slots` are keys of the
    settings without which letters cannot be signed off, `unworded` names that letters use as they
    are, and `reasons` and `addresses` what staff gave, by id.

    Raises
    ------
    SettingsError
        The letters are signed off with slots still empty or facts undeclared; or `letters.about`
        has texts, but none in the language of the letters.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Templates,
        *,
        reasons: Path | None = None,
        addresses: Path | None = None,
        names: Path | None = None,
        everybody: Callable[[], Iterable[str]] = tuple,
        sign_off: SignOff | None = None,
    ) -> None:
        self._all, self._settings = settings, settings.letters
        self._pages = pages
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self._profile = profile = load_profile(self._settings, pages)
        language = self._settings.language
        self._language, _, country = language.partition("_")
        if profile.country and not country:
            language = f"{language}_{profile.country}"
        self._words = words_of(settings, language, pages)
        self._about = about_in(self._settings)
        self.open_slots = profile.open_keys(self._settings)
        self.unworded = find_unworded(settings, self._words, names_class=profile.names_class)
        if sign_off is not None:
            check_sign_off(profile, self._settings)
        self.reasons = {} if reasons is None else read_reasons(reasons, most=profile.max_reasons)
        self.addresses = {} if addresses is None else read_addresses(addresses, profile.details)
        self._mentions = Mentions(reasons, names, self._settings.name_columns, everybody)
        made_of = settings.model_dump_json(include={"audit", "letters", "words"})
        self._made_of = f"{version('recourse-audit')}{pages.digest()}{made_of}"

    def letter(self, report: SubjectReport, *, signed: bool = True) -> Letter | None:
        """What is said to one subject; None if there is no letter; a draft if it is not `signed`.

        Raises
        ------
        InputError
            A reason names another person.
        """
        own = report.subject.id
        for person, text in self._mentions.find(report, self.reasons.get(own, ())):
            if not self._mentions.is_allowed(own, text):
                raise InputError(
                    f"a reason given for {own} names another person, {person}: it contains "
                    f"{text!r}; reword it, or, if something else is meant, put "
                    f"{text!r} into the column allow of the reasons"
                )
        return self.facts(report, None, self._sign_off if signed else None)

    def facts(
        self,
        report: SubjectReport,
        before: SignedLetter | None = None,
        sign_off: SignOff | None = None,
    ) -> Letter | None:
        """What a letter may say, without a check of its reasons; a draft without a `sign_off`.

        What staff gave for a letter that was signed off `before` holds until they give something
        else. There is None about a favourable decision, or if there is no decision; if only the
        search for options failed, there is a letter, and it says so.
        """
        recourse, vocabulary = report.recourse, self._vocabulary
        # People were told the decision on record, whatever the model says of them today.
        decision = vocabulary.refusal(report.decision.recorded or report.subject.decision or "")
        if decision is None:
            return None
        outcome = _OUTCOMES.get(report.status, "not_worked_out")
        options = recourse.options if recourse is not None and outcome == "options" else ()
        distinct, withheld = _OptionReader(report, vocabulary, self._settings).read(options)
        if outcome == "options" and not distinct:
            outcome = "staff" if withheld else "not_worked_out"
        permitted = None if recourse is None else recourse.certificate.permitted
        levels = {} if permitted is None else permitted.set
        movable = [vocabulary.attribute(name) for name, count in levels.items() if count]
        reasons, addressee = staff_texts(before)
        recipient, details = self.addresses.get(report.subject.id, addressee)
        signer, day = read_sign_off(sign_off)
        data_as_of = self._all.audit.data_as_of
        return Letter(
            reference=Reference(report.subject.id),
            recipient=recipient,
            details=(*details, *(None,) * (1 + len(self._profile.details) - len(details))),
            decision=decision,
            reasons=self.reasons.get(report.subject.id, reasons),
            outcome=outcome,
            options=tuple(distinct[:MOST_OPTIONS]),
            withheld=withheld,
            unlisted=sum(option.alike for option in distinct[MOST_OPTIONS:]),
            max_changes=1 if recourse is None else recourse.certificate.max_changes,
            tries_ties=permitted is not None and bool(permitted.drop or permitted.add),
            tries_attributes=tuple(name for name in movable if name is not None),
            data_as_of=date.fromisoformat(data_as_of) if data_as_of else None,
            valid_days=self._settings.valid_days,
            signer=signer,
            day=day,
        )

    def find_allowed(self, report: SubjectReport) -> tuple[str, ...]:
        """What looks like another person's name in the reasons, and was allowed by a person."""
        reasons = self.reasons.get(report.subject.id, ())
        return tuple(sorted({text for _, text in self._mentions.find(report, reasons)}))

    def causes(self, letter: Letter) -> Iterator[Cause]:
        """What speaks against signing a letter, whoever has read it."""
        if letter.is_fragile:
            yield "fragile"
        if None in letter.details[1:]:
            yield "incomplete"
        if not letter.reasons:
            yield "no-reason"
        elif letter.options and all(not option.attributes for option in letter.options):
            text = fold(" ".join(letter.reasons))
            kinds = {tie.kind for option in letter.options for tie in option.ties}
            names = {self._words.tie_name(kind, count) for kind in kinds for count in (1, 2)}
            if not any(fold(name) in text for name in {*kinds, *names}):
                yield "ties-only"

    def fingerprint(self, draft: Letter) -> str:
        """A short digest of everything that a draft says, and of what it is said with."""
        return digest_of(f"{self._made_of}{draft!r}")[:FINGERPRINT]

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        words, tried = self._words, [self._words.say("limits.ties")] if letter.tries_ties else []
        details = letter.details[1 : len(self._profile.details) + 1]
        return self._pages.render(
            TEMPLATE,
            letter=letter,
            words=words,
            settings=self._settings,
            audit=self._all.audit,
            tried=[*tried, *map(words.name, letter.tries_attributes)],
            details=[
                (name, labels[self._language], _write_day(text or "", words))
                for (name, labels), text in zip(self._profile.details.items(), details, strict=True)
            ],
            rights=self._profile.rights.get(self._language, ""),
            reference=plain(letter.reference),
            heading=self._about,
            slot=lambda name: self._slot(letter, name),
            paragraphs=lambda part: self._paragraphs(letter, part),
        )

    def _slot(self, letter: Letter, name: str) -> str:
        """What the settings or the letter put into a slot, or a note that it is still empty."""
        settings, words = self._settings, self._words
        decision = words.class_name(letter.decision)
        declined = f"decided.{'declined' if self._vocabulary.only_refusal else 'otherwise'}"
        given = {
            **settings.slots,
            "sender": settings.sender,
            "address": ", ".join(settings.address),
            "contact": ", ".join(settings.contact),
            "decision": decision,
            "decided": words.decided(letter.decision) or words.say(declined, decision=decision),
            "reference": plain(letter.reference),
        }.get(name, "")
        key = f"letters.slots.{name}" if name in self._profile.slots else f"letters.{name}"
        return given or words.say("draft.open", name=key)

    def _paragraphs(self, letter: Letter, part: str) -> list[tuple[str, str]]:
        """The paragraphs of the profile for a part, each with its first sentence if it is short."""
        blocks = self._profile.select(part, bool(letter.reasons), self._settings.facts)
        return [_split_lead(self._fill(letter, block)) for block in blocks]

    def _fill(self, letter: Letter, block: Block | str) -> str:
        if isinstance(block, str):
            return self._words.say("draft.fact", key=f"letters.facts.{block}")
        text = block.text[self._language]
        return PLACEHOLDER.sub(lambda slot: self._slot(letter, slot[1]), text)


def _write_day(text: str, words: Words) -> str:
    """A date such as 2026-10-27 in full, and any other text as it is."""
    return words.day(text) if _DAY.fullmatch(text) else text


def _split_lead(text: str) -> tuple[str, str]:
    """A short first sentence, "" if there is none, and the rest."""
    match = _FIRST_SENTENCE.fullmatch(text)
    lead, rest = (match[1], match[2]) if match else (text, "")
    return (lead, rest) if len(lead) <= LONGEST_LEAD else ("", text)


def about_in(settings: LetterSettings) -> str:
    """What the decision was about, in the language of the letter; "" if no text is given."""
    about = settings.about
    if isinstance(about, str):
        return about
    base = settings.language.split("_", maxsplit=1)[0]
    text = about.get(settings.language) or about.get(base) or ""
    if about and not text:
        raise SettingsError(
            f"letters.about: has no text in {base!r}, the language of the letters, only in "
            f'{", ".join(about)}; add a line such as {base} = "…" to [letters.about]'
        )
    return text


def find_unworded(settings: Settings, words: Words, *, names_class: bool) -> tuple[str, ...]:
    """Names that letters may use as they are in the settings, because there is no word for them.

    Classes are among them only where a letter names them: if the profile does (`names_class`), or
    if several are unfavourable and there is no sentence for one.
    """
    recourse, decision = settings.recourse, settings.decision
    kinds = {tie.kind for tie in recourse.ties if tie.allow and not is_denied(tie.kind)} - {"*"}
    labels = {encoding.name: encoding.all_labels for encoding in settings.graph.encodings}
    names: list[str] = []
    for rule in recourse.attributes:
        names += [rule.name, *(along.name for along in rule.implies)]
        names += [along.to for along in rule.implies if along.to is not None]
        names += [rule.unit] if rule.unit not in settings.letters.currencies else []
        if rule.of_category:
            names += labels.get(rule.name, rule.values)
            names += [label for move in rule.moves for label in (move.before, move.to)]
    refused = set(decision.classes) - set(decision.favourable)
    if not names_class:
        unsaid = {name for name in refused if words.decided(name) is None}
        refused = unsaid if len(refused) > 1 else set()
    used = ({*names} - {*settings.groups.attributes, ""}) | refused
    missing = {name for name in used if not words.has_name(name)}
    return tuple(sorted(missing | {kind for kind in kinds if not words.has_tie(kind)}))
