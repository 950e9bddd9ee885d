"""What the runtime opens is what was hashed: data files are found however the bytes are ordered."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Floats
from recourse_audit.model import sealed_files
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.sealed_files import PLACES, locations
from recourse_audit.model.session import LARGE
from tests.model.small_graphs import all_rows, open_model, random_pool, random_union

FLOAT, INT64, BOOL = 1, 7, 9
WEIGHTS = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]], np.float32)
INT, TENSOR, GRAPH = 2, 4, 5
Form = Callable[[str | bytes], bytes]


# The wire format by hand, because onnx.save always writes fields in the order of their numbers.
def number(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(place: int, value: bytes | int | str) -> bytes:
    if isinstance(value, int):
        return number(place << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(place << 3 | 2) + number(len(value)) + value


def entry(key: str, value: str | bytes) -> bytes:
    """One entry of external data with its value first, which is legal."""
    return field(13, field(2, value) + field(1, key))


def weights_in(location: str | bytes) -> bytes:
    """A tensor of the weights' form that lies in another file; its fields in descending order."""
    inside = field(14, 1) + entry("length", str(WEIGHTS.nbytes)) + entry("location", location)
    return inside + field(8, "w") + field(2, FLOAT) + field(1, 5) + field(1, 2)


def op(kind: str, inputs: list[str], output: str, *attributes: bytes, domain: str = "") -> bytes:
    body = b"".join(field(5, one) for one in attributes) + field(7, domain) + field(4, kind)
    return field(2, output) + body + b"".join(field(1, name) for name in inputs)


def attribute(name: str, place: int, value: bytes | int, kind: int) -> bytes:
    return field(20, kind) + field(place, value) + field(1, name)


def constant(location: str | bytes) -> bytes:
    value = attribute("value", 5, weights_in(location), TENSOR)
    return op("Constant", [], "w", value)


def port(name: str, element: int, *sizes: int | str) -> bytes:
    shape = b"".join(field(1, field(1 if isinstance(s, int) else 2, s)) for s in sizes)
    return field(2, field(1, field(2, shape) + field(1, element))) + field(1, name)


def graph(*nodes: bytes, inputs: bytes = b"", output: bytes, more: bytes = b"") -> bytes:
    """A graph whose nodes come last in the file."""
    named = field(2, "graph") + field(12, output) + inputs + more
    return named + b"".join(field(1, node) for node in nodes)


INPUTS = field(11, port("x", FLOAT, "N", 5)) + field(11, port("edge_index", INT64, 2, "E"))
OUTPUT = port("y", FLOAT, "N", 2)
OPSETS = field(8, field(2, 18)) + field(8, field(2, 1) + field(1, "local"))


def model(body: bytes, more: bytes = b"") -> bytes:
    return more + field(7, body) + OPSETS + field(1, 9)


def tied(rows: str) -> list[bytes]:
    """Operators that add nothing from the ties to the rows, to make them an input."""
    return [
        op("Shape", ["edge_index"], "shape"),
        op("ReduceMin", ["shape"], "arcs"),
        op("Cast", ["arcs"], "count", attribute("to", 3, FLOAT, INT)),
        op("Sub", ["count", "count"], "nothing"),
        op("Add", [rows, "nothing"], "y"),
    ]


def in_initializer(location: str | bytes) -> bytes:
    nodes = [op("MatMul", ["x", "w"], "z"), *tied("z")]
    more = field(5, weights_in(location))
    return model(graph(*nodes, inputs=INPUTS, output=OUTPUT, more=more))


def in_attribute(location: str | bytes) -> bytes:
    nodes = [constant(location), op("MatMul", ["x", "w"], "z"), *tied("z")]
    return model(graph(*nodes, inputs=INPUTS, output=OUTPUT))


def branches(then: bytes) -> list[bytes]:
    """An If on whether there is any node, with the same body in both branches."""
    body = [attribute(name, 6, then, GRAPH) for name in ("then_branch", "else_branch")]
    return [
        op("Size", ["x"], "size"),
        op("Cast", ["size"], "any", attribute("to", 3, BOOL, INT)),
        op("If", ["any"], "z", *body),
        *tied("z"),
    ]


