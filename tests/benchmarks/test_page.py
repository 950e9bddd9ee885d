import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.page import write_page
from benchmarks.paper.plans import Plan
from benchmarks.paper.published import METHODS, OURS
from benchmarks.paper.reading import MODEL
from benchmarks.paper.rivals import ANY, CF, RANDOM, SHOWN
from benchmarks.paper.rivals import METHODS as RIVALS
from benchmarks.paper.timed import CF_AUTHORS, CF_DENSE, OURS_ALONE, OURS_TOGETHER, TIMED

PLAN = Plan(graphs=("cora", "citeseer"), sizes=(3, 4), distances=(1, 2))
NODES = 30


def plant(cache: ResultCache, graph: str, levels: dict[str, tuple[float, float]]) -> None:
    """Cache results whose means are about as given."""
    random = np.random.default_rng(0)
    cache.put(Key(part=MODEL, graph=graph, method="GCN"), {"fingerprint": "f1", "accuracy": 0.875})
    for method, (one, other) in levels.items():
        for subject in range(NODES):
            noise = random.normal(0, 0.01)
            document = {
                "simulatability": one + noise,
                "relevance": other + noise,
                "seconds": 0.02,
                "preparation": 3.0,
                "coverage": "exhaustive",
                "subgraphs": 700,
            }
            cache.put(table_key(graph, method, subject), document)


def table_key(graph: str, method: str, subject: int, part: str = "table") -> Key:
    setting = PLAN.size.setting("f1")
    return Key(part=part, graph=graph, method=method, subject=subject, setting=setting)


def flat(level: float, relevance: float) -> dict[str, tuple[float, float]]:
    return dict.fromkeys(METHODS, (level, relevance))


def written(cache: ResultCache, folder: Path) -> str:
    write_page(cache, PLAN, folder / "benchmarks.md")
    return (folder / "benchmarks.md").read_text(encoding="utf-8")


