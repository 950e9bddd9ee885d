"""Columns that encode a protected attribute cannot be changed; columns that do not, can."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.recourse.proxies import (
    ProxySearch,
    relation_between,
    relation_by_name,
    values_of,
)
from tests.recourse.worlds import policy_of, reasons

PEOPLE = 60
RANDOM = np.random.default_rng(7)
GENDER = np.array([*"fmfmmfx"] * 9)[:PEOPLE]
AGE = RANDOM.integers(18, 80, PEOPLE).astype(float)
BANDS = np.array(["young", "middle", "old"])[np.digitize(AGE, [35, 55])]
INCOME = RANDOM.normal(30_000, 8_000, PEOPLE).round()


def graph(attributes: dict[str, Any] | None = None, **features: Any) -> Graph:
    table = {"income": INCOME, **features}
    ends = np.stack((np.arange(PEOPLE), (np.arange(PEOPLE) + 1) % PEOPLE))
    return from_arrays(
        np.stack([np.asarray(values, float) for values in table.values()], axis=1),
        ends,
        attributes={"gender": GENDER, "age_band": BANDS, "age_years": AGE} | (attributes or {}),
        feature_names=list(table),
    )


def refusal(world: Graph, name: str, groups: Sequence[str], **recourse: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        policy_of(world, groups=groups, attributes=[{"name": name, "step": 1000}], **recourse)
    return str(raised.value)


ENCODED: list[tuple[str, Any, str, str]] = [
    # by name
    ("Gender", RANDOM.normal(size=PEOPLE), "gender", "under another spelling"),
    ("GENDER ", RANDOM.normal(size=PEOPLE), "gender", "under another spelling"),
    ("age-band", RANDOM.normal(size=PEOPLE), "age_band", "under another spelling"),
    ("ageBand", RANDOM.normal(size=PEOPLE), "age_band", "under another spelling"),
    ("gender_f", GENDER == "f", "gender", "is named like"),
    ("genderF", GENDER == "f", "gender", "is named like"),
    ("gender=f", RANDOM.integers(0, 2, PEOPLE), "gender", "is named like"),
    ("age", RANDOM.normal(size=PEOPLE), "age_band", "is named like"),
    ("age_band_old", BANDS == "old", "age_band", "is named like"),
    # by value: one-hot parts, renamed, coarser, finer, bins
    ("woman", GENDER == "f", "gender", "wherever the protected attribute 'gender' is the same"),
    ("sex", np.searchsorted(["f", "m", "x"], GENDER), "gender", "wherever the protected"),
    ("sex", 3 - np.searchsorted(["f", "m", "x"], GENDER), "gender", "wherever the protected"),
    ("retired", AGE >= 55, "age_band", "wherever the protected attribute"),
    ("retired", AGE >= 55, "age_years", "wherever the protected attribute"),
    ("decade", AGE // 5, "age_years", "wherever the protected attribute"),
    ("code", np.digitize(AGE, [25, 35, 45, 55, 65]), "age_band", "gives away the protected"),
    ("born", 2026 - AGE - RANDOM.random(PEOPLE) / 2, "age_band", "divides the other"),
    ("days", AGE * 365 + np.arange(PEOPLE) / 100, "age_years", "divides the other"),
]
DISTINCT: list[tuple[str, Any, str]] = [
    ("income", INCOME, "gender"),
    ("income", INCOME, "age_band"),
    ("income", INCOME, "age_years"),
    ("number", np.arange(PEOPLE), "gender"),
    ("cards", RANDOM.integers(0, 4, PEOPLE), "gender"),
    ("telephone", RANDOM.integers(0, 2, PEOPLE), "age_band"),
    ("constant", np.ones(PEOPLE), "gender"),
    ("average", RANDOM.normal(size=PEOPLE), "age_band"),
    ("mortgage", RANDOM.normal(size=PEOPLE), "age_years"),
    ("tenure", AGE + RANDOM.normal(0, 20, PEOPLE), "age_band"),
]


@pytest.mark.parametrize(("name", "values", "protected", "words"), ENCODED)
def test_a_column_that_encodes_a_protected_one_cannot_be_changed(
    name: str, values: Any, protected: str, words: str
) -> None:
    said = refusal(graph(**{name: values}), name, [protected])
    assert said.startswith(f"recourse.attributes[0].name: {name!r} ")
    assert words in said
    assert repr(protected) in said
    assert "leave it out" in said


@pytest.mark.parametrize(("name", "values", "protected"), DISTINCT)
def test_a_column_that_says_something_else_can(name: str, values: Any, protected: str) -> None:
    rule = {"name": name, "step": 1000}
    policy = policy_of(graph(**{name: values}), groups=[protected], attributes=[rule])
    assert policy.movement(name) is not None


def test_nor_can_it_move_along_with_another() -> None:
    world = graph(woman=(GENDER == "f"))
    rule = {"name": "income", "step": 1000, "implies": [{"name": "woman", "by": 1}]}
    with pytest.raises(SettingsError) as raised:
        policy_of(world, groups=["gender"], attributes=[rule])
    assert str(raised.value).startswith("recourse.attributes[0].implies[0].name: 'woman' has the")


def test_a_person_can_declare_that_a_column_says_something_else() -> None:
    rule, groups = {"name": "age_of_account", "step": 1}, ["age"]
    world = graph({"age": AGE}, age_of_account=RANDOM.normal(size=PEOPLE), Age=AGE)
    assert "list it in recourse.not_protected" in refusal(world, "age_of_account", groups)
    policy = policy_of(world, groups=groups, attributes=[rule], not_protected=["age_of_account"])
    assert policy.movement("age_of_account") is not None
    assert "protected" not in str(reasons(policy, 0, "age_of_account=1"))
    # A mere respelling cannot be declared away.
    said = refusal(world, "Age", groups, not_protected=["Age"])
    assert said.endswith("never change; leave it out")
    assert "there is no feature 'Aeg'; did you mean 'Age'" in refusal(
        world, "Age", groups, not_protected=["Aeg"]
    )


def test_people_whose_group_is_not_known_and_a_few_slips_hide_nothing() -> None:
    unknown = np.where(np.arange(PEOPLE) % 5 == 0, "", GENDER)
    woman = (GENDER == "f").astype(float)
    assert relation_between(values_of(woman), values_of(unknown)) == "is determined by"
    large = np.tile(woman, 50)
    large[0] = 1 - large[0]
    assert relation_between(values_of(large), values_of(np.tile(GENDER, 50))) == "is determined by"


def test_in_a_tiny_table_a_pattern_may_be_chance() -> None:
    assert relation_between(values_of(np.array([1.0, 0, 1])), values_of(np.array([*"fmf"]))) is None
    assert relation_between(values_of(np.arange(6.0)), values_of(np.array([*"aaabbb"]))) is None


def test_chance_columns_are_seldom_taken_for_protected_ones() -> None:
    """Of 2,000 random pairs of small columns, about as many as `CHANCE` says, or fewer."""
    random, taken = np.random.default_rng(0), 0
    for _ in range(2000):
        size = int(random.integers(4, 13))
        one = random.integers(0, 2, size).astype(float)
        other = np.array([*"abc"])[random.integers(0, 3, size)]
        taken += relation_between(values_of(one), values_of(other)) is not None
    assert taken < 40


@pytest.mark.parametrize(
    ("feature", "protected"),
    [("average", "age"), ("mortgage", "age"), ("engender", "gender"), ("racetrack", "race")],
)
def test_a_name_inside_a_word_is_not_the_same_name(feature: str, protected: str) -> None:
    assert relation_by_name(feature, protected) is None


def test_a_respelled_name_typed_by_hand_is_known() -> None:
    world = graph(gender_f=(GENDER == "f"))
    policy = policy_of(world, groups=["gender"], attributes=[{"name": "income", "step": 1000}])
    after = 1 - int(world.features[0, world.feature_names.index("gender_f")])
    assert reasons(policy, 0, f"gender_f={after}") == [
        f"gender_f={after}: protected attributes never change"
    ]
    assert ProxySearch(world, ["gender"]).of("income") is None
