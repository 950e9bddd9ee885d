"""`schema`: the JSON Schema of every document that other programs may rely on."""

from typing import Annotated

import typer
from typer import Argument

from recourse_audit.cli.printing import print_json
from recourse_audit.errors import InputError


def schema(
    name: Annotated[
        str,
        Argument(
            help="settings (audit.toml), subject, groups, stability, inspection, verification, "
            "manifest, run, study-key, study-answers or study-analysis."
        ),
    ],
) -> None:
    """Print the JSON Schema of a document."""
    from recourse_audit.records.codec import SCHEMAS
    from recourse_audit.settings import settings_schema
    from recourse_audit.settings.section import near_matches

    if name == "settings":
        typer.echo(settings_schema())
    elif name in SCHEMAS:
        print_json(SCHEMAS[name].schema())
    else:
        hint = near_matches(name, ("settings", *SCHEMAS))
        raise InputError(f"schema {name}: there is no such document; {hint}")
