"""The sections of a first `audit.toml`: what was guessed or answered, as TOML with comments."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from recourse_audit.audit.inspect import PREPARATION, Inspection
from recourse_audit.audit.population import SAYS_BAD, SAYS_GOOD, people_column
from recourse_audit.audit.questions import Answers
from recourse_audit.graph.columns import Column
from recourse_audit.graph.graph import Graph
from recourse_audit.settings import EncodingSettings, ModelSettings

# What an unfavourable decision is called; of two recorded values, such a one is the first class.
REFUSALS = frozenset(
    {"denied", "deny", "declined", "decline", "rejected", "reject", "refused", "refuse", "no"}
    | {"bad", "false", "0", "0.0", "fail", "failed", "negative", "n", "f"}
)
# What a bad outcome is called; of several values, the first that is not called so may be good.
FAILURES = REFUSALS.union(
    ("default", "defaulted", "late", "loss", "lost", "charged off", "left", "2", "2.0")
)
MOST_SHOWN, MOST_NAMED = 6, 200
MOST_GROUPS = 12
ENCODED = {
    "one_hot": "they are 0 or 1, and one of them is 1 in every row",
    "thermometer": "they are 0 or 1, and whoever has a 1 has it in those before as well",
}
# What is said beside a key, unless there is more to say.
COMMENTS = {
    "preprocessing": "raw columns in, the model's features out",
    "from": "CHECK: found by its ids",
    "kind": "CHECK: the kind of a tie",
    "edge_attributes": "CHECK: in the model's order",
    "features": "CHECK: the model's order",
    "directed": "CHECK: true if a tie leads one way only",
    "favourable": "CHECK: what a person hopes for",
    "better": 'CHECK: or "lower"',
    "recorded": "the decisions really taken",
    "subject": "CHECK: who is decided on",
    "outcome": "what came true later",
    "good_outcome": "CHECK: the values that are good",
    "bad_outcome": "CHECK: others count as not known",
}
# The limits of the search, what rules would look like, and what a computed column would.
SEARCH, NO_RULES, DERIVED = (
    Path(__file__).with_name("first_settings.toml").read_text("utf-8").strip().split("\n\n")
)


def model_section(
    inspection: Inspection, settings: ModelSettings, folder: Path, *, score: bool
) -> list[str]:
    """The model, with what was guessed and measured about it as comments."""
    signature, output = inspection.signature, inspection.signature.output.kind
    roles = ", ".join(f"{quote(p.name)} = {quote(p.full_role or '?')}" for p in signature.inputs)
    depth = inspection.probes.depth if inspection.probes is not None else None
    given = {"path": relative_path(settings.path, folder)}
    if settings.preprocessing is not None:
        given["preprocessing"] = relative_path(settings.preprocessing, folder)
    lines = ["[model]", *entries(given)]
    lines.append(f"# roles = {{ {roles} }}    # guessed; set it if one is wrong")
    if score:
        lines.append('output = "score"    # CHECK: one column of any numbers, no probability')
    else:
        guessed = "guessed" if output else "unknown"
        lines.append(f"# output = {quote(output or 'logits')}    # {guessed}")
    measured = "no limit was measured" if depth is None else "probed"
    lines.append(f"# depth = {2 if depth is None else depth}    # {measured}")
    if inspection.weighs:
        lines.append(
            "# CHECK: is anything prepared outside the model? These settings say: nothing."
        )
        lines += [f"#{line[1:]}" for line in PREPARATION[1:]]
    if inspection.problem:
        lines.append(f"# CHECK: {inspection.problem}")
    return lines


def encoding_section(encoding: EncodingSettings) -> list[str]:
    """A category that columns encode."""
    return [
        f"[[graph.encodings]]    # CHECK: guessed from names, and because {ENCODED[encoding.kind]}",
        *entries({"name": encoding.name, "kind": encoding.kind}, {"kind": ""}),
        *entries({"columns": encoding.columns, "labels": encoding.labels}),
    ]


def name_classes(
    count: int, recorded: str | None, values: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """The classes, named by the recorded decisions where they fit the model, and what is doubtful.

    The favourable class is the last.
    """
    if len(values) == count:
        return sorted(values, key=lambda text: (text.lower() not in REFUSALS, text)), []
    doubts = []
    if recorded is not None:
        first = ", ".join(values[:MOST_SHOWN]) + (", …" if len(values) > MOST_SHOWN else "")
        there = f"{len(values)} different values ({first})" if values else "many different values"
        doubts = [f"# CHECK: {recorded!r} holds {there}, and the model has {count} classes"]
    return [f"class_{number}" for number in range(count)], doubts


def decision_section(answers: Answers, recorded: str | None, *, score: bool) -> list[str]:
    """The classes and the rule."""
    given: dict[str, object] = {"classes": answers.classes, "favourable": answers.favourable}
    cut_off, asked = answers.cut_off, answers.changes is not None
    if cut_off is not None:
        whole = cut_off == int(cut_off) and abs(cut_off) >= 1
        given["cut_off"] = int(cut_off) if whole else cut_off
    given |= {"better": "higher"} if score else {}
    given |= {} if recorded is None else {"recorded": recorded}
    of = "score" if score else "summed probability of the favourable classes"
    comments = {"cut_off": f"favourable from this {of} on"} | ({"favourable": ""} if asked else {})
    names = "# CHECK: what the classes are called, in the order of the model's output"
    return ["[decision]", *[names] * (not asked), *entries(given, comments)]


def policy_sections(
    answers: Answers, encodings: Sequence[EncodingSettings], graph: Graph | None
) -> list[list[str]]:
    """The policy that was answered, or what it would look like."""
    if answers.changes is None or graph is None:
        return [NO_RULES.splitlines()]
    head = ["[recourse]", "max_changes = 3     # at most this many changes in one option"]
    labels = {encoding.name: encoding.labels for encoding in encodings}
    ties: list[dict[str, object]] = []
    attributes: list[dict[str, object]] = []
    for name, direction in answers.changes.items():
        values = graph.columns.get(name)
        if direction == "end":
            ties.append({"kind": name, "allow": ["drop"], "cost": 1.0})
        elif values is not None and values.dtype.kind in "biuf":
            step = guess_step(values[: graph.person_count])
            rule: dict[str, object] = {"name": name, "direction": direction, "step": step}
            attributes.append(rule | ({"integer": True} if isinstance(step, int) else {}))
        else:
            texts = [] if values is None else np.unique(values[: graph.person_count]).tolist()
            allowed = [*labels.get(name, ())] or [text for text in texts if text.strip()]
            moves = combinations(allowed if direction == "up" else allowed[::-1], 2)
            ordered = direction != "any" and name in labels  # of a text, no order is known
            way = {"moves": [*moves]} if ordered else {"values": allowed}
            attributes.append({"name": name, **way})
    ties = ties or [{"kind": "*", "allow": []}]
    notes = {"step": "CHECK: the smallest change worth suggesting", "kind": ""}
    notes |= dict.fromkeys(("values", "moves"), "CHECK: what may be suggested")
    rules = [("ties", rule) for rule in ties] + [("attributes", rule) for rule in attributes]
    return [head, *([f"[[recourse.{key}]]", *entries(rule, notes)] for key, rule in rules)]


def word_sections(answers: Answers, graph: Graph | None) -> list[list[str]]:
    """Who writes, and what kinds of nodes and of ties are called."""
    sections = []
    if answers.sender:
        sender, *contact = answers.sender
        letters = {"sender": sender} | ({"contact": contact} if contact else {})
        sections += [["[audit]", *entries({"organisation": sender})]]
        sections += [["[letters]", *entries(letters)]]
    nodes = graph.kinds.names if graph is not None and graph.kinds is not None else ()
    names = {kind: forms for kind, forms in answers.words.items() if kind in nodes}
    if names:
        own = [f"{name_key(kind)} = {quote(forms)}" for kind, forms in names.items()]
        sections.append(["[words.en]", *own])
    for kind, forms in answers.words.items():
        if kind not in nodes:
            sections.append([f"[words.en.ties.{name_key(kind)}]", *entries({"name": forms})])
    return sections


def group_section(answers: Answers, distinct: Mapping[str, int], graph: Graph | None) -> list[str]:
    """The protected attributes, with bins for those of which too many `distinct` numbers exist."""
    check = ["# CHECK: the protected attributes"] * (answers.changes is None)
    lines = ["[groups]", *check, *entries({"attributes": answers.protected})]
    binned = [name for name in answers.protected if distinct.get(name, 0) > MOST_GROUPS]
    if binned and graph is not None:
        edges = [f"{name_key(n)} = {guess_bins(people_column(graph, n))}" for n in binned]
        lines.append(f"bins = {{ {', '.join(edges)} }}    # CHECK: the edges between groups")
    return lines


def outcome_lines(column: str, values: tuple[str, ...]) -> list[str]:
    """The column of outcomes, and which of its values are good unless they say yes or no."""
    given: dict[str, object] = {"outcome": column}
    there = [value for value in values if value.strip()]
    if not all(value.strip().casefold() in SAYS_GOOD | SAYS_BAD for value in there):
        good = [value for value in there if value.casefold() not in FAILURES][:1]
        given["good_outcome"] = good
        if len(there) > 2:
            given["bad_outcome"] = [value for value in there if value not in good][:MOST_SHOWN]
    return entries(given)


def columns_of_x(names: Sequence[str]) -> list[str]:
    """The features of an archive, which rules and protected attributes are named after."""
    if len(names) > MOST_NAMED:
        return [f"# features: {len(names):,} columns of x, {names[0]!r} to {names[-1]!r}"]
    return [
        "# CHECK: the columns of x, named by the archive's feature_names or numbered; give them",
        "# names in this order: rules and protected attributes refer to them",
        *entries({"features": names}, {"features": ""}),
    ]


def entries(given: Mapping[str, object], comments: Mapping[str, str] | None = None) -> list[str]:
    """Lines of TOML; features have one line each, below what is said about them."""
    lines = []
    for key, value in given.items():
        comment = {**COMMENTS, **(comments or {})}.get(key)
        if key == "features" and isinstance(value, Sequence):
            lines += [f"# {comment}"] if comment else []
            lines += ["features = [", *(f"    {quote(name)}," for name in value), "]"]
        else:
            lines.append(f"{key} = {quote(value)}" + (f"    # {comment}" if comment else ""))
    return lines


def relative_path(path: Path, folder: Path) -> str:
    """A path as it is written in a file of this folder."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def name_key(name: str) -> str:
    """A name as a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote(name)


def quote(value: object) -> str:
    """A value as TOML writes it; JSON's strings, numbers and lists are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)


def guess_bins(values: Column) -> list[int | float]:
    """Round edges near the quarters of a column."""
    numbers, step = values[np.isfinite(values)].astype(np.float64), guess_step(values)
    edges = {round(edge / step) * step for edge in np.quantile(numbers, [0.25, 0.5, 0.75])}
    return [float(f"{e:.6g}") if e % 1 else int(e) for e in sorted(edges) if e > numbers.min()]


def guess_step(values: Column) -> int | float:
    """About a tenth of the range of most people, as 1, 2 or 5 times a power of ten."""
    numbers = values[np.isfinite(values)].astype(np.float64)
    low, high = np.quantile(numbers, [0.05, 0.95]) if len(numbers) else (0.0, 0.0)
    size = (high - low) / 10 or 1.0
    power = 10.0 ** math.floor(math.log10(size))
    step = next(nice * power for nice in (1, 2, 5, 10) if size <= nice * power * 1.5)
    whole = bool((numbers == np.round(numbers)).all())
    return max(round(step), 1) if whole else float(f"{step:.1g}")
