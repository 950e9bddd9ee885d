"""Chooses the output that holds the decision, or says why none is beyond doubt.

An audit of the wrong output is false from its first line, so one is taken only if it is the only
one with one row per node, or if every other one demonstrably comes before it: its rows see farther
than theirs, and it has as many columns as the settings declare classes. Outputs that hold the same
decision in two forms (scores and their softmax) count as one.
"""

import json
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Floats
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.output import as_answers, guess_kind
from recourse_audit.model.outputs import OutputSurvey, Reach, unexplained
from recourse_audit.model.queries import Pool
from recourse_audit.model.signature import OutputPort
from recourse_audit.settings import ModelSettings, OutputKind

UNLIMITED = 1_000
# The unexplained share up to which one output counts as computed from another.
LITTLE = 0.02
# Of the forms of one decision, the one that loses least to rounding.
_PREFERRED: tuple[OutputKind, ...] = ("logits", "log_probabilities", "probabilities")
_NAMED = "named in the settings"


def choose_output(
    model: OnnxModel,
    settings: ModelSettings,
    pools: list[Pool],
    *,
    classes: int | None = None,
    seed: int = 0,
) -> None:
    """Measure all outputs, and read decisions from the one that is beyond doubt.

    Raises
    ------
    ModelError
        No output has one row per node, or several could hold the decision.
    """
    survey = OutputSurvey(model, pools, np.random.default_rng([seed, 1]))
    model.with_outputs(survey.listed())
    choice = _Choice(model, settings, survey, classes)
    if settings.output_name is not None:
        chosen = choice.named(settings.output_name)
    else:
        chosen = choice.beyond_doubt()
    model.with_output(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A decision that one output or several hold, and the form in which it is best read."""

    port: OutputPort
    kind: OutputKind
    answers: Floats
    others: tuple[str, ...] = ()

    def fits(self, classes: int | None, *, score: bool = False) -> bool:
        """Whether it has the declared number of classes; a single column is that of two."""
        if score:
            return self.port.columns == 1
        return classes is None or classes == max(self.port.columns or 0, 2)

    @property
    def certain(self) -> bool:
        """Whether its rows look like probabilities, as those of a hidden layer hardly do."""
        return self.kind != "logits"


class _Choice:
    """One model's outputs, and what can be said about them."""

    def __init__(
        self,
        model: OnnxModel,
        settings: ModelSettings,
        survey: OutputSurvey,
        classes: int | None,
    ) -> None:
        self._model = model
        self._settings = settings
        self._survey = survey
        self._classes = classes
        self._outputs = model.signature.outputs

    def named(self, name: str) -> OutputPort:
        """The output that the settings name, if its rows are nodes."""
        port = next(port for port in self._outputs if port.name == name)
        if port.rows != "node":
            raise ModelError(f"{self._model.path}: {self._not_nodes([port])}")
        return replace(port, taken=_NAMED)

    def beyond_doubt(self) -> OutputPort:
        """The only output that can hold the decision."""
        scores = [port for port in self._outputs if port.floating]
        by_node = [port for port in scores if port.rows == "node"]
        if not by_node:
            raise ModelError(f"{self._model.path}: {self._not_nodes(scores)}")
        candidates = self._candidates(by_node)
        self._check_other_subjects(scores, candidates)
        if len(candidates) == 1:
            return self._taken(candidates[0], "the only output with one row of scores per node")
        return self._deepest(candidates)

    def _fits(self, one: _Candidate) -> bool:
        return one.fits(self._classes, score=self._settings.output == "score")

    def _candidates(self, ports: list[OutputPort]) -> list[_Candidate]:
        """Outputs with one row per node; those that hold the same decision become one."""
        found: list[_Candidate] = []
        for port in ports:
            answers = self._survey.answers(port.name)
            finite = answers[np.isfinite(answers).all(axis=1)]
            kind = guess_kind(finite)[0] if len(finite) else "logits"
            new = _Candidate(port=port, kind=kind, answers=answers)
            same = next((one for one in found if _same_decision(one, new)), None)
            if same is None:
                found.append(new)
            else:
                found[found.index(same)] = self._merged(same, new)
        return found

    def _merged(self, one: _Candidate, other: _Candidate) -> _Candidate:
        order = [self._settings.output, *_PREFERRED]
        first, second = sorted((one, other), key=lambda form: order.index(form.kind))
        return replace(first, others=(*one.others, *other.others, second.port.name))

    def _check_other_subjects(self, scores: list[OutputPort], nodes: list[_Candidate]) -> None:
        """Refuse where the decision may be about graphs or ties, with node rows on the way to it.

        Weights of ties are no rival, unless the model is asked about pairs.
        """
        asked_about_pairs = self._model.signature.port("edge_labels") is not None
        rivals = [
            port
            for port in scores
            if (port.rows == "graph" or (port.rows == "tie" and asked_about_pairs))
            and (self._classes is None or max(port.columns or 0, 2) == self._classes)
        ]
        if rivals:
            about = {"graph": "whole graphs", "tie": "ties"}[str(rivals[0].rows)]
            raise ModelError(
                f"{self._model.path}: the output {_quoted(rivals[0].name)} has one row per "
                f"{rivals[0].rows}, so the model may decide on {about}, and what it says about "
                f"nodes may be a hidden layer; {self._choices(nodes)}"
            )

    def _deepest(self, candidates: list[_Candidate]) -> OutputPort:
        if self._survey.random():
            raise self._doubt(
                candidates,
                "the model answers at random, so that what comes last cannot be measured",
            )
        candidates, reaches = self._measured(candidates)
        far = {one.port.name: _distance(reaches[one.port.name]) for one in candidates}
        farthest = max(far.values())
        last = [one for one in candidates if self._fits(one) and far[one.port.name] == farthest]
        if len(last) != 1:
            raise self._doubt(candidates, "none comes demonstrably after all others")
        [chosen] = last
        for one in candidates:
            if one is chosen:
                continue
            if far[one.port.name] < farthest:
                later = not reaches[one.port.name].steady
            else:
                later = self._may_follow(chosen, one)
            likelier = self._fits(one) and one.certain and not chosen.certain
            if later or likelier:
                raise self._doubt(
                    candidates,
                    f"{_quoted(one.port.name)} may come after {_quoted(chosen.port.name)}",
                )
        return self._taken(chosen, self._reason(chosen))

    def _may_follow(self, chosen: _Candidate, other: _Candidate) -> bool:
        """Whether an output that sees just as far may be computed from the chosen one.

        Answers to small changes tell: what is computed from an output changes as that does, and
        where columns were lost on the way, not the other way round. Where either could come first,
        the wider one is taken to be the last.
        """
        moves = self._survey.responses([chosen.port.name, other.port.name])
        mine, its = moves[chosen.port.name], moves[other.port.name]
        from_chosen, from_other = unexplained(its, mine), unexplained(mine, its)
        if from_chosen > LITTLE:
            return False
        wider = (other.port.columns or 0) > (chosen.port.columns or 0)
        return wider or not from_other <= LITTLE

    def _measured(self, candidates: list[_Candidate]) -> tuple[list[_Candidate], dict[str, Reach]]:
        """The candidates with the hops that reach them, which are recorded in the listing too."""
        reaches = self._survey.reaches([one.port.name for one in candidates])
        hops = {name: reach.hops for name, reach in reaches.items()}
        self._model.with_outputs(
            tuple(replace(port, hops=hops.get(port.name)) for port in self._outputs)
        )
        seen = [
            replace(one, port=replace(one.port, hops=hops[one.port.name])) for one in candidates
        ]
        return seen, reaches

    def _reason(self, chosen: _Candidate) -> str:
        hops = chosen.port.hops
        seen = "every node" if hops is None else f"nodes {_hops(hops)} away"
        others = "output" if self._classes is None else f"output for {self._classes} classes"
        return f"{seen} can move it, and no other {others} sees as far"

    def _taken(self, chosen: _Candidate, why: str) -> OutputPort:
        if chosen.others:
            names = " and ".join(_quoted(name) for name in chosen.others)
            why = f"{why}; {names} {'has' if len(chosen.others) == 1 else 'have'} the same decision"
        return replace(chosen.port, taken=why)

    def _doubt(self, candidates: list[_Candidate], why: str) -> ModelError:
        return ModelError(
            f"{self._model.path}: several outputs have one row per node, and which of them holds "
            f"the decision is not beyond doubt ({why}); {self._choices(candidates)}"
        )

    def _choices(self, candidates: list[_Candidate]) -> str:
        listed = ", ".join(_described(one.port) for one in candidates)
        lines = " or ".join(f"output_name = {_quoted(one.port.name)}" for one in candidates)
        return (
            f"ask whoever exported the model which output the decision is read from ({listed}), "
            f"and write into [model]: {lines}"
        )

    def _not_nodes(self, ports: list[OutputPort]) -> str:
        """Call a model that does not decide on nodes what it is."""
        names = " and ".join(_quoted(port.name) for port in ports)
        one = len(ports) == 1
        what = f"the output {names} has" if one else f"the outputs {names} have"
        kinds = {port.rows for port in ports}
        rest = (
            "Decisions on nodes can be audited, and nothing else: `inspect` lists the inputs and "
            "outputs of this model, and `explain` and `run` need one that scores nodes. If it "
            "does so on the way, export those scores as an output"
        )
        if kinds == {"graph"}:
            return (
                f"{what} one row per graph: the model decides on whole graphs, not on nodes. {rest}"
            )
        if kinds == {"tie"}:
            return f"{what} one row per tie: the model decides on ties, not on nodes. {rest}"
        tables = "; ".join(f"{_quoted(port.name)}: {_rows_in_words(port)}" for port in ports)
        return f"no output has one row of scores per node ({tables}). {rest}"


def _same_decision(one: _Candidate, other: _Candidate) -> bool:
    """Whether two outputs give the same probabilities, as scores and their softmax do.

    Rows in which every probability is 0 or 1 show nothing, so some rows must lie between.
    """
    first, second = (as_answers(form.answers, form.kind) for form in (one, other))
    if first.shape != second.shape:
        return False
    usable = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    first, second = np.exp(first[usable]), np.exp(second[usable])
    half = "float16" in (one.port.dtype, other.port.dtype)
    between = (first > 1e-3).sum(axis=1) > 1
    close = np.abs(first - second) <= (5e-3 if half else 1e-4)
    return bool(between.sum() >= max(3, 0.1 * len(first)) and close.all())


def _distance(reach: Reach) -> int:
    return UNLIMITED if reach.hops is None else reach.hops


def _described(port: OutputPort) -> str:
    columns = f"{port.columns} column{'' if port.columns == 1 else 's'}"
    seen = "" if port.hops is None else f", {_hops(port.hops)}"
    return f"{_quoted(port.name)}: {columns}{seen}"


def _hops(count: int) -> str:
    return f"{count} hop{'' if count == 1 else 's'}"


def _rows_in_words(port: OutputPort) -> str:
    return port.looks if port.rows == "other" else f"one row per {port.rows}"


def _quoted(name: str) -> str:
    """A name as TOML writes it, so that the line can be copied."""
    return json.dumps(name, ensure_ascii=False)
