"""The test of gaps on a graph: by hand where it can be, calibrated, and with power."""

import math
from functools import cache

import networkx as nx
import numpy as np
import pytest
from scipy.stats import fisher_exact, norm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_effectsize

from recourse_audit.groups.inference import (
    GapTest,
    Inference,
    cohens_h,
    detectable,
    excess_of,
    holm,
    leading_columns,
    mid_ranks,
    nearness_of,
    p_within,
)
from recourse_audit.groups.redraws import (
    SETTINGS,
    Effort,
    Floats,
    Mask,
    Network,
    Redrawing,
    Redraws,
)
from recourse_audit.records.group_figures import ByColumn, Precision
from tests.groups.test_network import network_of

PEOPLE = 400
EVERYBODY = np.arange(PEOPLE)


@cache
def network() -> Network:
    """Twenty circles of twenty people, with few ties between them."""
    return network_of(nx.planted_partition_graph(20, 20, 0.25, 0.003, seed=5))


@cache
def inference() -> Inference:
    return Inference(network(), seed=0, redraws=100)


def by_circle(seed: int, share: float = 0.5) -> Mask:
    """Labels that whole circles have alike."""
    random = np.random.default_rng(seed)
    chosen = random.permutation(20) < round(20 * share)
    return np.asarray(chosen[EVERYBODY // 20])


def smooth(seed: int, share: float = 0.5) -> Mask:
    """Labels that follow ties."""
    field = np.random.default_rng(seed).standard_normal(PEOPLE)
    for _ in range(8):
        field = network().walks[0] @ field
    return np.asarray(field > np.quantile(field, 1 - share))


def at_random(seed: int, share: float = 0.5) -> Mask:
    return np.random.default_rng(seed).random(PEOPLE) < share


def as_values(yes: Mask) -> Floats:
    return yes.astype(np.float64)


def precision_of(test: GapTest) -> Precision:
    assert test.precision is not None
    return test.precision


def column_of(test: GapTest) -> ByColumn:
    by_column = precision_of(test).by_column
    assert by_column is not None
    return by_column


def test_the_statistic_is_that_of_the_recipe() -> None:
    values, member = as_values(smooth(1)), at_random(2)
    found = inference().test(values, member, EVERYBODY)
    ones, others = member.sum(), (~member).sum()
    gap = values[member].mean() - values[~member].mean()
    independent = values.var() * (1 / ones + 1 / others)
    residual = np.where(
        member,
        (values - values[member].mean()) / ones,
        -(values - values[~member].mean()) / others,
    )
    steps = network().distances(EVERYBODY).astype(float)
    apart = steps[(steps > 0) & (steps < 255)]
    near = np.where(steps < 255, np.maximum(0, 1 - steps / (4 / 3 * apart.mean())), 0)
    together = max(independent, residual @ near @ residual)
    assert found.difference == pytest.approx(gap)
    known = precision_of(found)
    assert known.inflation == pytest.approx(known.redrawn * together / independent, rel=1e-4)
    assert known.error == pytest.approx(math.sqrt(known.redrawn * together), rel=1e-4)
    assert found.p == pytest.approx(2 * norm.sf(abs(gap) / known.error), rel=1e-6)
    assert known.effective == pytest.approx(PEOPLE / known.inflation)
    assert found.ordinary.p == pytest.approx(2 * norm.sf(abs(gap) / math.sqrt(independent)))


def test_the_cautious_reading_adds_the_deviation_over_settings() -> None:
    """With labels of two settings and one way of parts, worked out redraw by redraw."""
    values, random = as_values(smooth(1)), np.random.default_rng(8)
    labels = np.array([*(smooth(seed) for seed in range(6)), *(at_random(s) for s in range(7))])
    redraws = Redraws(
        people=PEOPLE,
        settings=(3, 0),
        weights=np.array([0.25, 0.75]),
        counts=(6, 5, 2),
        labels=np.packbits(labels[random.permutation(13)], axis=1),
        fit=0.0,
    )

    def squared(member: Mask) -> float:
        gap = values[member].mean() - values[~member].mean()
        return float(gap**2 / (values.var() * (1 / member.sum() + 1 / (~member).sum())))

    squares = [squared(row) for row in redraws.unpack(slice(0, 13))]
    first, other, parts = (float(np.mean(squares[a:b])) for a, b in ((0, 6), (6, 11), (11, 13)))
    mean = 0.25 * first + 0.75 * other
    spread = math.sqrt(0.25 * (first - mean) ** 2 + 0.75 * (other - mean) ** 2)
    redrawn = max(1.0, mean, parts)
    expected = (redrawn, max(redrawn, mean + spread))
    assert excess_of(values, redraws, None) == pytest.approx(expected, rel=1e-5)
    assert expected[1] > expected[0]


def test_a_gap_is_never_surer_by_the_cautious_reading() -> None:
    values = as_values(smooth(1))
    tests = [inference().test(values, smooth(seed), EVERYBODY) for seed in range(200, 220)]
    pairs = [(test.p, test.cautious) for test in tests if test.p is not None]
    assert all(cautious is not None and cautious >= p for p, cautious in pairs)
    assert any(cautious is not None and cautious > 1.05 * p for p, cautious in pairs)


def test_labels_and_outcomes_that_both_clump_count_for_less() -> None:
    values = as_values(smooth(1))
    alone = inference().test(values, at_random(2), EVERYBODY)
    together = inference().test(values, smooth(3), EVERYBODY)
    assert precision_of(alone).inflation < 1.7
    assert precision_of(together).inflation > 2.5 * precision_of(alone).inflation


@pytest.mark.parametrize("draw", [smooth, by_circle, at_random])
def test_where_there_is_no_gap_few_are_found(draw: object) -> None:
    """Forty draws each, of which two would be expected at 5 %; independent people: up to half."""
    assert callable(draw)
    values = as_values(smooth(1))
    found = [inference().test(values, draw(seed), EVERYBODY) for seed in range(100, 140)]
    rejected = sum(one.p is not None and one.p <= 0.05 for one in found)
    assert rejected <= 5
    if draw is not at_random:
        assert sum((one.ordinary.p or 1.0) <= 0.05 for one in found) > 2 * rejected + 5


def test_a_real_gap_is_found() -> None:
    random = np.random.default_rng(0)
    found = 0
    for seed in range(20):
        member = at_random(seed)
        values = as_values(random.random(PEOPLE) < np.where(member, 0.55, 0.3))
        p = inference().test(values, member, EVERYBODY).p
        found += p is not None and p <= 0.05
    assert found >= 18


def test_redrawn_labels_have_as_many_ones_and_clump_as_their_setting_says() -> None:
    effort = Effort(redraws=300, permutations=20)
    redrawing, member = Redrawing(network(), 0, effort), smooth(4, 0.3)
    redraws = redrawing.redraw(member, EVERYBODY, PEOPLE)
    assert sum(redraws.weights) == pytest.approx(1)
    assert redraws.along_walks == pytest.approx(300, abs=len(redraws.settings))
    along = redraws.unpack(slice(redraws.along_walks))
    assert (along.sum(axis=1) == member.sum()).all()
    by_parts = redraws.unpack(slice(redraws.along_walks, None)).sum(axis=1)
    assert by_parts.mean() == pytest.approx(member.sum(), rel=0.05)
    dealt = redrawing.redraw(at_random(5, 0.3), EVERYBODY, PEOPLE)
    by_setting = dict(zip(dealt.settings, dealt.weights, strict=True))
    strong = [place for place, one in enumerate(SETTINGS) if one and one[1] >= 8 and one[2] > 0.9]
    assert sum(by_setting.get(place, 0.0) for place in strong) < 0.01
    clumped = dict(zip(redraws.settings, redraws.weights, strict=True))
    assert clumped.get(len(SETTINGS) - 1, 0.0) < 0.01  # dealt at random
    again = Redrawing(network(), 0, effort).redraw(member, EVERYBODY, PEOPLE)
    assert again.labels.tobytes() == redraws.labels.tobytes()
    assert again.weights.tolist() == redraws.weights.tolist()


def test_nearness_of_low_rank_hardly_changes_the_variance_of_gaps() -> None:
    steps = network().distances(EVERYBODY)
    near = nearness_of(steps)
    assert near is not None
    rough = near.low_rank(leading_columns(near.matrix))
    parts = np.random.default_rng(0).standard_normal((50, PEOPLE)).astype(np.float32)
    for _ in range(3):
        parts = parts @ network().walks[0].T
        ratio = rough.together(parts) / near.together(parts)
        assert ratio == pytest.approx(np.ones(50), abs=0.05)
        assert ratio.mean() == pytest.approx(1, abs=0.005)


def test_the_same_seed_gives_the_same_figures_in_any_order() -> None:
    values, member = as_values(smooth(1)), smooth(3)
    first, second = (Inference(network(), seed=7, redraws=100) for _ in range(2))
    one = first.test(values, member, EVERYBODY)
    second.test(values, at_random(9), EVERYBODY)
    second.test(as_values(at_random(4)), member, EVERYBODY)
    assert second.test(values, member, EVERYBODY) == one


def test_what_is_not_tested_and_why() -> None:
    lonely = Network(people=300, low=np.arange(40), high=np.arange(40) + 40)
    untied = Inference(lonely, seed=0, redraws=100)
    yes = np.arange(300) % 3 == 0
    assert untied.test(as_values(yes), np.arange(300) % 2 == 0, np.arange(300)).reason == "no_ties"
    assert inference().test(np.ones(PEOPLE), at_random(1), EVERYBODY).reason == "alike"
    rare = np.zeros(PEOPLE)
    rare[7] = 1
    few = inference().test(rare, at_random(1), EVERYBODY)
    assert (few.reason, few.p) == ("few_cases", None)
    assert few.interval is not None
    some = np.flatnonzero(by_circle(1, 0.1))[:12]
    small = inference().test(as_values(smooth(1)), np.isin(EVERYBODY, some), EVERYBODY)
    assert (small.reason, small.p) == ("few_effective", None)


def test_labels_that_no_redraw_resembles_are_not_tested() -> None:
    """Ends of ties always differ: the opposite of clumping."""
    ring = network_of(nx.cycle_graph(PEOPLE))
    found = Inference(ring, seed=0, redraws=100).test(
        as_values(at_random(1)), EVERYBODY % 2 == 0, EVERYBODY
    )
    assert (found.reason, found.p, found.error) == ("unlike", None, None)
    assert found.fit is not None
    assert found.fit > 4


def test_few_cases_take_the_larger_of_two_p_values() -> None:
    member = ~at_random(1)
    values = np.zeros(PEOPLE)
    values[np.flatnonzero(~member)[::55]] = 1
    found = inference().test(values, member, EVERYBODY)
    cases, others = int(values.sum()), int((~member).sum())
    assert cases == 4
    assert found.error is not None
    table = np.array([[0, PEOPLE - others], [cases, others - cases]])
    assert found.p is not None
    assert found.p == pytest.approx(float(fisher_exact(table).pvalue))
    assert found.p > 2 * norm.sf(abs(found.difference) / found.error)


def test_a_column_decides_alone_only_where_few_ties_leave_its_communities() -> None:
    values, member = as_values(smooth(1)), at_random(3)
    circles = EVERYBODY // 20
    inside = Inference(network(), seed=0, redraws=100, communities=circles)
    found = inside.test(values, member, EVERYBODY)
    assert column_of(found).leaving < 0.2
    assert column_of(found).decides
    assert found.p == column_of(found).p
    mixed = np.random.default_rng(0).permutation(circles)
    crossing = Inference(network(), seed=0, redraws=100, communities=mixed).test(
        values, member, EVERYBODY
    )
    plain = inference().test(values, member, EVERYBODY)
    assert column_of(crossing).leaving > 0.8
    assert crossing.p == max(plain.p or 1, column_of(crossing).p or 1)
    few = Inference(network(), seed=0, redraws=100, communities=EVERYBODY // 100)
    untold = few.test(values, member, EVERYBODY)
    assert column_of(untold).p is None
    assert not column_of(untold).decides


def test_the_error_over_communities_is_the_jackknife() -> None:
    values, member, circles = as_values(smooth(1)), at_random(3), EVERYBODY // 20
    found = Inference(network(), seed=0, redraws=100, communities=circles).test(
        values, member, EVERYBODY
    )
    without = np.array(
        [
            values[(circles != one) & member].mean() - values[(circles != one) & ~member].mean()
            for one in range(20)
        ]
    )
    error = math.sqrt(19 / 20 * ((without - found.difference) ** 2).sum())
    reach = error * 2.0930240544082634 / 1.959963984540054  # Student's t, 19 degrees of freedom
    assert found.error == pytest.approx(reach)


def test_ranks_give_the_chance_of_more_minus_less() -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 5, PEOPLE).astype(float)
    values[random.random(PEOPLE) < 0.2] = np.inf
    member = at_random(1)
    one, other = values[member][:, None], values[~member]
    more, less = (one > other).mean(), (one < other).mean()
    ranks = mid_ranks(values)
    assert ranks[member].mean() - ranks[~member].mean() == pytest.approx(more - less)


def test_a_gap_that_is_detectable_is_found_four_times_in_five() -> None:
    size = detectable(0.04, 0.05)
    assert norm.sf(1.959963984540054 - size / 0.04) == pytest.approx(0.8, abs=1e-6)
    assert p_within(0.1, 0.1, 0.04) == p_within(-0.1, 0.1, 0.04) == 0.5
    assert p_within(0.0, 0.1, 0.04) == pytest.approx(norm.cdf(-2.5))


def test_a_sample_stands_for_many_people_with_the_error_of_so_few() -> None:
    values, member = as_values(smooth(1)), at_random(2)
    whole = inference().test(values, member, EVERYBODY)
    sampled = Inference(network(), seed=0, redraws=100, sample=150).test(values, member, EVERYBODY)
    assert (precision_of(whole).sampled, precision_of(sampled).sampled) == (None, 150)
    assert sampled.difference == whole.difference
    assert sampled.ordinary == whole.ordinary
    assert sampled.error is not None
    assert whole.error is not None
    assert 1.2 * whole.error < sampled.error < 3 * whole.error
    again = Inference(network(), seed=0, redraws=100, sample=150).test(values, member, EVERYBODY)
    assert again == sampled


def test_in_a_very_large_graph_drawn_walks_measure_how_labels_clump() -> None:
    labels = np.stack([smooth(4, 0.3), at_random(5, 0.3), by_circle(6)])
    focus = np.arange(0, PEOPLE, 7)
    exact, rough = (
        Redrawing(network(), 0, Effort(), chosen)._measure(labels, EVERYBODY)
        for chosen in (None, focus)
    )
    assert rough == pytest.approx(exact, abs=0.03)


def test_in_a_very_large_graph_labels_are_redrawn_for_few_people(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter of everybody fits into memory here, and all who were audited."""
    monkeypatch.setattr("recourse_audit.groups.inference.VERY_LARGE", PEOPLE - 1)
    monkeypatch.setattr("recourse_audit.groups.redraws.MOST_CACHED", 13 * 40 * PEOPLE // 4)
    focus = np.arange(0, PEOPLE, 4)
    large = Inference(network(), seed=0, redraws=100, focus=focus)
    values, member = as_values(smooth(1)), smooth(3)
    everybody = large.test(values, member, EVERYBODY)
    assert precision_of(everybody).sampled == PEOPLE // 4
    audited = large.test(values[focus], member[focus], focus)
    assert precision_of(audited).sampled is None
    plain = inference().test(values[focus], member[focus], focus)
    inflation = precision_of(plain).inflation
    assert precision_of(audited).inflation == pytest.approx(inflation, rel=0.4)


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_families_are_corrected_as_by_statsmodels(count: int) -> None:
    p_values = np.random.default_rng(count).integers(0, 30, count) / 100  # some of them are equal
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert holm([]) == []


@pytest.mark.parametrize("shares", [(0.0, 1.0), (0.3, 0.3), (0.1, 0.45), (1.0, 0.2)])
def test_the_effect_size_of_rates_is_that_of_statsmodels(shares: tuple[float, float]) -> None:
    assert cohens_h(*shares) == pytest.approx(proportion_effectsize(*shares))