def row_of(page: str, title: str, graph: str) -> list[str]:
    """The cells of a graph's row in the table under a title."""
    below = page.split(title, maxsplit=1)[1]
    line = next(line for line in below.splitlines() if line.startswith(f"| {graph} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_says_that_nothing_was_measured_where_nothing_was(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        page = written(cache, tmp_path)
    assert "Not measured yet: Cora, Citeseer." in page
    assert "| Cora | 0 | (-0.196) |" in page
    assert "GNN-MOExp has the best simulatability on: no graph." in page


def test_the_best_is_in_bold_with_the_papers_figure_beside_it(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        levels = flat(-0.5, 0.1) | {OURS: (-0.02, 0.6), "MOEB": (-0.2, 0.3), "Grad": (-0.9, 0.05)}
        plant(cache, "cora", levels)
        page = written(cache, tmp_path)
    cells = row_of(page, "Simulatability", "Cora")
    assert cells[1] == str(NODES)
    assert re.fullmatch(r"\*\*-0\.0\d\d ●\*\* \(-0\.049\)", cells[-1])
    assert re.fullmatch(r"-0\.\d{3} ○ \(-0\.108\)", cells[-2])
    assert re.fullmatch(r"-0\.\d{3} ▼ \(-0\.530\)", cells[4])
    assert "GNN-MOExp has the best simulatability on: Cora." in page
    assert f"Cora, {NODES} nodes: all of them." in page
    assert "Cora: simulatability 0." in page
    assert "GNN-MOExp is best here, Shapley in the paper" in page
    assert "Not measured yet: Citeseer." in page
    assert "Accuracy of the models on test nodes: Cora 0.875." in page


def test_the_page_admits_where_another_method_is_better(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1) | {OURS: (-0.3, 0.05), "EMB": (-0.15, 0.3)})
        page = written(cache, tmp_path)
    assert "GNN-MOExp is **not** best on Cora: EMB has -0.1" in page
    assert "**not** all of them" in page
    assert "EMB is better in simulatability" in page
    assert "GNN-MOExp is dominated by EMB on Cora (100.0% of nodes)" in page


def test_results_of_another_model_do_not_count(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        retrained = {"fingerprint": "f2", "accuracy": 0.9}
        cache.put(Key(part=MODEL, graph="cora", method="GCN"), retrained)
        page = written(cache, tmp_path)
    assert "Not measured yet: Cora, Citeseer." in page


def test_a_method_with_few_results_does_not_shrink_the_table(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        levels = flat(-0.5, 0.1)
        del levels["PGExp"]
        plant(cache, "cora", levels)
        cache.put(table_key("cora", "PGExp", 0), {"simulatability": 0.0, "relevance": 1.0})
        page = written(cache, tmp_path)
    cells = row_of(page, "Simulatability", "Cora")
    assert cells[1] == str(NODES)
    assert cells[2 + METHODS.index("PGExp")] == "(-0.272)"
    assert "PGExp was not measured" in page


def test_every_section_names_the_command_that_made_it(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        page = written(cache, tmp_path)
    sections = page.split("\n## ")[1:]
    assert len(sections) == 7
    for section in sections[:-1]:
        assert "\n\nMade by `python -m benchmarks.paper --data DIR --work DIR --parts " in section


def test_every_chart_of_the_page_is_written_and_says_what_it_shows(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        for size in PLAN.sizes_varied:
            document = {"simulatability": -0.1, "relevance": 0.3, "seconds": 0.1, "subgraphs": 9}
            setting = size.setting("f1")
            key = Key(part="varied", graph="cora", method=OURS, subject=1, setting=setting)
            cache.put(key, document)
        for strength in range(-4, 5):
            document = {"changed": strength > 0, "explanation": 0.5, "strength": strength / 4}
            cache.put(table_key("cora", str(strength), 1, "links"), document)
        page = written(cache, tmp_path)
    files = re.findall(r"\]\((pictures/[^)]+)\)", page)
    assert len(files) == 7
    for file in files:
        root = Xml.parse(tmp_path / file).getroot()
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert title.text
        assert " at " in title.text
    assert "9 comparisons, 4 of them with a changed decision." in page
    assert "by 0.50 where the decision changed and by 0.50 where it did not: **not**" in page
    assert "may be chance (Mann-Whitney p = 1.00)" in page
    assert "Explanations when the model is changed: not measured yet." in page


@pytest.mark.parametrize(("theirs", "verdict"), [(9.0, "met"), (0.9, "**not** met")])
def test_times_taken_in_turn_are_compared_with_the_goals(
    tmp_path: Path, theirs: float, verdict: str
) -> None:
    seconds = dict.fromkeys(TIMED, 2.0) | {OURS_ALONE: 0.03, OURS_TOGETHER: 0.01}
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        for subject in range(4):
            for method, taken in seconds.items():
                document = {"seconds": taken, "removed": [1, 2]}
                cache.put(table_key("cora", method, subject, "timed"), document)
        cache.put(table_key("cora", CF_DENSE, 3, "timed"), {"seconds": 2.0, "removed": None})
        without = written(cache, tmp_path)
        for subject in range(1, 4):
            document = {"seconds": theirs, "removed": [1, 2]}
            cache.put(table_key("cora", CF_AUTHORS, subject, "timed"), document)
        page = written(cache, tmp_path)
    assert "Cora, 4 test nodes, each explained by all methods in turn:" in without
    assert f"{CF_AUTHORS}: not measured" in without
    assert "The 2 versions of CF-GNNExplainer remove the same ties on 3 of 4 nodes." in without
    assert "Cora, 3 test nodes, each explained by all methods in turn:" in page
    told = f"1/{theirs / 0.03:.3g} of its time (goal: 1/100, {verdict})"
    assert f"{CF_AUTHORS}: GNN-MOExp takes {told}, or 1/" in page
    assert "The 3 versions of CF-GNNExplainer remove the same ties on 2 of 3 nodes." in page


def peer(flipped: float, seconds: float) -> dict[str, Any]:
    return {"claimed": True, "flipped": flipped, "size": 2, "seconds": seconds, "queries": 9}


@pytest.mark.parametrize("beaten", [True, False])
def test_a_method_that_loses_to_random_edits_is_named(tmp_path: Path, beaten: bool) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        for method in RIVALS:
            share = 0.5 if method == RANDOM else 0.25 if method == CF and beaten else 1.0
            key = Key(
                part="peers",
                graph="cora",
                method=method,
                subject=4,
                setting=PLAN.peer_setting("f1"),
            )
            cache.put(key, peer(share, 1.0 if method == CF else 0.1))
        page = written(cache, tmp_path)
    assert (f"Cora: {CF} flips **fewer** nodes (25%) than {RANDOM} (50%)." in page) == beaten
    assert f"Cora: {SHOWN[ANY]} take 1/10 of the time" in page
    assert "| Citeseer | 0 | not measured yet |" in page


def test_changed_models_stand_by_their_distance_one_point_each(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        plant(cache, "cora", flat(-0.5, 0.1))
        for subject in range(20):
            for strength, distance in ((0.3, 0.25), (8.0, 0.75)):
                changed = strength > 1 and subject > 0
                found = {"changed": changed, "explanation": distance, "strength": strength}
                cache.put(table_key("cora", f"{strength:g}", subject, "models"), found)
        page = written(cache, tmp_path)
    assert "40 comparisons, 19 of them with a changed decision." in page
    assert "- decision changed: mean distance 0.75 at 8 (19);" in page
    assert "- decision unchanged: mean distance 0.25 at 0.3 (20), 0.75 at 8 (1);" in page
    assert "where it did not: as in the paper." in page
