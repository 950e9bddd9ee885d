"""Text that terminal views, pages and letters share: users' own text made plain."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from recourse_audit.records.model import Agreement

if TYPE_CHECKING:
    from recourse_audit.render.i18n import Words

T = TypeVar("T")
NO_BREAK = "\N{NO-BREAK SPACE}"

NAMED = 3  # people whose decision differs


def plain(text: str) -> str:
    """A user's text with line breaks and control characters written out, so they do nothing.

    A space that does not break a line does no harm, and stands between a number and its unit.
    """
    return "".join(
        letter
        if letter.isprintable() or letter == NO_BREAK
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def printable(record: T) -> T:
    """The same record with every text in it made plain."""
    found = _printable(record)
    assert isinstance(found, type(record))
    return found


def _printable(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, tuple):
        return tuple(map(_printable, value))
    if isinstance(value, Mapping):
        return {_printable(name): _printable(content) for name, content in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: _printable(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changes)
    return value


def number(count: int, word: str) -> str:
    """A count and its noun: 1 tie, 2,000 ties."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def agreement_sentences(agreement: Agreement, words: "Words | None" = None) -> tuple[str, ...]:
    """How many decisions of the record and the model agree; who differs, and what explains it."""
    from recourse_audit.render.i18n import Words

    return tuple(_agreement_sentences(agreement, words or Words()))


def _agreement_sentences(found: Agreement, words: "Words") -> Iterator[str]:
    say, count = words.say, words.number
    yield words.say_count(
        "agreement.agree",
        found.compared,
        column=plain(found.column),
        agreeing=count(found.agreeing),
        share=_share(found.share, words),
    )
    if found.unrecorded or found.undecided:
        left = {"unrecorded": count(found.unrecorded), "undecided": count(found.undecided)}
        yield say("agreement.left_out", **left)
    if not found.disagreeing:
        return
    pairs = (
        say(
            "agreement.pair",
            count=count(pair.people),
            recorded=plain(pair.recorded),
            decided=plain(pair.decided),
        )
        for pair in found.by_class
        if pair.recorded != pair.decided
    )
    yield say("agreement.differences", pairs="; ".join(pairs))
    if (rule := found.better) is not None:
        counts = {"agreeing": count(rule.agreeing), "compared": count(found.compared)}
        if rule.kind == "cut_off" and rule.cut_off is not None:
            yield say("agreement.cut_off", cut_off=words.exact(rule.cut_off), **counts)
        else:
            yield say("agreement.order", order=", ".join(map(plain, rule.classes)), **counts)
    if found.outside:
        names = ", ".join(map(plain, found.outside_features))
        yield words.say_count("agreement.outside", found.outside, names=names)
    for attribute, groups in groupby(found.by_group, key=lambda group: group.attribute):
        shares = (
            f"{plain(group.group) or say('unknown')} "
            + _share(group.agreeing / group.compared, words)
            for group in groups
        )
        yield say("agreement.by", attribute=plain(attribute), shares=", ".join(shares))
    if found.examples:
        examples = (
            say(
                "agreement.example",
                id=plain(example.id),
                recorded=plain(example.recorded),
                decided=plain(example.decided),
            )
            for example in found.examples[:NAMED]
        )
        yield say("agreement.examples", examples=", ".join(examples))


def _share(share: float, words: "Words") -> str:
    """A share in per cent; what is just short of all or nothing is not rounded to it."""
    if 0.9995 <= share < 1:
        return words.say("agreement.nearly_all", share=words.whole_percent(1))
    if 0 < share < 0.0005:
        return words.say("agreement.nearly_none", share=words.percent(0.001))
    return words.percent(share)
