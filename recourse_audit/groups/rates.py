"""The rates of every group under the names of the field, and how two groups compare in them.

A rate is a share of people decided on. Gaps in rates are tested on the graph as others are;
intervals of shares, of their difference, ratio and odds ratio count people over the inflation that
the test finds. One test serves the rates that are given the same, because the gap in one is the gap
in the other with another sign. These figures describe; they are no part of the family of tests and
get no verdict.

A rate given the outcome is made of people with either decision. So it is shown only where all four
numbers of people by decision and outcome pass, of everybody and of each group of the table, and
where hardly an outcome is unknown. Whose answer is in the better half often goes with the decision,
so the scoring rate is shown where people divided by both pass.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from recourse_audit.groups.error_rates import ErrorRateTables
from recourse_audit.groups.inference import GapTest
from recourse_audit.groups.intervals import Shares, difference_interval, ratio_interval
from recourse_audit.groups.measures import FEWEST_COMPARED, Inputs
from recourse_audit.groups.population import BAD, FAVOURABLE, GOOD, NOWHERE, REFUSED, UNDECIDED
from recourse_audit.groups.redraws import Ints, Mask
from recourse_audit.groups.tables import Grouping, Pair
from recourse_audit.records.group_figures import Interval, Rate
from recourse_audit.records.groups import Part
from recourse_audit.records.rates import (
    IMPACTS,
    RATES,
    Figure,
    ImpactRatio,
    PairFigures,
    RateGap,
    RateName,
    RateReport,
    RateTable,
    SpreadName,
    Who,
)

Rates = dict[RateName, Rate]
# What a table must show for a rate about these people, and the decisions they may have.
NEEDED: dict[Who, tuple[set[Part], tuple[int, ...]]] = {
    "decided": (set(), ()),
    "scored": ({"scoring_rate"}, ()),
    "favourable": ({"approvals"}, ()),
    "refused": ({"refusals"}, (REFUSED,)),
    "good": ({"approvals", "refusals"}, (FAVOURABLE, REFUSED)),
    "bad": ({"approvals", "refusals"}, (FAVOURABLE, REFUSED)),
}
NO_FIGURE = Figure(value=None, ordinary=None, on_graph=None)


def scoring_tables(inputs: Inputs) -> set[str | None]:
    """The tables that show whose answer is in the better half; None is that of everybody."""
    population, design = inputs.population, inputs.design
    scored = ~np.isnan(population.answers)
    labels = np.where(scored, 2 * population.decided + population.better_half, NOWHERE)
    tables: set[str | None] = set()
    if not design.people or not scored.any() or not design.allows(None, "scoring_rate", labels):
        return tables
    groupings = design.groupings
    return {None, *(g.name for g in groupings if design.allows(g, "scoring_rate", labels))}


@dataclass(frozen=True)
class RateTables:
    """Everybody's rates: what tables show of outcomes is up to `errors`, of answers, `scoring`."""

    inputs: Inputs
    scoring: Collection[str | None]
    errors: ErrorRateTables

    def report(self) -> RateReport:
        """The rates of everybody and of all tables, as far as they can be shown."""
        everybody = np.arange(self.inputs.population.people)
        return RateReport(
            overall=self._rates(everybody, None, {}) if self.inputs.design.people else {},
            tables=tuple(map(self._table, self.inputs.design.groupings)),
        )

    @cached_property
    def _who(self) -> dict[Who, Mask]:
        """Who is meant by each word of the definitions."""
        population = self.inputs.population
        return {
            "decided": population.decided != UNDECIDED,
            "scored": ~np.isnan(population.answers),
            "favourable": population.decided == FAVOURABLE,
            "refused": population.decided == REFUSED,
            "good": population.came_true == GOOD,
            "bad": population.came_true == BAD,
            "better_half": population.better_half,
        }

    def _among(self, people: Ints, given: Who) -> Ints:
        """Those of some people whom a rate is about: where outcomes count, all have one."""
        who = self._who[given] & self._who["decided"]
        if NEEDED[given][0] & {"approvals", "refusals"}:
            who &= self._who["good"] | self._who["bad"]
        return people[who[people]]

    def _list_rates(self, table: str | None, *sides: Ints) -> Iterator[tuple[RateName, Who, Mask]]:
        """The rates that a table shows of some people: who is given, and who of all is counted."""
        parts = self.errors.parts(table) | ({"scoring_rate"} if table in self.scoring else set())
        for name, (counted, given) in RATES.items():
            needed, decisions = NEEDED[given]
            known = (self.errors.knows_enough(side, each) for side in sides for each in decisions)
            if needed <= parts and all(known):
                yield name, given, self._who[counted]

    def _rates(self, people: Ints, table: str | None, inflation: dict[Who, float]) -> Rates:
        return {
            name: self.inputs.rate(yes[self._among(people, given)], inflation.get(given))
            for name, given, yes in self._list_rates(table, people)
        }

    def _table(self, grouping: Grouping) -> RateTable:
        # By how much ties inflate variances: the most of a group's comparisons.
        inflation: dict[str, dict[Who, float]] = {name: {} for name in grouping.labels}
        everybody = np.ones(self.inputs.population.people, dtype=bool)
        pairs = [self._compare(grouping, pair, inflation) for pair in grouping.pairs(everybody)]
        rates = {
            name: self._rates(people, grouping.name, inflation[name])
            for name, people in zip(grouping.labels, grouping.members, strict=True)
        }
        known = [rates[grouping.labels[cell]] for cell in grouping.comparable]
        base = {} if grouping.reference is None else rates[grouping.labels[grouping.reference]]
        line = self.inputs.settings.four_fifths
        return RateTable(
            table=grouping.name,
            by_group=rates,
            impact_ratios={
                grouping.labels[cell]: dict(impact_ratios(own, known, base, line))
                for cell, own in zip(grouping.comparable, known, strict=True)
            },
            pairs=tuple(pairs),
            spreads=dict(spreads(known)),
        )

    def _compare(
        self, grouping: Grouping, pair: Pair, inflation: dict[str, dict[Who, float]]
    ) -> PairFigures:
        """A group against the reference; notes by how much ties inflate the variances of both."""
        gaps: dict[RateName, RateGap] = {}
        tests: dict[Who, GapTest] = {}
        for name, given, yes in self._list_rates(grouping.name, *pair[2:]):
            own = Pair(*pair[:2], *(self._among(side, given) for side in pair[2:]))
            if own.fewer < FEWEST_COMPARED:
                continue
            if given not in tests:
                tests[given] = self.inputs.test(yes.astype(np.float64), own)
            test = tests[given]
            if test.precision is not None:
                for each in (inflation[pair.group], inflation[pair.reference]):
                    each[given] = max(each.get(given, 1.0), test.precision.inflation)
            own_yes, others_yes = (yes[side] for side in own[2:])
            gaps[name] = compare(own_yes, others_yes, test, self.inputs.settings.alpha)
        return PairFigures(
            group=pair.group,
            reference=pair.reference,
            by_rate=gaps,
            standardised_mean_difference=self._compare_answers(pair),
        )

    def _compare_answers(self, pair: Pair) -> Figure:
        """The gap in mean answers, of enough people, over the pooled standard deviation."""
        answers = self.inputs.population.answers
        own = Pair(*pair[:2], *(self._among(side, "scored") for side in pair[2:]))
        if own.fewer < max(FEWEST_COMPARED, self.inputs.settings.smallest):
            return NO_FIGURE
        squares = sum(side.size * float(answers[side].var()) for side in own[2:])
        deviation = math.sqrt(squares / (sum(side.size for side in own[2:]) - 2))
        if not deviation:
            return NO_FIGURE
        test = self.inputs.test(answers / deviation, own)
        ordinary, on_graph = test.ordinary.interval, test.interval
        return Figure(value=test.difference, ordinary=ordinary, on_graph=on_graph)


