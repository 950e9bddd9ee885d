"""How much faster many what-ifs in one question are than one question for each.

    python -m benchmarks.what_ifs [--data DIR --models DIR] [--subjects N]

`what_ifs_vs_copies_lending` is the time of the same combinations of changes by copies of each
subject's receptive field, divided by the time by shared receptive fields, set-up included.
`what_ifs_vs_whole_NAME` compares, on dense real graphs, with the bare runtime asked about the whole
graph once for each combination (models: see `benchmarks.train_dense`).
`lending_seconds_per_subject` is the processor time of a whole audit of everybody refused in the
lending sample, and `lending_thousand_queries` that of 1,000 bare questions about its whole graph.
All times are processor times, which other programs on the machine affect less.
`not_found_NAME_BUDGET` is the share of refused subjects for whom a budget ends without an answer.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Recorder
from benchmarks.recourse import DROP, LENDING_ATTRIBUTES, World, open_world
from benchmarks.search_speed import SAMPLE, report
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import Reporter
from recourse_audit.graph.graph import Ints
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.edited_graph import EditedGraph, Way
from recourse_audit.model.queries import whole
from recourse_audit.recourse.actions import NONE, ActionTable, action_table
from recourse_audit.recourse.conditions import every
from recourse_audit.recourse.search import RecourseSearch
from recourse_audit.recourse.trials import AHEAD, AT_ONCE, Verifier
from recourse_audit.settings import load_settings

DENSE = ("nba_gin", "nba_gcn", "tolokers_gat", "income_sage")


def combinations_of(table: ActionTable, count: int) -> Ints:
    """Single changes, then pairs, then sets of three, as a search tries them; at most `count`."""
    rows = []
    for size in (1, 2, 3):
        some = every(table.group, size) if len(table) ** size < 10**7 else np.empty((0, size), int)
        some = some[np.random.default_rng(size).permutation(len(some))[: count - len(rows)]]
        rows += [np.pad(row, (0, 3 - size), constant_values=NONE) for row in some]
    return np.array(rows[:count]).reshape(-1, 3)


def seconds(edited: EditedGraph, table: ActionTable, rows: Ints, way: Way) -> float:
    """The processor time of all combinations, asked in one way, as a search asks about them."""
    start = time.process_time()
    verifier = Verifier(edited.about(table.subject, way), table)
    for first in range(0, len(rows), AT_ONCE):
        verifier.foresee(rows[first : first + AHEAD])
        verifier.answers(rows[first : first + AT_ONCE])
    taken = time.process_time() - start
    assert verifier.asked.way == way, f"this model cannot be asked this way: {way}"
    return taken


def edited_graph(world: World) -> EditedGraph:
    decisions = world.decisions(world.classes[-1:])
    return EditedGraph(world.graph, world.batcher, world.probes, decisions)


def against_copies(world: World, subjects: int, count: int) -> None:
    """Print how many times faster shared fields are than copies of each field."""
    policy = world.policy(ties=[DROP], attributes=world.attributes)
    edited = edited_graph(world)
    copies = shared = 0.0
    asked = 0
    for subject in world.refused(subjects, seed=1):
        table = action_table(policy, subject, world.probes.depth)
        rows = combinations_of(table, count)
        if len(rows):
            shared += seconds(edited, table, rows, "shared")
            copies += seconds(edited, table, rows, "field")
            asked += len(rows)
    report(f"what_ifs_vs_copies_{world.name}", copies / shared)
    print(f"# {world.name}: {asked} combinations, {1e6 * shared / asked:.0f} µs each")


def against_the_whole_graph(world: World, subjects: int, count: int) -> None:
    """Print how many times more combinations a second shared fields answer than the runtime."""
    policy = world.policy(ties=[DROP])
    edited = edited_graph(world)
    session = world.model._session
    recorder = Recorder(session)
    world.model._session = recorder
    world.batcher.ask(whole(world.graph), np.arange(world.graph.node_count))
    world.model._session = session
    for subject in world.refused(subjects, seed=1):
        table = action_table(policy, subject, world.probes.depth)
        rows = combinations_of(table, count)
        if not len(rows):
            continue
        shared = seconds(edited, table, rows, "shared") / len(rows)
        bare = bare_seconds(world, recorder)
        report(f"what_ifs_vs_whole_{world.name}", bare / shared)
        print(
            f"# {world.name}: a subject with {world.graph.degree(subject)} ties, {len(rows)} "
            f"combinations, {1e3 * shared:.2f} ms each; the whole graph {1e3 * bare:.1f} ms"
        )


def bare_seconds(world: World, recorder: Recorder) -> float:
    """The processor time of one question about the whole graph, the best of three."""
    taken = []
    session = world.model._session
    for _ in range(3):
        start = time.process_time()
        if recorder.asked:
            for outputs, feeds in recorder.asked:
                session.run(outputs, feeds)
        else:  # large enough for a session of its own, which the batcher opens
            world.batcher.ask(whole(world.graph), np.arange(world.graph.node_count))
        taken.append(time.process_time() - start)
    return min(taken)


def whole_audit() -> None:
    """Print the processor time per subject of a whole audit, and that of bare questions."""
    audit = load_audit(SAMPLE / "audit.toml")
    every_one = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, every_one)
    refused = every_one[~audit.rule.over(answers).favourable(answers, every_one)]
    reporter = Reporter(audit, answers)
    start = time.process_time()
    done = sum(1 for block in reporter.search.blocks(refused) for _ in reporter.on_block(block))
    report("lending_seconds_per_subject", (time.process_time() - start) / done)
    start = time.process_time()
    union = whole(audit.graph)
    for _ in range(100):
        audit.batcher.ask(union, every_one)
    report("lending_thousand_queries", 10 * (time.process_time() - start))


def not_found(world: World, attributes: list[dict[str, Any]], subjects: int, budget: int) -> None:
    """Print the share of subjects for whom a budget ends without an answer."""
    policy = world.policy(ties=[DROP], attributes=attributes, budget=budget, draws=0)
    open_ended, chosen = 0, world.refused(subjects, seed=2)
    for subject in chosen:
        decisions = world.decisions(world.hoped_for(subject))
        edited = EditedGraph(world.graph, world.batcher, world.probes, decisions)
        search = RecourseSearch(edited, policy, 0)
        open_ended += search.run(subject, None).status == "not_found_within_budget"
    report(f"not_found_{world.name}_{budget}", open_ended / len(chosen))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the npz data sets")
    parser.add_argument("--models", type=Path, help="folder with the models")
    parser.add_argument("--subjects", type=int, default=12, help="subjects of the sample")
    parser.add_argument("--combinations", type=int, default=2000, help="per subject")
    options = parser.parse_args(argv)
    settings = load_settings(SAMPLE / "audit.toml")
    graph = read_graph(settings.graph)
    lending = open_world("lending", graph, settings.model.path, 1, LENDING_ATTRIBUTES)
    against_copies(lending, options.subjects, options.combinations)
    for budget in (5_000, 40_000):
        not_found(lending, LENDING_ATTRIBUTES, 2 * options.subjects, budget)
    whole_audit()
    if options.data is None or options.models is None:
        print("# for dense graphs, pass --data DIR and --models DIR")
        return
    for name in DENSE:
        graph = load_graph(options.data, name.rsplit("_", 1)[0])
        world = open_world(name, graph, options.models / f"{name}.onnx", 1, [])
        against_the_whole_graph(world, 3, options.combinations)
        for budget in (5_000, 40_000):
            not_found(world, [], 3, budget)


if __name__ == "__main__":
    main()
