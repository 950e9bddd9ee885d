"""What README and documentation say of commands, pictures, settings and files is so."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from recourse_audit.settings import parse_settings
from tests.command import command

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
COMMANDS = DOCS / "reference" / "commands.md"
LINE = re.compile(r"^recourse-audit (.+?)(?:\s+#.*)?$", re.MULTILINE)


def shown(page: Path) -> list[list[str]]:
    return [shlex.split(line) for line in LINE.findall(page.read_text(encoding="utf-8"))]


def test_the_page_of_commands_shows_every_command() -> None:
    help_ = command("--help").out
    names = {words[0] for words in shown(COMMANDS)}
    assert len(names) > 10
    assert {name for name in names if f" {name} " not in help_} == set()
    listed = set(re.findall(r"^[│ ]+([a-z]+) {2,}\S", help_, re.MULTILINE))
    assert listed <= names


def test_the_readme_takes_two_screens_and_leads_to_the_rest() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    linked = set(re.findall(r"\]\((docs/[\w/.]+)\)", text))
    assert "docs/index.md" in linked
    assert [name for name in sorted(linked) if not (README.parent / name).is_file()] == []


def test_every_picture_of_the_readme_is_taken_by_the_script() -> None:
    names = set(re.findall(r"docs/pictures/(\w+)\.png", README.read_text(encoding="utf-8")))
    taken = set(
        re.findall(r'Shot\(name="(\w+)"', (README.parent / "scripts/pictures.py").read_text())
    )
    assert names
    assert names <= taken
    assert all((DOCS / "pictures" / f"{name}.png").is_file() for name in taken)


@pytest.mark.parametrize("page", ["howto/policy.md", "tutorials/first_letters.md"])
def test_the_settings_that_a_page_shows_are_taken(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    block = max(re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL), key=len)
    decision = {"classes": ["denied", "approved"], "favourable": ["approved"]}
    table = {"model": {"path": "model.onnx"}, "decision": decision, **tomllib.loads(block)}
    settings = parse_settings(table, folder=Path(), origin=page, graph_in_memory=True)
    assert len(settings.recourse.ties) + len(settings.recourse.attributes) >= 3


def test_the_readme_says_how_to_install_it_for_a_model_of_ones_own() -> None:
    assert "\npip install ." in README.read_text(encoding="utf-8")
    assert "explain audit.toml -- -5" in COMMANDS.read_text(encoding="utf-8")


def test_every_module_and_test_that_the_documentation_names_exists() -> None:
    package, tests = README.parent / "recourse_audit", README.parent
    pages = [*README.parent.glob("*.md"), *DOCS.rglob("*.md")]
    named = {
        path
        for page in pages
        for path in re.findall(
            r"`(?:recourse_audit/)?([a-z_]+/[a-z0-9_/]+\.py)`", page.read_text("utf-8")
        )
    }
    ours = {
        tests / path if path.startswith("tests/") else package / path
        for path in named
        if path.startswith("tests/") or (package / path.split("/")[0]).is_dir()
    }
    assert len(ours) > 30
    assert [str(path) for path in sorted(ours) if not path.is_file()] == []
