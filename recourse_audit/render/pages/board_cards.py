"""The three cards of the board block: refused, has an option, and refused on own data alone.

Each shows the groups of one attribute: that of the headline. Its title is a finding, its verdict
that of the comparison between the headline's group and the reference.
"""

from collections.abc import Iterator, Sequence

from recourse_audit.records.group_figures import Comparison, Group
from recourse_audit.render.charts.board import (
    parts_strip,
    share_strip,
    shares_axis,
)
from recourse_audit.render.charts.strips import Axis, Part
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_card import Card, Shown, share_axis, title_of
from recourse_audit.render.pages.board_own_data import own_data_card, own_data_shares
from recourse_audit.render.pages.board_words import (
    MARKS,
    TONES,
    along,
    capitalised,
    chance,
    colon,
    few_people,
    group_name,
    more_or_fewer,
    points,
    size,
)
from recourse_audit.render.pages.tables import ChartRow


def cards(shown: Shown) -> tuple[Card, ...]:
    """The three cards; one with nothing to draw says in words why."""
    shares = [*_refused_shares(shown), *own_data_shares(shown)]
    axis = shares_axis(shares)
    return (_refused(shown, axis), _option(shown), own_data_card(shown, axis))


def _refused(shown: Shown, axis: Axis) -> Card:
    words, reference = shown.words, shown.named(shown.table.reference)
    base = None if reference is None else reference.decisions.adverse_rate.share
    rows = []
    for group in shown.groups:
        decided = group.decisions
        if decided.adverse_rate.share is None:
            rows.append(_without(shown, group))
            continue
        share = decided.adverse_rate.share
        figure = words.percent(share)
        against = base if group.name != shown.table.reference else None
        rows.append(
            ChartRow(
                strong=group_name(words, group),
                label="",
                picture=share_strip(
                    axis, share, against, colon(words, group_name(words, group), figure)
                ),
                figure=figure,
                words=words.out_of(decided.adverse_rate.count, decided.adverse_rate.of),
            )
        )
    one = shown.comparison("adverse_rate")
    text = [words.say("board.card.counted", people=_decided(shown))] if _decided(shown) else []
    text += _conclusion(shown, one)
    if one is not None and one.favourable_ratio is not None:
        text.append(
            words.say(
                "board.card.four_fifths",
                ratio=_two(words, one.favourable_ratio),
                line=_two(words, shown.report.four_fifths),
            )
        )
    return _card(shown, "refused", one, rows, text, axis=share_axis(words, axis))


def _option(shown: Shown) -> Card:
    words = shown.words
    rows = []
    for group in shown.groups:
        found = group.outcomes
        if found is None or found.feasibility.share is None:
            rows.append(_without(shown, group))
            continue
        parts = _parts(words, group)
        said = words.listed(part_words(words, group))
        rows.append(
            ChartRow(
                strong=group_name(words, group),
                label="",
                picture=parts_strip(
                    [part[:3] for part in parts], colon(words, group_name(words, group), said)
                ),
                figure="",
                words=words.say_count("board.card.audited", found.feasibility.of),
            )
        )
    one = shown.comparison("feasibility")
    text = [*_conclusion(shown, one), *_medians(shown)]
    return _card(shown, "option", one, rows, text, legend=_legend(shown))


def _card(
    shown: Shown,
    key: str,
    one: Comparison | None,
    rows: Sequence[ChartRow],
    text: Sequence[str],
    *,
    axis: Picture | None = None,
    legend: str = "",
) -> Card:
    words = shown.words
    drawn = any(row.picture is not None for row in rows)
    title = words.say(f"board.card.{key}")
    verdict, tone = words.say("board.card.not_compared"), ""
    if one is not None and one.verdict is not None:
        title = title_of(shown, key, one)
        mark, tone = MARKS[one.verdict], TONES[one.verdict]
        said = capitalised(words.verdict(one.verdict, shown.report.concern))
        verdict = f"{mark} {colon(words, said, gap_words(words, one))}"
    return Card(
        title=title,
        rows=tuple(rows) if drawn else (),
        axis=axis if drawn else None,
        legend=legend if drawn else "",
        empty="" if drawn else _nothing(shown, key),
        verdict=verdict if drawn else "",
        tone=tone,
        text=" ".join([*text, *_left(shown)]) if drawn else "",
    )


