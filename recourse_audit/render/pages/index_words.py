"""What could change a result, how far the search went, and the rule that decides, in few words."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.bundle import SummaryRow
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import plain
from recourse_audit.settings import Settings
from recourse_audit.settings.decision import DecisionSettings

Do = Literal["drop", "add", "raise", "lower", "set"]


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A kind of change: ties of a kind dropped or added, or an attribute moved one way."""

    do: Do
    what: str


def change_of(
    do: str, kind: str | None, attribute: str | None, before: object, after: object
) -> Change:
    """A kind of change from a row of the store."""
    if kind is not None:
        return Change("drop" if do == "drop" else "add", kind)
    name = attribute or ""
    if isinstance(before, int | float) and isinstance(after, int | float):
        return Change("raise" if after > before else "lower", name)
    return Change("set", name)


def change_words(changes: tuple[Change, ...], words: Words) -> str:
    """All changes of an option: end a payment tie + raise savings."""
    return " + ".join(
        words.say_count(
            f"change.{change.do}",
            count,
            what=words.name(change.what),
        )
        for change, count in Counter(changes).items()
    )


def detail_of(row: SummaryRow, need: str, cheapest: str, words: Words) -> str:
    """What is behind the first words of a row: the cheapest option, or how far the search went."""
    tried, possible = row.tried or 0, row.possible or 0
    if row.options:
        return words.say("index.cheapest", changes=cheapest) if cheapest else ""
    if need == "none":
        if not possible:
            return words.say("index.nothing_permitted")
        return words.say_count("index.all_tried", possible)
    if need == "open":
        return words.say(
            "index.stopped", tried=words.number(tried), possible=words.number(possible)
        )
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueAxis:
    """What the decisions of all subjects go by: its name, and the line where they turn.

    `whole` says whether it runs from 0 to 1, as probabilities do.
    """

    title: str
    line: float
    whole: bool
    of_margin: bool


def value_axis(settings: Settings | None, words: Words) -> ValueAxis:
    """The probability, or the score, if one line decides for everybody; otherwise the margin."""
    decision = None if settings is None else settings.decision
    if settings is None or decision is None or decision.quota is not None or decision.cut_off_by:
        return _margin(words)
    favourable = words.listed([plain(name) for name in decision.favourable])
    if settings.model.output == "score":
        if decision.cut_off is None:
            return _margin(words)
        line = decision.cut_off
        title = words.say("index.score", line=words.exact(line))
        return ValueAxis(title=title, line=line, whole=False, of_margin=False)
    if decision.cut_off is None and len(decision.classes) > 2:
        return _margin(words)
    line = 0.5 if decision.cut_off is None else decision.cut_off
    title = words.say("index.probability", favourable=favourable, line=words.exact(line))
    return ValueAxis(title=title, line=line, whole=True, of_margin=False)


def _margin(words: Words) -> ValueAxis:
    return ValueAxis(title=words.say("index.margin"), line=0.0, whole=False, of_margin=True)


def rule_words(decision: DecisionSettings, words: Words, *, scored: bool) -> str:
    """The rule that decides, in one phrase."""
    what = words.say("rule.score") if scored else words.say("rule.probability")
    if decision.quota is not None:
        share = isinstance(decision.quota, float)
        how_many = words.percent(decision.quota) if share else words.number(decision.quota)
        return words.say("rule.quota", places=how_many, what=what)
    if decision.cut_off_by is not None:
        column = plain(decision.cut_off_by.column)
        return words.say("rule.cut_off_by", what=what, column=column)
    if decision.cut_off is not None:
        key = "rule.up_to" if scored and decision.better == "lower" else "rule.from"
        return words.say(key, what=what, line=words.exact(decision.cut_off))
    return words.say("rule.argmax")
