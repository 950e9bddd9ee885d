"""What adjusted effects add to a search, and whether their grades change with more draws."""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Bench, alone, open_bench
from benchmarks.search_speed import SAMPLE, open_sample, report, some_subjects
from recourse_audit.audit.caveats import (
    Drawing,
    Effects,
    Removal,
    caveats_on,
    effect_over,
    removal_of,
)
from recourse_audit.graph.graph import Floats
from recourse_audit.records.search import SearchResult
from recourse_audit.records.subject import AdjustedEffect
from recourse_audit.search.evaluation import Scope
from recourse_audit.settings.analysis import FIRST_DRAWS, CaveatSettings

DEPTH = 2
WARM_UP = 2
# As many draws, of other people than those that settled a grade, are the truth about it.
MANY = 4000
SMALLEST = CaveatSettings().smallest_effect


def added_by_caveats(bench: Bench, name: str, count: int, most: float) -> None:
    """Print the time of all caveats divided by the time of the searches they belong to."""
    graph, seed = bench.graph, bench.scope.seed
    effects = Effects(graph, bench.batcher, bench.decisions, DEPTH, CaveatSettings(), seed)
    decided = decisions_on(bench)
    searching = adjusting = 0.0
    subjects = some_subjects(bench, count, 2, most, seed=3)
    for number, subject in enumerate([*subjects[:WARM_UP].tolist(), *subjects.tolist()]):
        start = time.process_time()
        [result] = bench.search.run_block(alone(subject))
        assert isinstance(result, SearchResult)
        middle = time.process_time()
        found = caveats_on(effects, result, decided[subject])
        end = time.process_time()
        if number >= WARM_UP:
            searching += middle - start
            adjusting += end - middle
            assert found or result.moves_nothing
    report(f"caveats_added_{name}", adjusting / searching)
    report(f"caveats_milliseconds_{name}", 1000 * adjusting / len(subjects))
    print(f"# {name}: {len(subjects)} subjects, up to {CaveatSettings().draws} draws")


def decisions_on(bench: Bench) -> list[int]:
    everybody = np.arange(bench.graph.node_count)
    decided: list[int] = bench.decisions.classes_of(bench.whole, everybody).tolist()
    return decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An effect as it was settled, its moves in the first draws, and its moves in many others."""

    settled: AdjustedEffect
    first: Floats
    others: Floats

    @property
    def kept(self) -> float:
        """The mean over many draws, in the direction of the effect as it is."""
        return float(np.sign(self.others[0]) * self.others[1:].mean())

    @property
    def changed(self) -> bool:
        """Whether many other draws settle for another grade."""
        truth = effect_over(float(self.others[0]), self.others[1:], smallest=SMALLEST).grade
        return truth not in (self.settled.grade, "not_settled")


def grades_and_draws(bench: Bench, name: str, count: int, most: float) -> None:
    """Print how many settled grades many other draws change, and how many reversals are false."""
    judged = list(judged_effects(bench, some_subjects(bench, count, 2, most, seed=4).tolist()))
    settled = [one for one in judged if one.settled.grade != "not_settled"]
    reversals = [one for one in settled if one.settled.grade == "reverses"]
    by_signs = [one for one in judged if reverses_by_signs(one.first)]
    report(f"caveats_settled_{name}", len(settled) / len(judged))
    report(f"caveats_changed_{name}", sum(one.changed for one in settled) / len(settled))
    report(f"caveats_false_reversals_{name}", sum(one.kept > -SMALLEST for one in reversals))
    print(f"# {name}: {len(judged)} effects of {count} subjects, {len(reversals)} reversals;")
    print(f"# grades {dict(Counter(one.settled.grade for one in judged))};")
    print(f"# draws {dict(Counter(one.settled.draws for one in judged))};")
    print(f"# {sum(bool(one.settled.depends_on_whom) for one in settled)} depend on whom;")
    wrong = sum(one.kept > -SMALLEST for one in by_signs)
    print(
        f"# by the signs of {FIRST_DRAWS} draws: {len(by_signs)} reversals, {wrong} of them false"
    )


def judged_effects(bench: Bench, subjects: list[int]) -> Iterator[Judged]:
    """Every effect of the subjects' counterfactuals, settled, and drawn many times more."""
    drawn = (bench.graph, bench.batcher, bench.decisions, DEPTH, CaveatSettings())
    effects, others = Effects(*drawn, bench.scope.seed), Effects(*drawn, bench.scope.seed + 1)
    decided = decisions_on(bench)
    for subject in subjects:
        [result] = bench.search.run_block(alone(subject))
        assert isinstance(result, SearchResult)
        if result.moves_nothing:
            continue
        removals = [removal_of(subject, decided[subject], tree) for tree in result.numbers]
        measured = effects.measure(removals)
        for removal, (confounders, effect) in zip(removals, measured, strict=True):
            if effect is not None:
                moves = (
                    moves_of(one, removal, confounders, count)
                    for one, count in ((effects, FIRST_DRAWS), (others, MANY))
                )
                yield Judged(settled=effect, first=next(moves), others=next(moves))


def moves_of(effects: Effects, removal: Removal, confounders: np.ndarray, draws: int) -> Floats:
    """The move as it is, then one for every draw."""
    drawing = Drawing(removal=removal, confounders=confounders)
    effects.draw_on([drawing], draws)
    before, after = drawing.watched
    return after - before


def reverses_by_signs(moves: Floats) -> bool:
    """Whether fewer than half of the draws keep the direction, moves of a millionth included."""
    return bool(np.mean(np.sign(moves[1:]) == np.sign(moves[0])) < 1 / 2)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the npz data sets")
    parser.add_argument("--models", type=Path, help="folder with the models (see benchmarks.train)")
    parser.add_argument(
        "--subjects", type=int, default=200, help="subjects whose grades are judged"
    )
    options = parser.parse_args(argv)
    sample = open_sample(SAMPLE)
    added_by_caveats(sample, "lending", 100, 60_000)
    grades_and_draws(sample, "lending", options.subjects, 60_000)
    if options.data is None or options.models is None:
        return
    for name, count, most in (("cora", 100, 30_000), ("german", 8, 400_000)):
        graph = load_graph(options.data, name)
        bench = open_bench(graph, options.models / f"{name}.onnx", Scope())
        added_by_caveats(bench, name, count, most)
        grades_and_draws(bench, name, min(count, options.subjects), most)


if __name__ == "__main__":
    main()
