"""A model in brief: how many checks it passed, the decision rule, the first of the roles."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recourse_audit.records.model import (
    ModelReport,
    PreprocessingReport,
    ProbeReport,
)
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.terminal.figures import tidy
from recourse_audit.render.terminal.lines import (
    MORE,
    Block,
    cell,
    cut_left,
    first_rows,
    print_blocks,
    width_of,
    wrapped,
)
from recourse_audit.render.terminal.model import decision_sentence, outputs_matter, shape_words
from recourse_audit.render.terminal.preprocessing import MEANINGS as PIPELINE_MEANINGS
from recourse_audit.render.text import PROBE_MEANINGS, number, plain

NAME, ROLE = 24, 16


def show_model_briefly(
    console: Console, name: str, report: ModelReport, *, more: str = MORE
) -> None:
    """Print what a reader needs before an audit; `more` says where the rest is."""
    view = _BriefModel(console, name, report)
    print_blocks(console, view.blocks(more))


class _BriefModel:
    """The blocks of the view, each from the report alone."""

    def __init__(self, console: Console, name: str, report: ModelReport) -> None:
        self._console = console
        self._name = name
        self._report = report
        self._width = width_of(console)

    def blocks(self, more: str) -> Iterator[Block]:
        """The file, the checks, the rule, the roles."""
        report = self._report
        digest = f", sha256 {report.sha256[:16]}…"
        name = cut_left(plain(self._name), self._width - cell_len(digest))
        yield self._said(f"{name}{digest}", "bold")
        if report.probes is not None:
            yield from self._probes(report.probes)
        if report.preprocessing is not None:
            yield from self._preprocessing(report.preprocessing)
        if report.agreement is not None:
            style = "yellow" if report.agreement.disagreeing else ""
            yield self._said(tidy(agreement_sentences(report.agreement)[0]), style)
        if report.decision is not None:
            yield self._said(f"Decision rule: {_lower(decision_sentence(report.decision))}")
        yield Block(lines=(Text("Roles:"),))
        known = tuple(self._ports(known=True))
        yield Block(lines=first_rows(known, more, prefix="  "))
        yield Block(lines=tuple(self._ports(known=False)))
        yield from self._output()
        yield self._said(f"{more}: why each role was guessed, every probe", "dim")

    def _probes(self, probes: ProbeReport) -> Iterator[Block]:
        passed = len(PROBE_MEANINGS) - len(probes.failed)
        reach = "without limit" if probes.depth is None else number(probes.depth, "hop")
        yield self._said(
            f"Model checks: {passed} of {len(PROBE_MEANINGS)} passed. Reach: {reach}.",
            "" if not probes.failed else "bold red",
        )
        for name in probes.failed:
            yield self._said(f"  FAILED {name}: {PROBE_MEANINGS[name]}", "red")
        for note in probes.notes.values():
            yield self._said(tidy(plain(note)), "yellow")

    def _preprocessing(self, found: PreprocessingReport) -> Iterator[Block]:
        probes = found.probes
        unknown = sum(getattr(probes, name) is None for name in PIPELINE_MEANINGS)
        passed = len(PIPELINE_MEANINGS) - len(probes.failed) - unknown
        columns = sum(len(port.columns) for port in found.inputs)
        words = (
            f"Preprocessing: {plain(found.file)}, {number(columns, 'column')} in, "
            f"{number(found.features, 'feature')} out; {passed} of {len(PIPELINE_MEANINGS)} checks "
            f"passed{', 1 could not be made' if unknown else ''}."
        )
        yield self._said(words, "bold red" if probes.failed else "")
        for name in probes.failed:
            yield self._said(f"  FAILED {name}: {PIPELINE_MEANINGS[name]}", "red")
        for note in probes.notes.values():
            yield self._said(tidy(plain(note)), "yellow")

    def _ports(self, *, known: bool) -> Iterator[Text]:
        """One line per input: those whose role is known, or those without."""
        ports = [port for port in self._report.inputs if (port.role is not None) == known]
        wide = min(NAME, max((cell_len(plain(one.name)) for one in self._report.inputs), default=0))
        for port in ports:
            role = cell(port.role or "? unknown", ROLE)
            shape = plain(shape_words(port.shape))
            words = f"  {cell(plain(port.name), wide)}  {role}  {port.dtype} {shape}"
            yield Text(cell(words, self._width).rstrip(), style="" if known else "bold red")

    def _output(self) -> Iterator[Block]:
        report, output = self._report, self._report.output
        if output is not None:
            classes = f", {output.classes:,} classes" if output.classes else ""
            words = f"  → {plain(output.name)}: {output.kind or '?'}{classes}"
            yield self._said(words)
        if outputs_matter(report):
            names = ", ".join(plain(one.name) for one in report.outputs)
            yield self._said(f"  {number(len(report.outputs), 'output')}: {names}")

    def _said(self, text: str, style: str = "") -> Block:
        return Block(lines=wrapped(self._console, text, self._width, style=style))


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