def in_branch(location: str | bytes) -> bytes:
    then = graph(
        op("MatMul", ["x", "w"], "inner"),
        output=port("inner", FLOAT, "N", 2),
        more=field(5, weights_in(location)),
    )
    return model(graph(*branches(then), inputs=INPUTS, output=OUTPUT))


def in_branch_of_branch(location: str | bytes) -> bytes:
    innermost = graph(
        constant(location),
        op("MatMul", ["x", "w"], "innermost"),
        output=port("innermost", FLOAT, "N", 2),
    )
    body = [attribute(name, 6, innermost, GRAPH) for name in ("then_branch", "else_branch")]
    then = graph(op("If", ["any"], "inner", *body), output=port("inner", FLOAT, "N", 2))
    return model(graph(*branches(then), inputs=INPUTS, output=OUTPUT))


def in_function(location: str | bytes) -> bytes:
    nodes = [constant(location), op("MatMul", ["a", "w"], "b")]
    function = field(10, "local") + field(9, field(2, 18)) + field(5, "b") + field(4, "a")
    function += b"".join(field(7, node) for node in nodes) + field(1, "Weigh")
    outer = [op("Weigh", ["x"], "z", domain="local"), *tied("z")]
    return model(graph(*outer, inputs=INPUTS, output=OUTPUT), field(25, function))


EVERYWHERE: list[Form] = [in_initializer, in_attribute, in_branch, in_branch_of_branch, in_function]


def written(folder: Path, content: bytes, data: Floats = WEIGHTS, name: str = "w.bin") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(content)
    (folder / name).write_bytes(data.tobytes())
    return path


def answers(path: Path) -> Floats:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 5)
    return QueryBatcher(open_model(path), pool).ask_raw(union, all_rows(union))


@pytest.mark.parametrize("form", EVERYWHERE)
def test_two_weight_files_never_share_a_digest(form: Form, tmp_path: Path) -> None:
    one = written(tmp_path / "one", form("w.bin"))
    other = written(tmp_path / "other", form("w.bin"), -WEIGHTS)
    first, second = open_model(one), open_model(other)
    assert list(first.digests) == ["model.onnx", "w.bin"]
    assert first.digests["w.bin"] == hashlib.sha256(WEIGHTS.tobytes()).hexdigest()
    assert first.digest() != second.digest()
    np.testing.assert_array_equal(answers(one), -answers(other))
    assert np.abs(answers(one)).max() > 0


