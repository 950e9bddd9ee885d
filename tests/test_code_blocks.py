"""Every command and Python block that README and documentation show works, on fewer people.

Blocks of a page run one after the other, in a folder with a model, its tables, settings and a
finished bundle. A comment above a block says why it is not run. The tutorial on hiring is run by
tests/audit/test_hiring_sample.py, which also compares what is printed.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from recourse_audit import Audit, open_bundle
from tests.audits import SAMPLES, quick_audit
from tests.command import command, leave_out_pdfs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {DOCS / "tutorials" / "hiring.md"}
BLOCK = re.compile(
    r"^(?: *<!-- not run: (?P<why>[^\n]*?) -->\n)?(?P<indent> *)```(?P<language>\w*)\n"
    r"(?P<text>.*?)\n(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = ("cd", "cp", "mkdir", "openssl")
# Lines that prepare the machine; tests/test_setup.py tries what they need.
PREPARES = ("make ", "pip install .", "python3 -m venv", "set -e")
COMMAND = re.compile(rf"(recourse-audit|dask|{'|'.join(SHELL)}) |{'|'.join(PREPARES)}")
NOT_RUN = {
    "it prepares the machine": ["README.md", "install.md", "install.md"],
    "it needs a cluster": ["cluster.md"] * 3,
    "a synopsis": ["caveats.md"],
    "a translator writes text first": ["translate.md"],
    "it needs torch": ["first_letters.md", "library.md"],
    # tests/cli and tests/render sign letters, print them and enter them into the register.
    "a clerk fills in tables first": ["sign_letters.md"] * 3 + ["letters.md"] * 3,
}
# The bundle of these tests has few people, and one process is enough for them.
FEWER = {
    "sample=100, workers=2": "sample=100, workers=0",
    "P0004-P0320": "P0002-P0004",
    "P1365": "P0004",
}


@dataclass(frozen=True)
class Block:
    """A fenced block with commands or Python, and why it is not run, if it is not."""

    page: Path
    language: str
    text: str
    why: str

    @property
    def lines(self) -> list[str]:
        """Its commands, without comments; what else stands there is what they print."""
        lines = (line.strip().removeprefix("$ ") for line in self.text.splitlines())
        return [line for line in lines if COMMAND.match(line)]


def blocks(page: Path) -> Iterator[Block]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        block = Block(page, match["language"], match["text"], match["why"] or "")
        shell = block.language in ("", "sh", "console") and block.lines
        if shell or block.language == "python":
            yield block


ALL = [
    block for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))) for block in blocks(page)
]
PAGES = {block.page: None for block in ALL if not block.why and block.page not in ELSEWHERE}
# Tutorials audit whole samples, and guides put together what other pages show.
LONG = ("tutorials", "howto")
CASES = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.long] * (page.parent.name in LONG))
    for page in PAGES
]


def test_what_is_not_run_is_listed_here() -> None:
    marked: dict[str, list[str]] = {}
    for block in ALL:
        if block.why:
            marked.setdefault(block.why, []).append(block.page.name)
    assert {why: sorted(pages) for why, pages in marked.items()} == {
        why: sorted(pages) for why, pages in NOT_RUN.items()
    }
    assert "TUTORIAL" in (ROOT / "tests" / "audit" / "test_hiring_sample.py").read_text("utf-8")
    assert len(PAGES) > 10


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    settings = quick_audit(folder)
    shutil.copy(SAMPLES / "gcn.onnx", folder / "model.onnx")
    Audit.from_toml(settings).run(folder / "DIR", sample=4, workers=0)
    return folder


@pytest.mark.parametrize("page", CASES)
def test_the_blocks_of_a_page_work_in_their_order(
    page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repository" / "work"
    shutil.copytree(prepared, folder)
    (folder.parent / "sample_models").symlink_to(ROOT / "sample_models")
    (folder / "sample_models").symlink_to(ROOT / "sample_models")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    leave_out_pdfs(monkeypatch)
    names = names_for(page)
    for block in blocks(page):
        if block.why:
            continue
        if block.language == "python":
            exec(compile(with_fewer(block.text), page.name, "exec"), names)
            continue
        for line in block.lines:
            run_line(with_fewer(line), monkeypatch)


def with_fewer(text: str) -> str:
    for old, new in FEWER.items():
        text = text.replace(old, new)
    return text


def run_line(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *words = shlex.split(line, comments=True)
    if line.startswith(PREPARES) or words[:1] in (["demo"], ["study"]):
        return  # tests/cli/test_demo.py and tests/render/test_study.py run them
    if "mkdir" in line:
        return  # the folder of this test is one
    if program == "cd":
        monkeypatch.chdir(words[0])
    elif program in SHELL:
        subprocess.run(["sh", "-ec", line], check=True, capture_output=True)
    else:
        run_command(words)


def run_command(words: list[str]) -> None:
    words = words[: words.index(">")] if ">" in words else words  # what it prints is not kept
    if words[0] == "run":
        shutil.rmtree(words[words.index("--out") + 1], ignore_errors=True)
        words += () if "--sample" in words else ("--sample", "4")
    if words[0] == "stability":
        words += ["--sample", "4", "--new-ties", "2"]
    if words[0] == "init" and "--out" not in words:
        Path("audit.toml").rename("kept.toml")
    if "--ids" in words:
        words[words.index("--ids") + 1] = next(iter(open_bundle(words[1]))).subject.id
    for option, value in (("--sample", "4"), ("--workers", "1"), ("--replay", "2")):
        if option in words:
            words[words.index(option) + 1] = value
    finished = command(*words)
    # The example shows a gap, and misses what a pack asks for: the pages say which code that is.
    codes = {"--fail-on": (0, 3), "--strict": (0, 2)}
    allowed = {code for word in words for code in codes.get(word, (0,))}
    assert finished.code in allowed, (words, finished.err)
    if Path("kept.toml").exists():
        Path("kept.toml").replace("audit.toml")


def names_for(page: Path) -> dict[str, object]:
    """What a page supposes to be there: arrays of a model's author, and a network of people."""
    if page.name != "library.md":
        return {}
    random = np.random.default_rng(0)
    size = 300
    ends = random.integers(size, size=(2, 500))
    low, high = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    return {
        "data": SimpleNamespace(x=random.normal(size=(size, 7)), edge_index=ends),
        "names": [f"column{number}" for number in range(7)],
        "low": low,
        "high": high,
        "values": (random.random(1800) < 0.3).astype(float),
        "member": np.arange(1800) % 2 == 0,
    }
