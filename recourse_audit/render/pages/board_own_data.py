"""The card on refusals on own data alone: from the answer without any ties to the decision."""

from collections.abc import Iterator

from recourse_audit.records.group_figures import OwnDataRates
from recourse_audit.render.charts.board import move_strip
from recourse_audit.render.charts.strips import Axis
from recourse_audit.render.pages.board_card import Card, Shown, empty_card, share_axis, titled
from recourse_audit.render.pages.board_words import colon, few_people, group_name
from recourse_audit.render.pages.tables import ChartRow


def own_data_card(shown: Shown, axis: Axis) -> Card:
    """Counted and not tested; where it is not known or left out, the card says so."""
    words, own = shown.words, shown.report.own_data
    title = words.say("board.card.own")
    if own.overall is None:
        if not own.known:
            return empty_card(title, words.say("board.card.own.not_asked"))
        return empty_card(title, few_people(words, shown.report.smallest))
    rates = _own_rates(shown)
    if not rates:
        return empty_card(title, few_people(words, shown.report.smallest))
    rows = []
    for group in shown.groups:
        found = rates.get(group.name)
        if found is None or found.refused.share is None or found.refused_alone.share is None:
            continue
        alone, decided = found.refused_alone.share, found.refused.share
        name = group_name(words, group)
        figures = {"alone": words.percent(alone), "decided": words.percent(decided)}
        rows.append(
            ChartRow(
                strong=name,
                label="",
                picture=move_strip(
                    axis,
                    alone,
                    decided,
                    colon(words, name, words.say("board.card.own.alt", **figures)),
                ),
                figure=words.say("board.card.own.row", **figures),
                words="",
            )
        )
    named, reference = (rates.get(name or "") for name in (shown.group, shown.table.reference))
    if named is not None and reference is not None:
        value, base = named.refused_alone.share, reference.refused_alone.share
        title = titled(shown, "own", value, base)
    return Card(
        title=title,
        rows=tuple(rows),
        axis=share_axis(words, axis),
        legend=words.say("board.card.own.legend"),
        empty="",
        verdict=words.say("board.card.own.verdict"),
        tone="",
        text=words.say(
            "board.card.own.text",
            favourable=words.number(own.overall.to_favourable),
            refused=words.number(own.overall.refused.count),
            others=words.number(own.overall.to_refused),
        ),
    )


def _own_rates(shown: Shown) -> dict[str, OwnDataRates]:
    tables = shown.report.own_data.tables
    return next((one.by_group for one in tables if one.table == shown.table.name), {})


def own_data_shares(shown: Shown) -> Iterator[float]:
    """Every share that the card draws."""
    for one in _own_rates(shown).values():
        yield from (rate.share for rate in (one.refused, one.refused_alone) if rate.share)
