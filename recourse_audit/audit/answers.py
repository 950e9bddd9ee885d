"""What the model answers on the whole graph, for everybody or for the nodes it is asked about.

A model that answers for all nodes at once is asked once, unless the graph is too large for that
(`large_graphs`). A model that answers for one node per query would need a whole graph for each of
them; so each node is asked about on its receptive field, after some nodes have shown that this
gives the whole graph's answer.
"""

import numpy as np

from recourse_audit.audit.large_graphs import LIMITS, Askable, BlockLimits, large_answers
from recourse_audit.errors import RoomError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.batching import CLOSE, noise_of, same_answer
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import neighbourhoods_suffice
from recourse_audit.model.edits import receptive_field
from recourse_audit.model.queries import whole

# How many nodes are asked about both ways before the receptive fields are relied on.
COMPARED = 8


def whole_answers(audit: Askable, nodes: Ints, limits: BlockLimits = LIMITS) -> Floats:
    """Answers on the whole graph, one row per node; NaN for nodes nobody asked about.

    A model that answers for one node per query is asked about `nodes` alone, unless the decision
    on one person depends on everybody's answer.
    """
    graph = audit.graph
    of_large = large_answers(audit, limits)
    if of_large is not None:
        return of_large
    one_by_one = audit.batcher.one_row_per_query and not audit.rule.needs_everybody
    rows = nodes if one_by_one else np.arange(graph.node_count)
    answers = np.full((graph.node_count, audit.batcher.answer_width), np.nan)
    answers[rows] = answers_on(audit, rows)
    return answers


def answers_on(audit: Askable, rows: Ints) -> Floats:
    """The same for some nodes, in ascending order, one row each."""
    if audit.batcher.one_row_per_query and neighbourhoods_suffice(audit.probes):
        answers = _on_receptive_fields(audit, rows)
        if answers is not None:
            return answers
    return audit.batcher.ask(whole(audit.graph), rows)


def _on_receptive_fields(audit: Askable, rows: Ints) -> Floats | None:
    """Ask about each node on its own field; None if that is not the whole graph's answer.

    Answers so close to the line that rounding might decide come from the whole graph.
    """
    depth = audit.probes.depth
    if depth is None or len(rows) <= COMPARED:
        return None
    graph, batcher = audit.graph, audit.batcher
    answers = np.empty((len(rows), batcher.answer_width))
    try:
        for place, node in enumerate(rows.tolist()):
            field = receptive_field(graph, node, depth)
            answers[place] = batcher.ask(field.union, field.place(np.array([node])))[0]
    except RoomError:
        return None
    noise = noise_of(batcher)
    compared = np.unique(np.linspace(0, len(rows) - 1, COMPARED).astype(np.int64))
    known = batcher.ask(whole(graph), rows[compared])
    if not all(
        same_answer(near, far, noise, scores=audit.rule.scores)
        for near, far in zip(answers[compared], known, strict=True)
        if np.isfinite(near).all() or np.isfinite(far).all()
    ):
        return None
    answers[compared] = known
    usable = np.flatnonzero(audit.rule.usable(answers))
    close = usable[_close(audit, answers[usable], rows[usable], CLOSE * noise)]
    if len(close):
        answers[close] = batcher.ask(whole(graph), rows[close])
    return answers


def _close(audit: Askable, answers: Floats, rows: Ints, within: float) -> Mask:
    """Which answers are so close to the line that rounding may decide."""
    everybody = np.full((audit.graph.node_count, answers.shape[1]), np.nan)
    everybody[rows] = answers
    return audit.rule.over(everybody).close(answers, rows, within)
