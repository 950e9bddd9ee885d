"""Terminal view of a model in full: inputs with their roles, outputs, and what the probes found."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.model import ListedOutput, ModelReport, ProbeReport, RuleReport
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.terminal.preprocessing import show_preprocessing
from recourse_audit.render.text import PROBE_MEANINGS, columns, plain, sender_degree_words


def show_model(console: Console, name: str, report: ModelReport) -> None:
    """Inputs with their roles, the output, and what the probes found."""
    console.print(Text.assemble((plain(name), "bold"), f"  sha256 {report.sha256[:16]}…"))
    if report.agreement is not None:
        words = " ".join(agreement_sentences(report.agreement))
        style = "yellow" if report.agreement.disagreeing else ""
        console.print(Padding(Text(words, style=style), (1, 2, 0, 2)))
    if report.decision is not None:
        console.print(Padding(Text(decision_sentence(report.decision)), (1, 2, 0, 2)))
    table = columns("input", "type", "shape", "role", "why")
    for port in report.inputs:
        role = Text(port.role, style="green") if port.role else Text("?", style="red")
        table.add_row(plain(port.name), port.dtype, shape_words(port.shape), role, plain(port.why))
    output = report.output
    if output is not None:
        table.add_row(
            f"→ {plain(output.name)}",
            output.dtype,
            shape_words(output.shape),
            Text(output.kind or "?", style="green"),
            f"{plain(output.why)}; {output.classes} classes" if output.classes else "",
        )
    console.print(Padding(table, (1, 2)))
    if outputs_matter(report):
        console.print(Padding(_outputs(report.outputs), (0, 2, 1, 2)))
    if report.probes is not None:
        console.print(Padding(_probes(report.probes), (0, 2)))
    if report.preprocessing is not None:
        show_preprocessing(console, report.preprocessing)


def outputs_matter(report: ModelReport) -> bool:
    """Whether there is more to say of the outputs than which one is taken."""
    return len(report.outputs) > 1 or bool(report.problem and report.outputs)


def _outputs(outputs: Sequence[ListedOutput]) -> RenderableType:
    """Every output with what its rows are, and the one that is taken with the reason."""
    table = columns("output", "type", "shape", "rows", "columns", "hops", "what the rows hold")
    for port in outputs:
        mark = Text("→ ", style="green") if port.taken else Text("  ")
        words = "; ".join(
            text for text in (port.looks, port.taken and f"taken: {port.taken}") if text
        )
        table.add_row(
            mark + Text(plain(port.name)),
            port.dtype,
            shape_words(port.shape),
            "" if port.rows is None else f"per {port.rows}" if port.rows != "other" else "other",
            "" if port.columns is None else str(port.columns),
            "" if port.hops is None else str(port.hops),
            plain(words),
        )
    return table


def _weighs(probes: ProbeReport) -> str:
    """Whether a sender's own number of ties weighs its message."""
    if probes.sender_degree is None:
        return "unknown"
    return "yes" if probes.sender_degree else "no"


def _probes(probes: ProbeReport) -> RenderableType:
    table = columns("", "", "", show_header=False)
    for name, meaning in PROBE_MEANINGS.items():
        failed = name in probes.failed
        mark = Text("NO", style="bold red") if failed else Text("yes", style="green")
        table.add_row(mark, name, meaning)
    reach = "unlimited" if probes.depth is None else str(probes.depth)
    table.add_row(Text(reach, style="cyan"), "depth", "hops within which a node can matter")
    table.add_row(Text(_weighs(probes), style="cyan"), "sender_degree", sender_degree_words(probes))
    parts: list[RenderableType] = [table]
    parts += [Text(f"\n{plain(sentence)}", style="yellow") for sentence in probes.notes.values()]
    return Group(*parts)


def shape_words(shape: tuple[int | str | None, ...]) -> str:
    """The shape of a port: [people, 7]."""
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def decision_sentence(found: RuleReport) -> str:
    """The rule over everybody, and how many it lets in."""
    unit = "score" if found.better else "probability of the favourable classes"
    how = {
        "argmax": "The class with the highest probability is decided",
        "quota": f"The {found.places or 0:,} with the best {unit} get a favourable decision",
    }.get(found.rule)
    if how is None:
        until = "up to" if found.better == "lower" else "at least"
        lines = (
            f"{line:g}{f' ({plain(value)})' if value else ''}"
            for value, line in found.cut_offs.items()
        )
        how = f"Favourable if the {unit} is {until} {', '.join(lines)}"
    none = f", {found.undecided:,} without an answer" if found.undecided else ""
    return f"{how}: {found.favourable:,} favourable, {found.refused:,} refused{none}."
