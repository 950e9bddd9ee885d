"""What single permitted changes of a column, or of a kind of tie, do to one decision.

A reason may name a column of which no permitted change leads anywhere. So of every column and every
kind of tie that the policy lets a person change, all changes are tried alone: how many of them make
the decision favourable, and how far the best one leads. Where there are too many, a drawn sample is
tried, and the share has an interval.
"""

import numpy as np

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.records.recourse import Part, Responsiveness, wilson
from recourse_audit.recourse.actions import SET
from recourse_audit.recourse.conditions import SubjectConditions
from recourse_audit.recourse.trials import Verifier
from recourse_audit.search.pareto import round_figure

# So many changes of one column or kind of tie are tried: with shared states, and one by one.
MOST_TRIED = 256
MOST_ONE_BY_ONE = 16
SALT = 31


def measure_responsiveness(
    verifier: Verifier, conditions: SubjectConditions, known: Floats, seed: int
) -> tuple[Responsiveness, ...]:
    """The responsiveness of each kind of tie, then of each column; `known` answers are reused.

    `known` has a row for each action of the table, NaN where it was not asked about alone.
    """
    table, asked = verifier.table, verifier.asked
    permitted = np.flatnonzero(conditions.allows(np.arange(len(table))[:, None]))
    number = np.where(table.do == SET, len(table.graph.ties.kinds) + table.move, table.kind)
    most = MOST_TRIED if asked.way == "shared" else MOST_ONE_BY_ONE
    draw = np.random.default_rng((SALT, seed, table.subject))
    parts: list[tuple[Part, int, Ints]] = []
    for part in np.unique(number[permitted]).tolist():
        actions = permitted[number[permitted] == part]
        tried = actions
        if len(actions) > most and bool(np.isnan(known[actions]).any()):
            tried = np.sort(draw.choice(actions, most, replace=False))
        if table.do[actions[0]] == SET:
            name = Part(what="column", name=table.moves[table.move[actions[0]]][0].rule.name)
        else:
            name = Part(what="ties", name=table.graph.ties.kinds[part])
        parts.append((name, len(actions), tried))
    answers = known.copy()
    every = np.concatenate([np.empty(0, np.int64), *(tried for _, _, tried in parts)])
    missing = every[np.isnan(answers[every]).any(axis=1)]
    if len(missing):
        answers[missing] = verifier.answers(missing[:, None])
    return tuple(
        _measure(verifier, part, moves, tried[np.isfinite(answers[tried]).all(axis=1)], answers)
        for part, moves, tried in parts
    )


def _measure(
    verifier: Verifier, part: Part, moves: int, tried: Ints, answers: Floats
) -> Responsiveness:
    """One part; an export of fixed size may have no room for any of its changes."""
    decisions, subject = verifier.asked.edited.decisions, verifier.table.subject
    if not len(tried):
        return Responsiveness(part=part, moves=moves)
    rows = answers[tried]
    flips = int(verifier.reaches(tried[:, None], rows).sum())
    now = decisions.lead(verifier.asked.edited.everybody[[subject]], subject)[0]
    leads = decisions.lead(rows, subject)
    best = int(np.argmax(leads))
    low, high = wilson(flips, len(tried))
    return Responsiveness(
        part=part,
        moves=moves,
        tried=len(tried),
        flips=flips,
        share=round_figure(flips / len(tried)),
        interval=None if len(tried) == moves else (round_figure(low), round_figure(high)),
        best_answer=round_figure(float(decisions.rule.values(rows[[best]])[0])),
        best_move=round_figure(float(leads[best] - now)),
    )
