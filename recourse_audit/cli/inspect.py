"""`inspect`: what can be said of a model from outside, before an audit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from typer import Argument, Option

from recourse_audit.cli.printing import AsJson, Full, ModelTimeout, doing, print_json, say, view
from recourse_audit.errors import InputError

if TYPE_CHECKING:
    from recourse_audit.audit.inspect import Inspection


def inspect(
    model: Annotated[Path, Argument(help="An ONNX file, or an audit.toml that names one.")],
    graph: Annotated[
        Path | None, Option(help="An npz file or audit.toml: probe with the features of its nodes.")
    ] = None,
    timeout: ModelTimeout = None,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Show a model's inputs, their roles, and what probes found."""
    from recourse_audit.audit.inspect import inspect_model
    from recourse_audit.render.terminal import show_model

    with doing("Probing the model"):
        inspection = inspect_model(model, graph, timeout=timeout)
    if as_json:
        print_json(inspection.to_dict())
    else:
        show_model(view(), inspection.name, inspection.report, full=full)
        for line in advice_on(inspection):
            say(line)
    if inspection.problem:
        raise InputError(inspection.problem)


def advice_on(inspection: "Inspection") -> list[str]:
    """What to do about a model: guesses to correct, ties to decide on, how to export it again."""
    from recourse_audit.audit.inspect import PREPARATION
    from recourse_audit.model.probes import TIMES_ASKED, TRIALS
    from recourse_audit.render.templates import our_templates
    from recourse_audit.settings import OutputKind, Role

    undecided: dict[bool, list[str]] = {True: [], False: []}
    for kind, suggested in inspection.undecided.items():
        undecided[suggested].append(repr(kind))
    return our_templates().lines(
        "terminal/inspect.txt",
        "advice",
        inspection=inspection,
        file=Path(inspection.name).name,
        preparation=PREPARATION,
        graphs=TRIALS,
        times=TIMES_ASKED,
        kinds=get_args(OutputKind),
        roles=get_args(Role),
        undecided=undecided,
    )
