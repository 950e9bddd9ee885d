"""What the code knows, put into the pages while they are read.

A line `<!-- generated: NAME -->` in a page is replaced by Markdown made from the code: settings
from their JSON Schema, commands from typer, documents from the schemas of their records, measures
from the records and the catalogues, legal profiles from their files. `<!-- included: FILE -->` is
replaced by a page of the repository that lies outside of `docs/`, and links to such files lead to
the page that includes them.
"""

import csv
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import typer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from recourse_audit.cli import program
from recourse_audit.records.codec import SCHEMAS
from recourse_audit.records.group_figures import PRIMARY, Measure
from recourse_audit.records.groups import ReasonMeasure
from recourse_audit.render.i18n import LANGUAGES
from recourse_audit.settings import settings_schema

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
RATES = DOCS / "_ext" / "rates.csv"
MARKER = re.compile(r"^<!-- (generated|included): (.+?) -->$", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)

Table = dict[str, Any]
NOTHING = "–"  # noqa: RUF001


def rows(heading: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield f"|{'---|' * len(heading)}"
    for line in lines:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
    yield ""


# ------------------------------------------------------------------ JSON Schema


def type_of(field: Table, *, linked: bool) -> str:
    """What a field takes, in words; `linked` leads to the section about a record."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/")[-1]
        return f"[{name}](#{name.lower()})" if linked else "table"
    for key in ("anyOf", "oneOf"):
        if key in field:
            kinds = (type_of(kind, linked=linked) for kind in field[key])
            return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null" or linked))
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    kind = field.get("type", "any value")
    if kind == "array":
        places = field.get("prefixItems")
        if places and all(place == places[0] for place in places):
            return f"{len(places)} of: {type_of(places[0], linked=linked)}"
        inner = field.get("items")
        return f"list of {type_of(inner, linked=linked)}" if isinstance(inner, dict) else "list"
    if kind == "object":
        inner = field.get("additionalProperties")
        return f"table of {type_of(inner, linked=linked)}" if isinstance(inner, dict) else "table"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    return "path" if field.get("format") == "path" else words.get(kind, kind)


def limits_of(field: Table) -> str:
    """The limits of a whole number, as the end of its description."""
    for kind in (field, *field.get("anyOf", ())):
        if kind.get("type") == "integer" and "maximum" in kind:
            return f" {kind['minimum']} to {kind['maximum']}."
    return ""


def inner_records(field: Table) -> Iterator[tuple[str, str]]:
    """The records that a field holds, each with how it holds them: itself, a list, or by name."""
    if "$ref" in field:
        yield field["$ref"].rsplit("/")[-1], "table"
    for key in ("anyOf", "oneOf"):
        for kind in field.get(key, ()):
            yield from inner_records(kind)
    for key, how in (("items", "list"), ("additionalProperties", "named")):
        if isinstance(field.get(key), dict):
            yield from ((name, how) for name, _ in inner_records(field[key]))


# ------------------------------------------------------------------ settings

PLACEHOLDERS = {"nodes": "KIND", "ties": "KIND", "words": "LANGUAGE"}
SEE = {
    "model": "[Models](models.md) explains roles, outputs and what is declared.",
    "graph": "[Graphs](graphs.md) has the formats, [columns](columns.md) encodings and formulas.",
    "decision": "At most one of `cut_off`, `cut_off_by` and `quota` decides; see "
    "[decisions](decisions.md).",
    "groups": "See [how groups are compared](../explanation/groups.md), and for communities and "
    "what `run` checks here, [the bundle](bundle.md#groups-and-communities).",
    "search": "See [the search](../explanation/search.md).",
    "caveats": "For the grades, see [caveats](../explanation/caveats.md#adjusted-effects).",
    "reasons": "See [own data](../explanation/own_data.md#what-each-part-does).",
    "recourse": "See [options](../explanation/recourse.md), and [how to write a "
    "policy](../howto/policy.md).",
    "letters": "For profiles, reasons and signing off, see [letters](letters.md).",
    "words": "Pages, the terminal and letters use them, in `[words.en]`, `[words.de]` and so on; a "
    "language with a country (`[words.en_US]`) takes what it lacks from the language without one. "
    "A name may also stand in the table of its language: `denied = 'refused'` under `[words.en]`. "
    "A name without a word is used as it is, with spaces for underscores; a class without one is "
    "quoted. Letters warn of missing words, once.",
}


def settings_page() -> Iterator[str]:
    schema = json.loads(settings_schema())
    definitions = schema["$defs"]
    for key, field in schema["properties"].items():
        for name, how in inner_records(field):
            yield from settings_section(definitions, (key,), name, how, "##")


def settings_section(
    definitions: Table, path: tuple[str, ...], name: str, how: str, level: str
) -> Iterator[str]:
    key = path[-1]
    placeholder = "RELATION" if path == ("graph", "ties") else PLACEHOLDERS.get(key, "NAME")
    place = (*path, placeholder) if how == "named" else path
    title = ".".join(place)
    definition = definitions[name]
    yield f"{level} {f'[[{title}]]' if how == 'list' else f'[{title}]'}\n"
    yield f"{definition['description'].splitlines()[0]}\n"
    if len(path) == 1 and key in SEE:
        yield f"{SEE[key]}\n"
    fields = definition["properties"]
    required = definition.get("required", ())
    yield from rows(
        ("key", "type", "default", "meaning"),
        (
            (
                f"`{name}`",
                type_of(field, linked=False),
                "required" if name in required else default_of(field.get("default")),
                field.get("description", "") + limits_of(field),
            )
            for name, field in fields.items()
        ),
    )
    for inner, field in fields.items():
        for record, form in inner_records(field):
            yield from settings_section(definitions, (*place, inner), record, form, f"{level}#")


def default_of(value: object) -> str:
    absent = value in (None, "", []) or isinstance(value, dict)
    return NOTHING if absent else f"`{json.dumps(value)}`"


# ------------------------------------------------------------------ documents


def document_page(name: str) -> Iterator[str]:
    schema = SCHEMAS[name].schema()
    yield from record_section(schema)
    for record, definition in schema.get("$defs", {}).items():
        yield f"## {record}\n"
        yield from record_section(definition)


def record_section(definition: Table) -> Iterator[str]:
    yield f"{definition.get('description', '').strip()}\n"
    if "properties" not in definition:
        return
    yield from rows(
        ("key", "holds"),
        (
            (f"`{key}`", type_of(field, linked=True))
            for key, field in definition["properties"].items()
        ),
    )


# ------------------------------------------------------------------ commands


def commands_page() -> Iterator[str]:
    commands: Table = typer.main.get_command(program.app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        shown = " ".join(
            f"{each.name.upper()}{' …' if each.nargs == -1 else ''}" for each in arguments
        )
        yield f"## {name}\n"
        yield f"```text\nrecourse-audit {name} {f'[OPTIONS] {shown}' if options else shown}\n```\n"
        yield f"{command.help}\n"
        if arguments:
            yield from rows(
                ("argument", "meaning"),
                ((f"`{each.name.upper()}`", each.help or "") for each in arguments),
            )
        if options:
            yield from rows(
                ("option", "meaning"),
                (
                    (
                        ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts)),
                        option_words(option),
                    )
                    for option in options
                ),
            )


def option_words(option: Any) -> str:
    default = option.default
    if default in (None, (), "", False) or callable(default) or option.is_flag:
        return option.help or ""
    return f"{option.help} Default: `{default}`."


# ------------------------------------------------------------------ measures


def measures_page() -> Iterator[str]:
    codes = [*get_args(Measure), *get_args(ReasonMeasure)]
    page = (DOCS / "reference" / "measures.md").read_text(encoding="utf-8")
    if lacking := [code for code in codes if f"`{code}`" not in page]:
        raise ExtensionError(f"reference/measures.md does not explain {', '.join(lacking)}")
    yield from rows(
        ("code", "family", *LANGUAGES),
        (
            (
                f"`{code}`",
                "primary" if code in PRIMARY else "exploratory",
                *(
                    words_of(language).get(f"report.measure.{code}", NOTHING)
                    for language in LANGUAGES
                ),
            )
            for code in get_args(Measure)
        ),
    )


def rates_table() -> Iterator[str]:
    """What each rate is, and what it is called in fairlearn, AIF360 and Aequitas."""

    def code(name: str) -> str:
        return f"`{name}`" if name else ""

    heading, *lines = csv.reader(RATES.read_text(encoding="utf-8").splitlines())
    yield from rows(
        tuple(heading),
        (
            (code(name), formula, outcomes, *map(code, names), source)
            for name, formula, outcomes, *names, source in lines
        ),
    )


def words_of(language: str) -> dict[str, str]:
    """The catalogue of the group report: what pages call things, by key."""
    text = (ROOT / f"templates/wording/{language}/group_page.po").read_text(encoding="utf-8")
    return dict(re.findall(r'^msgid "(.+)"\nmsgstr "(.*)"$', text, re.MULTILINE))


# ------------------------------------------------------------------ profiles


def profiles() -> Iterator[tuple[str, Table]]:
    """The legal profiles that come with the program, by name."""
    for path in sorted((ROOT / "templates" / "profiles").glob("*.toml")):
        yield path.stem, tomllib.loads(path.read_text(encoding="utf-8"))


def profiles_page() -> Iterator[str]:
    def languages(profile: Table) -> str:
        texts = [set(block["text"]) for block in profile["blocks"]]
        return ", ".join(sorted(set.intersection(*texts), key=[*LANGUAGES].index))

    yield from rows(
        ("profile", "as of", "languages", "covers", "leaves to you"),
        (
            (f"`{name}`", f"{each['as_of']}", languages(each), each["covers"], each["leaves_out"])
            for name, each in profiles()
        ),
    )


def profile_settings_page() -> Iterator[str]:
    yield from rows(
        ("profile", "key", "meaning"),
        (
            (f"`{name}`", f"`letters.{table}.{key}`", meaning)
            for name, profile in profiles()
            for table in ("slots", "facts")
            for key, meaning in profile.get(table, {}).items()
        ),
    )


# ------------------------------------------------------------------ reading pages

GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "settings": settings_page,
    "commands": commands_page,
    "measures": measures_page,
    "rates": rates_table,
    "profiles": profiles_page,
    "profile settings": profile_settings_page,
    **{f"document {name}": lambda name=name: document_page(name) for name in SCHEMAS},
}


def included_pages() -> dict[Path, Path]:
    """Which page of the site includes a file from outside of `docs/`."""
    pages = {}
    for page in DOCS.rglob("*.md"):
        for kind, name in MARKER.findall(page.read_text(encoding="utf-8")):
            if kind == "included":
                pages[ROOT / name] = page
    return pages


def resolve_links(text: str, origin: Path, page: Path, pages: dict[Path, Path]) -> str:
    """Lead links to files of the repository to the pages that include them."""

    def resolve(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or ":" in path:
            return match[0]
        file = Path(os.path.normpath(origin.parent / path))
        if not file.exists():
            raise ExtensionError(f"{origin}: there is no {path}, to which a link leads")
        if not (picture or file.is_relative_to(DOCS) or file in pages):
            return f"{words} (`{file.relative_to(ROOT).as_posix()}` in the repository)"
        place = os.path.relpath(pages.get(file, file), page.parent)
        return f"{picture}[{words}]({place}{'#' if anchor else ''}{anchor})"

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(resolve, part) for part in parts[::2]]
    return "".join(parts)


def drop_idle_globs(text: str, page: Path) -> str:
    """Remove `*` from a table of contents that names all pages of its folder already."""
    pages = {each.stem for each in page.parent.glob("*.md")} - {page.stem}
    return text if pages - set(text.splitlines()) else text.replace("\n*\n```", "\n```")


def read_source(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    pages = included_pages()

    def insert(match: re.Match[str]) -> str:
        kind, what = match.groups()
        if kind == "included":
            app.env.note_dependency(str(ROOT / what))
            return resolve_links((ROOT / what).read_text("utf-8"), ROOT / what, page, pages)
        if what not in GENERATED:
            raise ExtensionError(f"{page}: nothing generates {what!r}; choose from {[*GENERATED]}")
        return "\n".join(GENERATED[what]())

    before = resolve_links(drop_idle_globs(source[0], page), page, page, pages)
    source[0] = MARKER.sub(insert, before)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