def compare(yes: Mask, others: Mask, test: GapTest, alpha: float) -> RateGap:
    """The gap between two shares, by a test of the same people and of this rate or its rest."""
    count, base_count, people, base_people = yes.sum(), others.sum(), yes.size, others.size
    share, base = count / people, base_count / base_people
    pooled = (count + base_count) / (people + base_people)
    error = math.sqrt(pooled * (1 - pooled) * (1 / people + 1 / base_people))
    cells = (count, base_people - base_count, people - count, base_count)
    odds = float(cells[0] * cells[1] / (cells[2] * cells[3])) if cells[2] * cells[3] else None

    def intervals(inflation: float | None) -> list[Interval | None]:
        if inflation is None or not error:
            return [None, None, None]
        shares = Shares(share, base, people / inflation, base_people / inflation)
        both = [difference_interval(shares, alpha), ratio_interval(shares, alpha)]
        if not odds:
            return [*both, None]
        reach = math.sqrt(inflation * sum(1 / cell for cell in cells)) * ndtri(1 - alpha / 2)
        return [*both, Interval(low=odds * math.exp(-reach), high=odds * math.exp(reach))]

    precision = test.precision
    on_graph = intervals(None if precision is None else precision.inflation)
    values = (share - base, share / base if base else None, odds)
    difference, ratio, odds_ratio = (
        Figure(value=value, ordinary=ordinary, on_graph=tied)
        for value, ordinary, tied in zip(values, intervals(1.0), on_graph, strict=True)
    )
    return RateGap(
        difference=difference,
        ratio=ratio,
        odds_ratio=odds_ratio,
        z=(share - base) / error if error else None,
        z_on_graph=None if test.p is None or not test.error else (share - base) / test.error,
        p=test.p,
        effective=test.effective,
        untested=test.reason,
    )


