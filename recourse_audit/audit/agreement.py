"""Compares the decisions on record with the model's.

If they differ, either the file is not the deployed model, or the data, or the rule. So this is the
first finding of an audit: on how many people, on whom, and what would explain most of it.
"""

from collections import Counter

import numpy as np

from recourse_audit.audit.population import bin_labels, group_values, groups_by
from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import check_known
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.model import (
    Agreement,
    BetterRule,
    DecidedAs,
    Disagreement,
    GroupAgreement,
)
from recourse_audit.search.pareto import round_figure
from recourse_audit.settings import Settings
from recourse_audit.settings.section import near_matches

NOT_RECORDED = -1
EXAMPLES = 10
FEATURES_NAMED = 5
# Another rule is only worth a mention if it explains at least this share of the disagreement.
EXPLAINS = 0.5


def read_recorded(settings: Settings, graph: Graph) -> Ints | None:
    """Everybody's decision on record as the number of its class; None without such a column.

    `NOT_RECORDED` where the column is empty.
    """
    name = settings.decision.recorded
    if name is None:
        return None
    check_known("decision.recorded", name, graph.column_names)
    classes = settings.decision.classes
    place = {label: number for number, label in enumerate(classes)} | {"": NOT_RECORDED}
    values = group_values(graph, name)
    for row, value in enumerate(values):
        if value not in place:
            raise GraphError(
                f"{settings.graph.origin}: the "
                f"decision on record for {graph.ids[row]} is {value!r} (column {name!r}), which is "
                f"not in decision.classes; correct one of them; {near_matches(value, classes)}"
            )
    return np.array([place[value] for value in values], np.int64)


def agreement_of(
    settings: Settings, graph: Graph, recorded: Ints, decisions: Decisions
) -> Agreement:
    """Compare everybody's decision on record with the model's on the whole graph."""
    name = settings.decision.recorded
    assert name is not None
    people, classes = np.arange(graph.person_count), decisions.classes
    decided = decisions.classes_of(decisions.everybody[people], people)
    compared = (recorded != NOT_RECORDED) & (decided != NOT_RECORDED)
    agreeing = compared & (recorded == decided)
    differing = np.flatnonzero(compared & ~agreeing)
    outside = _outside(graph.features, differing, np.flatnonzero(agreeing))
    named = Counter(graph.feature_names[column] for column in np.nonzero(outside)[1].tolist())
    pairs = Counter(zip(recorded[compared].tolist(), decided[compared].tolist(), strict=True))
    return Agreement(
        column=name,
        compared=int(compared.sum()),
        agreeing=int(agreeing.sum()),
        unrecorded=int((recorded == NOT_RECORDED).sum()),
        undecided=int(((recorded != NOT_RECORDED) & (decided == NOT_RECORDED)).sum()),
        by_class=tuple(
            DecidedAs(recorded=classes[record], decided=classes[decision], people=count)
            for (record, decision), count in sorted(pairs.items())
        ),
        by_group=_by_group(settings, graph, compared, agreeing),
        examples=_examples(graph, decisions, recorded, decided, differing),
        better=_better(decisions, recorded, decided, compared),
        outside=int(outside.any(axis=1).sum()),
        outside_features=tuple(name for name, _ in named.most_common(FEATURES_NAMED)),
    )


def describe_disagreement(settings: Settings, agreement: Agreement | None) -> str:
    """Why the record speaks against the model, its columns or its rule; "" if it does not."""
    most = settings.decision.most_disagreement
    if agreement is None or agreement.disagreeing <= most * agreement.compared:
        return ""
    columns = "graph.nodes" if settings.graph.node_tables else "graph.features"
    columns = "model.preprocessing" if settings.model.preprocessing else columns
    return (
        f"decision.recorded: on {agreement.disagreeing:,} of {agreement.compared:,} people the "
        f"model does not decide what column {agreement.column!r} has on record, more than the "
        f"{most:.1%} that decision.most_disagreement allows; check that {columns} names what the "
        "model takes, in its order, then the model, the data and the rule"
    )


