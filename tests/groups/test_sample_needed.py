"""How many people an audit needs for a table that is withheld: worked out, and enough."""

from dataclasses import replace

import numpy as np

from tests.render.group_reports import few_audited_report, quiet_report


def test_a_small_sample_says_how_large_one_would_be_shown() -> None:
    report = few_audited_report()
    decided = report.overall.decisions
    assert decided is not None
    assert decided.audited == 6
    needed = report.sample_needed
    assert needed is not None
    tables, size = needed
    assert tables == ("gender",)
    assert decided.audited < size < decided.refused
    # Draw that many of the refused, half of whom have an option: every cell has enough people.
    [table] = (table for table in report.tables if table.name == "gender")
    refused = [group.decisions.refused for group in table.by_group]
    cells = [part for count in refused for part in (count // 2, count - count // 2)]
    draws = np.random.default_rng(0).multivariate_hypergeometric(cells, size, 2_000)
    assert (draws >= report.smallest).all(axis=1).mean() > 0.5
    fewer = np.random.default_rng(0).multivariate_hypergeometric(cells, size // 2, 2_000)
    assert (fewer >= report.smallest).all(axis=1).mean() < 0.1


def test_nothing_is_needed_where_all_are_audited_or_no_sample_could_be_enough() -> None:
    assert quiet_report().sample_needed is None
    report = few_audited_report()
    assert replace(report, smallest=10_000).sample_needed is None
