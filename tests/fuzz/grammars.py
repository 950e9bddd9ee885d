"""Files that are well formed and mean something else, made from a valid one."""

import io
import json
import sqlite3
import tomllib
import warnings
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 1.5, -0.0, 1e308, "", "a", "é", "x" * 3000),
    *([], {}, [None], [[]], {"": ""}, ["a", "a"], "2026-01-01", "=1+1", "../x", "\x00", "\u202e"),
    *(float("nan"), float("inf"), 10**30),
)
Grammar = Callable[[bytes, Random], bytes]


def toml(content: bytes, draw: Random) -> bytes:
    """Settings with values of other types, without a key, or with an unknown one."""
    table = tomllib.loads(content.decode())
    changed(table, draw)
    return "\n".join(_toml_lines(table, ())).encode("utf-8", "surrogatepass")


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    name = ".".join(json.dumps(part) for part in path)
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"[{name}]"] if path else []
    lines += [f"{json.dumps(key)} = {_toml_value(value)}" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _toml_lines(value, (*path, key))
    return lines


def _toml_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(one) for one in value)}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml_value(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, float):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(str(value), repr(value))
    if isinstance(value, date):
        return value.isoformat()
    return '""' if value is None else json.dumps(value, ensure_ascii=False)


def as_json(content: bytes, draw: Random) -> bytes:
    """A document with other values, fewer or more keys, or one key twice."""
    first, *rest = content.split(b"\n") if b"\n{" in content.strip() else (content,)
    document = json.loads(first)
    document = changed(document, draw) if draw.random() < 0.9 else draw.choice(VALUES)
    text = json.dumps(document, indent=None if rest else 1)
    if draw.random() < 0.2:
        text = text.replace("{", '{"format": 3, "format": 2,', 1)
    return b"\n".join([text.encode(), *rest])


def changed(tree: Any, draw: Random) -> Any:
    """Change one place of a tree of dictionaries and lists; returns the tree."""
    place = tree
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        if not keys:
            return tree
        key = draw.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            place = inner
            continue
        match draw.randrange(5):
            case 0:
                del place[key]
            case 1 if isinstance(place, dict):
                place[draw.choice(("unknown", "", "a.b", "Ä"))] = inner
            case 2 if isinstance(inner, list):
                inner.append(draw.choice(VALUES))
            case _:
                place[key] = draw.choice(VALUES)
        return tree


def table_of(content: bytes) -> Any:
    """The table in a CSV or Parquet file."""
    if content.startswith(b"PAR1"):
        return pq.read_table(io.BytesIO(content))
    return pacsv.read_csv(io.BytesIO(content))


def table(content: bytes, draw: Random) -> bytes:
    """A table with a column of another type, without a column, with one twice, with bad cells."""
    parquet = content.startswith(b"PAR1")
    data = table_of(content)
    at = draw.randrange(data.num_columns)
    name, count = data.column_names[at], data.num_rows
    match draw.randrange(6):
        case 0:
            data = data.remove_column(at)
        case 1:
            data = data.append_column(name, data.column(at))
        case 2:
            data = data.slice(0, draw.randrange(count + 1))
        case 3:
            data = pa.concat_tables([data, data])
        case 4:
            data = data.set_column(at, name, pa.nulls(count))
        case _:
            data = data.set_column(at, name, _column(count, draw, parquet=parquet))
    sink = io.BytesIO()
    if parquet:
        pq.write_table(data, sink, compression=draw.choice(("none", "snappy", "gzip")))
    else:
        pacsv.write_csv(data, sink)
    return sink.getvalue()


def _column(count: int, draw: Random, *, parquet: bool) -> Any:
    options: list[Any] = [
        pa.array([draw.choice(("", "a", "1", "=1", "é", " ", "NaN")) for _ in range(count)]),
        pa.array([draw.choice((0, 1, -1, 2**63 - 1)) for _ in range(count)]),
        pa.array([draw.choice((0.5, float("nan"), float("inf"), 1e39)) for _ in range(count)]),
        pa.array([draw.choice((True, False, None)) for _ in range(count)]),
    ]
    if parquet:
        options += [
            pa.array([[1]] * count),
            pa.array([{"a": 1}] * count),
            pa.array([b"\xff"] * count),
            pa.array([1] * count, pa.uint64()),
            pa.array([1] * count, pa.timestamp("ns")),
            pa.array([1] * count, pa.duration("s")),
            pa.array([1] * count, pa.decimal128(30, 5)),
            pa.array(["a"] * count, pa.string_view()),
            pa.array([1.0] * count, pa.float16()),
            pa.array(["a"] * count).dictionary_encode(),
            pa.array([None] * count, pa.dictionary(pa.int8(), pa.string())),
            pa.array([1] * count, pa.time64("us")),
        ]
    return draw.choice(options)


