"""Figures of one group, worked by hand."""

import numpy as np
import pytest

from recourse_audit.groups.measures import cost_grid, quartiles_of, rate_of
from recourse_audit.records.recourse import wilson


def test_quartiles_are_values_of_people_and_the_infeasible_count() -> None:
    spread = quartiles_of(np.array([1.0, 2.0, 3.0, np.inf, np.inf, np.inf, np.inf, 5.0]))
    assert (spread.of, spread.first, spread.median, spread.third) == (8, 2.0, 5.0, None)
    nothing = quartiles_of(np.array([np.nan, np.nan]))
    assert (nothing.of, nothing.median) == (0, None)


def test_a_share_of_nobody_is_none() -> None:
    rate = rate_of(np.zeros(0, dtype=bool), 2.0, 0.05)
    assert (rate.share, rate.interval, rate.on_graph) == (None, None, None)


def test_people_who_are_tied_count_as_fewer() -> None:
    rate = rate_of(np.arange(200) < 80, 4.0, 0.05)
    assert rate.interval is not None
    assert rate.on_graph is not None
    assert (rate.interval.low, rate.interval.high) == pytest.approx(wilson(80, 200))
    assert (rate.on_graph.low, rate.on_graph.high) == pytest.approx(wilson(20, 50))
    assert rate_of(np.arange(200) < 80, None, 0.05).on_graph is None
    assert rate_of(np.arange(200) < 80, 0.5, 0.05).on_graph == rate.interval  # never as more


def test_curves_have_few_points_however_many_costs_there_are() -> None:
    grid = cost_grid(np.append(np.arange(1000.0), np.inf))
    assert len(grid) == 40
    assert (grid[0], grid[-1]) == (0.0, 999.0)
    assert cost_grid(np.array([2.0, 1.0, 2.0, np.inf])) == [1.0, 2.0]