def _by_group(
    settings: Settings, graph: Graph, compared: Mask, agreeing: Mask
) -> tuple[GroupAgreement, ...]:
    """Groups by attribute, but only where no group of the attribute is too small to be shown."""
    listed = []
    for attribute in settings.groups.attributes:
        values = np.array(groups_by(graph, settings.groups, attribute))
        edges = settings.groups.bins.get(attribute)
        order = bin_labels(edges) if edges else []
        groups = [
            GroupAgreement(
                attribute=attribute,
                group=group,
                compared=int((compared & (values == group)).sum()),
                agreeing=int((agreeing & (values == group)).sum()),
            )
            for group in sorted(
                {*values.tolist()}, key=lambda g: (order.index(g) if g in order else -1, g)
            )
        ]
        if all(group.compared >= settings.groups.smallest for group in groups):
            listed += groups
    return tuple(listed)


def _examples(
    graph: Graph, decisions: Decisions, recorded: Ints, decided: Ints, differing: Ints
) -> tuple[Disagreement, ...]:
    """Those on whom the model is surest of the other decision, surest first."""
    margin = decisions.margin(decisions.everybody[differing], differing)
    surest = np.argsort(-np.abs(margin), kind="stable")[:EXAMPLES]
    return tuple(
        Disagreement(
            id=str(graph.ids[differing[place]]),
            recorded=decisions.classes[recorded[differing[place]]],
            decided=decisions.classes[decided[differing[place]]],
            margin=round_figure(float(margin[place])),
        )
        for place in surest.tolist()
    )


def _outside(features: Floats, differing: Ints, agreeing: Ints) -> Mask:
    """Which features of those who disagree are below or above anything among those who agree."""
    if not len(differing) or not len(agreeing):
        return np.zeros((len(differing), features.shape[1]), bool)
    low, high = features[agreeing].min(axis=0), features[agreeing].max(axis=0)
    outside: Mask = (features[differing] < low) | (features[differing] > high)
    return outside


def _better(
    decisions: Decisions, recorded: Ints, decided: Ints, compared: Mask
) -> BetterRule | None:
    """The other cut-off, or the other order of classes, that explains most of the disagreement."""
    agreeing = int((recorded == decided)[compared].sum())
    needed = agreeing + EXPLAINS * (int(compared.sum()) - agreeing)
    rules = (
        _better_cut_off(decisions, recorded, compared),
        _better_order(decisions.classes, recorded[compared], decided[compared]),
    )
    able = [r for r in rules if r is not None and r.agreeing > agreeing and r.agreeing >= needed]
    return max(able, key=lambda rule: rule.agreeing, default=None)


def _better_cut_off(decisions: Decisions, recorded: Ints, compared: Mask) -> BetterRule | None:
    """The cut-off with which most favourable decisions are those on record.

    Only for two classes, where a favourable decision has one name. Between two neighbouring values
    any cut-off does the same; the one in the middle is named, with as few digits as it needs.
    """
    rule = decisions.rule
    if len(rule.classes) != 2 or not compared.any():
        return None
    values = rule.sign * rule.values(decisions.everybody[: len(compared)][compared])
    wanted = rule.favourable_classes[recorded[compared]]
    order = np.argsort(-values, kind="stable")
    values, wanted = values[order], wanted[order]
    # With the first n let in, those among them that should be, and those after that should not.
    right = np.concatenate(([0], np.cumsum(wanted))) + np.concatenate(
        (np.cumsum(~wanted[::-1])[::-1], [0])
    )
    possible = np.flatnonzero(np.concatenate(([False], values[1:] != values[:-1], [False])))
    if not len(possible):
        return None
    best = int(possible[np.argmax(right[possible])])
    cut_off = rule.sign * _shortest_between(float(values[best]), float(values[best - 1]))
    return BetterRule(
        kind="cut_off", cut_off=cut_off, classes=rule.classes, agreeing=int(right[best])
    )


def _shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits that is above `low` and at most `high`."""
    middle = (low + high) / 2
    for digits in range(1, 17):
        shorter = float(f"{middle:.{digits}g}")
        if low < shorter <= high:
            return shorter
    return high


def _better_order(classes: tuple[str, ...], recorded: Ints, decided: Ints) -> BetterRule | None:
    """The order of classes with which the model's outputs agree with the record most often."""
    if not len(recorded):
        return None
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(counts, (decided, recorded), 1)
    outputs, names = linear_sum_assignment(-counts)
    if np.array_equal(outputs, names):
        return None
    return BetterRule(
        kind="class_order",
        cut_off=None,
        classes=tuple(classes[name] for name in names.tolist()),
        agreeing=int(counts[outputs, names].sum()),
    )
