import numpy as np
import pytest

from benchmarks.paper.comparison import agreement, beats, common, dominance, marked, p_value


def test_marks_go_from_the_best_to_the_worst() -> None:
    random = np.random.default_rng(0)
    noise = random.normal(0, 0.01, 50)
    columns = {
        name: level + noise * level for name, level in zip("abcde", range(1, 6), strict=True)
    }
    found = marked(columns)
    assert [found[name].mark for name in "edcba"] == [
        "certain", "runner-up", "", "second-worst", "worst",
    ]  # fmt: skip
    assert found["a"].mean == pytest.approx(columns["a"].mean(), abs=5e-4)


def test_a_best_that_cannot_be_told_apart_from_another_is_not_certain() -> None:
    random = np.random.default_rng(1)
    one = random.normal(size=40)
    found = marked({"one": one, "same": one + random.normal(-0.02, 1, 40), "low": one - 9})
    best = max(found, key=lambda name: found[name].mean)
    assert found[best].mark == "best"


def test_equal_means_share_a_mark_and_neither_is_certain() -> None:
    found = marked(
        {"a": np.array([1.0, 3.0]), "b": np.array([3.0, 1.0]), "c": np.array([0.0, 0.0])}
    )
    assert found["a"].mark == found["b"].mark == "best"
    assert found["c"].mark == "runner-up"


def test_the_paired_test_is_students_formula() -> None:
    one, other = np.array([2.0, 4.0, 7.0, 1.0]), np.array([1.0, 4.5, 5.0, 0.0])
    difference = one - other
    t = difference.mean() / (difference.std(ddof=1) / np.sqrt(4))
    # The closed form of Student's distribution with three degrees of freedom.
    share = 0.5 + (np.arctan(t / np.sqrt(3)) + t * np.sqrt(3) / (t * t + 3)) / np.pi
    assert p_value(one, other) == pytest.approx(2 * (1 - share))


def test_without_spread_the_test_says_what_is_obvious() -> None:
    same = np.array([1.0, 2.0, 3.0])
    assert p_value(same, same) == 1.0
    assert p_value(same, same - 1) == 0.0
    assert p_value(same[:1], same[:1] - 1) == 1.0
    assert beats(same, same) == "inconclusive"
    assert beats(same, same - 1) == "better"
    assert beats(same - 1, same) == "worse"


def test_dominance_counts_every_subject_once() -> None:
    own = (np.array([0.0, 0.0, 0.0, -1.0]), np.array([2.0, 1.0, 1.0, 1.0]))
    other = (np.array([-1.0, 0.0, -1.0, 0.0]), np.array([2.0, 1.0, 2.0, 1.0]))
    found = dominance(own, other)
    assert (found.dominates, found.equal, found.neither, found.dominated) == (0.25,) * 4


def test_the_noise_of_scoring_twice_is_not_dominance() -> None:
    own = (np.array([-0.1, -0.1]), np.array([0.3, 0.3]))
    again = (own[0] + 2e-6, own[1] - np.array([2e-6, 4e-6]))
    found = dominance(own, again)
    assert found.equal == 0.5
    assert found.dominates == 0.5
    assert dominance(own, again, scored_twice=False).neither == 1.0


def test_agreement_is_one_for_the_same_order_and_minus_one_for_the_opposite() -> None:
    own = {"a": 1.0, "b": 2.0, "c": 5.0}
    assert agreement(own, {"c": 0.3, "b": 0.2, "a": 0.1}) == pytest.approx(1)
    assert agreement(own, {"c": 0.1, "b": 0.2, "a": 0.3}) == pytest.approx(-1)


def test_only_subjects_that_all_methods_have_are_compared() -> None:
    assert common([{3: 0, 1: 0, 2: 0}, {2: 0, 3: 0}, [3, 2, 9]]) == [2, 3]
    assert common([]) == []
