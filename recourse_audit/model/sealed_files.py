"""Model files: their bytes and those of their data files, hashed, and nothing else.

A model may keep weights in data files beside it. Their names are found by walking the protobuf
wire format, in whatever order its fields come. The runtime then gets a private folder with exactly
the data files that were hashed. A reference that the walk does not see leads nowhere, so that the
model does not open.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from recourse_audit.errors import ModelError

# Where ONNX has tensors: the message in each numbered field of a message (onnx.proto).
PLACES: dict[str, dict[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto",
        6: "GraphProto",
        10: "TensorProto",
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
    "TensorProto": {13: "StringStringEntryProto"},
    "StringStringEntryProto": {},
}
_KEY, _VALUE = 1, 2
# What onnxruntime reads as an address in its own memory, not as the name of a file.
_ADDRESS = b"_ORT_MEM_ADDR_"
_BLOCK = 2**20


class SealedFile:
    """A model file and its data files, hashed when they are first opened.

    `digests` has the SHA-256 of what the runtime opened by name, the model file first; data files
    by their path from its folder. `setting` names the file in messages.
    """

    setting = "model.path"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digests: dict[str, str] = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, and the data files that belong to it."""
        return tuple(self.path.parent / name for name in self.digests)

    def digest(self) -> str:
        """SHA-256 of the model file; with data files, of all their digests, ordered by name."""
        digests = list(self.digests.values())
        if len(digests) == 1:
            return digests[0]
        return hashlib.sha256(b"".join(bytes.fromhex(digest) for digest in digests)).hexdigest()

    @contextmanager
    def open_private(self) -> Iterator[tuple[bytes, Path]]:
        """The model's bytes, and a private folder with its data files; none may have changed."""
        changed = ModelError(f"{self.path}: has changed since it was opened; restore it")
        if self.digests and not self.path.is_file():
            raise changed
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            raise ModelError(
                f"{self.path}: there is no such model file; check {self.setting}"
            ) from None
        except OSError as error:
            raise ModelError(
                f"{self.path}: cannot be read as a model file ({error.strerror}); check "
                f"{self.setting}"
            ) from None
        try:
            private = tempfile.TemporaryDirectory(
                prefix="recourse-audit-", ignore_cleanup_errors=True
            )
        except OSError as error:
            raise ModelError(
                f"{self.path}: cannot be opened, because there is no place for temporary files "
                f"({error.strerror}); name a folder in TMPDIR"
            ) from None
        with private as folder:
            digests = {self.path.name: hashlib.sha256(content).hexdigest()}
            for name in _data_files(self.path, content):
                digests[name] = _copy(self.path, name, Path(folder))
            if self.digests and digests != self.digests:
                raise changed
            self.digests = digests
            yield content, Path(folder)


def _data_files(path: Path, content: bytes) -> list[str]:
    """The data files that belong to a model, by name; they must lie beside it or below."""
    files = set()
    for location in sorted(locations(content)):
        if _ADDRESS in location:
            raise ModelError(
                f"{path}: the model keeps its weights in the memory of a program; save it again, "
                "with its weights in a file"
            )
        name = location.decode("utf-8", "surrogateescape")
        inside = PurePosixPath(name)
        try:
            file = (path.parent / inside).resolve()
            exists = file.is_file()
        except (OSError, ValueError):
            file, exists = path.resolve(), False
        if ".." in inside.parts or path.parent.resolve() not in file.parents:
            raise ModelError(
                f"{path}: the model keeps its weights in {_shorten(name)}, which leads outside its "
                "own folder; put the data file beside the model and save it again"
            )
        if not exists:
            raise ModelError(
                f"{path}: the model's data file {_shorten(name)} is missing beside it; copy both "
                "together"
            )
        files.add(inside)
    return [str(name) for name in sorted(files)]


def _copy(path: Path, name: str, folder: Path) -> str:
    """Copy a data file; the digest is that of the bytes that were copied."""
    digest = hashlib.sha256()
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (path.parent / name).open("rb") as source, target.open("xb") as copy:
            while block := source.read(_BLOCK):
                digest.update(block)
                copy.write(block)
    except OSError as error:
        raise ModelError(
            f"{path}: the model's data file {_shorten(name)} cannot be copied to the folder for "
            f"temporary files ({error.strerror}); make room there, or save the model as one file"
        ) from None
    return digest.hexdigest()


def _shorten(name: str) -> str:
    return repr(name if len(name) <= 150 else f"{name[:150]}…")


def locations(content: bytes) -> set[bytes]:
    """Every location of external data that a model names, used or not.

    Where the format allows several readings (a key given twice, a message in two pieces), all of
    them are returned. What is cut short or malformed ends its own message only.
    """
    names: set[bytes] = set()
    waiting = [("ModelProto", memoryview(content))]
    while waiting:
        kind, message = waiting.pop()
        places = PLACES[kind]
        if not places:
            entry = [(number, bytes(value)) for number, value in _fields(message)]
            if (_KEY, b"location") in entry:
                names.update(value for number, value in entry if number == _VALUE)
            continue
        waiting.extend(
            (places[number], value) for number, value in _fields(message) if number in places
        )
    return names


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message that have a length, with their numbers."""
    place, groups = 0, 0
    while place < len(message):
        tag, place = _varint(message, place)
        match tag & 7:
            case 0:
                _, place = _varint(message, place)
            case 1:
                place += 8
            case 2:
                length, start = _varint(message, place)
                place = start + length
                if place <= len(message) and not groups:
                    yield tag >> 3, message[start:place]
            case 3:
                groups += 1
            case 4:
                groups -= 1
            case 5:
                place += 4
            case _:
                return


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends; past the end of a message cut short."""
    value = 0
    for shift, byte in enumerate(message[place : place + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    return 0, len(message) + 1
