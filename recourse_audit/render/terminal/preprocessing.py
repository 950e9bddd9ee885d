"""Terminal view of a pipeline: which columns go in, what comes out, and what the probes found."""

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.model import PreprocessingReport
from recourse_audit.render.text import columns, plain

MEANINGS = {
    "deterministic": "gives the same features when asked again",
    "row_by_row": "a person's features do not depend on who else is asked about",
}
MARKS = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("?", "yellow")}
MOST_COLUMNS = 12


def show_preprocessing(console: Console, report: PreprocessingReport) -> None:
    """Inputs with the columns that they take, the output, and what the probes found."""
    name = plain(report.file)
    console.print()
    console.print(
        Text.assemble("Preprocessing: ", (name, "bold"), f"  sha256 {report.sha256[:16]}…")
    )
    table = columns("input", "type", "shape", "takes")
    for port in report.inputs:
        shape = ", ".join("?" if size is None else plain(str(size)) for size in port.shape)
        table.add_row(plain(port.name), port.dtype, f"[{shape}]", _listed(port.columns))
    features = "1 feature" if report.features == 1 else f"{report.features:,} features"
    table.add_row(f"→ {plain(report.output)}", "", "", features)
    console.print(Padding(table, (1, 2)))
    probes: list[RenderableType] = [_probes(report)]
    probes += [Text(f"\n{plain(note)}", style="yellow") for note in report.probes.notes.values()]
    for part in probes:
        console.print(Padding(part, (0, 2)))


def _probes(report: PreprocessingReport) -> RenderableType:
    table = columns("", "", "", show_header=False)
    for name, meaning in MEANINGS.items():
        mark, style = MARKS[getattr(report.probes, name)]
        table.add_row(Text(mark, style=style), name, meaning)
    return table


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(plain(name) for name in names[:MOST_COLUMNS])
    more = len(names) - MOST_COLUMNS
    return f"{shown} and {more:,} more" if more > 0 else shown
