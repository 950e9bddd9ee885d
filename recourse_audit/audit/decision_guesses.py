"""The `[decision]` section of a first `audit.toml`: classes, the rule, and the record."""

import math

from recourse_audit.audit.outcomes import SAYS_BAD, SAYS_GOOD
from recourse_audit.audit.toml_sections import listed, quoted
from recourse_audit.errors import InputError
from recourse_audit.model.signature import OutputPort

# What an unfavourable decision is called; of two recorded values, such a one is the first class.
REFUSALS = frozenset(
    {"denied", "deny", "declined", "decline", "rejected", "reject", "refused", "refuse", "no"}
    | {"bad", "false", "0", "0.0", "fail", "failed", "negative", "n", "f"}
)
# What a bad outcome is called; of several values, the first that is not called so may be good.
FAILURES = REFUSALS | {"default", "defaulted", "late", "loss", "lost", "charged off", "2", "2.0"}
MOST_SHOWN = 6


def is_score(output: OutputPort, cut_off: float | None) -> bool:
    """Whether a cut-off can only be that of a score: one column, and no probability."""
    return cut_off is not None and not 0 < cut_off < 1 and output.columns == 1


def decision_lines(
    output: OutputPort, cut_off: float | None, recorded: str | None, values: tuple[str, ...]
) -> list[str]:
    """The section, with class names from the recorded decisions where they fit the model.

    Raises
    ------
    InputError
        The cut-off cannot be one of a probability, and the model gives no score.
    """
    score = is_score(output, cut_off)
    if cut_off is not None:
        _check(cut_off, output, score=score)
    count = output.classes or 2
    classes, doubts = [f"class_{number}" for number in range(count)], []
    if len(values) == count:
        classes = sorted(values, key=lambda text: (text.lower() not in REFUSALS, text))
    elif recorded is not None:
        shown = ", ".join(values[:MOST_SHOWN]) + (", …" if len(values) > MOST_SHOWN else "")
        found = f"{len(values)} different values ({shown})" if values else "many different values"
        doubts = [f"# CHECK: {recorded!r} holds {found}, and the model has {count} classes"]
    lines = [
        "[decision]",
        "# CHECK: what the classes are called, in the order of the model's output",
        f"classes = {listed(classes)}",
        f"favourable = {listed(classes[-1:])}    # CHECK: what a person hopes for",
    ]
    if cut_off is not None:
        of = "score" if score else "summed probability of the favourable classes"
        lines.append(f"cut_off = {_number(cut_off)}    # favourable from this {of} on")
    if score:
        lines.append('better = "higher"    # CHECK: or "lower"')
    if recorded is not None:
        lines.append(f"recorded = {quoted(recorded)}    # the decisions really taken")
    return lines + doubts


def outcome_lines(column: str, values: tuple[str, ...]) -> list[str]:
    """The column of outcomes, and which of its values are good unless they say yes or no."""
    lines = [f"outcome = {quoted(column)}    # what came true later"]
    if all(value.strip().casefold() in SAYS_GOOD | SAYS_BAD for value in values if value.strip()):
        return lines
    there = [value for value in values if value.strip()]
    good = [value for value in there if value.casefold() not in FAILURES]
    lines.append(f"good_outcome = {listed(good[:1])}    # CHECK: the values that are good")
    if len(there) > 2:
        bad = [value for value in there if value not in good[:1]][:MOST_SHOWN]
        lines.append(f"bad_outcome = {listed(bad)}    # CHECK: others count as not known")
    return lines


def _check(cut_off: float, output: OutputPort, *, score: bool) -> None:
    if not math.isfinite(cut_off):
        raise InputError(f"--cut-off: must be a number (got {cut_off})")
    if not score and not 0 < cut_off < 1:
        columns = "" if output.columns is None else f", and this one has {output.columns} columns"
        raise InputError(
            f"--cut-off: a cut-off for probabilities lies between 0 and 1 (got {cut_off:g}); only "
            f"a model with one column of scores takes others{columns}"
        )


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) >= 1 else repr(value)
