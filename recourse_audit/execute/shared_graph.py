"""A graph as files that many processes map into memory, so that none needs a copy of its own.

Texts are the exception: numpy cannot map them, so each process holds its own.
"""

import hashlib
import json
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Graph, Strings, Ties

TABLE = "graph.json"
SMALL = 65_536
_GRAPH = [one.name for one in fields(Graph)]
_TIES = [one.name for one in fields(Ties)]


def share_graph(folder: Path, graph: Graph) -> None:
    """Write every array into the folder; files that others have open stay as they were."""
    arrays = _arrays(graph)
    texts = [name for name, value in arrays.items() if value.dtype.kind == "T"]
    for name, value in arrays.items():
        if name in texts:
            _save_texts(folder, name, cast(Strings, value))
        else:
            save_array(folder / f"{name}.npy", value)
    table = {"arrays": list(arrays), "texts": texts, **_table(graph)}
    (folder / TABLE).write_text(json.dumps(table), encoding="utf-8")


def shared_graph(folder: Path) -> Graph:
    """Open what `share_graph` wrote."""
    table: dict[str, Any] = json.loads((folder / TABLE).read_text(encoding="utf-8"))
    arrays: dict[str, Any] = {
        name: _texts(folder, name) if name in table["texts"] else open_array(folder / f"{name}.npy")
        for name in table["arrays"]
    }
    own: dict[str, Any] = {name: arrays.get(f"ties.{name}") for name in _TIES}
    ties = Ties(**own | {"kinds": tuple(table["kinds"])})
    return Graph(
        ties=ties,
        feature_names=tuple(table["feature_names"]),
        directed=table["directed"],
        attributes={
            name: arrays[f"attribute.{place}"] for place, name in enumerate(table["attributes"])
        },
        **{name: arrays[name] for name in _GRAPH if name in arrays},
    )


def digest_of_graph(graph: Graph) -> str:
    """SHA-256 of a graph's content, for one that was never in a file."""
    whole = hashlib.sha256(json.dumps(_table(graph)).encode())
    for name, value in _arrays(graph).items():
        content = value.tolist() if value.dtype.kind == "T" else value.tobytes().hex()
        whole.update(json.dumps([name, str(value.dtype), value.shape, content]).encode())
    return whole.hexdigest()


def _arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    plain = {name: getattr(graph, name) for name in _GRAPH}
    plain |= {f"ties.{name}": getattr(graph.ties, name) for name in _TIES}
    named = {f"attribute.{place}": values for place, values in enumerate(graph.attributes.values())}
    return {name: value for name, value in plain.items() if isinstance(value, np.ndarray)} | named


def _table(graph: Graph) -> dict[str, Any]:
    """What a graph holds besides arrays."""
    return {
        "attributes": list(graph.attributes),
        "feature_names": graph.feature_names,
        "directed": graph.directed,
        "kinds": graph.ties.kinds,
    }


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array under another name, then put it in its place."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        np.save(file, values, allow_pickle=False)
    new.replace(path)


def open_array(path: Path) -> NDArray[Any]:
    """Map an array into memory; a small one is read, because an empty file cannot be mapped."""
    mode: Literal["r"] | None = "r" if path.stat().st_size >= SMALL else None
    values: NDArray[Any] = np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))
    return values


def _save_texts(folder: Path, name: str, texts: Strings) -> None:
    encoded = [text.encode() for text in texts.tolist()]
    ends = np.cumsum([0, *map(len, encoded)])
    save_array(folder / f"{name}.npy", np.frombuffer(b"".join(encoded), np.uint8))
    save_array(folder / f"{name}.ends.npy", ends)


def _texts(folder: Path, name: str) -> Strings:
    content = open_array(folder / f"{name}.npy").tobytes()
    ends = open_array(folder / f"{name}.ends.npy").tolist()
    texts = [content[first:last].decode() for first, last in pairwise(ends)]
    return cast(Strings, np.array(texts, dtype=np.dtypes.StringDType()))
