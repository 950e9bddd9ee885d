"""Whom to audit: everybody, those refused, a list, a group; all of them or a seeded sample."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recourse_audit.audit.agreement import NOT_RECORDED
from recourse_audit.audit.grouping import groups_by
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.errors import InputError, SubjectError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.columns import near_matches
from recourse_audit.records.spreadsheets import unguarded
from recourse_audit.settings.section import is_file

SALT = 23
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the user asked for: all, unfavourable, a file of ids, or ATTRIBUTE=VALUE."""

    subjects: str = "unfavourable"
    sample: int | None = None
    stratify: str | None = None


def selected(audit: LoadedAudit, answers: Floats, selection: Selection) -> Ints:
    """The numbers of the subjects, in ascending order; an empty selection is refused."""
    if selection.stratify is not None and selection.sample is None:
        raise InputError("--stratify needs --sample N, the size of the sample")
    chosen = _chosen(audit, answers, selection.subjects)
    if not len(chosen):
        if selection.subjects == "unfavourable" and audit.recorded is None:
            raise SubjectError(
                f"all {audit.graph.node_count:,} decisions were favourable; there is nothing to "
                "audit, except with --subjects all"
            )
        raise SubjectError(
            f"--subjects {selection.subjects}: there is nobody to audit; choose others, or all"
        )
    if selection.sample is None or selection.sample >= len(chosen):
        return chosen
    return _drawn(audit, chosen, selection.sample, selection.stratify)


def _chosen(audit: LoadedAudit, answers: Floats, wanted: str) -> Ints:
    every = np.arange(audit.graph.node_count)
    if wanted == "all":
        return every
    if wanted == "unfavourable":
        return every[_refused(audit, answers)]
    path = Path(wanted)
    if "=" in wanted and not is_file(path):
        name, _, value = wanted.partition("=")
        values = np.array(_values(audit, name, "--subjects"))
        return np.flatnonzero(values == value)
    return _listed(audit, path)


def _refused(audit: LoadedAudit, answers: Floats) -> NDArray[np.bool_]:
    """Who did not get a favourable decision, including those whose answer is not a number.

    If decisions are on record, those count: whoever they refused.
    """
    if audit.recorded is not None:
        known = audit.recorded != NOT_RECORDED
        refused: NDArray[np.bool_] = known & ~audit.rule.favourable_classes[audit.recorded]
        return refused
    return ~audit.rule.over(answers).favourable(answers, np.arange(len(answers)))


def _values(audit: LoadedAudit, name: str, option: str) -> list[str]:
    known = audit.graph.column_names
    if name not in known:
        raise InputError(
            f"{option}: the nodes have no column {name!r}; {near_matches(name, known)}"
        )
    return groups_by(audit.graph, audit.settings.groups, name)


def _listed(audit: LoadedAudit, path: Path) -> Ints:
    numbers = {name: number for number, name in enumerate(audit.graph.ids.tolist())}
    ids = _ids(path, audit.settings.graph.id)
    unknown = [name for name in ids if name not in numbers]
    if unknown:
        more = f" (and {len(unknown) - NAMED:,} more)" if len(unknown) > NAMED else ""
        raise SubjectError(
            f"{path}: the graph has no node with the {'id' if len(unknown) == 1 else 'ids'} "
            f"{', '.join(map(repr, unknown[:NAMED]))}{more}; correct them or leave them out"
        )
    return np.unique(np.array([numbers[name] for name in ids], np.int64))


def _ids(path: Path, column: str) -> list[str]:
    """One id per line; from a CSV file, the column of ids, guarded against formulas or not."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; --subjects takes all, unfavourable, a file of ids or "
            "ATTRIBUTE=VALUE"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: is not UTF-8 text; write one id per line") from None
    if path.suffix != ".csv":
        return [line.strip() for line in text.splitlines() if line.strip()]
    rows = csv.DictReader(io.StringIO(text, newline=""))
    names = list(rows.fieldnames or [])
    if column not in names:
        raise InputError(f"{path}: there is no column {column!r}; {near_matches(column, names)}")
    return [unguarded(row[column]) for row in rows]


def _drawn(audit: LoadedAudit, chosen: Ints, count: int, stratify: str | None) -> Ints:
    """A uniform sample; with strata, in proportion to their sizes and at least one of each."""
    generator = np.random.default_rng((audit.scope.seed, SALT))
    if stratify is None:
        return np.sort(generator.permutation(chosen)[:count])
    values = np.array(_values(audit, stratify, "--stratify"))[chosen]
    names, which = np.unique(values, return_inverse=True)
    sizes = np.bincount(which, minlength=len(names))
    drawn = [
        generator.permutation(chosen[which == place])[:share]
        for place, share in enumerate(_shares(sizes, count).tolist())
    ]
    return np.sort(np.concatenate(drawn))


def _shares(sizes: Ints, count: int) -> Ints:
    """Divide a number in proportion to sizes by largest remainders, at least one each."""
    least = np.ones_like(sizes) if count >= len(sizes) else np.zeros_like(sizes)
    exact = (sizes - least) * (count - least.sum()) / max(int((sizes - least).sum()), 1)
    shares: Ints = least + exact.astype(np.int64)
    order = np.argsort(exact.astype(np.int64) - exact, kind="stable")
    shares[order[: count - int(shares.sum())]] += 1
    return shares
