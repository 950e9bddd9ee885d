"""Own data and surroundings in words: for pages and the terminal. No sentence claims a cause."""

from dataclasses import dataclass

from recourse_audit.records.own_data import OwnData, Parts
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.answers import amount
from recourse_audit.render.text import number, plain, share

NO_CAUSE = (
    "This is the model's answer to a changed question; it does not say what caused the decision."
)
NO_CAUSES = (
    "These are the model's answers to changed questions; they do not say what caused the decision."
)
ALONE = "Own data, no ties"
CELLS = {
    "as_is": "Own data, own place",
    "own_data_elsewhere": "Own data, others' places",
    "others_data_here": "Others' data, own place",
    "neither": "Others' data, others' places",
}
HEADING = "Own data and surroundings"
HOW_TO_READ = (
    "Own data are the person's features; their place is their node with its ties, and what "
    "surrounds it. One is exchanged with that of other people, drawn at random, while everybody "
    "else stays as they are. Means over all draws, with 95 % intervals."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One answer: a value with its interval, in words as well, and the share of favourable ones.

    `favourable` is empty for the answer on own data alone, which is not a mean.
    """

    name: str
    mean: float
    low: float
    high: float
    words: str
    favourable: str


def watched_value(report: SubjectReport) -> str:
    """What the answers are about."""
    return "score" if report.decision.scored else "probability of the favourable classes"


def answer_rows(report: SubjectReport, found: OwnData) -> list[AnswerRow]:
    """The four answers, then the one on own data alone; as many as there are."""
    rows = []
    scored = report.decision.scored
    for key, name in CELLS.items() if found.cells is not None else ():
        cell = getattr(found.cells, key)
        words = _figure(cell.mean, scored=scored)
        if key != "as_is":
            low, high = (_figure(end, scored=scored) for end in (cell.low, cell.high))
            words = f"{words} ({low} to {high})"
        favourable = f"{100 * cell.favourable:.0f} %"
        rows.append(
            AnswerRow(
                name=name,
                mean=cell.mean,
                low=cell.low,
                high=cell.high,
                words=words,
                favourable=favourable if key != "as_is" else _decided(cell.favourable > 0),
            )
        )
    alone = found.alone
    if alone is not None and alone.value is not None:
        rows.append(
            AnswerRow(
                name=ALONE,
                mean=alone.value,
                low=alone.value,
                high=alone.value,
                words=_figure(alone.value, scored=scored),
                favourable=_decided(alone.favourable),
            )
        )
    return rows


def _decided(favourable: bool) -> str:
    return "yes" if favourable else "no"


def own_data_sentences(report: SubjectReport) -> list[str]:
    """What the model decides without ties, which part is the larger one, and what was not asked."""
    found = report.own_data
    if found is None:
        return []
    sentences = []
    if found.alone is not None:
        decided, now = plain(found.alone.decision), plain(report.subject.decision)
        if not decided:
            sentences.append("With all ties removed, the model gives no usable answer.")
        elif decided == now:
            sentences.append(f"With all ties removed, the model would still decide {decided}.")
        else:
            sentences.append(
                f"With all ties removed, the model would decide {decided} instead of {now}."
            )
    if found.parts is not None:
        sentences.append(_larger_sentence(report, found, found.parts))
    if sentences:
        sentences.append(NO_CAUSE if found.parts is None else NO_CAUSES)
    if found.reason:
        sentences.append(f"Not everything was asked: {plain(found.reason)}.")
    return sentences


def _larger_sentence(report: SubjectReport, found: OwnData, parts: Parts) -> str:
    scored = report.decision.scored
    own, place, both = (
        _signed(part.mean, scored=scored)
        for part in (parts.own, parts.surroundings, parts.interaction)
    )
    sentence = (
        f"Compared with other people's, this person's own data change the {watched_value(report)} "
        f"by {own} and their surroundings by {place}; only the two together add {both}."
    )
    if found.larger is not None:
        larger = "own data weigh" if found.larger == "own" else "surroundings weigh"
        smaller = "surroundings" if found.larger == "own" else "own data"
        return f"{sentence} Their {larger} more than their {smaller}."
    why = (
        "what the two change only together is at least as much as what one of them changes alone"
        if interacts(parts)
        else f"{number(found.draws, 'draw')} are too few to tell them apart"
    )
    return f"{sentence} Neither is said to weigh more: {why}."


def interacts(parts: Parts) -> bool:
    """Whether the interaction is not smaller than the smaller part, from either end."""
    both = parts.interaction.mean
    sizes = [abs(one.mean + end) for one in (parts.own, parts.surroundings) for end in (0.0, both)]
    return abs(both) >= min(sizes)


def _figure(value: float, *, scored: bool) -> str:
    return amount(value) if scored else share(value)


def _signed(value: float, *, scored: bool) -> str:
    sign = "+" if value >= 0 else ""
    return f"{sign}{amount(value)}" if scored else f"{value:+.3f}"
