"""Data flows one way through the stages, and each heavy package comes in through one door."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "recourse_audit"
# A module imports from its own stage and from those above it in this list.
STAGES = (
    ("errors",),
    ("settings",),
    ("records",),
    ("documents",),
    ("graph",),
    ("model",),
    ("search",),
    ("recourse",),
    ("caveats",),
    ("run",),
    ("groups",),
    ("render",),
    ("cli", "__main__", "__init__"),
)
# A module a stage that makes records, in the order of the stages.
RECORDS = ("probes", "search", "recourse", "caveats", "report", "stability")
# In which stage, or module, the one door of a heavy package is.
DOORS = {
    "onnxruntime": "model/runtime.py",
    "jinja2": "render/",
    "weasyprint": "render/",
    "babel": "render/wording.py",
    "cryptography": "run/signing.py",
    "dask": "run/",
    "distributed": "run/",
    "statsmodels": "groups/ordinary.py",
}
# Tables are read at one end and written at the other.
ARROW = {"graph/arrow.py", "run/tables.py"}
NEVER = {"onnx", "torch", "torch_geometric"}
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
SILENCER = "model/runtime.py"
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def stage_of(path: str) -> int:
    first = path.split("/", maxsplit=1)[0].removesuffix(".py")
    return next(place for place, names in enumerate(STAGES) if first in names)


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


def heavy_imports(package: str) -> set[str]:
    return {
        name_of(path)
        for path in MODULES
        if any(name.split(".")[0] == package for name in imports_of(path))
    }


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_from_its_own_and_earlier_stages(path: Path) -> None:
    own = stage_of(name_of(path))
    for name in imports_of(path):
        package, *rest = name.split(".")
        if package == "recourse_audit":
            assert rest, "import the stage, not the package"
            # `from recourse_audit import __version__` and the like come from the top.
            known = any(rest[0] in names for names in STAGES)
            assert stage_of(rest[0] if known else "__init__") <= own, name


@pytest.mark.parametrize("own", RECORDS)
def test_a_module_of_records_imports_only_from_earlier_ones(own: str) -> None:
    path = PACKAGE / "records" / f"{own}.py"
    ours = [name for name in imports_of(path) if name.startswith("recourse_audit.")]
    earlier = RECORDS[: RECORDS.index(own)]
    assert all(name.split(".")[1] == "records" and name.split(".")[2] in earlier for name in ours)


def test_records_are_imported_from_the_module_that_has_them() -> None:
    assert {path.stem for path in (PACKAGE / "records").iterdir() if path.suffix == ".py"} == {
        "__init__",
        *RECORDS,
    }
    assert list(imports_of(PACKAGE / "records" / "__init__.py")) == []


def test_every_folder_and_module_belongs_to_a_stage() -> None:
    assert {stage_of(name_of(path)) for path in MODULES} <= set(range(len(STAGES)))
    assert MODULES


@pytest.mark.parametrize("package", DOORS)
def test_a_heavy_package_comes_in_through_one_door(package: str) -> None:
    modules = heavy_imports(package)
    assert len(modules) <= 1
    assert all(module.startswith(DOORS[package]) for module in modules)


def test_statistics_come_in_through_the_door_of_statistics() -> None:
    modules = {
        name_of(path)
        for path in MODULES
        if any(f"{name}.".startswith("scipy.stats.") for name in imports_of(path))
    }
    assert modules <= {"groups/ordinary.py"}


def test_only_the_command_line_knows_typer() -> None:
    assert all(module.startswith("cli/") for module in heavy_imports("typer"))


def test_arrow_is_opened_where_tables_are_read_and_written() -> None:
    assert heavy_imports("pyarrow") <= ARROW


@pytest.mark.parametrize("package", sorted(NEVER))
def test_what_looks_into_models_is_never_imported(package: str) -> None:
    assert heavy_imports(package) == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_below_the_command_line_reads_the_clock_or_the_environment(path: Path) -> None:
    if stage_of(name_of(path)) == len(STAGES) - 1:
        return
    attributes = {
        dotted(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)
    }
    imported = {".".join(name.split(".")[-2:]) for name in imports_of(path)}
    allowed = {"os.environ"} if name_of(path) == SILENCER else set()
    assert not (attributes | imported) & OUTSIDE - allowed
