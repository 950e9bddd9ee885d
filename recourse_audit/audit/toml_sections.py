"""Sections of a first `audit.toml` as text, with a comment for each guess."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from recourse_audit.audit.inspection import PREPARATION, Inspection
from recourse_audit.audit.one_hot_blocks import OneHotBlock
from recourse_audit.settings import ModelSettings

MOST_NAMED = 200


def model_section(
    found: Inspection, settings: ModelSettings, folder: Path, *, score: bool
) -> list[str]:
    """The model, with what was guessed and measured about it as comments."""
    roles = ", ".join(f"{quoted(p.name)} = {quoted(p.role or '?')}" for p in found.signature.inputs)
    output = found.signature.output.kind
    depth = found.probes.depth if found.probes is not None else None
    lines = ["[model]", f"path = {quoted(relative(settings.path, folder))}"]
    if settings.preprocessing is not None:
        pipeline = quoted(relative(settings.preprocessing, folder))
        lines.append(f"preprocessing = {pipeline}    # raw columns in, the model's features out")
    lines.append(f"# roles = {{ {roles} }}    # guessed; set it if one is wrong")
    if score:
        lines.append('output = "score"    # CHECK: one column of any numbers, no probability')
    else:
        lines.append(
            f"# output = {quoted(output or 'logits')}    # {'guessed' if output else 'unknown'}"
        )
    measured = "no limit was measured" if depth is None else "probed"
    lines.append(f"# depth = {2 if depth is None else depth}    # {measured}")
    if found.weighs:
        lines.append(
            "# CHECK: is anything prepared outside the model? These settings say: nothing."
        )
        lines += [f"#{line[1:]}" for line in PREPARATION[1:]]
    if found.problem:
        lines.append(f"# CHECK: {found.problem}")
    return lines


def encoding_section(block: OneHotBlock) -> list[str]:
    """One guessed category."""
    return [
        "[[graph.encodings]]    # CHECK: guessed from names, and because one of them is 1 per row",
        f"name = {quoted(block.name)}",
        'kind = "one_hot"',
        f"columns = {listed(block.columns)}",
        f"labels = {listed(block.labels)}",
    ]


def columns_of_x(names: Sequence[str]) -> list[str]:
    """The features of an archive, which rules and protected attributes are named after."""
    if len(names) > MOST_NAMED:
        return [f"# features: {len(names):,} columns of x, {names[0]!r} to {names[-1]!r}"]
    return [
        "# CHECK: the columns of x, named by the archive's feature_names or numbered; give them",
        "# names in this order: rules and protected attributes refer to them",
        *feature_lines(names),
    ]


def feature_lines(features: Sequence[str]) -> list[str]:
    """The features, one per line."""
    return ["features = [", *(f"    {quoted(name)}," for name in features), "]"]


def closing_sections(groups: list[str]) -> list[str]:
    """Groups, search and recourse, with what may be set there."""
    return [
        "[groups]",
        "# CHECK: the protected attributes",
        f"attributes = {listed(groups)}",
        "",
        "[search]",
        "max_nodes = 4       # at most this many people in an explanation",
        "# max_hops = 2      # the model's depth if absent",
        "budget = 200000     # at most this many subgraphs evaluated per person",
        "",
        "[recourse]",
        "max_changes = 3     # at most this many changes in one option",
        "# CHECK: without rules, own ties may be dropped at cost 1, and nothing else may change.",
        "# Ties such as family are never suggested, and protected attributes never change.",
        "# [[recourse.ties]]",
        '# kind = "*"',
        '# allow = ["drop", "add"]',
        "# [[recourse.attributes]]",
        '# name = "…"         # a feature',
        '# direction = "up"',
        "# step = 1",
    ]


def relative(path: Path, folder: Path) -> str:
    """A path as it is written into a file in `folder`."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def listed(values: Sequence[str]) -> str:
    """A TOML list of strings."""
    return f"[{', '.join(quoted(value) for value in values)}]"


def quoted(value: str) -> str:
    """A TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)
