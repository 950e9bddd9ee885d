"""What `init` asks at a terminal: at most seven questions, and how their answers are read.

Every question has a guess, which is the answer where nobody is asked, and says where it is from.
A hyphen is the answer "none".
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from recourse_audit.audit.large_graphs import AskedGraph, whole_answers
from recourse_audit.errors import InputError
from recourse_audit.graph.columns import DEFAULT_KIND
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.model.queries import pool_of
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.settings import DecisionSettings
from recourse_audit.settings.section import near_matches

T = TypeVar("T")
NONE = "-"
MOST_LISTED = 20
# What is asked, and how an answer is written.
QUESTIONS = {
    "subject": ("Who is decided on?", "a kind of node"),
    "decisions": (
        "What can be decided, and what do people hope for?",
        "names in the order of the model's output, with * after what people hope for",
    ),
    "cut_off": (
        "From which probability or score on is the decision favourable?",
        "a number; - if the likeliest decision is taken",
    ),
    "protected": ("Which columns are protected attributes?", "names; - for none"),
    "changes": (
        "What may a person be advised to change?",
        "columns, + or - after those that only rise or fall, and kinds of ties to end; - for none",
    ),
    "words": ("What are these kinds called?", "kind = singular, plural; kind = …"),
    "sender": (
        "Who writes to people, and whom can they turn to?",
        "organisation; a name, a telephone number, an e-mail address; - for later",
    ),
}


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """One of the questions; `read` refuses an answer that cannot be meant with an `InputError`."""

    key: str
    guess: str
    why: str
    read: Callable[[str], T]


class Ask(Protocol):
    """Whoever has an answer to every question."""

    def __call__(self, question: Question[T], /) -> T: ...


@dataclass(slots=True, kw_only=True)
class Answers:
    """What `init` guessed, or a person answered; `changes` are None where nobody was asked.

    `changes` are columns with "up", "down" or "any", and kinds of ties with "end".
    """

    classes: list[str]
    favourable: list[str]
    cut_off: float | None = None
    protected: list[str] = field(default_factory=list)
    changes: dict[str, str] | None = None
    words: dict[str, list[str]] = field(default_factory=dict)
    sender: list[str] = field(default_factory=list)


def interview(
    ask: Ask,
    answers: Answers,
    graph: Graph,
    model: OnnxModel,
    probes: ProbeReport,
    columns: Sequence[str],
    recorded: str | None,
) -> None:
    """Ask everything but who is decided on, and put the answers in place of the guesses.

    `columns` may change in principle; `recorded` is the column that names the classes.
    """
    everybody = _ask_about_everybody(answers, graph, model, probes)
    likeliest = _describe_decisions(answers, everybody)
    names = [f"{name}*" if name in answers.favourable else name for name in answers.classes]
    origin = "the files have no names for them"
    origin = f"the names in the column {recorded}" if recorded else origin
    read_classes = partial(read_decisions, len(names), answers.classes if recorded else ())
    answers.classes, answers.favourable = ask(
        Question("decisions", ", ".join(names), f"{origin}; {likeliest}", read_classes)
    )
    if answers.cut_off is None:
        output = model.signature.output
        why = f"the files do not say; {_describe_values(answers, everybody, output)}"
        answers.cut_off = ask(Question("cut_off", NONE, why, partial(read_cut_off, output)))
    ours = {*graph.feature_names} - {*columns}  # names that nobody knows, or parts of a category
    known = [*dict.fromkeys([*(n for n in graph.column_names if n not in ours), *columns])]
    others = [name for name in known if name not in answers.protected]
    why = f"by their names; the other columns are {join_names(others)}"
    guess, read_columns = ", ".join(answers.protected) or NONE, partial(read_names, known, "column")
    answers.protected = ask(Question("protected", guess, why, read_columns))
    kinds = [*graph.ties.kinds]
    if graph.relations:  # of those, the ones that people have
        kinds = [own.name for own in graph.relations if 0 in (own.source, own.target)]
    ends = [kind for kind in kinds if not is_denied(kind)]
    able = [name for name in columns if name not in answers.protected]
    denied = [kind for kind in kinds if kind not in ends]
    why = f"people can end ties, and whether they can change {join_names(able)} no file says"
    why += f"; never suggested: {join_names(denied)}" if denied else ""
    unseen = "is not among the model's columns; if it should be, correct graph.features in the file"
    barred = dict.fromkeys(known, unseen) | dict.fromkeys(denied, "is never suggested")
    barred |= dict.fromkeys(answers.protected, "is protected, so no change of it is suggested")
    read = partial(read_changes, able, ends, barred)
    answers.changes = ask(Question("changes", ", ".join(ends) or NONE, why, read))
    if kinds not in ([], [DEFAULT_KIND]):
        forms = "; ".join(f"{kind} = {_plural_of(kind, ' tie')}" for kind in kinds)
        for kind in graph.kinds.names if graph.kinds is not None else ():
            forms, kinds = f"{forms}; {kind} = {_plural_of(kind)}", [*kinds, kind]
        why = "as the files call them; pages and letters will"
        answers.words = ask(Question("words", forms, why, partial(read_words, kinds)))
    why = "no file says; letters stay drafts without it"
    answers.sender = ask(Question("sender", NONE, why, partial(split_answer, separator=";")))


def _ask_about_everybody(
    guess: Answers, graph: Graph, model: OnnxModel, probes: ProbeReport
) -> Floats:
    output, every = model.signature.output, np.arange(graph.person_count)
    settings = DecisionSettings(classes=(*guess.classes,), favourable=(*guess.favourable,))
    rule = DecisionRule(settings, graph, kind=output.kind or "probabilities")
    batcher = QueryBatcher(model, pool_of(graph), graphs_per_query=None if probes.packing else 1)
    asked = AskedGraph(graph=graph, batcher=batcher, probes=probes, rule=rule)
    return whole_answers(asked, every)[every]


def _describe_decisions(guess: Answers, everybody: Floats) -> str:
    """How often each class is the likeliest."""
    counts = np.bincount(everybody.argmax(axis=1), minlength=len(guess.classes)).tolist()
    people = [f"{name} for {count:,}" for name, count in zip(guess.classes, counts, strict=True)]
    alarm = " (nobody differs: are graph.features right?)" * (max(counts) == len(everybody))
    return f"the likeliest is {', '.join(people)} of {len(everybody):,} people{alarm}"


def _describe_values(answers: Answers, everybody: Floats, output: OutputPort) -> str:
    """The range of what a cut-off would be compared to.

    A single column may be a score, whatever was guessed: then it is the column itself.
    """
    write = "{:.3f}".format
    good = [answers.classes.index(name) for name in answers.favourable]
    values = np.exp(everybody[:, good]).sum(axis=1)
    what = f"the probability of {' or '.join(answers.favourable)} is"
    if output.columns == 1 and output.kind == "logits":
        values, what = everybody[:, 1] - everybody[:, 0], "the model's numbers are"
        write = "{:.4g}".format
    low, middle, high = np.quantile(values, [0, 0.5, 1]).tolist()
    return f"{what} {write(low)} to {write(high)}, for half of the people over {write(middle)}"


def join_names(names: Sequence[str]) -> str:
    """The first of some names, or none."""
    more = ", …" if len(names) > MOST_LISTED else ""
    return f"{', '.join(names[:MOST_LISTED]) or 'none'}{more}"


def split_answer(text: str, separator: str = ",") -> list[str]:
    """What an answer lists."""
    parts = [part.strip() for part in text.split(separator)]
    none = text.strip().casefold() in (NONE, "none")  # as guesses are shown
    return [] if none else [part for part in parts if part]


def read_names(known: Sequence[str], what: str, text: str) -> list[str]:
    """Read a list of names that must be known."""
    return [read_name(known, what, name) for name in dict.fromkeys(split_answer(text))]


def read_name(known: Sequence[str], what: str, text: str) -> str:
    """Read one name that must be known."""
    if (name := text.strip()) not in known:
        raise InputError(f"there is no {what} {name!r}; {near_matches(name, known)}")
    return name


def read_decisions(count: int, known: Sequence[str], text: str) -> tuple[list[str], list[str]]:
    """Read the names of so many classes, `known` if they are, and which of them are favourable."""
    marked = split_answer(text)
    names = [name.removesuffix("*").strip() for name in marked]
    good = [name for name, mark in zip(names, marked, strict=True) if mark.endswith("*")]
    if len(names) != count or len({*names}) < count or not all(names):
        raise InputError(
            f"the model decides between {count} classes; name {count}, with commas between "
            f"them (got {len({*names})})"
        )
    if known and {*names} != {*known}:
        raise InputError(f"the decisions on record are called {', '.join(known)}; keep these names")
    if not 0 < len(good) < count:
        raise InputError(
            "put * after what people hope for, and not after every name, as in: refused, approved*"
        )
    return names, good


def read_cut_off(output: OutputPort, text: str) -> float | None:
    """Read a number that the model's output can be compared to, or none."""
    if not split_answer(text):
        return None
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"a cut-off is a number, such as 0.5 or 620 (got {text!r})") from None
    check_cut_off(output, number)
    return number


