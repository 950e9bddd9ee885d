"""Every document is written and read by one codec: nothing is lost, and nothing is half read."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import explain
from recourse_audit.errors import DocumentError
from recourse_audit.records import Record, codec
from recourse_audit.records.codec import SCHEMAS, SUBJECT, Document
from recourse_audit.records.subject import SubjectReport
from tests.audits import lending_audit

DOCUMENTS: dict[str, Document[Any]] = {
    name: value for name, value in vars(codec).items() if isinstance(value, Document)
}

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(int, st.integers(-(2**53), 2**53))
st.register_type_strategy(str, st.text(max_size=8))


@pytest.mark.parametrize(
    "name", sorted(DOCUMENTS.keys() - {"GROUPS"})
)  # tests/groups/test_codec.py
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_is_read_again_and_written_alike(name: str, data: st.DataObject) -> None:
    document = DOCUMENTS[name]
    record = data.draw(st.builds(document.record))
    text = document.write(record)
    assert "\n" not in text
    again = document.read(text)
    assert again == record
    assert document.write(again) == text
    assert document.read(document.write_indented(record)) == record
    assert json.loads(text) == record.to_dict()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SubjectReport:
    """A real report with options and caveats."""
    settings = lending_audit(tmp_path_factory.mktemp("audit"), max_nodes=3)
    [found] = explain(load_audit(settings), ["P0029"], what_if=["savings=9000"])
    assert found.recourse is not None
    assert found.recourse.options
    assert found.caveats
    return found


def places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where every object of some plain data is."""
    if isinstance(data, dict):
        below = [place for key, value in data.items() for place in places(value, (*path, key))]
        return [path, *below]
    if isinstance(data, list):
        return [place for key, value in enumerate(data) for place in places(value, (*path, key))]
    return []


FREE = {
    "probabilities",
    "baselines",
    "dominates_baselines",
    "set",
    "notes",
    "by_condition",
    "details",
}


def test_a_key_more_or_less_anywhere_is_refused(report: SubjectReport) -> None:
    text = SUBJECT.write(report)
    for path in places(json.loads(text)):
        of_people = path[:1] == ("comparators",) and path[-1] in {"groups", "columns", "ties"}
        if of_people or (path and path[-1] in FREE):
            continue  # its keys are names of classes, methods or attributes
        for spoil in (_added, _without_first):
            data = json.loads(text)
            spoil(_at(data, path))
            with pytest.raises(DocumentError, match="subject document"):
                SUBJECT.read(json.dumps(data))


def _at(data: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
    for key in path:
        data = data[key]
    found: dict[str, Any] = data
    return found


def _added(data: dict[str, Any]) -> None:
    data["surprise"] = 1


def _without_first(data: dict[str, Any]) -> None:
    del data[next(iter(data))]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 99}, "has format 99, and this version of recourse-audit reads [0-9]+; run"),
        ({"format": SUBJECT.format - 1}, "; run the audit again, or use the version that wrote"),
        ({"format": True}, "has format True, and this version"),
        ({"format": None}, "has format None, and this version"),
        ({"front_size": "7"}, "was changed: front_size: Input should be a valid integer"),
        ({"queries": 1.5}, "was changed: queries: Input should be a valid integer"),
    ],
)
def test_another_format_or_a_value_of_another_type_is_refused(
    change: dict[str, Any], words: str, report: SubjectReport
) -> None:
    with pytest.raises(DocumentError, match=words):
        SUBJECT.read(json.dumps(report.to_dict() | change))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"format":3}', "\x00"])
def test_what_is_no_document_is_refused(text: str) -> None:
    for document in DOCUMENTS.values():
        with pytest.raises(DocumentError):
            document.read(text)


def test_every_document_has_a_schema_that_its_own_json_fits(report: SubjectReport) -> None:
    assert set(SCHEMAS) == {
        *("subject", "groups", "stability", "inspection", "verification", "manifest", "run"),
        *("study-key", "study-answers", "study-analysis"),
    }
    schema = SUBJECT.schema()
    assert report.comparators is not None
    assert set(schema["properties"]) - {"kinds"} == set(report.to_dict())
    several = replace(report, kinds=("person", "employer"))
    assert set(schema["properties"]) == set(several.to_dict())
    assert SUBJECT.read(SUBJECT.write(several)) == several
    assert schema["additionalProperties"] is False
    shown = replace(report, comparators=None).to_dict()
    assert schema["required"] == [key for key in shown if key != "study_cases"]
    assert schema["properties"]["format"] == {"const": SUBJECT.format}
    actions = schema["$defs"]["SetAction"]["properties"]
    assert {"from", "to"} <= set(actions)


def all_records(kind: type[Record]) -> list[type[Record]]:
    return [one for below in kind.__subclasses__() for one in (below, *all_records(below))]


def test_every_record_is_frozen_and_has_a_short_repr(report: SubjectReport) -> None:
    for kind in all_records(Record):
        parameters = kind.__dataclass_params__  # type: ignore[attr-defined]
        assert parameters.frozen, kind
        assert not parameters.repr, f"{kind.__name__} has a long repr"
    for record in (report, report.subject, report.counterfactuals[0], report.recourse):
        assert len(repr(record)) < 500
