"""Letters: the facts that may be said to a person, and the template that says them.

`letter_facts` decides what may be said. Every sentence is in the template, the catalogue or the
legal profile.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.manifest import digest_of
from recourse_audit.errors import SettingsError
from recourse_audit.records.bundle import Cause, LetterNote, SignedLetter, SignOff, StatedReason
from recourse_audit.records.subject import SubjectReport
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.i18n import PLACEHOLDER, Words, words_of
from recourse_audit.render.letter_facts import Letter, OptionReader, Outcome, Reference, Vocabulary
from recourse_audit.render.letter_inputs import (
    Addressee,
    Block,
    Reason,
    addressee_of,
    check_sign_off,
    load_profile,
    read_addresses,
    read_sign_off,
)
from recourse_audit.render.letter_reasons import Mentions, Reasons, read_reasons
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import LetterSettings, Settings

TEMPLATE, CATALOGUE = "letters/letter.html", "letters.po"
MOST_OPTIONS = 3
FINGERPRINT = 16
LONGEST_LEAD = 80
_OUTCOMES: dict[str, Outcome] = {
    "verified": "options",
    "certified_infeasible": "none_exists",
    "not_found_within_budget": "none_found",
}
_FIRST_SENTENCE = re.compile(r"(.+?[.!]) (.+)", re.DOTALL)


class LetterWriter:
    """Writes letters; the catalogue, the profile and staff's files are read and checked once.

    `reasons`, `addresses` and `names` are files that staff wrote; what `kept_reasons` says of
    people who are not in `reasons` holds. `everybody` gives all ids of the graph, which is needed
    where a report does not show all neighbours. `open_slots` are keys of the settings without which
    letters cannot be signed off, `unworded` names that letters use as they are, `given` what the
    file of reasons has by id, and `addresses` where letters go.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Templates,
        *,
        reasons: Path | None = None,
        kept_reasons: Path | None = None,
        addresses: Path | None = None,
        names: Path | None = None,
        everybody: Callable[[], Iterable[str]] = tuple,
        sign_off: SignOff | None = None,
    ) -> None:
        self._all, self._settings = settings, settings.letters
        self.pages, self.audit = pages, settings.audit
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self.profile = profile = load_profile(self._settings, pages)
        language = self._settings.language
        self._language, _, country = language.partition("_")
        if profile.country and not country:
            language = f"{language}_{profile.country}"
        self.words = self._words = words_of(settings, language, pages)
        self._words.check_complete(CATALOGUE, words_of(settings, "en", pages))
        self._about = about_in(self._settings)
        self.open_slots = profile.open_keys(self._settings)
        self.unworded = find_unworded(settings, self._words, names_class=profile.names_class)
        if sign_off is not None:
            check_sign_off(profile, self._settings)
        self._prefix = prefix = settings.subject_prefix
        kept = {} if kept_reasons is None else read_reasons(kept_reasons, prefix)
        self.given = {} if reasons is None else read_reasons(reasons, prefix)
        details = profile.details
        self.addresses = {} if addresses is None else read_addresses(addresses, details, prefix)
        columns = self._settings.name_columns
        mentions = Mentions(kept | self.given, names, columns, everybody, prefix)
        self.reasons = Reasons(settings, profile, pages, self._words, mentions)
        made_of = settings.model_dump_json(include={"audit", "letters", "reasons", "words"})
        self._made_of = f"{version('recourse-audit')}{pages.digest}{made_of}"

    def letter(self, report: SubjectReport, *, signed: bool = True) -> Letter | None:
        """What is said to one subject; None if there is no letter; a draft unless `signed`."""
        return self.facts(report, None, self._sign_off if signed else None)

    def facts(
        self,
        report: SubjectReport,
        before: SignedLetter | None = None,
        sign_off: SignOff | None = None,
    ) -> Letter | None:
        """What a letter may say; a draft without a `sign_off`.

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
        distinct, withheld = OptionReader(report, vocabulary, self._all).read(options)
        if outcome == "options" and not distinct:
            outcome = "staff" if withheld else "not_worked_out"
        permitted = None if recourse is None else recourse.certificate.permitted
        levels = {} if permitted is None else permitted.set
        movable = [vocabulary.attribute(name) for name, count in levels.items() if count]
        addressee = Addressee() if before is None else addressee_of(before)
        addressee = self.addresses.get(report.subject.id, addressee)
        details = addressee.details
        signer, day = read_sign_off(sign_off)
        data_as_of = self._all.audit.data_as_of
        return Letter(
            reference=Reference(report.subject.id),
            recipient=addressee.lines,
            details=(*details, *(None,) * (2 + len(self.profile.details) - len(details))),
            decision=decision,
            reasons=tuple(Reason(stated.text) for stated in self.reasons.state(report, before)),
            data=vocabulary.columns(report.own_data),
            outcome=outcome,
            options=tuple(distinct[:MOST_OPTIONS]),
            withheld=withheld,
            unlisted=sum(option.alike for option in distinct[MOST_OPTIONS:]),
            max_changes=1 if recourse is None else recourse.certificate.max_changes,
            tries_ties=permitted is not None
            and bool(permitted.drop or permitted.add or permitted.move),
            tries_attributes=tuple(name for name in movable if name is not None),
            data_as_of=date.fromisoformat(data_as_of) if data_as_of else None,
            valid_days=self._settings.valid_days,
            signer=signer,
            day=day,
        )

    def causes(
        self, report: SubjectReport, letter: Letter, stated: tuple[StatedReason, ...]
    ) -> Iterator[Cause]:
        """What speaks against signing a letter with some reasons, whoever has read it."""
        if letter.is_fragile:
            yield "fragile"
        given = dict(zip(self.profile.details, letter.details[2:], strict=True))
        if any(text is None for name, text in given.items() if name not in self.profile.optional):
            yield "incomplete"
        if not stated:
            yield "no-reason"
        if self._settings.facts.get(self.profile.not_for):
            yield "profile"
        kinds = {tie.kind for option in letter.options for tie in option.ties}
        only_ties = bool(letter.options) and not any(o.attributes for o in letter.options)
        if stated and only_ties and not any(kinds & self.reasons.kinds_of(r) for r in stated):
            yield "ties-only"
        if any(self.reasons.is_unchecked(report, reason) for reason in stated):
            yield "unchecked"
        if any(option.unnamed for option in letter.options):
            yield "unnamed"

    def notes(
        self, report: SubjectReport, letter: Letter, stated: tuple[StatedReason, ...]
    ) -> Iterator[LetterNote]:
        """What a person should know before they sign a letter off.

        As long as no reason is confirmed, notes are about the candidates.
        """
        alone = None if report.own_data is None else report.own_data.alone
        candidates = (StatedReason(text="", part=reason.part) for reason in report.reasons)
        reasons = stated or tuple(candidates)
        if any(self.reasons.is_fixed(report, reason.part) for reason in reasons):
            yield "fixed"
        if not letter.option_count and alone is not None and alone.favourable:
            yield "review"
        if letter.outcome == "none_found":
            yield "unfinished"
        rests_on = set[str]().union(*map(self.reasons.kinds_of, reasons))
        if {tie.kind for tie in letter.ties_to_end} - rests_on:
            yield "unmentioned"

    def summary(self, letter: Letter) -> tuple[str, str, str]:
        """What was found, how many options, and by which day the letter is due; "" if none is."""
        details = dict(zip(self.profile.details, letter.details[2:], strict=False))
        completed, days = _day_of(details.get("completed") or ""), self.profile.days
        due = str(completed + timedelta(days)) if completed and days else ""
        return letter.outcome, str(letter.option_count), due

    def fingerprint(self, draft: Letter) -> str:
        """A short digest of everything that a draft says, and of what it is said with."""
        return digest_of(f"{self._made_of}{draft!r}")[:FINGERPRINT]

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        words, tried = self._words, [self._words.say("limits.ties")] if letter.tries_ties else []
        details = (text or "" for text in letter.details[2 : len(self.profile.details) + 2])
        texts = [words.day(text) if _day_of(text) else text for text in details]
        return self.pages.render(
            TEMPLATE,
            letter=letter,
            words=words,
            settings=self._settings,
            audit=self._all.audit,
            tried=[*tried, *map(words.name, letter.tries_attributes)],
            details=[
                (name, labels[self._language], text)
                for (name, labels), text in zip(self.profile.details.items(), texts, strict=True)
                if text or name not in self.profile.optional
            ],
            headings={k: v.get(self._language, "") for k, v in self.profile.headings.items()},
            reference=self._print_reference(letter),
            heading=letter.details[1] or self._about,
            slot=lambda name: self._slot(letter, name),
            paragraphs=lambda part: self._paragraphs(letter, part),
        )

    def _print_reference(self, letter: Letter) -> str:
        """The reference as the person knows it: in a graph of several kinds, without the kind."""
        return plain(letter.reference.removeprefix(self._prefix))

    def _connections(self) -> str:
        """What the person's ties are called: with whom, and with which kinds of nodes."""
        words, own = self._words, self._all.decision.subject
        kinds = [kind for kind in self._all.graph.node_tables if kind != own]
        if not kinds:
            return words.say("connections")
        others = [words.say("connections.people"), *(words.forms_of(kind)[-1] for kind in kinds)]
        return words.say("connections.kinds", others=", ".join(others))

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
            "decided": words.opening(letter.decision) or words.say(declined, decision=decision),
            "reference": self._print_reference(letter),
            "connections": self._connections(),
            "data": words.series([*map(words.name, letter.data)]) or words.say("data.own"),
        }.get(name, "")
        key = f"letters.slots.{name}" if name in self.profile.slots else f"letters.{name}"
        return given or words.say("draft.open", name=key)

    def _paragraphs(self, letter: Letter, part: str) -> list[tuple[str, str]]:
        """The paragraphs of the profile for a part, each with its first sentence if it is short."""
        blocks = self.profile.select(part, bool(letter.reasons), self._settings.facts)
        return [_split_lead(self._fill(letter, block)) for block in blocks]

    def _fill(self, letter: Letter, block: Block | str) -> str:
        if isinstance(block, str):
            return self._words.say("draft.fact", key=f"letters.facts.{block}")
        text = block.text[self._language]
        return PLACEHOLDER.sub(lambda slot: self._slot(letter, slot[1]), text)


def _day_of(text: str) -> date | None:
    """The day that a text such as 2026-03-31 is, in a year that calendars reach."""
    with suppress(ValueError):
        day = date.fromisoformat(text)
        return day if day.isoformat() == text and day.year < date.max.year else None
    return None


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
        unsaid = {name for name in refused if words.opening(name) is None}
        refused = unsaid if len(refused) > 1 else set()
    used = ({*names} - {*settings.groups.attributes, ""}) | refused
    missing = {name for name in used if not words.has_name(name)}
    return tuple(sorted(missing | {kind for kind in kinds if not words.has_tie(kind)}))
