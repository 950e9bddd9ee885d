"""Data flows one way through the stages, and each heavy package comes in through one door."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "recourse_audit"
# A module imports from its own stage and from those before it.
STAGES = (
    "errors",
    "settings",
    "records",
    "graph",
    "model",
    "search",
    "recourse",
    "audit",
    "bundle",
    "groups",
    "execute",
    "render",
    "api",
    "testing",
    "cli",
)
# A stored audit is read without the graph, the model or anything that asks it.
BUNDLE_MAY_IMPORT = {"errors", "settings", "records", "bundle"}
# The front door and the commands may read the clock and the environment.
FRONT = {"api", "cli", "__init__", "__main__"}
# The modules that may import a heavy package: its doors.
DOORS = {
    "onnxruntime": {"model/session.py"},
    "jinja2": {"render/templates.py"},
    "weasyprint": {"render/pdf.py"},
    "pikepdf": {"render/outbox.py"},
    "css_inline": {"render/outbox.py"},
    "babel": {"render/i18n.py"},
    "cryptography": {"bundle/signature.py"},
    "dask": set(),
    "distributed": {"execute/dask_pool.py"},
    # The tests of groups, and the analysis of the human study.
    "statsmodels": {"groups/study.py"},
    "scipy.stats": {"groups/inference.py", "groups/study.py"},
    "pyarrow": {"graph/tables.py", "bundle/reader.py", "api.py"},
    "pandas": {"api.py"},
    "typer": {path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "cli").glob("*.py")},
    # What looks into models, or makes them, is never imported.
    "onnx": set(),
    "torch": set(),
    "torch_geometric": set(),
}
OUTSIDE = {
    "time.time",
    "time.time_ns",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "os.environ",
    "os.getenv",
    "random.random",
    "np.random.seed",
}
# It silences onnxruntime by a variable, and reads none.
SILENCER = "model/session.py"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_MODULE = 600


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def stage_of(name: str) -> str:
    return name.split("/", maxsplit=1)[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path) -> Iterator[str]:
    """Every module or name that is imported anywhere in a file, with its full dotted name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(path)} imports relatively; name the stage"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def dotted(node: ast.Attribute) -> str:
    """The last two parts of a dotted expression."""
    value = node.value
    owner = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return f"{owner}.{node.attr}"


def broken_rules(path: Path) -> Iterator[str]:
    """What a module imports or reads that it may not."""
    name, own = name_of(path), stage_of(name_of(path))
    for imported in imports_of(path):
        package, *rest = imported.split(".")
        for heavy, doors in DOORS.items():
            if f"{imported}.".startswith(f"{heavy}.") and name not in doors:
                yield f"{name} imports {imported}; its doors are {sorted(doors)}"
        if package != "recourse_audit" or own in ("__init__", "__main__"):
            continue
        stage = rest[0] if rest else "__init__"
        if stage not in STAGES or STAGES.index(stage) > STAGES.index(own):
            yield f"{name} imports {imported}, which is not of an earlier stage"
        if own == "bundle" and stage not in BUNDLE_MAY_IMPORT:
            yield f"{name} imports {imported}; a bundle is read without the model"
        if own == "render" and stage == "groups":
            yield f"{name} imports {imported}; what is rendered was computed before it was sealed"
    if own in FRONT:
        return
    used = {dotted(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
    used |= {".".join(imported.split(".")[-2:]) for imported in imports_of(path)}
    allowed = {"os.environ"} if name == SILENCER else set()
    yield from (f"{name} reads {one}" for one in sorted(used & OUTSIDE - allowed))


def test_imports_lead_to_earlier_stages_and_heavy_packages_have_one_door() -> None:
    known = {stage_of(name_of(path)) for path in MODULES}
    assert known == {*STAGES, "__init__", "__main__"}, "every module belongs to a stage"
    assert [rule for path in MODULES for rule in broken_rules(path)] == []


def test_modules_can_be_read_in_one_sitting() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def imported_by(statement: str) -> set[str]:
    """The top-level packages that are in memory after a statement, in an interpreter of its own."""
    script = (
        f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parent,
    )
    return set(finished.stdout.splitlines()[-1].split())


def test_rendering_a_stored_audit_needs_no_runtime_and_starting_needs_nothing_heavy() -> None:
    """Measured by what is imported, not by the clock: this machine may be busy."""
    rendering = imported_by("import recourse_audit.api, recourse_audit.groups.report")
    assert not rendering & {"onnxruntime", "distributed"}
    heavy = {"numpy", "scipy", "pydantic", "pyarrow", "onnxruntime", "networkx", "jinja2", "rich"}
    heavy |= {"weasyprint", "pikepdf", "statsmodels", "babel", "cryptography", "distributed"}
    assert not imported_by("import recourse_audit") & heavy
    assert not imported_by("import recourse_audit.cli.program") & (heavy - {"rich"})