def check_cut_off(output: OutputPort, cut_off: float, origin: str = "") -> None:
    """Refuse a cut-off that nothing which the model gives can be compared to."""
    if not math.isfinite(cut_off):
        raise InputError(f"{origin}a cut-off is a number, such as 0.5 or 620 (got {cut_off})")
    if not 0 < cut_off < 1 and (output.columns != 1 or output.kind == "probabilities"):
        columns = "" if output.columns in (None, 1) else f", and it has {output.columns} columns"
        raise InputError(
            f"{origin}a cut-off for probabilities lies between 0 and 1 (got {cut_off:g}); only a "
            f"model with one column of scores takes others, and this is none{columns}"
        )


def read_changes(
    columns: Sequence[str], kinds: Sequence[str], barred: Mapping[str, str], text: str
) -> dict[str, str]:
    """Read which columns may change in which direction, and which kinds of ties may end.

    `barred` are other names that exist, each with why it cannot be chosen.
    """
    changes = {}
    for part in split_answer(text):
        name, direction = part, "end" if part in kinds else "any"
        if part not in (*columns, *kinds) and part[-1] in "+-":
            name, direction = part[:-1], "up" if part.endswith("+") else "down"
        able = kinds if direction == "end" else [*columns, *kinds]
        if name not in able and name in barred:
            raise InputError(f"{name!r} {barred[name]}")
        changes[read_name(able, "column or kind of tie", name)] = direction
    return changes


def read_words(kinds: Sequence[str], text: str) -> dict[str, list[str]]:
    """Read the singular and the plural of kinds."""
    words = {}
    for part in split_answer(text, ";"):
        kind, _, forms = part.partition("=")
        names = split_answer(forms)
        if not 1 <= len(names) <= 2:
            raise InputError(
                f"write a singular and a plural for each kind, as in: {kinds[0]} = loan, loans "
                f"(got {part!r})"
            )
        words[read_name(kinds, "kind", kind)] = names
    return words


def _plural_of(kind: str, more: str = "") -> str:
    """What a kind may be called in English: recommends tie, recommends ties."""
    name = re.sub(r"[_\s]+", " ", kind).strip() + more
    ies = name.endswith("y") and name[-2:-1] not in tuple("aeiou")
    return f"{name}, {name[:-1]}ies" if ies else f"{name}, {name}s"
