"""A model file that cannot be used is refused in one sentence: which file, and what to do."""

import hashlib
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state

from recourse_audit.errors import ModelError
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.probes import probe
from recourse_audit.model.session import RUNTIME_ERRORS, OnnxModel
from recourse_audit.settings import ModelSettings
from tests.model.small_graphs import all_rows, open_model, random_pool, random_union
from tests.onnx_models import Sheet, ends, sum_network


def complaint(act: Callable[[], object], path: Path) -> str:
    """What an act that must fail says: one line with the file in it, exit code 2."""
    with pytest.raises(ModelError) as caught:
        act()
    assert caught.value.exit_code == 2
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) - len(str(path)) < 700
    return message


def refused(path: Path, **declared: Any) -> str:
    return complaint(lambda: open_model(path, **declared), path)


def refused_on_probing(path: Path, **declared: Any) -> str:
    settings = ModelSettings(path=path, **declared)
    return complaint(lambda: probe(OnnxModel(settings), settings), path)


def test_every_exception_of_the_runtime_is_known() -> None:
    names = {
        name
        for name, kind in vars(onnxruntime_pybind11_state).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    }
    assert names == {kind.__name__ for kind in RUNTIME_ERRORS}
    assert {"Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile"} <= names


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "no such model file; check model.path" in refused(tmp_path / "absent.onnx")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    assert "cannot be read as a model file" in refused(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    path.chmod(0)
    assert "cannot be read as a model file" in refused(path)


def png() -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"just some text, no model\n",
        "nö".encode("utf-16"),
        b"\0" * 5000,
        b"PK\x03\x04" + b"x" * 200,
        b'{"model": 1}',
        bytes(range(256)) * 20,
        png(),
    ],
)
def test_a_file_that_is_no_model_is_told_so(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    message = refused(path)
    assert "is not an ONNX model that onnxruntime can open" in message
    assert "export or copy it again" in message


def message_of(act: Callable[[], object]) -> str:
    """What an act says if it is refused; nothing if it works."""
    try:
        act()
    except ModelError as error:
        return str(error)
    return ""


def test_a_file_cut_short_anywhere_is_refused_or_still_opens(tmp_path: Path) -> None:
    content = sum_network(tmp_path / "whole.onnx").read_bytes()
    path = tmp_path / "model.onnx"
    messages = []
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        messages.append(message_of(lambda: open_model(path)))
    assert not any("\n" in message for message in messages)
    assert all(message.startswith(str(path)) for message in messages if message)
    assert messages.count("") < len(messages) / 10


def test_a_damaged_byte_never_shows_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(0)
    content = sum_network(tmp_path / "whole.onnx").read_bytes()
    path = tmp_path / "model.onnx"
    pool = random_pool(random)
    union = random_union(random, pool, 3)
    for place in random.integers(0, len(content), size=200):
        damaged = bytearray(content)
        damaged[place] ^= int(random.integers(1, 256))
        path.write_bytes(damaged)
        message = message_of(
            lambda: QueryBatcher(open_model(path), pool).ask_raw(union, all_rows(union))
        )
        assert "\n" not in message
    assert capsys.readouterr() == ("", "")


def test_an_operator_of_a_custom_domain_is_named(tmp_path: Path) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 3])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    path = sheet.save(tmp_path / "model.onnx", sheet.op("SparseSum", x, edges, domain="my.company"))
    message = refused(path)
    assert "SparseSum" in message
    assert "export it with standard operators" in message


def test_an_operator_without_an_implementation_is_named(tmp_path: Path) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 3])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    depth, values = sheet.constant(3, "int32"), sheet.constant([0, 1], "float64")
    hot = sheet.op("OneHot", sheet.op("Cast", edges, to=6), depth, values)
    total = sheet.op("Cast", sheet.op("ReduceSum", hot, keepdims=0), to=1)
    path = sheet.save(tmp_path / "model.onnx", sheet.op("Add", x, total))
    assert "uses an operator that onnxruntime does not have" in refused(path)


