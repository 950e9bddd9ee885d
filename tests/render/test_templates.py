"""Templates become pages that need nothing else; mistakes in them are named by file and line."""

import re
import shutil
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from recourse_audit.errors import TemplateError
from recourse_audit.render.templates import Templates, eject, template_folder


def own(tmp_path: Path, **pieces: str) -> Path:
    for name, text in pieces.items():
        path = tmp_path / "own" / f"{name}.html"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "own"


def test_what_comes_from_a_graph_is_escaped(tmp_path: Path) -> None:
    templates = Templates(own(tmp_path, page="<p>{{ name }}</p>"))
    hostile = "<script>alert(1)</script>{{ 7*7 }}"
    assert (
        templates.render("page.html", name=hostile)
        == "<p>&lt;script&gt;alert(1)&lt;/script&gt;{{ 7*7 }}</p>"
    )


def test_the_policy_of_a_page_names_its_styles_and_script_by_their_hashes(tmp_path: Path) -> None:
    folder = own(tmp_path, page='{{ head("a.css", script="a.js") }}{{ script("a.js") }}')
    (folder / "a.css").write_text("p > b { color: #123 }", encoding="utf-8")
    (folder / "a.js").write_text("if (1 < 2 && 3 > 2) {}", encoding="utf-8")
    page = Templates(folder).render("page.html")
    assert "<style>p > b { color: #123 }</style>" in page
    assert "<script>if (1 < 2 && 3 > 2) {}</script>" in page
    (policy,) = re.findall(r'content="([^"]*)"', page)
    for text in ("p > b { color: #123 }", "if (1 < 2 && 3 > 2) {}"):
        value = b64encode(sha256(text.encode()).digest()).decode()
        assert f"sha256-{value}" in policy.replace("&#39;", "'")
    assert policy.startswith("default-src &#39;none&#39;")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\n{% if %}\n", "page.html:2: "),
        ("one\ntwo\n{{ view.absent }}\n", "page.html:3: "),
        ("{{ absent }}", "page.html:1: 'absent' is undefined"),
        ("{% include 'nowhere.html' %}", "nowhere.html: there is no such template in "),
        ("\n{{ head('nowhere.css') }}", "nowhere.css: there is no such piece in "),
        ("\n\n{{ 1 + 'a' }}", "page.html:3: "),
        ("\n{{ 1 / 0 }}", "page.html:2: "),
        ("\n\n{% include 'page.html' %}", "page.html:3: the template includes or calls itself"),
    ],
)
def test_a_mistake_in_a_template_is_named_by_file_and_line(
    tmp_path: Path, text: str, words: str
) -> None:
    templates = Templates(own(tmp_path, page=text))
    with pytest.raises(TemplateError) as caught:
        templates.render("page.html", view=object())
    assert words in str(caught.value)


def test_a_template_that_is_not_text_is_named(tmp_path: Path) -> None:
    folder = own(tmp_path, page="")
    (folder / "page.html").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateError, match=r"page\.html: is not text in UTF-8"):
        Templates(folder).render("page.html", view=object())


def test_a_piece_of_the_user_takes_the_place_of_ours_and_changes_the_digest(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "styles").mkdir(parents=True)
    (folder / "styles" / "paper.css").write_text("/* mine */", encoding="utf-8")
    assert Templates(folder).text("styles/paper.css") == "/* mine */"
    assert Templates(folder).digest() != Templates().digest()
    ours = Templates().text("styles/paper.css")
    (folder / "styles" / "paper.css").write_text(ours, encoding="utf-8")
    assert Templates(folder).digest() == Templates().digest()


@pytest.mark.parametrize("name", ["../pyproject.toml", "/etc/hostname", "styles/../../README.md"])
def test_no_piece_lies_outside_the_templates(name: str) -> None:
    with pytest.raises(TemplateError, match="there is no such piece"):
        Templates().piece(name)


def test_ejected_templates_are_all_of_ours_and_never_overwrite(tmp_path: Path) -> None:
    eject(tmp_path / "mine")
    names = {path.relative_to(tmp_path / "mine") for path in (tmp_path / "mine").rglob("*")}
    assert names == {path.relative_to(template_folder()) for path in template_folder().rglob("*")}
    assert Templates(tmp_path / "mine").digest() == Templates().digest()
    with pytest.raises(TemplateError, match="is not empty"):
        eject(tmp_path / "mine")


def test_a_folder_of_templates_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="there is no such folder"):
        Templates(tmp_path / "absent")


def test_templates_lie_beside_the_package_or_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "package" / "_data" / "templates"
    shutil.copytree(template_folder(), inside)
    monkeypatch.setattr("recourse_audit.render.templates.PACKAGE", tmp_path / "package")
    assert template_folder() == inside
    shutil.rmtree(inside)
    with pytest.raises(TemplateError, match="install recourse-audit again"):
        template_folder()
