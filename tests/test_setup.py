"""Setup keeps its promises: locks match, no file names a machine, the wheel is complete."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.command import command

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = ("linux", "darwin")
LOCKS = ("run", "dev", "docs")

SETUP_FILES = (
    ".ci/run",
    ".gitignore",
    ".dockerignore",
    "CONTRIBUTING.md",
    "Containerfile",
    "Makefile",
    "action.yml",
    "pyproject.toml",
    "requirements/dev.txt",
    "requirements/docs.txt",
    "requirements/oldest.txt",
    "requirements/run.in",
    "requirements/run.txt",
    "recourse_audit/render/libraries.py",
    "scripts/lock.sh",
    "scripts/setup.sh",
)


def read_project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def read_lock(name: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Yield each entry of a lock file with its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        entry, *hashes = line.split("--hash=")
        if entry.strip():
            yield Requirement(entry.strip()), [each.strip() for each in hashes]


def pins_for(name: str, python: str, system: str) -> dict[str, list[Version]]:
    """The versions that a lock file pins of each package, for one Python on one system."""
    environment = {
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": system,
    }
    pins: dict[str, list[Version]] = {}
    for requirement, _ in read_lock(name):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (specifier,) = requirement.specifier
            pins.setdefault(canonicalize_name(requirement.name), []).append(
                Version(specifier.version)
            )
    return pins


def direct_requirements(name: str) -> list[Requirement]:
    project = read_project()
    lines = list(project["dependencies"])
    if name != "run":
        lines += project["optional-dependencies"][name]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_file_pins_one_matching_version_of_every_dependency(
    name: str, python: str, system: str
) -> None:
    pins = pins_for(name, python, system)
    for requirement in direct_requirements(name):
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert len(versions) == 1, f"{requirement.name} is pinned {len(versions)} times"
        assert requirement.specifier.contains(versions[0]), f"{requirement} but {versions[0]}"


def test_the_oldest_versions_are_the_least_that_the_project_allows() -> None:
    pins = pins_for("oldest", "3.11", "linux")
    for requirement in direct_requirements("dev"):
        [least] = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
        [pinned] = pins[canonicalize_name(requirement.name)]
        assert pinned.release[: len(least.release)] == least.release, requirement


@pytest.mark.parametrize("name", [*LOCKS, "oldest"])
def test_every_entry_of_the_lock_file_is_exact_and_hashed(name: str) -> None:
    entries = list(read_lock(name))
    assert entries
    for requirement, hashes in entries:
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("name", LOCKS[1:])
def test_tests_and_documentation_use_the_same_packages_as_the_program(name: str) -> None:
    run, more = (pins_for(each, "3.11", "linux") for each in ("run", name))
    assert {package: more.get(package) for package in run} == run


@pytest.mark.parametrize("name", LOCKS)
def test_every_python_gets_the_same_version_of_a_package(name: str) -> None:
    pins = [pins_for(name, python, "linux") for python in PYTHONS]
    assert all(each == pins[0] for each in pins)


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_file_has_the_build_backend_and_no_torch(name: str) -> None:
    packages = {canonicalize_name(requirement.name) for requirement, _ in read_lock(name)}
    assert "hatchling" in packages
    assert not {each for each in packages if each.startswith(("torch", "nvidia"))}


@pytest.mark.parametrize("name", SETUP_FILES)
def test_a_setup_file_names_no_registry_and_no_machine(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.findall(r"pypi|pythonhosted|artifactory|index-url\s*=|--find-links", text)
    assert not re.findall(r"https?://|file://", text)
    assert not re.findall(r"(?<![\w.])/(?:root|home|Users|work|srv|mnt)/\S*", text)


def test_continuous_integration_runs_the_tests_and_builds_the_documentation(tmp_path: Path) -> None:
    run = ROOT / ".ci" / "run"
    assert run.stat().st_mode & stat.S_IXUSR
    fake = tmp_path / "make"
    fake.write_text('#!/bin/sh\necho "$PWD" "$@"\n')
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [run], env={"PATH": path}, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(ROOT), "test", str(ROOT), "docs"]


@pytest.mark.parametrize(
    ("target", "commands"),
    [
        ("demo", ["setup.sh run", "recourse-audit demo"]),
        ("docs", ["setup.sh docs", "sphinx-build --nitpicky --fail-on-warning"]),
        ("lint", ["setup.sh dev", "ruff check", "ruff format --check", "mypy"]),
        ("test", ["setup.sh dev", "ruff check", "ruff format --check", "mypy", "pytest"]),
        ("test-oldest", ["setup.sh dev", "requirements/oldest.txt", "pytest"]),
        ("test-all", ["setup.sh dev", "mypy", 'pytest -n auto --dist worksteal -m "long or not']),
        ("bench", ["setup.sh dev", "-m benchmarks --data"]),
    ],
)
def test_a_make_target_runs_setup_before_its_own_work(target: str, commands: list[str]) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    done = subprocess.run(
        [make, "--dry-run", target, "DATA=here"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    places = [done.stdout.find(command) for command in commands]
    assert -1 not in places, done.stdout
    assert places == sorted(places), done.stdout


def test_setup_reports_in_one_sentence_that_python_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for name in ("pyproject.toml", "requirements", "scripts"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    done = subprocess.run(
        ["sh", "scripts/setup.sh", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"setup: PYTHON={old} is not a Python 3.11 or newer.\n"


def test_the_container_has_the_libraries_that_setup_installs_and_its_files_are_there() -> None:
    container, setup = ((ROOT / name).read_text() for name in ("Containerfile", "scripts/setup.sh"))
    libraries = set(re.findall(r"\b(?:lib[a-z0-9.-]+-?\w*|fonts-[a-z-]+)\b", container)) - {"lib"}
    wanted = set(re.findall(r"apt_install ((?:lib|fonts)[^|\n;]+)", setup))
    wanted = {name for names in wanted for name in names.split()}
    assert wanted
    assert wanted <= libraries | set(container.split())
    assert re.search(r"^USER \d+$", container, re.MULTILINE)
    kept = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert [name for name in kept if not (ROOT / name).exists()] == []


def test_the_citation_has_the_version_of_the_project() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {read_project()['version']}\n" in citation


def test_the_action_uses_options_that_run_has() -> None:
    help_ = command("run", "--help").out
    script = (ROOT / "action.yml").read_text()
    options = set(
        re.findall(r"(?<=[ (])--(?!no-|quiet|require|only|yes)[a-z][a-z-]+(?= \"\$)", script)
    )
    assert {"--out", "--fail-on", "--sample", "--sarif"} == options
    assert {option for option in options if option not in help_} == set()


def test_the_guide_to_ci_uses_inputs_that_the_action_has_and_the_file_that_it_writes() -> None:
    action = (ROOT / "action.yml").read_text()
    inputs = re.findall(r"^  (\S+):$", action.partition("outputs:")[0], re.MULTILINE)
    guide = (ROOT / "docs" / "howto" / "ci.md").read_text()
    [given] = re.findall(r"recourse-audit@TAG.*\n +with:\n((?: {10}\S.*\n)+)", guide)
    assert set(re.findall(r"^ +(\S+):", given, re.MULTILINE)) <= {*inputs}
    [sarif] = re.findall(r"sarif_file: (\S+)", guide)
    assert f"default: {sarif}" in action


def test_the_wheel_has_the_readme_if_there_is_one() -> None:
    assert (ROOT / "README.md").exists() == ("readme" in read_project())


def build(kind: str, source: Path, folder: Path) -> Path:
    """What hatchling makes of a folder with our sources."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder],
        cwd=source,
        capture_output=True,
        check=True,
    )
    (built,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_contains_the_package_and_its_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "recourse_audit").rglob("*.py")}
    assert modules <= names
    assert "recourse_audit/py.typed" in names


