from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.paper import peers
from benchmarks.paper.edits import Edit, answer_after
from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.cache import Kept
from benchmarks.paper.peers import Contest, compare_peers
from benchmarks.paper.paper_datasets import Place
from benchmarks.paper.plans import Plan
from benchmarks.paper.rivals import (
    ANY,
    CF,
    GREEDY,
    METHODS,
    MOST_CHANGES,
    OWN,
    RANDOM,
    RANDOM_TRIES,
)
from tests.benchmarks.worlds import NAME, open_place

PLAN = Plan(peers={NAME: 9}, peer_budget=20_000, draws=6)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place whose one method that looks inside finds nothing, as there is no inside."""
    monkeypatch.setattr(Contest, "_masked", lambda self, subject: (None, 1))
    return open_place(tmp_path, seed=1)


def flips_with_one_removal(place: Place, subject: int) -> bool:
    """Try every tie near a subject."""
    decided = int(place.bench.whole[subject].argmax())
    return any(
        answer_after(place.graph, place.bench.batcher, subject, Edit(removed=(pair,))).argmax()
        != decided
        for pair in pairs_around(place.graph, subject, peers.DEPTH).tolist()
    )


def results(place: Place) -> dict[int, dict[str, dict[str, Any]]]:
    contest = Contest(place, PLAN)
    return {subject: dict(contest.results(subject)) for subject in contest.subjects(9)}


def test_one_removal_is_found_by_all_who_try_them_all_and_only_where_there_is_one(
    place: Place,
) -> None:
    one = 0
    for subject, found in results(place).items():
        expected = flips_with_one_removal(place, subject)
        one += expected
        for method in (ANY, GREEDY):
            assert (found[method]["size"] == 1) == expected
    assert 0 < one < 9


def test_what_we_call_flipped_is_flipped_on_the_whole_graph(place: Place) -> None:
    for found in results(place).values():
        for method in (OWN, ANY, GREEDY):
            assert found[method]["flipped"] == float(found[method]["claimed"])
            assert found[method]["size"] <= MOST_CHANGES
        assert found[OWN]["flipped"] <= found[ANY]["flipped"]


def test_random_edits_are_as_large_and_as_many_as_ours(place: Place) -> None:
    for found in results(place).values():
        ours = found[ANY]
        assert found[RANDOM]["size"] == (ours["size"] or MOST_CHANGES)
        assert 0 <= found[RANDOM]["flipped"] <= 1
        assert found[RANDOM_TRIES]["queries"] <= max(ours["queries"], 1)


def test_all_methods_are_kept_for_every_subject_and_made_once(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Kept(tmp_path / "results.sqlite") as kept:
        compare_peers(kept, place, PLAN)
        rows = list(kept.rows("peers"))
        assert {row.key.method for row in rows} == set(METHODS)
        assert len(rows) == 9 * len(METHODS)
        assert [row.document["claimed"] for row in rows if row.key.method == CF] == [False] * 9
        monkeypatch.setattr(Contest, "results", lambda self, subject: pytest.fail("made twice"))
        compare_peers(kept, place, PLAN)


def test_subjects_are_test_nodes_that_are_refused_where_one_class_is_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = int(np.bincount(place.bench.whole.argmax(axis=1)).argmax())
    monkeypatch.setitem(peers.FAVOURABLE, NAME, wanted)
    subjects = Contest(place, PLAN).subjects(100)
    decided = place.bench.whole.argmax(axis=1)
    expected = {node for node in range(9) if decided[node] != wanted}
    assert set(subjects) == expected
