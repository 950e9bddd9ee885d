"""Turns raw outputs of any kind into answers in float64: log-probabilities, or scores as they are.

A single column that is not declared to be a score is about the second of two classes.
"""

import numpy as np
from scipy.special import log_expit

from recourse_audit.graph.arrays import Floats
from recourse_audit.settings import OutputKind

SMALLEST_PROBABILITY = 1e-12


def guess_kind(rows: Floats) -> tuple[OutputKind, str]:
    """Tell probabilities, log-probabilities and logits apart by looking at many answers."""
    values = rows.astype(np.float64)
    slack = 5e-3 if rows.dtype == np.float16 else 1e-4
    if values.shape[1] == 1:
        if np.all((values >= 0) & (values <= 1)):
            return "probabilities", "one column, every answer between 0 and 1"
        return "logits", "one column, answers outside 0 to 1"
    if np.all(values >= 0) and np.all(np.abs(values.sum(axis=1) - 1) <= slack):
        return "probabilities", "every row is non-negative and sums to 1"
    if np.all(values <= slack) and np.all(np.abs(np.exp(values).sum(axis=1) - 1) <= slack):
        return "log_probabilities", "every row's exponentials sum to 1"
    return "logits", "rows do not sum to 1, nor do their exponentials"


def as_answers(rows: Floats, kind: OutputKind) -> Floats:
    """Turn raw rows into natural log-probabilities, one column per class; a NaN stays a NaN.

    The scores of a score model stay what they are, in one column.
    """
    values = rows.astype(np.float64)
    if kind == "score":
        return values
    if values.shape[1] == 1:
        return _two_classes(values[:, 0], kind)
    if kind == "probabilities":
        return np.log(np.maximum(values, SMALLEST_PROBABILITY))
    if kind == "log_probabilities":
        return values
    return _log_softmax(values)


def _log_softmax(values: Floats) -> Floats:
    """Work column by column, because there are few classes and many rows."""
    largest = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(largest, column, out=largest)
    values -= largest[:, None]
    total = np.zeros_like(largest)
    for column in values.T:
        total += np.exp(column)
    values -= np.log(total)[:, None]
    return values


def _two_classes(score: Floats, kind: OutputKind) -> Floats:
    if kind == "logits":
        scores: Floats = np.stack((log_expit(-score), log_expit(score)), axis=1)
        return scores
    second = np.exp(score) if kind == "log_probabilities" else score
    both: Floats = np.stack((1.0 - second, second), axis=1)
    return np.log(np.maximum(both, SMALLEST_PROBABILITY))
