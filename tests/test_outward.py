"""Nothing is sent and nothing is loaded: no command connects, and no page asks for anything."""

import json
import os
import re
import socket
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recourse_audit.cli.program import app
from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import write_pages
from tests.audits import quick_audit, small_package
from tests.bundles import request, run_here
from tests.command import leave_out_pdfs

ROOT = Path(__file__).parents[1]
# Read by every Python that is started with this folder first on its path, so by workers, too.
# Sockets between a process and its own children have no address and are allowed.
WATCH = """
import os, sys

def watch(event, given):
    outward = event in {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
    if event == "socket.getaddrinfo" or (outward and isinstance(given[1], tuple)):
        with open(os.environ["OUTWARD"], "a", encoding="utf-8") as file:
            file.write(f"{event} {given[1:] if outward else given} {sys.argv}\\n")
        raise PermissionError(f"{event} is forbidden here")

sys.addaudithook(watch)
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an audit, its bundle with pages and letters, and the watch."""
    place = tmp_path_factory.mktemp("outward")
    quick_audit(place)
    run_here(request(place, place / "bundle", sample=2))
    with pytest.MonkeyPatch.context() as patch:
        leave_out_pdfs(patch)
        write_letters(place / "bundle")
        write_pages(place / "bundle")
    small_package(place)
    (place / "watch").mkdir()
    (place / "watch" / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    return place


def watched(place: Path, *words: str | Path) -> tuple[int, str, str]:
    """Run Python with every connection forbidden; its exit code, stderr, and what it tried."""
    notes = place / "tried.txt"
    notes.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=place,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join((str(place / "watch"), str(ROOT))), "OUTWARD": str(notes)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr, notes.read_text("utf-8") if notes.exists() else ""


COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": ("audit.toml",),
    "init": ("gcn.onnx", "--nodes", "nodes.csv", "--edges", "edges.csv", "--out", "new.toml"),
    "doctor": ("audit.toml",),
    "explain": ("audit.toml", "P0004"),
    "run": ("audit.toml", "--out", "out", "--sample", "2", "--workers", "2", "--no-pages"),
    "report": ("bundle", "--workers", "1"),
    "letters": ("bundle", "--workers", "1"),
    "groups": ("bundle",),
    "verify": ("bundle",),
    "study": ("bundle", "--out", "study", "--subjects", "1"),
    "stability": ("audit.toml", "P0004", "--new-ties", "2"),
    "schema": ("subject",),
    "demo": (),
}


def test_every_command_is_tried() -> None:
    names = {
        info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands
    }
    assert names == set(COMMANDS)


# All commands in one process, because starting one takes longer than most of them.
ALL = """
import json, os, pathlib, sys
import recourse_audit.cli.program  # so that the commands are there
from recourse_audit.cli import main
from recourse_audit.render import write_letters, write_pages

demo = sys.modules["recourse_audit.cli.demo"]
demo.DEMO_AUDIT = 2
demo.PACKAGE = pathlib.Path("package")
os.cpu_count = lambda: 1
for name, words in json.loads(sys.argv[1]).items():
    if name == "demo":  # which is the last; report and letters have made PDFs
        for module in (write_pages, write_letters):
            module.open_printer = lambda _: (None, "")
    sys.argv = ["recourse-audit", name, *words]
    try:
        main()
    except SystemExit as stopped:
        sys.stderr.write(f"\\n{name} ended with {stopped.code or 0}\\n")
"""


def test_no_command_connects_to_anything(audited: Path) -> None:
    _, said, tried = watched(audited, "-c", ALL, json.dumps(COMMANDS))
    assert tried == ""
    ended = dict(re.findall(r"^(\w+) ended with (\d+)$", said, flags=re.MULTILINE))
    assert set(ended) == set(COMMANDS), said
    assert ended.pop("study") in {"0", "2"}, said  # two people may have no case to compare
    assert {*ended.values()} <= {"0", "4"}, said


def test_the_watch_sees_a_connection_also_in_a_child(audited: Path) -> None:
    connect = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {connect!r}])"
    for code in (connect, child):
        _, _, tried = watched(audited, "-c", code)
        assert "socket." in tried


# ---------------------------------------------------------------- pages

LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest"}
ALLOWED = {"default-src", "style-src", "script-src", "base-uri", "form-action"}


class Page(HTMLParser):
    """Everything in a page that a browser could load or follow, and its policy."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.policies: list[str] = []
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.before: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("http-equiv", "").casefold() == "content-security-policy":
            self.policies.append(given["content"])
        elif not self.policies:
            self.before.append(tag)
        if tag in {"link", "iframe", "object", "embed", "base", "image", "use"}:
            self.loaded.append(f"<{tag}>")
        for name, value in given.items():
            if name in LOADING or name.startswith("on") or "url(" in value:
                self.loaded.append(f"{tag} {name}={value}")
            if name in {"href", "xlink:href"}:
                self.links.append(value)

    def handle_data(self, data: str) -> None:
        if re.search(r"url\(|@import", data):
            self.loaded.append(data[:80])


KINDS = ("pages/index.html", "pages/groups.html", "pages/subjects/*.html", "letters/*.html")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_a_strict_policy_and_loads_nothing(kind: str, audited: Path) -> None:
    paths = [*(audited / "bundle").glob(kind)]
    assert paths
    for path in paths:
        page = Page(path.read_text(encoding="utf-8"))
        [policy] = page.policies
        parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
        assert set(parts) <= ALLOWED
        assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
        for name in ("style-src", "script-src"):
            assert all(one.startswith("'sha256-") for one in parts.get(name, "").split())
        assert set(page.before) <= {"html", "head", "meta", "title"}
        assert page.loaded == []
        for link in page.links:
            outward = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", link)
            assert not outward, f"{path.name}: {link}"


def test_no_url_of_another_place_is_in_a_page(audited: Path) -> None:
    # Names of XML namespaces look like addresses; nobody loads them.
    for path in (audited / "bundle").rglob("*.html"):
        found = re.findall(r"""https?://[^\s"'<>]+""", path.read_text(encoding="utf-8"))
        assert {*found} <= {"http://www.w3.org/2000/svg"}, path.name


def test_documents_name_no_address(audited: Path) -> None:
    manifest = json.loads((audited / "bundle" / "manifest.json").read_bytes())
    assert socket.gethostname() not in json.dumps(manifest)
