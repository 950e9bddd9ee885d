"""How the group report was made: who was counted, how gaps are tested, what verdicts mean."""

from collections.abc import Iterator
from datetime import date

from recourse_audit.records.groups import Days, GroupReport
from recourse_audit.records.model import Agreement, BetterRule
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import attribute_name, colon
from recourse_audit.render.pages.groups_words import confidence, ratio
from recourse_audit.render.pages.tables import Fact
from recourse_audit.render.text import plain

NAMED = 3  # examples of people on whom the record and the model differ


def day_of(days: Days | None, words: Words) -> str:
    """The last day of the audit; "" where it is not known."""
    return "" if days is None else words.day(date.fromisoformat(days.last))


def method(report: GroupReport, words: Words) -> tuple[str, ...]:
    """How gaps are tested, how tests are corrected, and what the verdicts mean."""
    concern = words.number(100 * report.concern)
    said = [words.say("report.method.redraws"), _families(report, words)]
    said.append(words.say("report.method.verdicts", concern=concern))
    if len(report.tests) > 1:
        said.append(words.say("report.method.corrected"))
    said.append(
        words.say(
            "report.method.intervals",
            confidence=confidence(words, report),
            line=ratio(words, report.four_fifths),
        )
    )
    return tuple(said)


def _families(report: GroupReport, words: Words) -> str:
    """How many tests each family has, and how they are corrected."""
    single, both = (
        sum(one.family == family for one in report.tests) for family in ("single", "crossed")
    )
    return words.say(
        "report.method.families",
        single=words.number(single),
        crossed=words.number(both),
        alpha=words.whole_percent(report.alpha),
        chance=words.whole_percent(report.by_chance),
    )


def facts(report: GroupReport, words: Words) -> tuple[Fact, ...]:
    """Who was counted, who was left out, how groups were tested, and when."""
    return tuple(
        Fact(name=words.say(f"report.fact.{key}"), value=value)
        for key, value in _facts(report, words)
        if value
    )


def _facts(report: GroupReport, words: Words) -> Iterator[tuple[str, str]]:
    decided, found = report.overall.decisions, report.overall.outcomes
    if decided is not None:
        yield (
            "people",
            words.say(
                "report.fact.people.text",
                people=words.number(decided.people),
                refused=words.number(decided.refused),
                favourable=words.number(decided.favourable),
                undecided=words.number(decided.undecided),
            ),
        )
        yield (
            "audited",
            words.say(
                "report.fact.audited.text",
                audited=words.out_of(decided.audited, decided.refused),
            ),
        )
    if found is not None and found.certified_infeasible is not None:
        yield (
            "results",
            words.say(
                "report.fact.results.text",
                found=words.number(found.verified),
                none=words.number(found.certified_infeasible),
                open=words.number(found.not_found_within_budget or 0),
                errors=words.number(found.errors),
            ),
        )
    excluded = report.overall.excluded
    yield (
        "left_out",
        "; ".join(colon(words, words.number(n), plain(why)) for why, n in excluded.items()),
    )
    communities = report.communities
    if communities.column is not None:
        column = plain(communities.column)
        yield (
            "communities",
            words.say_count("report.fact.communities.text", communities.count, column=column),
        )
    yield "redraws", words.say_count("report.fact.redraws.text", report.redraws)
    tests = (comparison.precision for table in report.tables for comparison in table.comparisons)
    if any(precision is not None and precision.sampled for precision in tests):
        yield "sample", words.say_count("report.fact.sample.text", report.sample)
    yield "date", _ran(report.ran, words)


def _ran(days: Days | None, words: Words) -> str:
    """When the audit ran, by the clock of the machine that ran it."""
    if days is None:
        return words.say("report.fact.date.unknown")
    first, last = (words.day(date.fromisoformat(one)) for one in (days.first, days.last))
    when = first if first == last else words.interval(first, last)
    return words.say("report.fact.date.text", when=when)


def agreement(found: Agreement | None, words: Words) -> tuple[str, ...]:
    """How many recorded decisions agree with the model; then who does not, and what explains it."""
    return () if found is None else tuple(_agreement(found, words))


def _agreement(found: Agreement, words: Words) -> Iterator[str]:
    yield words.say(
        "report.agreement",
        column=plain(found.column),
        count=words.out_of(found.agreeing, found.compared),
        share=words.percent(found.share),
    )
    if found.unrecorded or found.undecided:
        yield words.say(
            "report.agreement.not_compared",
            unrecorded=words.number(found.unrecorded),
            undecided=words.number(found.undecided),
        )
    if not found.disagreeing:
        return
    pairs = [
        words.say(
            "report.agreement.pair",
            count=words.number(one.people),
            recorded=plain(one.recorded),
            decided=plain(one.decided),
        )
        for one in found.by_class
        if one.recorded != one.decided
    ]
    yield words.say("report.agreement.differences", pairs="; ".join(pairs))
    if found.better is not None:
        yield _better(found.better, found, words)
    if found.outside:
        names = ", ".join(map(plain, found.outside_features))
        yield words.say_count("report.agreement.outside", found.outside, names=names)
    unknown = words.say("unknown")
    for attribute in dict.fromkeys(one.attribute for one in found.by_group):
        shares = [
            f"{plain(one.group) or unknown} {words.percent(one.agreeing / one.compared)}"
            for one in found.by_group
            if one.attribute == attribute
        ]
        yield words.say(
            "report.agreement.by", attribute=attribute_name(attribute), shares=", ".join(shares)
        )
    if found.examples:
        some = [
            f"{plain(one.id)} ({plain(one.recorded)} / {plain(one.decided)})"
            for one in found.examples[:NAMED]
        ]
        yield words.say("report.agreement.examples", examples=", ".join(some))


def _better(rule: BetterRule, found: Agreement, words: Words) -> str:
    count = words.out_of(rule.agreeing, found.compared)
    if rule.kind == "cut_off" and rule.cut_off is not None:
        cut_off = words.amount(rule.cut_off)
        return words.say("report.agreement.cut_off", cut_off=cut_off, count=count)
    order = ", ".join(map(plain, rule.classes))
    return words.say("report.agreement.classes", order=order, count=count)
