"""Random group reports: counts, gaps, intervals and verdicts that fit each other."""

import random
from dataclasses import replace

from recourse_audit.groups.measures import HARDER
from recourse_audit.groups.verdicts import findings_of, worse_off
from recourse_audit.records.group_figures import (
    Comparison,
    DecisionCounts,
    Group,
    Interval,
    Measure,
    Outcomes,
    OwnDataRates,
    Rate,
    Verdict,
)
from recourse_audit.records.groups import GroupReport, GroupTable, OwnDataGroups, OwnDataTable
from recourse_audit.records.rates import RateReport
from recourse_audit.settings import GroupSettings
from tests.render.comparisons import compared
from tests.render.group_reports import gap_report

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota")
ATTRIBUTES = ("origin", "gender", "age_band")
PRIMARY: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")


def rate(count: int, of: int) -> Rate:
    share = count / of if of else None
    ends = None if share is None else Interval(low=max(0.0, share - 0.04), high=share + 0.03)
    return Rate(count=count, of=of, share=share, interval=ends, on_graph=None)


class RandomReport:
    """Draws one report from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._names = self._rng.sample(NAMES, len(NAMES))
        self._base = gap_report()

    def draw(self) -> GroupReport:
        rng = self._rng
        concern = rng.choice([0.05, 0.1, 0.15])
        tables = [self._table((name,), concern) for name in ATTRIBUTES[: rng.randint(1, 3)]]
        if len(tables) > 1 and rng.random() < 0.7:
            tables.append(self._table(ATTRIBUTES[:2], concern, tables))
        groups = tables[0].by_group
        found = tuple(findings_of(tables, GroupSettings(concern=concern)))
        families = {one.family for one in found}
        overall = replace(
            self._base.overall,
            decisions=self._sum_decisions(groups),
            outcomes=self._sum_outcomes(groups),
        )
        return replace(
            self._base,
            concern=concern,
            overall=overall,
            tables=tuple(tables),
            findings=found,
            by_chance=self._base.alpha * len(families),
            own_data=self._own_data(tables),
            left_out=(),
            cut_off=(),
            common_options=(),
            rates=RateReport(overall={}, tables=()),
            error_rates=None,
        )

    def _table(
        self, attributes: tuple[str, ...], concern: float, singles: list[GroupTable] | None = None
    ) -> GroupTable:
        values: list[tuple[str, ...]]
        if singles is None:
            values = [(self._names.pop(),) for _ in range(self._rng.randint(2, 3))]
        else:
            values = [
                (one.name, other.name)
                for one in singles[0].by_group
                for other in singles[1].by_group
            ]
        groups = [self._group(value) for value in values]
        reference = max(groups, key=lambda group: group.decisions.people)
        gaps = [
            self._compare(measure, group, reference, concern, crossed=len(attributes) > 1)
            for group in groups
            if group is not reference
            for measure in PRIMARY
        ]
        return GroupTable(
            name=" x ".join(attributes),
            attributes=attributes,
            reference=reference.name,
            by_group=tuple(groups),
            comparisons=tuple(gaps),
            not_compared=None,
        )

    def _group(self, values: tuple[str, ...]) -> Group:
        rng, base = self._rng, self._base.tables[0].by_group[0]
        assert base.outcomes is not None
        people = rng.randint(60, 900)
        refused = rng.randint(20, people - 20)
        found = rng.randint(0, refused)
        stopped = rng.choice([None, 0, rng.randint(0, refused - found)])
        none = None if stopped is None else refused - found - stopped
        outcomes = replace(
            base.outcomes,
            verified=found,
            certified_infeasible=none,
            not_found_within_budget=stopped,
            errors=0,
            disagreeing=0,
            feasibility=rate(found, refused),
            infeasible=None if none is None else rate(none, refused),
            not_found=None if stopped is None else rate(stopped, refused),
            cost_curve=None,
        )
        decisions = replace(
            base.decisions,
            people=people,
            refused=refused,
            favourable=people - refused,
            undecided=0,
            audited=refused,
            not_audited=0,
            adverse_rate=rate(refused, people),
        )
        return Group(
            name=", ".join(values),
            values=values,
            kinds=tuple("known" for _ in values),
            pooled=0,
            decisions=decisions,
            outcomes=outcomes,
        )

    def _compare(
        self, measure: Measure, group: Group, reference: Group, concern: float, *, crossed: bool
    ) -> Comparison:
        rng = self._rng
        shares = [self._share(measure, one) for one in (group, reference)]
        if measure == "cost":
            gap = rng.choice([0.0, rng.uniform(-0.6, 0.6), rng.uniform(-0.02, 0.02)])
        else:
            gap = HARDER[measure] * (shares[0] - shares[1])
        verdicts: list[Verdict] = ["not settled"]
        verdicts += ["no gap"] if abs(gap) < concern else []
        verdicts += ["gap shown"] if abs(gap) > 0.001 else []
        verdict = rng.choice(verdicts)
        tested = verdict != "not settled" or rng.random() < 0.8
        ends = Interval(low=gap - rng.uniform(0.001, 0.2), high=gap + rng.uniform(0.001, 0.2))
        made = compared(
            measure,
            gap,
            verdict,
            group=group.name,
            family="crossed" if crossed else "single",
            tested=tested,
            smallest=rng.uniform(0.05, 0.5),
        )
        return replace(
            made,
            reference=reference.name,
            value=None if measure == "cost" else shares[0],
            reference_value=None if measure == "cost" else shares[1],
            gap_interval=ends if rng.random() < 0.9 else None,
            worse=worse_off(verdict, gap),
        )

    @staticmethod
    def _share(measure: Measure, group: Group) -> float:
        assert group.outcomes is not None
        refused = measure == "adverse_rate"
        found = group.decisions.adverse_rate if refused else group.outcomes.feasibility
        return found.share or 0.0

    def _own_data(self, tables: list[GroupTable]) -> OwnDataGroups:
        rng = self._rng
        if rng.random() < 0.2:
            return OwnDataGroups(known=False, overall=None, tables=(), ties={})

        def rates(group: Group) -> OwnDataRates:
            decided = group.decisions
            alone = rng.randint(0, decided.people)
            shared = rng.randint(max(0, alone - decided.favourable), min(alone, decided.refused))
            assert group.outcomes is not None
            without = decided.refused - group.outcomes.verified
            return OwnDataRates(
                refused=decided.adverse_rate,
                refused_alone=rate(alone, decided.people),
                to_favourable=decided.refused - shared,
                to_refused=alone - shared,
                difference=(decided.refused - alone) / decided.people,
                approved_alone=rate(decided.refused - shared, decided.people - alone),
                no_option=rate(rng.randint(0, without), decided.refused),
            )

        made = [{group.name: rates(group) for group in table.by_group} for table in tables]
        first = [*made[0].values()]
        overall = OwnDataRates(
            refused=self._add([one.refused for one in first]),
            refused_alone=self._add([one.refused_alone for one in first]),
            to_favourable=sum(one.to_favourable for one in first),
            to_refused=sum(one.to_refused for one in first),
            difference=0.0,
            approved_alone=self._add([one.approved_alone for one in first]),
            no_option=self._add([one.no_option for one in first if one.no_option]),
        )
        own = [
            OwnDataTable(table=table.name, by_group=groups, gaps=(), carried={})
            for table, groups in zip(tables, made, strict=True)
        ]
        return OwnDataGroups(known=True, overall=overall, tables=tuple(own), ties={})

    @staticmethod
    def _add(rates: list[Rate]) -> Rate:
        return rate(sum(one.count for one in rates), sum(one.of for one in rates))

    def _sum_decisions(self, groups: tuple[Group, ...]) -> DecisionCounts:
        names = ("people", "refused", "favourable", "undecided", "audited", "not_audited")
        counts = {name: sum(getattr(one.decisions, name) for one in groups) for name in names}
        rates = [one.decisions.adverse_rate for one in groups]
        return replace(groups[0].decisions, **counts, adverse_rate=self._add(rates))

    def _sum_outcomes(self, groups: tuple[Group, ...]) -> Outcomes:
        found = [one.outcomes for one in groups if one.outcomes is not None]
        stopped = [one.not_found_within_budget for one in found]
        known = None not in stopped
        verified, of = (
            sum(one.verified for one in found),
            sum(one.feasibility.of for one in found),
        )
        many = sum(count or 0 for count in stopped) if known else None
        return replace(
            found[0],
            verified=verified,
            feasibility=rate(verified, of),
            not_found_within_budget=many,
            certified_infeasible=None if many is None else of - verified - many,
            infeasible=None,
            not_found=None,
        )