@pytest.mark.parametrize("form", EVERYWHERE)
def test_a_reference_that_is_not_seen_does_not_open(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the walk may miss: the runtime finds no file that was not hashed."""
    path = written(tmp_path, form("w.bin"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sealed_files, "locations", lambda _: set())
    with pytest.raises(ModelError, match="cannot be accounted for") as caught:
        open_model(path)
    assert "save the model as one file" in str(caught.value)
    assert "recourse-audit-" not in str(caught.value)


@pytest.mark.parametrize("form", EVERYWHERE)
@pytest.mark.parametrize("location", ["../w.bin", "/etc/hostname", "a/../w.bin", "link.bin"])
def test_data_outside_the_folder_is_refused_wherever_it_is_named(
    form: Form, location: str, tmp_path: Path
) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = written(tmp_path / "inner", form(location))
    (tmp_path / "inner" / "link.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(ModelError, match="leads outside its own folder"):
        open_model(path)


@pytest.mark.parametrize("form", EVERYWHERE)
def test_an_address_in_memory_is_refused_even_if_there_is_a_file_of_that_name(
    form: Form, tmp_path: Path
) -> None:
    """The runtime would read its own memory there, or whatever else the offset points to."""
    path = written(tmp_path, form("*/_ORT_MEM_ADDR_/*"))
    (tmp_path / "*" / "_ORT_MEM_ADDR_").mkdir(parents=True)
    (tmp_path / "*" / "_ORT_MEM_ADDR_" / "*").write_bytes(WEIGHTS.tobytes())
    with pytest.raises(ModelError, match="in the memory of a program"):
        open_model(path)


@pytest.mark.parametrize("location", [b"gone.bin", b"\xff\xfe", b"a\0b"])
def test_a_location_without_a_file_is_refused(location: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is missing beside it") as caught:
        open_model(written(tmp_path, in_initializer(location)))
    str(caught.value).encode()


def test_a_key_given_twice_counts_with_every_value() -> None:
    twice = field(2, "a") + field(1, "offset") + field(2, "b") + field(1, "location")
    tensor = field(13, twice) + field(13, field(1, "offset") + field(2, "c"))
    assert locations(field(7, field(5, tensor))) == {b"a", b"b"}


def test_a_group_that_hides_a_field_is_skipped_and_what_follows_is_read() -> None:
    tensor = field(5, weights_in("w.bin"))
    hidden = number(99 << 3 | 3) + tensor + number(99 << 3 | 4)
    assert locations(field(7, hidden)) == set()
    assert locations(field(7, hidden + tensor)) == {b"w.bin"}


def test_other_wire_types_are_stepped_over() -> None:
    fixed = number(98 << 3 | 1) + b"\x2a" * 8 + number(97 << 3 | 5) + b"\x2a" * 4
    assert locations(field(96, 2**63) + field(7, fixed + field(5, weights_in("v")))) == {b"v"}


def test_no_cut_and_no_damage_makes_the_walk_fail() -> None:
    content = in_branch_of_branch("w.bin")
    for cut in range(len(content)):
        assert locations(content[:cut]) <= {b"w.bin"}
    random = np.random.default_rng(0)
    for _ in range(500):
        damaged = bytearray(content)
        for place in random.integers(0, len(content), size=3):
            damaged[place] = int(random.integers(256))
        locations(bytes(damaged))


def message_fields(kind: str) -> Iterator[tuple[int, str]]:
    for one in getattr(onnx, kind).DESCRIPTOR.fields:
        if one.message_type is not None:
            yield one.number, one.message_type.name


def test_the_walk_knows_every_place_where_onnx_has_a_tensor() -> None:
    """Against onnx's own description of its messages."""
    leading = {"TensorProto"}
    kinds = {"ModelProto"}
    while more := {name for kind in kinds for _, name in message_fields(kind)} - kinds:
        kinds |= {name for name in more if hasattr(onnx, name)} or more
        if not all(hasattr(onnx, name) for name in more):
            break
    while more := {k for k in kinds for _, name in message_fields(k) if name in leading} - leading:
        leading |= more
    for kind in leading - {"TensorProto"}:
        expected = {place: name for place, name in message_fields(kind) if name in leading}
        assert PLACES[kind] == expected, kind
    assert leading | {"StringStringEntryProto"} == set(PLACES)
    fields = onnx.TensorProto.DESCRIPTOR.fields_by_name
    assert PLACES["TensorProto"] == {fields["external_data"].number: "StringStringEntryProto"}


def test_files_that_change_after_opening_are_not_opened_again(tmp_path: Path) -> None:
    path = written(tmp_path, in_initializer("w.bin"))
    opened = open_model(path)
    random = np.random.default_rng(0)
    pool = random_pool(random, rows=LARGE + 1)
    union = random_union(random, pool, 1)
    large = type(union)(
        nodes=np.arange(LARGE + 1),
        node_starts=np.array([0, LARGE + 1]),
        sources=union.sources[:0],
        targets=union.targets[:0],
        ties=union.ties[:0],
        arc_starts=np.array([0, 0]),
    )
    batcher = QueryBatcher(opened, pool)
    before = batcher.ask_raw(large, np.arange(3))
    (tmp_path / "w.bin").write_bytes((-WEIGHTS).tobytes())
    with pytest.raises(ModelError, match="has changed since it was opened; restore it"):
        batcher.ask_raw(large, np.arange(3))
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    np.testing.assert_array_equal(batcher.ask_raw(large, np.arange(3)), before)


def test_no_copy_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path = written(tmp_path / "model", in_initializer("w.bin"))
    assert answers(path).size
    assert list(temporary.iterdir()) == []


def test_no_place_for_temporary_files_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, in_initializer("w.bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(ModelError, match=r"no place for temporary files .*TMPDIR"):
        open_model(path)


def test_a_copy_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here because the path of the copy would be longer than any may be."""
    name = "w" * 250
    path = written(tmp_path / "model", in_initializer(name), name=name)
    deep = tmp_path
    while len(str(deep)) < 3700:
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(ModelError, match=r"cannot be copied .*make room there"):
        open_model(path)
