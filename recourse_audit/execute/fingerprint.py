"""What an audit is of: digests of everything that its results depend on."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recourse_audit.graph.arrays import Ints
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.records.codec import compact
from recourse_audit.bundle.digests import digest, digest_of, versions
from recourse_audit.settings import GraphSettings, Settings

WORDS = {
    "versions": "the versions of the program or its packages",
    "model": "the model",
    "graph": "the graph",
    "candidates": "the file of candidates",
    "settings": "the settings",
    "seed": "the seed",
    "subjects": "the subjects",
}


def parts_of(audit: LoadedAudit, folder: Path, subjects: Ints) -> dict[str, str]:
    """A digest, or the fact itself, for each of `WORDS`."""
    settings = settings_document(audit.settings, folder)
    del settings["letters"]  # what is written to people changes nothing that is found
    seed = settings["search"].pop("seed")
    candidates = audit.settings.recourse.candidates
    graph = {name: digest(path) for name, path in graph_files(audit.settings.graph).items()}
    return {
        "versions": compact(versions()),
        "model": audit.model.digest(),
        "graph": compact(graph),
        "candidates": "" if candidates is None else digest(candidates),
        "settings": digest_of(compact(settings)),
        "seed": str(seed),
        "subjects": hashlib.sha256(subjects.astype("<i8").tobytes()).hexdigest(),
    }


def fingerprint(parts: dict[str, str]) -> str:
    """One digest of all parts."""
    return digest_of(compact(parts))


def changed(parts: dict[str, str], before: dict[str, str]) -> Iterable[str]:
    """What is not as it was, in words."""
    return [words for name, words in WORDS.items() if parts[name] != before.get(name)]


def graph_files(settings: GraphSettings) -> dict[str, Path]:
    """The files of a graph by their key."""
    paths = {key: getattr(settings, key) for key in ("nodes", "edges", "npz", "graphml")}
    return {key: path for key, path in paths.items() if path is not None}


def settings_document(settings: Settings, folder: Path) -> dict[str, Any]:
    """The settings as resolved, defaults included; paths relative to the settings file."""
    document = settings.model_dump(mode="python")

    def written(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: written(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [written(one) for one in value]
        if isinstance(value, Path):
            inside = value.is_relative_to(folder)
            return (value.relative_to(folder) if inside else value).as_posix()
        return value

    plain: dict[str, Any] = written(document)
    return plain