def _left(shown: Shown) -> Iterator[str]:
    """That there are more groups than a card shows."""
    if shown.left:
        yield shown.words.say_count("board.card.more", shown.left)


def gap_words(words: Words, one: Comparison) -> str:
    """A gap in points with its interval: 32 points fewer (21 to 43)."""
    if abs(one.gap) < 0.0005:
        said = words.say("board.points.none")
    else:
        said = points(words, f"board.points.{more_or_fewer(one.measure, one.gap)}", one.gap)
    if one.gap_interval is None:
        return said
    return f"{said} ({along(words, one.gap_interval, one.gap)})"


def _nothing(shown: Shown, key: str) -> str:
    """Why a card has nothing to draw."""
    words, overall = shown.words, shown.report.overall
    if overall.decisions is not None and not overall.decisions.refused and key == "option":
        return words.say_count("board.card.all_favourable", overall.decisions.favourable)
    if overall.outcomes is not None and not overall.outcomes.feasibility.of and key == "option":
        return words.say("board.card.nobody")
    return few_people(words, shown.report.smallest)


def _without(shown: Shown, group: Group) -> ChartRow:
    words = shown.words
    said = words.say("board.card.nobody.here")
    return ChartRow(
        strong=group_name(words, group), label="", picture=None, words=said, tone="open"
    )


def _conclusion(shown: Shown, one: Comparison | None) -> Iterator[str]:
    words = shown.words
    if one is None or one.tests.adjusted is None:
        if one is not None:
            yield words.say("finding.untested")
        return
    if one.verdict == "gap shown":
        yield words.say_count(
            "board.card.stands", one.tests.corrected_for or 1, p=chance(words, one.tests.adjusted)
        )
    elif one.verdict == "not settled" and one.smallest_gap_in_family is not None:
        yield words.say("board.card.would", smallest=size(words, one.smallest_gap_in_family))


def _medians(shown: Shown) -> Iterator[str]:
    """The median effort of the named group and of the reference, where both may be shown."""
    words = shown.words
    for name in (shown.table.reference, shown.group):
        group = shown.named(name)
        if group is None or group.outcomes is None or group.outcomes.cost is None:
            continue
        median, said = group.outcomes.cost.median, group_name(words, group)
        if median is None:
            yield words.say("board.card.no_median", group=said)
        else:
            yield words.say("board.card.median", group=said, effort=words.number(median))


def part_words(words: Words, group: Group) -> list[str]:
    """What became of a group's audited people: 67.4% have an option, 28.4% none exists."""
    return [f"{figure} {what}" for _, _, figure, what in _parts(words, group)]


def _parts(words: Words, group: Group) -> list[tuple[Part, float, str, str]]:
    """The shares of a bar: their kind, size, figure and meaning; what is empty is left out."""
    found = group.outcomes
    assert found is not None
    assert found.feasibility.share is not None
    of = found.feasibility.of
    none, stopped = found.certified_infeasible, found.not_found_within_budget
    shares: list[tuple[Part, float, str]] = [("yes", found.feasibility.share, "yes")]
    if none is None or stopped is None:
        shares.append(("no", 1 - found.feasibility.share, "without"))
    else:
        shares += [("no", none / of, "no"), ("open", stopped / of, "open")]
    return [
        (kind, share, words.percent(share), words.say(f"board.part.{what}"))
        for kind, share, what in shares
        if share > 0
    ]


def _legend(shown: Shown) -> str:
    words = shown.words
    found = [one.outcomes for one in shown.groups if one.outcomes is not None]
    if any(one.not_found_within_budget is None for one in found):
        return words.say("board.legend.without")
    stopped = sum(one.not_found_within_budget or 0 for one in found)
    of = sum(one.feasibility.of for one in found)
    if not stopped:
        return words.say("board.legend")
    return words.say("board.legend.open", share=words.percent(stopped / of))


def _decided(shown: Shown) -> str:
    found = shown.report.overall.decisions
    return "" if found is None else shown.words.number(found.adverse_rate.of)


def _refused_shares(shown: Shown) -> Iterator[float]:
    for group in shown.groups:
        if group.decisions.adverse_rate.share is not None:
            yield group.decisions.adverse_rate.share


def _two(words: Words, ratio: float) -> str:
    return words.signed(ratio, 2).lstrip("+")
