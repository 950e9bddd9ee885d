"""Every document, both ways: a record to JSON and back, each with one writer and one reader.

A document has a name, a format number and a JSON Schema (`recourse-audit schema NAME`). The reader
takes this format alone, and refuses anything that is not exactly what the record says: nothing is
half read.
"""

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from recourse_audit.errors import DocumentError
from recourse_audit.records import Record
from recourse_audit.records.bundle import (
    DERIVED_FORMAT,
    SIGNED_LETTER_FORMAT,
    VERIFICATION_FORMAT,
    DerivedManifest,
    Fingerprint,
    GraphTable,
    LogLine,
    MadeWith,
    Manifest,
    SignedLetter,
    Verification,
)
from recourse_audit.records.bundle import FORMAT as MANIFEST_FORMAT
from recourse_audit.records.groups import FORMAT as GROUPS_FORMAT
from recourse_audit.records.groups import Communities, GroupReport
from recourse_audit.records.model import FORMAT as INSPECTION_FORMAT
from recourse_audit.records.model import Agreement, ModelReport
from recourse_audit.records.subject import FORMAT as SUBJECT_FORMAT
from recourse_audit.records.subject import STABILITY_FORMAT, StabilityReport, SubjectReport

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

T = TypeVar("T", bound=Record)
Json = dict[str, Any]


class Document(Generic[T]):
    """One kind of document.

    Parameters
    ----------
    omit_none
        Leave out keys whose value is None.
    """

    def __init__(
        self,
        name: str,
        record: type[T],
        *,
        format: int,  # noqa: A002  # the name in the JSON
        omit_none: bool = False,
    ) -> None:
        self.name = name
        self.format = format
        self._record = record
        self._omit_none = omit_none

    @cached_property
    def _adapter(self) -> "TypeAdapter[T]":
        return _adapter(self._record)

    @cached_property
    def _reader(self) -> "SchemaValidator":
        """What reads the document: every key must be there, also one that Python has a default for.

        A document that leaves out what is None is the exception.
        """
        from pydantic_core import SchemaValidator

        schema = self._adapter.core_schema
        return SchemaValidator(schema if self._omit_none else _without_defaults(schema))

    def write(self, record: T) -> str:
        """The record as JSON on one line; the same record always gives the same text."""
        text = self._adapter.dump_json(record, by_alias=True, exclude_none=self._omit_none)
        return text.decode()

    def write_indented(self, record: T) -> str:
        """The record as JSON for people to read, with a line break at the end."""
        return f"{self._adapter.dump_json(record, by_alias=True, indent=1).decode()}\n"

    def read(self, text: str | bytes) -> T:
        """The record that a text holds.

        Raises
        ------
        DocumentError
            It is not JSON, has another format, or lacks or adds anything.
        """
        from pydantic import ValidationError

        try:
            record: T = self._reader.validate_json(text, strict=True)
        except ValidationError as error:
            raise self._refusal(text, _first(error)) from None
        if getattr(record, "format", self.format) != self.format:
            raise self._refusal(text, "format")
        return record

    def schema(self) -> Json:
        """The JSON Schema of the document."""
        schema = _all_required(self._adapter.json_schema(by_alias=True, mode="serialization"))
        schema["properties"]["format"] = {"const": self.format}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

    def _refusal(self, text: str | bytes, problem: str) -> DocumentError:
        """Why a text cannot be read."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):  # the latter from brackets in thousands of brackets
            return DocumentError(f"this is not a {self.name} document: it is not JSON")
        number = data.get("format") if isinstance(data, dict) else None
        if number == self.format and type(number) is int:
            return DocumentError(f"this {self.name} document was changed: {problem}")
        return DocumentError(
            f"this {self.name} document has format {number!r}, and this version of recourse-audit "
            f"reads {self.format}; run the audit again, or use the version that wrote it"
        )


SUBJECT = Document(
    "subject",
    SubjectReport,
    format=SUBJECT_FORMAT,
)
GROUPS = Document("groups", GroupReport, format=GROUPS_FORMAT)
STABILITY = Document("stability", StabilityReport, format=STABILITY_FORMAT)
MANIFEST_DOCUMENT = Document("manifest", Manifest, format=MANIFEST_FORMAT)
DERIVED_MANIFEST = Document("manifest", DerivedManifest, format=DERIVED_FORMAT)
INSPECTION = Document(
    "inspection",
    ModelReport,
    format=INSPECTION_FORMAT,
)
SIGNED_LETTER = Document("signed letter", SignedLetter, format=SIGNED_LETTER_FORMAT)
VERIFICATION = Document("verification", Verification, format=VERIFICATION_FORMAT)
# Parts of other documents, and lines of files: these have no format number of their own.
MADE_WITH = Document("made-with", MadeWith, format=0)
FINGERPRINT = Document("fingerprint", Fingerprint, format=0)
GRAPH_TABLE = Document("graph table", GraphTable, format=0)
COMMUNITIES = Document("communities", Communities, format=0)
AGREEMENT = Document("agreement", Agreement, format=0)
LOG_LINE = Document("log", LogLine, format=0, omit_none=True)

# What `recourse-audit schema NAME` knows, besides the settings.
SCHEMAS: dict[str, Document[Any]] = {
    document.name: document
    for document in (SUBJECT, GROUPS, STABILITY, INSPECTION, VERIFICATION, MANIFEST_DOCUMENT)
}


def compact(data: Any) -> str:
    """Plain data as JSON on one line; the same data always gives the same text."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain_data(record: Record) -> Json:
    """Any record as plain data, under the names that its JSON has."""
    data: Json = json.loads(_adapter(type(record)).dump_json(record, by_alias=True))
    return data


_adapters: "dict[type[Record], TypeAdapter[Any]]" = {}


def _adapter(record: type[Record]) -> "TypeAdapter[Any]":
    """What reads and writes a type of record; making one takes some milliseconds."""
    from pydantic import TypeAdapter

    if record not in _adapters:
        _adapters[record] = TypeAdapter(record)
    return _adapters[record]


def _without_defaults(schema: Any) -> Any:
    """A schema of pydantic in which every field is required."""
    if isinstance(schema, dict):
        if schema.get("type") == "default":
            return _without_defaults(schema["schema"])
        return {key: _without_defaults(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return type(schema)(_without_defaults(value) for value in schema)
    return schema


def _all_required(schema: Any) -> Any:
    """A JSON Schema in which every key of every record must be there, as the reader wants it."""
    if isinstance(schema, list):
        return [_all_required(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {key: _all_required(value) for key, value in schema.items() if key != "default"}
    if "properties" in whole and whole.get("type") == "object":
        whole["required"] = list(whole["properties"])
    return whole


def _first(error: Exception) -> str:
    """The first thing that is wrong, with its place."""
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)
    [first, *_] = error.errors(include_url=False, include_context=False, include_input=False)
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