def test_a_file_newer_than_the_runtime_says_so(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    model = onnx.load(path)
    model.ir_version = 99
    onnx.save(model, path)
    message = refused(path)
    assert "Unsupported model IR version: 99" in message
    assert "onnxruntime_src" not in message


def with_data(folder: Path, location: str = "model.onnx.data") -> Path:
    """Write a model whose weights lie in a file beside it."""
    path = sum_network(folder / "model.onnx")
    onnx.save(
        onnx.load(path),
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=location,
        size_threshold=100,
        convert_attribute=False,
    )
    return path


def relocated(path: Path, location: str) -> Path:
    """Change where a model says that its data lies, and nothing else."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_a_data_file_beside_the_model_belongs_to_it(tmp_path: Path) -> None:
    path = with_data(tmp_path)
    data = tmp_path / "model.onnx.data"
    model = open_model(path)
    assert model.files == (path, data)
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 5)
    inside = open_model(sum_network(tmp_path / "one_file.onnx"))
    np.testing.assert_array_equal(
        QueryBatcher(model, pool).ask_raw(union, all_rows(union)),
        QueryBatcher(inside, pool).ask_raw(union, all_rows(union)),
    )


def test_the_digest_changes_with_any_byte_of_model_or_data(tmp_path: Path) -> None:
    path = with_data(tmp_path)
    model = open_model(path)
    digest = model.digest()
    assert len(digest) == 64
    assert open_model(path).digest() == digest
    for file in model.files:
        content = file.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert message_of(lambda: open_model(path)) or open_model(path).digest() != digest
        file.write_bytes(content)
    assert open_model(path).digest() == model.digest() == digest


def test_the_digest_does_not_depend_on_where_the_model_lies(tmp_path: Path) -> None:
    digests = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        digests.add(open_model(with_data(tmp_path / name)).digest())
    assert len(digests) == 1


def test_a_data_file_in_a_folder_below_belongs_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    path = relocated(with_data(tmp_path), "weights/w.bin")
    (tmp_path / "model.onnx.data").rename(tmp_path / "weights" / "w.bin")
    model = open_model(path)
    assert model.files == (path, tmp_path / "weights" / "w.bin")
    assert list(model.digests) == ["model.onnx", "weights/w.bin"]


def test_a_missing_data_file_is_named(tmp_path: Path) -> None:
    path = with_data(tmp_path)
    (tmp_path / "model.onnx.data").unlink()
    message = refused(path)
    assert "'model.onnx.data' is missing beside it; copy both together" in message


def test_data_outside_the_folder_of_the_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path = with_data(folder)
    outside = tmp_path / "weights.bin"
    outside.write_bytes((folder / "model.onnx.data").read_bytes())
    for location in ("../weights.bin", str(outside), "x/../../weights.bin"):
        message = refused(relocated(path, location))
        assert "outside its own folder; put the data file beside the model" in message
    (folder / "link.bin").symlink_to(outside)
    assert "outside its own folder" in refused(relocated(path, "link.bin"))


def test_a_long_name_of_a_data_file_is_read_whole(tmp_path: Path) -> None:
    for length in (127, 128, 200, 255):
        folder = tmp_path / str(length)
        folder.mkdir()
        name = "w" * length
        path = relocated(with_data(folder), name)
        (folder / "model.onnx.data").rename(folder / name)
        assert open_model(path).files == (path, folder / name)
        before = open_model(path).digest()
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert open_model(path).digest() != before


@pytest.mark.parametrize("name", ["w" * 256, "w" * 5000, "a\0b", "x" * 100 + "/" + "y" * 300])
def test_a_name_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    message = refused(relocated(with_data(tmp_path), name))
    assert "is missing beside it" in message


def model_with(folder: Path, extra: Callable[[Sheet], object], *, ties: bool = True) -> Path:
    """Write a small sound model with something more among its inputs."""
    sheet = Sheet()
    values = sheet.op("MatMul", sheet.input("x", "float32", ["N", 3]), sheet.weight(3, 2))
    if ties:
        source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
        both = sheet.op("ReduceSum", sheet.op("Add", source, target), keepdims=0)
        values = sheet.op("Add", values, sheet.op("Cast", both, to=1))
    extra(sheet)
    return sheet.save(folder / "model.onnx", values)


def test_an_input_that_no_role_fits_is_named_with_the_roles_there_are(tmp_path: Path) -> None:
    message = refused(model_with(tmp_path, lambda s: s.input("mask", "bool", ["N"])))
    assert "'mask' (bool [N]) fits no role" in message
    assert 'model.roles = { "mask" = "…" }' in message
    assert "edge_weight" in message
    opened = open_model(tmp_path / "model.onnx", complete=False)
    assert [port.role for port in opened.signature.inputs] == ["features", "edges", None]


def test_a_second_list_of_ties_fits_no_role(tmp_path: Path) -> None:
    path = model_with(tmp_path, lambda s: s.input("edge_index_2", "int64", [2, "E2"]))
    assert "takes several lists of ties (edge_index and edge_index_2), as models" in refused(path)


def test_two_inputs_with_features_are_refused(tmp_path: Path) -> None:
    path = model_with(tmp_path, lambda s: s.input("x2", "float32", ["N", 3]))
    message = refused(path, roles={"x2": "features", "x": "features"})
    assert "x and x2 both have the role features; correct model.roles" in message


def test_a_model_with_its_graph_baked_in_is_refused(tmp_path: Path) -> None:
    message = refused(model_with(tmp_path, lambda _: None, ties=False))
    assert "no input takes the ties" in message
    assert "export the model again with its ties as an input" in message


def test_an_output_of_integers_only_is_refused(tmp_path: Path) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 3])
    sheet.input("edge_index", "int64", [2, "E"])
    chosen = sheet.op("ArgMax", x, axis=1, keepdims=0)
    path = sheet.save(tmp_path / "model.onnx", chosen, [None], dtype="int64")
    message = refused(path)
    assert "no output holds floating-point scores" in message
    assert "export the class scores" in message


def other_rows(path: Path, kind: str) -> Path:
    """Write a model that classifies whole graphs or ties instead of nodes."""
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 3])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
    if kind == "graph":
        rows = sheet.op("ReduceMean", x, sheet.constant([0], "int64"), keepdims=1)
    else:
        first = sheet.op("Gather", x, source, axis=0)
        rows = sheet.op("Mul", first, sheet.op("Gather", x, target, axis=0))
    return sheet.save(path, sheet.op("MatMul", rows, sheet.weight(3, 2)))


@pytest.mark.parametrize("kind", ["graph", "tie"])
def test_a_model_whose_rows_are_not_nodes_is_refused(kind: str, tmp_path: Path) -> None:
    message = refused_on_probing(other_rows(tmp_path / "model.onnx", kind))
    assert f"has one row per {kind}: the model decides on" in message


def test_a_wrong_declaration_of_the_index_layout_ends_in_one_sentence(tmp_path: Path) -> None:
    names = {"src": "dst_of_x", "dst": "weights"}
    path = sum_network(tmp_path / "model.onnx", form="ends", names=names)
    message = refused(path, roles={"weights": "batch"})
    assert "no input takes the ties" in message


def test_a_norm_that_no_input_can_carry_is_refused(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    assert "model.normalisation is 'row', but no input takes" in refused(path, normalisation="row")


def test_text_inputs_are_refused_even_if_declared(tmp_path: Path) -> None:
    path = model_with(tmp_path, lambda _: None)
    model = onnx.load(path)
    names = onnx.helper.make_tensor_value_info("names", onnx.TensorProto.STRING, ["N"])
    model.graph.input.append(names)
    onnx.save(model, path)
    assert "'names' (string [N]) fits no role" in refused(path)
    assert "does not take numbers" in refused(path, roles={"names": "node_ids"})


def test_the_digest_of_a_single_file_is_what_sha256sum_prints(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert OnnxModel(ModelSettings(path=path)).digest() == expected