@pytest.mark.parametrize("folder", ["sample_models", "templates"])
def test_the_wheel_contains_the_data_folders(wheel: Path, folder: str) -> None:
    names = {
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(f"recourse_audit/_data/{folder}/")
    }
    expected = {
        f"recourse_audit/_data/{path.relative_to(ROOT)}"
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert expected or not (ROOT / folder).exists()
    assert names == expected


def test_the_wheel_contains_nothing_that_only_developers_need(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    (metadata,) = tops - {"recourse_audit"}
    assert metadata.endswith(".dist-info")


def install(built: Path, folder: Path) -> Path:
    """A fresh environment with what was built, and the packages that these tests run with."""
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python3*/site-packages")
    # Only the path: the editable installation of these sources is not followed.
    (site / "packages.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", *options, str(built)], check=True)
    return folder / "bin" / "recourse-audit"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_released_installs_and_runs_its_demo_outside_the_repository(
    kind: str, tmp_path: Path
) -> None:
    program = install(build(kind, ROOT, tmp_path / "built"), tmp_path / "fresh")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [program, "demo", "--out", tmp_path / "demo"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert next((tmp_path / "demo").rglob("pages/index.html")).stat().st_size > 50_000
    assert str(ROOT) not in done.stdout + done.stderr


def test_the_wheel_of_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    again = zipfile.ZipFile(build("wheel", source, tmp_path / "wheel"))
    assert again.namelist() == zipfile.ZipFile(wheel).namelist()
