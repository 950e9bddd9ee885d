"""What the comparisons amount to: one finding each, in the order in which to read them.

The finding to lead with is the largest gap that is shown: against a group before in favour of one,
of a single attribute before attributes crossed, in having an option before refusals before effort;
else the largest gap that is not settled and large enough to matter: `groups.concern` or more, or a
ratio of favourable results below `groups.four_fifths`. If there is none of these, no finding leads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recourse_audit.records.group_figures import Comparison, Family, Measure, Verdict
from recourse_audit.records.groups import Finding, GroupTable
from recourse_audit.settings import GroupSettings

MEASURES: tuple[Measure, ...] = ("feasibility", "adverse_rate", "cost")
FAMILIES: tuple[Family, ...] = ("single", "crossed")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A comparison with a verdict, where it stands, and whether it may lead."""

    table: str
    one: Comparison
    family: Family
    verdict: Verdict
    matters: bool

    @property
    def order(self) -> tuple[bool, int, bool, int, int, float]:
        """What may lead first; then by verdict, direction, family, measure and size."""
        return (
            not self.matters,
            VERDICTS.index(self.verdict),
            self.one.gap <= 0,
            FAMILIES.index(self.family),
            MEASURES.index(self.one.measure) if self.verdict == "gap shown" else 0,
            -abs(self.one.gap),
        )


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank."""
    candidates = sorted(_candidates(tables, settings), key=lambda one: one.order)
    for rank, found in enumerate(candidates, start=1):
        one = found.one
        yield Finding(
            rank=rank,
            headline=rank == 1 and found.matters,
            family=found.family,
            table=found.table,
            group=one.group,
            reference=one.reference,
            measure=one.measure,
            value=one.value,
            reference_value=one.reference_value,
            gap=one.gap,
            interval=one.gap_interval,
            ratio=one.ratio,
            adjusted=one.tests.adjusted,
            tests=one.tests.corrected_for or 0,
            smallest_gap=one.smallest_gap_in_family,
            verdict=found.verdict,
            worse=one.worse,
            no_gap=one.no_gap,
        )


def _candidates(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[_Candidate]:
    for table in tables:
        for one in table.comparisons:
            if one.verdict is not None and one.family is not None:
                yield _Candidate(
                    table=table.name,
                    one=one,
                    family=one.family,
                    verdict=one.verdict,
                    matters=_matters(one, settings),
                )


def _matters(one: Comparison, settings: GroupSettings) -> bool:
    """Whether a finding may lead: a gap that is shown, or one that is open and large."""
    if one.verdict == "gap shown":
        return True
    return one.verdict == "not settled" and (
        abs(one.gap) >= settings.concern or one.below_four_fifths
    )
