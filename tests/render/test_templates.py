"""Templates become pages that need nothing else; mistakes in them are named by file and line."""

import re
import shutil
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from recourse_audit.errors import TemplateError
from recourse_audit.render.templates import Templates, eject, template_folder
from tests.bundles import contents
from tests.command import command


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
        ("\n{% set x = 1e999 %}{{ x }}", "page.html:2: "),
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


@dataclass(frozen=True)
class View:
    """What a template may be given: a text, a list, and a method that it must not get further."""

    name: str = "Ada"
    rows: tuple[str, ...] = ("a", "b")

    def words(self) -> str:
        return self.name


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ ''|attr('__class__') }}",
        "{{ view.__init__.__globals__ }}",
        "{{ view.words.__globals__['os'] }}",
        "{{ view['__dict__'] }}",
        "{{ view.__class__.__mro__[1].__subclasses__() }}",
        "{{ view|map(attribute='__class__')|list }}",
        "{{ ['a']|map(attribute='__class__')|first }}",
        "{{ ['a']|map('attr', '__class__')|first }}",
        "{{ head.__globals__ }}",
        "{{ head.__func__.__globals__ }}",
        "{{ head.__self__._environment }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ '{0.__class__}'.format(view) }}",
        "{% set view.name = 'x' %}",
        "{% set l = [1] %}{{ l.append(2) }}",
        "{{ view.name|safe }}",
        "{{ range(10) | random }}",
    ],
)
def test_a_template_cannot_reach_past_what_it_is_given(tmp_path: Path, text: str) -> None:
    templates = Templates(own(tmp_path, page=text))
    with pytest.raises(TemplateError, match=r"page\.html:1: "):
        templates.render("page.html", view=View())


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(10**9) %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        (
            "{% macro m() %}{{ caller() }}{% endmacro %}"
            "{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ n() }}"
        ),
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ '\\ud800' }}",
        "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    ],
)
def test_a_template_that_calls_itself_or_is_no_text_is_an_error(tmp_path: Path, text: str) -> None:
    templates = Templates(own(tmp_path, page=text))
    with pytest.raises(TemplateError, match=r"page\.html"):
        templates.render("page.html", view=View())


def test_a_mistake_is_named_in_a_folder_with_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path, page="{{ view.nobody }}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TemplateError, match=r"page\.html:1: .*no attribute 'nobody'"):
        Templates(Path("own")).render("page.html", view=View())


@pytest.mark.parametrize(
    "text",
    [
        "{{ [].title.x }}",
        "{{ [1].title }}",
        "{{ -'a' }}",
        "{{ [][1:'a'] }}",
        "{% set a = 1e999 %}",
        "{% filter groupby('a') %}{% endfilter %}",
    ],
)
def test_a_mistake_in_a_constant_is_named_too(tmp_path: Path, text: str) -> None:
    with pytest.raises(TemplateError, match=r"page\.html"):
        Templates(own(tmp_path, page=text)).render("page.html", view=View())


def test_a_template_that_links_to_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    folder = own(tmp_path, page="{% include 'link.html' %}")
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    with pytest.raises(TemplateError, match=r"link\.html: there is no such template"):
        Templates(folder).render("page.html")


def test_a_mistake_in_a_template_leaves_the_bundle_as_it_was(made: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(made, bundle)
    before = contents(bundle)
    for name, mistake in (
        ("pages/subject.html", "{{ view.__class__ }}"),
        ("pages/groups.html", "{{ nobody }}"),
        ("pages/index.html", "{% for a in range(10**9) %}"),
    ):
        folder = tmp_path / "own"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(mistake, encoding="utf-8")
        words = ("report", bundle, "--templates", folder, "--workers", "1")
        assert command(*words).code == 2
        after = contents(bundle)
        assert {path: after.get(path) for path in before} == before
    assert command("report", bundle, "--workers", "1").code == 0
    assert contents(bundle) == before


HEAD = '<!doctype html><html><head><meta charset="utf-8">{{ head("styles/page.css") }}</head>'


@pytest.mark.parametrize(
    ("page", "is_covered"),
    [
        (HEAD, True),
        (HEAD.replace("{{", "<title>a</title>{{"), True),
        (HEAD.replace('{{ head("styles/page.css") }}', ""), False),
        (HEAD.replace("{{", "<!-- {{").replace("}}", "}} -->"), False),
        (HEAD.replace("{{", "<title>{{").replace("}}", "}}</title>"), False),
        (HEAD.replace("{{", "<link rel=stylesheet href=http://127.0.0.1/>{{"), False),
        (HEAD.replace("{{", "<script>1</script>{{"), False),
        (HEAD.replace("{{", '<meta name="{{').replace("}}", '}}">'), False),
        (HEAD.replace("{{", "<meta http-equiv=refresh content='0;url=//a'>{{"), False),
        (HEAD.replace("<head>", "</head><body>"), False),
        (HEAD + "<META a=' http-equiv=refresh content='0;url=//a'>", False),
    ],
)
def test_a_page_without_a_policy_before_everything_else_is_refused(
    tmp_path: Path, page: str, is_covered: bool
) -> None:
    (tmp_path / "own" / "pages").mkdir(parents=True)
    (tmp_path / "own" / "pages" / "subject.html").write_text(page, encoding="utf-8")
    templates = Templates(tmp_path / "own")
    if is_covered:
        assert "Content-Security-Policy" in templates.render("pages/subject.html")
    else:
        with pytest.raises(TemplateError, match=r"pages/subject\.html: .*head"):
            templates.render("pages/subject.html")


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
    assert Templates(folder).digest != Templates().digest
    ours = Templates().text("styles/paper.css")
    (folder / "styles" / "paper.css").write_text(ours, encoding="utf-8")
    assert Templates(folder).digest == Templates().digest


@pytest.mark.parametrize("name", ["../pyproject.toml", "/etc/hostname", "styles/../../README.md"])
def test_no_piece_lies_outside_the_templates(name: str) -> None:
    with pytest.raises(TemplateError, match="there is no such piece"):
        Templates().piece(name)


def test_ejected_templates_are_all_of_ours_and_never_overwrite(tmp_path: Path) -> None:
    eject(tmp_path / "mine")
    names = {path.relative_to(tmp_path / "mine") for path in (tmp_path / "mine").rglob("*")}
    assert names == {path.relative_to(template_folder()) for path in template_folder().rglob("*")}
    assert Templates(tmp_path / "mine").digest == Templates().digest
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
