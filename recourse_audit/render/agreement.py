"""The agreement of the record with the model in sentences: the first thing that an audit says."""

from collections.abc import Iterator
from itertools import groupby

from recourse_audit.records.model import Agreement, BetterRule
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import plain

NAMED = 3


def agreement_sentences(agreement: Agreement, words: Words | None = None) -> tuple[str, ...]:
    """How many agree; then who does not, and what would explain it."""
    return tuple(_sentences(agreement, words or Words()))


def _sentences(found: Agreement, words: Words) -> Iterator[str]:
    say = words.say
    yield words.say_count(
        "agreement.agree",
        found.compared,
        column=plain(found.column),
        agreeing=words.number(found.agreeing),
        share=_share(found.share, words),
    )
    if found.unrecorded or found.undecided:
        yield say(
            "agreement.left_out",
            unrecorded=words.number(found.unrecorded),
            undecided=words.number(found.undecided),
        )
    if not found.disagreeing:
        return
    pairs = (
        say(
            "agreement.pair",
            count=words.number(one.people),
            recorded=plain(one.recorded),
            decided=plain(one.decided),
        )
        for one in found.by_class
        if one.recorded != one.decided
    )
    yield say("agreement.differences", pairs="; ".join(pairs))
    if found.better is not None:
        yield _better(found.better, found, words)
    if found.outside:
        names = ", ".join(map(plain, found.outside_features))
        yield words.say_count("agreement.outside", found.outside, names=names)
    for attribute, groups in groupby(found.by_group, key=lambda one: one.attribute):
        shares = (
            f"{plain(one.group) or say('unknown')} {_share(one.agreeing / one.compared, words)}"
            for one in groups
        )
        yield say("agreement.by", attribute=plain(attribute), shares=", ".join(shares))
    if found.examples:
        some = (
            say(
                "agreement.example",
                id=plain(one.id),
                recorded=plain(one.recorded),
                decided=plain(one.decided),
            )
            for one in found.examples[:NAMED]
        )
        yield say("agreement.examples", examples=", ".join(some))


def _better(rule: BetterRule, found: Agreement, words: Words) -> str:
    counts = {
        "agreeing": words.number(rule.agreeing),
        "compared": words.number(found.compared),
    }
    if rule.kind == "cut_off" and rule.cut_off is not None:
        cut_off = words.exact(rule.cut_off)
        return words.say("agreement.cut_off", cut_off=cut_off, **counts)
    order = ", ".join(map(plain, rule.classes))
    return words.say("agreement.order", order=order, **counts)


def _share(share: float, words: Words) -> str:
    """A share in per cent; what is just short of all or nothing is not rounded to it."""
    if 0.9995 <= share < 1:
        return words.say("agreement.nearly_all", share=words.whole_percent(1))
    if 0 < share < 0.0005:
        return words.say("agreement.nearly_none", share=words.percent(0.001))
    return words.percent(share)
