"""What may be concluded from a gap: gap shown, no gap of so many points, or not settled.

*Gap shown*: after Holm's correction over its family, chance alone would rarely produce such a gap,
to the disadvantage of the group or of the reference.
*No gap*: a gap of `groups.concern` or more is ruled out in both directions, by two one-sided tests
the larger p value of which is corrected over the same family. *Not settled*: everything else, with
the gap that would have been found. The first two can both hold, of a small gap. Single attributes
and attributes crossed are two families; own data alone and common actions have one each. No verdict
says whether a decision was right, or what causes a gap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from recourse_audit.groups.inference import GapTest, detectable, holm, p_within
from recourse_audit.groups.tables import Pair
from recourse_audit.records.group_figures import Comparison, Family, Measure, Verdict, WorseOff
from recourse_audit.records.groups import Finding, GroupTable
from recourse_audit.settings import GroupSettings

# In the order in which findings are listed.
MEASURES: tuple[Measure, ...] = ("feasibility", "adverse_rate", "cost")
FAMILIES: tuple[Family, ...] = ("single", "crossed")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")
# What is corrected among the p values of a comparison.
ADJUSTED = ("adjusted", "cautious_adjusted", "no_gap_adjusted", "corrected_for")
# What a finding repeats of its comparison under the same name.
SAME = (
    *("family", "group", "reference", "measure", "value", "reference_value"),
    *("gap", "ratio", "verdict", "worse", "no_gap", "stands"),
)


class FamilyTest(NamedTuple):
    """One test of a family: p values, the gap with plus worse for the group, and its error."""

    p: float
    cautious: float
    no_gap: float
    gap: float
    error: float


def correct_family(
    tests: Mapping[int, FamilyTest], settings: GroupSettings
) -> dict[int, dict[str, Any]]:
    """What may be said of gaps after correction for their family, named as in a `JudgedGap`."""
    count, alpha, corrected = len(tests), settings.alpha, {}
    by_test = (holm(p_values) for p_values in [*zip(*tests.values(), strict=True)][:3])
    adjusted = zip(*by_test, strict=True)
    for (place, test), (shown, cautious, no_gap) in zip(tests.items(), adjusted, strict=True):
        verdict: Verdict = "no gap" if no_gap <= alpha else "not settled"
        verdict = "gap shown" if shown <= alpha else verdict
        corrected[place] = {
            **dict(zip(ADJUSTED, (shown, cautious, no_gap, count), strict=True)),
            "smallest_gap": min(1.0, detectable(test.error, alpha / count)),
            "verdict": verdict,
            "worse": worse_off(verdict, test.gap),
            "no_gap": no_gap <= alpha,
            "stands": verdict == "gap shown" and cautious <= alpha,
        }
    return corrected


def judged_fields(pair: Pair, tested: GapTest) -> dict[str, Any]:
    """The fields of a `JudgedGap` outside all families."""
    return {
        "group": pair.group,
        "reference": pair.reference,
        "gap": tested.difference,
        "interval": tested.interval,
        "p": tested.p,
        "effective": tested.effective,
        "untested": tested.reason,
    }


def judge_gaps(
    drafts: Sequence[tuple[Pair, GapTest]], settings: GroupSettings
) -> Iterator[dict[str, Any]]:
    """The fields of a `JudgedGap` for each gap of a family."""
    tests = {
        place: FamilyTest(
            p=tested.p,
            cautious=tested.cautious or tested.p,
            no_gap=p_within(tested.difference, settings.concern, error),
            gap=tested.difference,
            error=error,
        )
        for place, (_, tested) in enumerate(drafts)
        if tested.p is not None and (error := tested.error) is not None
    }
    corrected = correct_family(tests, settings)
    rest = {"corrected_for": len(tests), "verdict": "not settled"}
    for place, (pair, tested) in enumerate(drafts):
        yield judged_fields(pair, tested) | corrected.get(place, rest)


def give_verdicts(
    comparisons: Sequence[Comparison], settings: GroupSettings
) -> Iterator[Comparison]:
    """Correct the tests of each family, and give each comparison of a family its verdict."""
    corrected: dict[int, dict[str, Any]] = {}
    for family in FAMILIES:
        family_tests = {
            place: FamilyTest(
                p=comparison.tests.on_graph,
                cautious=comparison.tests.cautious or 0.0,
                no_gap=comparison.tests.no_gap or 0.0,
                gap=comparison.gap,
                error=precision.error,
            )
            for place, comparison in enumerate(comparisons)
            if comparison.family == family
            and comparison.tests.on_graph is not None
            and (precision := comparison.precision) is not None
        }
        corrected |= correct_family(family_tests, settings)
    for place, comparison in enumerate(comparisons):
        own = corrected.get(place)
        if own is None:
            yield replace(comparison, verdict=None if comparison.family is None else "not settled")
            continue
        tests = replace(comparison.tests, **{name: own.pop(name) for name in ADJUSTED})
        smallest = own.pop("smallest_gap")
        yield replace(comparison, tests=tests, smallest_gap_in_family=smallest, **own)


def worse_off(verdict: Verdict, gap: float) -> WorseOff | None:
    """Whom a gap that is shown is to the disadvantage of: the group if it is a plus."""
    if verdict != "gap shown" or not gap:
        return None
    return "group" if gap > 0 else "reference"


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank.

    What may lead comes first, a gap that is shown, or one that is not settled and large; then by
    verdict, family, measure and size. Whom a gap is against makes no difference.
    """
    findings = []
    for table in tables:
        for comparison in table.comparisons:
            if comparison.verdict is None:
                continue
            large = abs(comparison.gap) >= settings.concern or comparison.below_four_fifths
            leads = {"gap shown": True, "not settled": large, "no gap": False}[comparison.verdict]
            fields: dict[str, Any] = {name: getattr(comparison, name) for name in SAME}
            finding = Finding(
                **fields,
                rank=0,
                headline=leads,
                table=table.name,
                interval=comparison.gap_interval,
                adjusted=comparison.tests.adjusted,
                tests=comparison.tests.corrected_for or 0,
                smallest_gap=comparison.smallest_gap_in_family,
            )
            findings.append(finding)
    for rank, finding in enumerate(sorted(findings, key=_order), start=1):
        yield replace(finding, rank=rank, headline=finding.headline and rank == 1)


def _order(finding: Finding) -> tuple[bool, int, int, int, float]:
    return (
        not finding.headline,
        VERDICTS.index(finding.verdict),
        FAMILIES.index(finding.family),
        MEASURES.index(finding.measure) if finding.verdict == "gap shown" else 0,
        -abs(finding.gap),
    )
