"""Every document, both ways: a record to JSON and back, each with one writer and one reader.

A document has a name, a format number and a JSON Schema (`recourse-audit schema NAME`). The reader
takes this format alone, and refuses anything that is not exactly what the record says: nothing is
half read.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from recourse_audit.errors import DocumentError
from recourse_audit.records import LEFT_OUT, Record
from recourse_audit.records.bundle import (
    DerivedManifest,
    Fingerprint,
    LogLine,
    Manifest,
    RunResult,
    SignedLetter,
    Verification,
)
from recourse_audit.records.groups import Communities, GroupReport
from recourse_audit.records.model import Agreement, ModelReport
from recourse_audit.records.study import StudyAnalysis, StudyAnswers, StudyKey
from recourse_audit.records.subject import StabilityReport, SubjectReport

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

T = TypeVar("T", bound=Record)
Json = dict[str, Any]


@dataclass(eq=False)
class Document(Generic[T]):
    """One kind of document; the default of the record's `format`, if it has one, is its number."""

    name: str
    record: type[T]

    @property
    def format(self) -> Any:
        known = self.record.__dataclass_fields__.get("format")
        return None if known is None else known.default

    @cached_property
    def _reader(self) -> "SchemaValidator":
        """What reads the document: every key must be there, also one with a default in Python."""
        from pydantic_core import SchemaValidator

        return SchemaValidator(_without_defaults(_adapter(self.record).core_schema))

    def write(self, record: T) -> str:
        """The record as JSON on one line; the same record always gives the same text."""
        return _adapter(self.record).dump_json(record, by_alias=True).decode()

    def write_indented(self, record: T) -> str:
        """The record as JSON for people to read, with a line break at the end."""
        return f"{_adapter(self.record).dump_json(record, by_alias=True, indent=1).decode()}\n"

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
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self._refusal(text, f"{place}: {first['msg']}") from None
        return record

    def schema(self) -> Json:
        whole = _adapter(self.record).json_schema(by_alias=True, mode="serialization")
        schema = _all_required(whole)
        schema["properties"]["format"] = {"const": self.format}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

    def _refusal(self, text: str | bytes, problem: str) -> DocumentError:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):  # the latter from brackets in thousands of brackets
            return DocumentError(f"this is not a {self.name} document: it is not JSON")
        number = data.get("format") if isinstance(data, dict) else None
        if number == self.format and type(number) is type(self.format):
            return DocumentError(f"this {self.name} document was changed: {problem}")
        return DocumentError(
            f"this {self.name} document has format {number!r}, and this version of recourse-audit "
            f"reads {self.format}; run the audit again, or use the version that wrote it"
        )


SUBJECT = Document("subject", SubjectReport)
GROUPS = Document("groups", GroupReport)
STABILITY = Document("stability", StabilityReport)
MANIFEST_DOCUMENT = Document("manifest", Manifest)
DERIVED_MANIFEST = Document("manifest", DerivedManifest)
INSPECTION = Document("inspection", ModelReport)
SIGNED_LETTER = Document("signed letter", SignedLetter)
VERIFICATION = Document("verification", Verification)
RUN = Document("run", RunResult)
STUDY_KEY = Document("study-key", StudyKey)
STUDY_ANSWERS = Document("study-answers", StudyAnswers)
STUDY_ANALYSIS = Document("study-analysis", StudyAnalysis)
# Parts of other documents, and lines of files: these have no format number of their own.
FINGERPRINT = Document("fingerprint", Fingerprint)
COMMUNITIES = Document("communities", Communities)
AGREEMENT = Document("agreement", Agreement)
LOG_LINE = Document("log", LogLine)

# What `recourse-audit schema NAME` knows, besides the settings.
SCHEMAS: dict[str, Document[Any]] = {
    document.name: document
    for document in (
        *(SUBJECT, GROUPS, STABILITY, INSPECTION, VERIFICATION, MANIFEST_DOCUMENT, RUN),
        *(STUDY_KEY, STUDY_ANSWERS, STUDY_ANALYSIS),
    )
}


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
    """A schema of pydantic in which every field is required, unless it is left out if empty."""
    if isinstance(schema, dict):
        if "serialization_exclude_if" in schema:
            own = {**schema["schema"], "schema": _without_defaults(schema["schema"]["schema"])}
            return {**schema, "schema": own}
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
        properties = whole["properties"].items()
        whole["required"] = [k for k, value in properties if value.get("description") != LEFT_OUT]
    return whole
