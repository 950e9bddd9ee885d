"""The changes of an option as phrases, in the language of the letter and the user's words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.letters.letter import LetterOption, TieChange
from recourse_audit.render.letters.source import AttributeChange, AttributeStep, Limits
from recourse_audit.render.wording import Wording
from recourse_audit.settings import LetterSettings, Settings
from recourse_audit.settings.letters import ByLanguage

NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepText:
    """One change, and what is assumed to change along with it ("" if nothing is)."""

    text: str
    along: str


class Words:
    """The user's words for kinds, attributes, units and classes in the language of the letter.

    A name without a word is used as it is, with spaces for underscores.
    """

    def __init__(self, settings: LetterSettings) -> None:
        self._settings = settings
        self._languages = (settings.language, settings.language.split("_", maxsplit=1)[0])

    def one(self, name: str) -> str:
        return self.forms(name)[0]

    def several(self, name: str) -> str:
        return self.forms(name)[-1]

    def forms(self, name: str) -> tuple[str, ...]:
        """The singular, and the plural if there is one."""
        return self._found(self._settings.words, name) or (name.replace("_", " "),)

    def phrase(self, tie: TieChange) -> str | None:
        """The user's phrase for ending or forming ties of a kind, if they gave one."""
        table = self._settings.drop if tie.do == "drop" else self._settings.add
        forms = self._found(table, tie.kind)
        if forms is None or (tie.count > 1 and len(forms) == 1):
            return None
        return forms[min(tie.count, len(forms)) - 1].replace("{count}", str(tie.count))

    def level(self, change: AttributeChange) -> str | None:
        """The user's phrase for an attribute that reaches a level, if they gave one."""
        for language in self._languages:
            levels = self._settings.set.get(language, {}).get(change.attribute, {})
            for level, phrase in levels.items():
                if change.after in (level, _number(level)):
                    return phrase
        return None

    def sentence(self, decision: str) -> str | None:
        """The user's sentence about a decision, if they gave one."""
        tables = (self._settings.decided.get(language, {}) for language in self._languages)
        return next((table[decision] for table in tables if decision in table), None)

    def has_phrase(self, kind: str) -> bool:
        """Whether the user gave a phrase for ending a tie of this kind."""
        return self._found(self._settings.drop, kind) is not None

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names that have no word."""
        words = self._settings.words
        return tuple(dict.fromkeys(name for name in names if self._found(words, name) is None))

    def _found(self, table: ByLanguage, name: str) -> tuple[str, ...] | None:
        tables = (table.get(language, {}) for language in self._languages)
        return next((words[name] for words in tables if name in words), None)


def steps_of(
    option: LetterOption, wording: Wording, words: Words, currencies: dict[str, str]
) -> Iterator[StepText]:
    """The changes of an option: ties first, then attributes."""
    for tie in option.ties:
        yield StepText(text=_tie(tie, wording, words), along="")
    for step in option.attributes:
        yield _attribute(step, wording, words, currencies)


def limits_of(limits: Limits, wording: Wording, words: Words) -> tuple[str, ...]:
    """What was permitted to change, one phrase each."""
    ties = (wording.say("limits.ties"),) if limits.ties else ()
    return (*ties, *(words.one(name) for name in limits.attributes))


def unworded(settings: Settings, *, names_class: bool) -> tuple[str, ...]:
    """Names that letters may use as they are in the settings, because there is no word for them.

    Classes are among them only where a letter names them: if the profile does (`names_class`), or
    if several are unfavourable and there is no sentence for one. Most names read well in an English
    letter; in any other language they are foreign words.
    """
    letters, recourse = settings.letters, settings.recourse
    words = Words(letters)
    attributes = [rule.name for rule in recourse.attributes]
    implied = [one.name for rule in recourse.attributes for one in rule.implies]
    units = [rule.unit for rule in recourse.attributes if rule.unit not in letters.currencies]
    refused = set(settings.decision.classes) - set(settings.decision.favourable)
    if not names_class:
        unsaid = {name for name in refused if words.sentence(name) is None}
        refused = unsaid if len(refused) > 1 else set()
    kinds = [
        rule.kind
        for rule in recourse.ties
        if rule.allow
        and rule.kind != "*"
        and not is_denied(rule.kind)
        and not words.has_phrase(rule.kind)
    ]
    named = (
        *kinds,
        *attributes,
        *implied,
        *_categories(settings),
        *filter(None, units),
        *sorted(refused),
    )
    return words.missing(name for name in named if name not in settings.groups.attributes)


def _categories(settings: Settings) -> Iterator[str]:
    """The categories that a letter may name: those that rules lead to, and those they lead from."""
    labels = {one.name: one.all_labels for one in settings.graph.encodings}
    for rule in settings.recourse.attributes:
        if rule.of_category:
            yield from labels.get(rule.name, rule.values)
            yield from (label for move in rule.moves for label in (move.before, move.to))
        yield from (one.to for one in rule.implies if one.to is not None)


def _number(level: str) -> float | None:
    """A level of a number; None for a category."""
    try:
        return float(level)
    except ValueError:
        return None


def _tie(tie: TieChange, wording: Wording, words: Words) -> str:
    phrase = words.phrase(tie)
    if phrase is not None:
        return phrase
    kind, kinds = _capital(words.one(tie.kind)), _capital(words.several(tie.kind))
    if tie.do == "add":
        return wording.say_count("step.add", tie.count, kind=kind, kinds=kinds)
    if tie.only:
        return wording.say("step.drop_only", kind=kind)
    return wording.say_count("step.drop", tie.count, kinds=kinds)


def _attribute(
    step: AttributeStep, wording: Wording, words: Words, currencies: dict[str, str]
) -> StepText:
    change = step.change
    if change.yes_no or isinstance(change.after, str) or isinstance(change.before, str):
        key = "step.switch"
    else:
        key = "step.raise" if change.after > change.before else "step.lower"
    name = _capital(words.one(change.attribute))
    text = words.level(change) or _changed(key, change, name, wording, words, currencies)
    implied = [
        _changed("step.move", one, words.one(one.attribute), wording, words, currencies)
        for one in step.implied
    ]
    along = wording.say("step.implied", changes=wording.listed(implied)) if implied else ""
    return StepText(text=text, along=along)


def _changed(
    key: str,
    change: AttributeChange,
    attribute: str,
    wording: Wording,
    words: Words,
    currencies: dict[str, str],
) -> str:
    def amount(value: float | str) -> str:
        if isinstance(value, str):
            return words.one(value)
        if change.yes_no:
            return wording.say("value.yes" if value else "value.no")
        if change.unit in currencies:
            return wording.money(value, currencies[change.unit])
        unit = wording.form(value, words.forms(change.unit)) if change.unit else ""
        return NO_BREAK.join(filter(None, (wording.number(value), unit)))

    return wording.say(
        key, attribute=attribute, before=amount(change.before), after=amount(change.after)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