def list_rates(groups: list[Rates], name: RateName) -> list[Rate]:
    """A rate of the groups in which there is anybody."""
    return [rates[name] for rates in groups if name in rates and rates[name].of]


def compute_ratio(rate: Rate, base: Rate) -> float | None:
    """A ratio of two rates from their counts, so that four fifths are not a digit below 0.8."""
    return rate.count * base.of / (rate.of * base.count) if base.count else None


def impact_ratios(
    own: Rates, known: list[Rates], base: Rates, four_fifths: float
) -> Iterator[tuple[RateName, ImpactRatio]]:
    """The impact ratios of a known group; none if nobody of any is counted."""
    for name in IMPACTS:
        for rate in list_rates([own], name):
            best = max(list_rates(known, name), key=lambda each: each.share or 0.0)
            highest = compute_ratio(rate, best)
            if highest is not None:
                reference = [compute_ratio(rate, each) for each in list_rates([base], name)]
                ratios = ImpactRatio(
                    highest=highest,
                    reference=reference[0] if reference else None,
                    below_four_fifths=highest < four_fifths,
                )
                yield name, ratios


def spreads(known: list[Rates]) -> Iterator[tuple[SpreadName, float]]:
    """How far the rates of known groups are apart, if all of them have one."""
    ends: dict[RateName, tuple[float, float]] = {}
    for name in RATES:
        shares = [rate.share or 0.0 for rate in list_rates(known, name)]
        if len(shares) == len(known) > 1:
            ends[name] = min(shares), max(shares)
    if "selection_rate" in ends:
        low, high = ends["selection_rate"]
        yield "demographic_parity_difference", high - low
        if high:
            yield "demographic_parity_ratio", low / high
    if "true_positive_rate" in ends:
        low, high = ends["true_positive_rate"]
        yield "equal_opportunity_difference", high - low
        if "false_positive_rate" in ends:
            least, most = ends["false_positive_rate"]
            yield "equalised_odds_difference", max(high - low, most - least)
