"""The changes of an option as phrases, in the language of the letter and the user's words."""

from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.i18n import Words
from recourse_audit.render.letters.letter import LetterOption, TieChange
from recourse_audit.render.letters.source import AttributeChange, AttributeStep, Limits
from recourse_audit.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StepText:
    """One change, and what is assumed to change along with it ("" if nothing is)."""

    text: str
    along: str


def steps_of(option: LetterOption, words: Words) -> Iterator[StepText]:
    """The changes of an option: ties first, then attributes."""
    for tie in option.ties:
        yield StepText(text=_tie(tie, words), along="")
    for step in option.attributes:
        yield _attribute(step, words)


def limits_of(limits: Limits, words: Words) -> tuple[str, ...]:
    """What was permitted to change, one phrase each."""
    ties = (words.say("limits.ties"),) if limits.ties else ()
    return (*ties, *(words.name(name) for name in limits.attributes))


def unworded(settings: Settings, words: Words, *, names_class: bool) -> tuple[str, ...]:
    """Names that letters may use as they are in the settings, because there is no word for them.

    Classes are among them only where a letter names them: if the profile does (`names_class`), or
    if several are unfavourable and there is no sentence for one. Most names read well in an English
    letter; in any other language they are foreign words.
    """
    letters, recourse = settings.letters, settings.recourse
    attributes = [rule.name for rule in recourse.attributes]
    implied = [one.name for rule in recourse.attributes for one in rule.implies]
    units = [rule.unit for rule in recourse.attributes if rule.unit not in letters.currencies]
    refused = set(settings.decision.classes) - set(settings.decision.favourable)
    if not names_class:
        unsaid = {name for name in refused if words.decided(name) is None}
        refused = unsaid if len(refused) > 1 else set()
    kinds = [
        rule.kind
        for rule in recourse.ties
        if rule.allow
        and rule.kind != "*"
        and not is_denied(rule.kind)
        and not words.has_tie(rule.kind)
    ]
    named = (
        *kinds,
        *attributes,
        *implied,
        *_categories(settings),
        *filter(None, units),
        *sorted(refused),
    )
    return tuple(
        dict.fromkeys(
            name
            for name in named
            if name not in settings.groups.attributes and not words.has_name(name)
        )
    )


def _categories(settings: Settings) -> Iterator[str]:
    """The categories that a letter may name: those that rules lead to, and those they lead from."""
    labels = {one.name: one.all_labels for one in settings.graph.encodings}
    for rule in settings.recourse.attributes:
        if rule.of_category:
            yield from labels.get(rule.name, rule.values)
            yield from (label for move in rule.moves for label in (move.before, move.to))
        yield from (one.to for one in rule.implies if one.to is not None)


def _tie(tie: TieChange, words: Words) -> str:
    if words.has_ending(tie.kind) or tie.do == "add" or tie.together:
        return _capital(words.change_ties(tie.do, tie.kind, None if tie.together else tie.count))
    kind, kinds = (_capital(words.tie_name(tie.kind, count)) for count in (1, 2))
    if tie.only:
        return words.say("step.drop_only", kind=kind)
    return words.say_count("step.drop", tie.count, kinds=kinds)


def _attribute(step: AttributeStep, words: Words) -> StepText:
    change = step.change
    if change.yes_no or isinstance(change.after, str) or isinstance(change.before, str):
        key = "step.switch"
    else:
        key = "step.raise" if change.after > change.before else "step.lower"
    name = _capital(words.name(change.attribute))
    text = words.level(change.attribute, change.after) or _changed(key, change, name, words)
    implied = [
        _changed("step.move", change, words.name(change.attribute), words)
        for change in step.implied
    ]
    along = words.say("step.implied", changes=words.listed(implied)) if implied else ""
    return StepText(text=text, along=along)


def _changed(key: str, change: AttributeChange, attribute: str, words: Words) -> str:
    def amount(value: float | str) -> str:
        if change.yes_no and not isinstance(value, str):
            return words.say("value.yes" if value else "value.no")
        return words.value(value, change.unit)

    return words.say(
        key, attribute=attribute, before=amount(change.before), after=amount(change.after)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