def npz(content: bytes, draw: Random) -> bytes:
    """An archive with an array of another type or shape, without one, or with one twice."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    name = draw.choice([*arrays])
    array = arrays[name]
    kinds = ("f2", "f4", "f8", "i1", "u8", "?", "c8", "U3", "S3", "M8[s]", "V4")
    match draw.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = np.zeros(array.shape, draw.choice(kinds))
        case 2:
            arrays[name] = array.reshape(-1)
        case 3:
            arrays[name] = np.full(array.shape, draw.choice((np.nan, -1, 2**62, 1e300)))
        case 4:
            arrays[name] = array[: draw.randrange(len(array) + 1)] if array.ndim else array
        case _:
            arrays[draw.choice(("x", "ids", "x_data", "x_shape", "edge_type", "edge_attr"))] = array
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    if draw.random() < 0.1:
        with warnings.catch_warnings(), zipfile.ZipFile(sink, "a") as more:
            warnings.simplefilter("ignore")
            more.writestr(draw.choice(("x.npy", "x", "x.txt", "../x.npy")), b"\x93NUMPY\x01\x00")
    return sink.getvalue()


def model(content: bytes, draw: Random) -> bytes:
    """A valid ONNX file with another operator, attribute, shape, type, name or external data."""
    made = onnx.load_from_string(content)
    node = draw.choice(made.graph.node)
    match draw.randrange(8):
        case 0:
            node.op_type = draw.choice(("Add", "Loop", "If", "Nothing", "Scan", "RandomNormal"))
        case 1 if node.input:
            node.input[0] = draw.choice(("", "nowhere", "x", "edge_index"))
        case 2 if node.attribute:
            node.attribute[0].i = draw.choice((-1, 2**40, 7))
        case 3:
            given = draw.choice(made.graph.input)
            given.type.tensor_type.elem_type = draw.randrange(25)
        case 4:
            dimension = draw.choice(made.graph.input).type.tensor_type.shape.dim.add()
            dimension.dim_value = draw.choice((0, -1, 3, 2**40))
        case 5 if made.graph.initializer:
            tensor = draw.choice(made.graph.initializer)
            tensor.dims[:] = [draw.choice((0, -1, 2**20, 3))]
        case 6 if made.graph.initializer:
            tensor = draw.choice(made.graph.initializer)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", draw.choice(("../x", "/etc/hostname", "w", ""))
        case _:
            made.opset_import[0].version = draw.choice((0, 1, 99, 2**40))
    result: bytes = made.SerializeToString()
    return result


def store(content: bytes, draw: Random) -> bytes:
    """A database with another value in a cell, without a row, a column or a table."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        path.write_bytes(content)
        database = sqlite3.connect(path)
        tables = database.execute("select name from sqlite_master where type='table'")
        names = [row[0] for row in tables]
        name = draw.choice(names)
        columns = [row[1] for row in database.execute(f'pragma table_info("{name}")')]
        column = draw.choice(columns)
        value = draw.choice((None, "", "{}", "[]", "null", b"\x00", 2**62, -1, 1.5, "x" * 999, "é"))
        one = f'rowid = (select min(rowid) + {draw.randrange(3)} from "{name}")'
        try:
            match draw.randrange(6):
                case 0:
                    database.execute(f'delete from "{name}" where {one}')
                case 1:
                    database.execute(f'drop table "{name}"')
                case 2:
                    database.execute(f'alter table "{name}" drop column "{column}"')
                case 3:
                    database.execute(f"pragma user_version = {draw.choice((0, 1, 99, -1))}")
                case _:
                    database.execute(f'update "{name}" set "{column}" = ? where {one}', (value,))
            database.commit()
        except sqlite3.Error:
            database.rollback()
        database.close()
        return path.read_bytes()
