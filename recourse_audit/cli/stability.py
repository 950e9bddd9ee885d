"""`stability`: how far findings move when the graph or the model is perturbed."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from recourse_audit.cli.printing import AsJson, SettingsArgument, print_json, view, write


def stability(
    settings: SettingsArgument,
    ids: Annotated[list[str] | None, Argument(help="Ids of decision subjects.")] = None,
    perturbed_model: Annotated[
        list[Path] | None, Option(help="A perturbed copy of the model; can be given several times.")
    ] = None,
    new_ties: Annotated[int, Option(min=1, help="New ties tried for each subject.")] = 10,
    sample: Annotated[int, Option(min=1, help="Size of the random sample if no id is given.")] = 20,
    options: Annotated[bool, Option(help="Compare options too.")] = True,
    picture: Annotated[Path | None, Option(help="Write the curves to this SVG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how far findings move under perturbation.

    The graph is perturbed by new ties, or the model by copies that you supply.
    """
    from recourse_audit.api import Audit
    from recourse_audit.render.charts import draw_stability
    from recourse_audit.render.terminal import show_stability

    report = Audit.from_toml(settings, progress=True).stability(
        ids or (),
        perturbed_models=perturbed_model or (),
        new_ties=new_ties,
        sample=sample,
        options=options,
        progress=True,
    )
    if picture is not None:
        write(picture, draw_stability(report))
    if as_json:
        print_json(report.to_dict())
    else:
        show_stability(view(), report)
