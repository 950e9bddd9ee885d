"""Terminal views of a model, in brief and in full, and of stability.

Brief is what a reader needs before an audit; in full there is why each role was guessed, every
output and every check. The user's names are shown as text, whatever they contain.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recourse_audit.records.model import (
    ModelReport,
    PreprocessingReport,
    ProbeReport,
    RuleReport,
)
from recourse_audit.records.subject import StabilityPoint, StabilityReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.terminal.lines import (
    MORE,
    cell,
    cut_left,
    first_rows,
    width_of,
    wrapped,
)
from recourse_audit.render.text import agreement_sentences, columns, plain

NAME, ROLE = 24, 16
MOST_COLUMNS = 12
CHECKS = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
PIPELINE_CHECKS = ("deterministic", "row_by_row")


def show_model(
    console: Console, name: str, report: ModelReport, *, full: bool = False, more: str = MORE
) -> None:
    """Print what was found of a model; `more` says where the rest of a brief view is."""
    view = _ModelView(console, name, report, Words())
    for part in view.full() if full else view.brief(more):
        console.print(part, soft_wrap=isinstance(part, Text))


class _ModelView:
    """The lines and tables of a view, each from the report alone."""

    def __init__(self, console: Console, name: str, report: ModelReport, words: Words) -> None:
        self._console = console
        self._name = plain(name)
        self._report = report
        self._words = words
        self._width = width_of(console)

    def brief(self, more: str) -> Iterator[Text]:
        """The file, the checks, the rule, the first of the roles."""
        report, words = self._report, self._words
        digest = f", sha256 {report.sha256[:16]}…"
        name = cut_left(self._name, self._width - cell_len(digest))
        yield from self._lines(f"{name}{digest}", "bold")
        if report.probes is not None:
            yield from self._checks(report.probes)
        if report.preprocessing is not None:
            yield from self._pipeline_checks(report.preprocessing)
        if report.agreement is not None:
            style = "yellow" if report.agreement.disagreeing else ""
            yield from self._lines(agreement_sentences(report.agreement, words)[0], style)
        if report.decision is not None:
            yield from self._lines(rule_sentence(report.decision, words))
        yield Text(words.say("model.roles"))
        yield from first_rows(tuple(self._ports(known=True)), more, prefix="  ")
        yield from self._ports(known=False)
        output = report.output
        if output is not None:
            count = output.classes
            classes = f", {words.say_count('model.classes', count)}" if count else ""
            yield from self._lines(f"  → {plain(output.name)}: {output.kind or '?'}{classes}")
        if self._outputs_matter:
            names = ", ".join(plain(port.name) for port in report.outputs)
            count = len(report.outputs)
            yield from self._lines(f"  {words.say_count('model.outputs', count, names=names)}")
        yield from self._lines(words.say("model.more", more=more), "dim")

    def full(self) -> Iterator[Text | Padding]:
        """Inputs with their roles and why, outputs, checks, and the pipeline."""
        report, words = self._report, self._words
        yield Text.assemble((self._name, "bold"), f"  sha256 {report.sha256[:16]}…")
        if report.agreement is not None:
            style = "yellow" if report.agreement.disagreeing else ""
            sentences = " ".join(agreement_sentences(report.agreement, words))
            yield Padding(Text(sentences, style=style), (1, 2, 0, 2))
        if report.decision is not None:
            yield Padding(Text(rule_sentence(report.decision, words)), (1, 2, 0, 2))
        yield Padding(self._inputs(), (1, 2))
        if self._outputs_matter:
            yield Padding(self._outputs(), (0, 2, 1, 2))
        if report.probes is not None:
            yield Padding(self._check_table(report.probes), (0, 2))
            yield from self._notes(report.probes.notes)
        if report.preprocessing is not None:
            yield from self._pipeline(report.preprocessing)

    @property
    def _outputs_matter(self) -> bool:
        """Whether there is more to say of the outputs than which one is taken."""
        outputs = self._report.outputs
        return len(outputs) > 1 or bool(self._report.problem and outputs)

    def _lines(self, text: str, style: str = "") -> Iterable[Text]:
        return wrapped(self._console, text, self._width, style=style)

    def _table(self, *heads: str) -> Table:
        return columns(*(self._words.say(f"model.head.{head}") for head in heads))

    # ------------------------------------------------------------------ brief

    def _checks(self, probes: ProbeReport) -> Iterator[Text]:
        words, reach = self._words, self._words.say("model.reach.unlimited")
        if probes.depth is not None:
            reach = words.say_count("model.reach", probes.depth)
        passed = words.out_of(len(CHECKS) - len(probes.failed), len(CHECKS))
        style = "bold red" if probes.failed else ""
        yield from self._lines(words.say("model.checks", passed=passed, reach=reach), style)
        yield from self._failures(probes.failed, "subject.probe", probes.notes.values())

    def _failures(self, failed: Iterable[str], key: str, notes: Iterable[str]) -> Iterator[Text]:
        for name in failed:
            meaning = self._words.say(f"{key}.{name}")
            words = self._words.say("model.failed", name=name, meaning=meaning)
            yield from self._lines(f"  {words}", "red")
        for note in notes:
            yield from self._lines(plain(note), "yellow")

    def _pipeline_checks(self, pipeline: PreprocessingReport) -> Iterator[Text]:
        words, probes = self._words, pipeline.probes
        unknown = sum(getattr(probes, name) is None for name in PIPELINE_CHECKS)
        passed = len(PIPELINE_CHECKS) - len(probes.failed) - unknown
        count = sum(len(port.columns) for port in pipeline.inputs)
        sentence = words.say(
            "model.pipeline",
            file=plain(pipeline.file),
            columns=words.say_count("model.columns", count),
            features=words.say_count("model.features", pipeline.features),
            passed=words.out_of(passed, len(PIPELINE_CHECKS)),
        )
        if unknown:
            sentence += f" {words.say_count('model.not_made', unknown)}"
        yield from self._lines(sentence, "bold red" if probes.failed else "")
        yield from self._failures(probes.failed, "model.pipeline", probes.notes.values())

    def _ports(self, *, known: bool) -> Iterator[Text]:
        """One line per input: those whose role is known, or those without."""
        inputs = self._report.inputs
        wide = min(NAME, max((cell_len(plain(port.name)) for port in inputs), default=0))
        for port in inputs:
            if (port.role is not None) == known:
                role = cell(port.role or self._words.say("model.unknown"), ROLE)
                name, shape = cell(plain(port.name), wide), shape_words(port.shape)
                row = cell(f"  {name}  {role}  {port.dtype} {shape}", self._width)
                yield Text(row.rstrip(), style="" if known else "bold red")

    # ------------------------------------------------------------------ in full

    def _inputs(self) -> Table:
        report = self._report
        table = self._table("input", "type", "shape", "role", "why")
        for port in report.inputs:
            role = Text(port.role, style="green") if port.role else Text("?", style="red")
            shape = shape_words(port.shape)
            table.add_row(plain(port.name), port.dtype, shape, role, plain(port.why))
        output = report.output
        if output is not None:
            why = plain(output.why)
            if output.classes:
                why = f"{why}; {self._words.say_count('model.classes', output.classes)}"
            kind = Text(output.kind or "?", style="green")
            shape = shape_words(output.shape)
            table.add_row(f"→ {plain(output.name)}", output.dtype, shape, kind, why)
        return table

    def _outputs(self) -> Table:
        """Every output with what its rows are, and the one that is taken with the reason."""
        words = self._words
        table = self._table("output", "type", "shape", "rows", "columns", "hops", "looks")
        for port in self._report.outputs:
            rows = "" if port.rows is None else words.say("model.rows.per", what=port.rows)
            taken = words.say("model.taken", why=port.taken) if port.taken else ""
            table.add_row(
                Text("→ " if port.taken else "  ", style="green") + Text(plain(port.name)),
                port.dtype,
                shape_words(port.shape),
                words.say("model.rows.other") if port.rows == "other" else rows,
                "" if port.columns is None else words.number(port.columns),
                "" if port.hops is None else words.number(port.hops),
                plain("; ".join(filter(None, (port.looks, taken)))),
            )
        return table

    def _check_table(self, probes: ProbeReport) -> Table:
        words = self._words
        table = columns("", "", "", show_header=False)
        for name in CHECKS:
            table.add_row(
                self._mark(passed=name not in probes.failed),
                name,
                words.say(f"subject.probe.{name}"),
            )
        reach = words.say("model.reach.unlimited")
        if probes.depth is not None:
            reach = words.number(probes.depth)
        table.add_row(Text(reach, style="cyan"), "depth", words.say("model.check.depth"))
        key = "model.check.sender_degree"
        meaning = words.say(f"{key}.unknown" if probes.sender_degree is None else key)
        table.add_row(self._mark(passed=probes.sender_degree), "sender_degree", meaning)
        return table

    def _mark(self, *, passed: bool | None) -> Text:
        name, style = {True: ("yes", "green"), False: ("no", "bold red"), None: ("open", "yellow")}[
            passed
        ]
        return Text(self._words.say(f"model.{name}"), style=style)

    def _notes(self, notes: dict[str, str]) -> Iterator[Padding]:
        for note in notes.values():
            yield Padding(Text(plain(note), style="yellow"), (1, 2, 0, 2))

    def _pipeline(self, pipeline: PreprocessingReport) -> Iterator[Text | Padding]:
        words, digest = self._words, pipeline.sha256[:16]
        title = words.say("model.pipeline.title", file=plain(pipeline.file), digest=digest)
        yield Text(f"\n{title}")
        table = self._table("input", "type", "shape", "takes")
        for port in pipeline.inputs:
            names = ", ".join(map(plain, port.columns[:MOST_COLUMNS]))
            if (rest := len(port.columns) - MOST_COLUMNS) > 0:
                names = words.say("model.and_more", names=names, count=words.number(rest))
            table.add_row(plain(port.name), port.dtype, shape_words(port.shape), names)
        features = words.say_count("model.features", pipeline.features)
        table.add_row(f"→ {plain(pipeline.output)}", "", "", features)
        yield Padding(table, (1, 2))
        table = columns("", "", "", show_header=False)
        for name in PIPELINE_CHECKS:
            passed = getattr(pipeline.probes, name)
            table.add_row(self._mark(passed=passed), name, words.say(f"model.pipeline.{name}"))
        yield Padding(table, (0, 2))
        yield from self._notes(pipeline.probes.notes)


def shape_words(shape: tuple[int | str | None, ...]) -> str:
    """The shape of a port: [people, 7]."""
    return "[" + ", ".join("?" if size is None else plain(str(size)) for size in shape) + "]"


def rule_sentence(rule: RuleReport, words: Words) -> str:
    """The rule over everybody, and how many it lets in."""
    unit = "score" if rule.better else "probability"
    cut_offs = ", ".join(
        f"{words.exact(cut_off)} ({plain(value)})" if value else words.exact(cut_off)
        for value, cut_off in rule.cut_offs.items()
    )
    key = {"argmax": "argmax", "quota": f"quota.{unit}"}.get(
        rule.rule, f"cut_off.{rule.better or unit}"
    )
    places = words.number(rule.places or 0)
    counts = words.say(
        "model.rule.undecided" if rule.undecided else "model.rule.counts",
        favourable=words.number(rule.favourable),
        refused=words.number(rule.refused),
        undecided=words.number(rule.undecided),
    )
    how = words.say(f"model.rule.{key}", cut_offs=cut_offs, places=places)
    return words.say("model.rule", rule=how, counts=counts)


# ---------------------------------------------------------------- stability


def show_stability(console: Console, report: StabilityReport) -> None:
    """How far explanations and options moved, for changed and unchanged decisions separately."""
    words = Words()
    summary = words.say_count(
        f"stability.summary.{report.kind}",
        len(report.rows),
        subjects=words.say_count("stability.subjects", report.subjects),
        changed=words.number(sum(row.changed for row in report.rows)),
    )
    console.print(summary)
    if report.unanswered:
        names = plain(", ".join(report.unanswered))
        console.print(Text(words.say("stability.unanswered", names=names)))
    for name, points in (("changed", report.changed), ("unchanged", report.unchanged)):
        console.print(Padding(words.say(f"stability.heading.{name}"), (1, 2, 0, 2)))
        empty = words.say("subject.none")
        console.print(Padding(_stability_table(points, words) if points else empty, (0, 4)))


def _stability_table(points: Sequence[StabilityPoint], words: Words) -> Table:
    heads = ("move", "explanations", "options", "comparisons")
    table = columns(*(words.say(f"stability.head.{head}") for head in heads))
    for point in points:
        table.add_row(
            words.fixed(point.strength, 3),
            words.fixed(point.explanation, 3),
            words.say("subject.none") if point.options is None else words.fixed(point.options, 3),
            words.number(point.rows),
        )
    return table
