"""Every document is written and read by one codec: nothing is lost, and nothing is half read."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.audit.loaded import load_audit
from recourse_audit.audit.reporter import explain
from recourse_audit.errors import DocumentError
from recourse_audit.records import codec
from recourse_audit.records.base import Record
from recourse_audit.records.codec import SCHEMAS, SUBJECT, Document
from recourse_audit.records.model import NO_REPEATS
from recourse_audit.records.recourse import Compared
from recourse_audit.records.report import SubjectReport
from tests.audits import lending_audit

DOCUMENTS: dict[str, Document[Any]] = {
    name: value for name, value in vars(codec).items() if isinstance(value, Document)
}
FORMAT_2 = Path(__file__).with_name("format_2.jsonl")

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(int, st.integers(-(2**53), 2**53))
st.register_type_strategy(str, st.text(max_size=8))


def records(document: Document[Any]) -> st.SearchStrategy[Any]:
    """Any record of a document's type, with the document's format number."""
    record = document._record
    named = {field.name for field in fields(record)}
    return st.builds(record, **({"format": st.just(document.format)} if "format" in named else {}))


@pytest.mark.parametrize(
    "name", sorted(DOCUMENTS.keys() - {"GROUPS"})
)  # tests/groups/test_codec.py
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_is_read_again_and_written_alike(name: str, data: st.DataObject) -> None:
    document = DOCUMENTS[name]
    record = data.draw(records(document))
    text = document.write(record)
    assert "\n" not in text
    again = document.read(text)
    assert again == record
    assert document.write(again) == text
    assert document.read(document.write_indented(record)) == record
    assert json.loads(text) == {
        key: value
        for key, value in record.to_dict().items()
        if value is not None or not document._omit_none
    }


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


FREE = {"probabilities", "baselines", "dominates_baselines", "set", "notes"}


def test_a_key_more_or_less_anywhere_is_refused(report: SubjectReport) -> None:
    text = SUBJECT.write(report)
    for path in places(json.loads(text)):
        if path and path[-1] in FREE:
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
        (
            {"format": 8},
            "has format 8, and this version of recourse-audit reads 2, 3, 4, 5, 6 and 7; use",
        ),
        ({"format": 1}, "has format 1, and this version"),
        ({"format": True}, "has format True, and this version"),
        ({"format": 3}, "document of format 3 was changed, or is damaged"),
        ({"format": 4}, "document of format 4 was changed, or is damaged"),
        ({"format": 5}, "document of format 5 was changed, or is damaged"),
        ({"format": 6}, "document of format 6 was changed, or is damaged"),
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


def test_format_2_is_read_as_the_same_findings(tmp_path: Path) -> None:
    """What an earlier version wrote, against what this one finds about the same people."""
    *old, lonely, failed = map(SUBJECT.read, FORMAT_2.read_text(encoding="utf-8").splitlines())
    audit = load_audit(lending_audit(tmp_path, max_nodes=3, more="repeat = 0"))
    new = explain(audit, [one.subject.id for one in old], what_if=["savings=9000"])
    assert [one.status for one in new] == ["verified", "already_favourable"]
    assert [one.queries for one in old] != [one.queries for one in new]
    for one, other in zip(new, old, strict=True):
        same = _as_of_format_4(one, like=other)
        assert same.caveats[1].effect is not None
        assert replace(same, caveats=other.caveats) == other
        assert _same_effects(same, other)
    assert lonely.subject.id == "lonely"
    assert lonely.ego_network is None
    assert "not a number" in failed.error
    assert failed.status == "error"


def _same_effects(one: SubjectReport, other: SubjectReport) -> bool:
    """Whether effects are the same where there were as many draws; their grades need not be."""
    effects = [[found.effect for found in each.caveats if found.effect] for each in (one, other)]
    return all(
        (new.unadjusted, new.adjusted, new.low, new.high)
        == (old.unadjusted, old.adjusted, old.low, old.high)
        for new, old in zip(*effects, strict=True)
        if new.draws == old.draws
    )


def test_format_3_is_read_as_a_report_without_repeats(report: SubjectReport) -> None:
    report = replace(report, repeats=replace(NO_REPEATS, calls=3))
    data = format_4(report) | {"format": 3}
    del data["repeats"]
    old = _as_of_format_4(report, like=report)
    assert SUBJECT.read(json.dumps(data)) == replace(old, repeats=NO_REPEATS)


def format_6(report: SubjectReport) -> dict[str, Any]:
    """The report as the version before wrote it."""
    data = report.to_dict() | {"format": 6}
    if data["carriers"] is not None:
        del data["carriers"]["own"]
    return data


def _as_of_format_6(report: SubjectReport) -> SubjectReport:
    """A report without what that format did not say of single ties."""
    return replace(report, carriers=report.carriers and replace(report.carriers, own=()))


def test_format_6_is_read_as_a_report_without_single_ties(report: SubjectReport) -> None:
    assert report.carriers is not None
    assert report.carriers.own
    data = format_6(report)
    assert SUBJECT.read(json.dumps(data)) == _as_of_format_6(report)
    data["carriers"]["own"] = []
    with pytest.raises(DocumentError, match="document of format 6 was changed"):
        SUBJECT.read(json.dumps(data))


def format_5(report: SubjectReport) -> dict[str, Any]:
    """The report as the version before that wrote it."""
    data = format_6(report) | {"format": 5}
    for caveat in data["caveats"]:
        for key in NEW_IN_6 if caveat["effect"] is not None else ():
            del caveat["effect"][key]
    if data["recourse"] is not None:
        del data["recourse"]["common_actions"]
    return data


NEW_IN_6 = ("smallest", "negligible", "depends_on_whom")


def _as_of_format_5(report: SubjectReport) -> SubjectReport:
    """A report without what that format did not say of effects and of common actions."""
    report = _as_of_format_6(report)
    assert report.recourse is not None
    untold: dict[str, Any] = dict.fromkeys(NEW_IN_6)
    caveats = (
        replace(one, effect=None if one.effect is None else replace(one.effect, **untold))
        for one in report.caveats
    )
    recourse = replace(report.recourse, common_actions=())
    return replace(report, caveats=tuple(caveats), recourse=recourse)


def test_format_5_is_read_with_the_grades_that_it_had(report: SubjectReport) -> None:
    assert {one.grade for one in report.caveats if one.effect is not None} == {"holds"}
    data = format_5(report)
    assert SUBJECT.read(json.dumps(data)) == _as_of_format_5(report)
    confounded = data["caveats"][-1]
    for key in NEW_IN_6:
        confounded["effect"][key] = None
        with pytest.raises(DocumentError, match="document of format 5 was changed"):
            SUBJECT.read(json.dumps(data))
        del confounded["effect"][key]
    for grade in ("no_effect", "not_settled", "x"):
        with pytest.raises(DocumentError, match="document of format 5 was changed"):
            SUBJECT.read(json.dumps(data | {"caveats": [confounded | {"grade": grade}]}))


def test_format_5_is_read_as_a_report_without_common_actions(report: SubjectReport) -> None:
    assert report.recourse is not None
    assert report.recourse.common_actions
    data = format_5(report)
    none = replace(_as_of_format_5(report), recourse=None)
    assert SUBJECT.read(json.dumps(data | {"recourse": None})) == none
    data["recourse"]["common_actions"] = []
    with pytest.raises(DocumentError, match="document of format 5 was changed"):
        SUBJECT.read(json.dumps(data))


def format_4(report: SubjectReport) -> dict[str, Any]:
    """The report as an earlier version wrote it."""
    data = format_5(report) | {"format": 4}
    del data["carriers"], data["probes"]["sender_degree"], data["recourse"]["compared"]
    del data["own_data"]
    for found in data["counterfactuals"]:
        del found["whole_graph"]
    return data


def _as_of_format_4(report: SubjectReport, *, like: SubjectReport) -> SubjectReport:
    """A report without what that format did not say; its queries are those of another one."""
    assert report.recourse is not None
    assert like.recourse is not None
    return replace(
        _as_of_format_5(report),
        counterfactuals=tuple(replace(one, whole_graph=None) for one in report.counterfactuals),
        carriers=None,
        own_data=None,
        probes=replace(report.probes, sender_degree=None),
        recourse=replace(
            report.recourse,
            compared=Compared(),
            evaluations=like.recourse.evaluations,
            common_actions=(),
        ),
        queries=like.queries,
    )


def test_format_4_is_read_as_a_report_that_did_not_ask_about_the_whole_graph(
    report: SubjectReport,
) -> None:
    assert report.carriers is not None
    assert report.own_data is not None
    assert report.own_data.alone is not None
    assert all(one.whole_graph for one in report.counterfactuals)
    data = format_4(report)
    assert SUBJECT.read(json.dumps(data)) == _as_of_format_4(report, like=report)
    places = {"carriers": data, "own_data": data, "whole_graph": data["counterfactuals"][0]}
    for key, place in places.items():
        place[key] = None
        with pytest.raises(DocumentError, match="document of format 4 was changed"):
            SUBJECT.read(json.dumps(data))
        del place[key]


def test_a_spoilt_document_of_format_2_is_refused() -> None:
    [first, *_] = FORMAT_2.read_text(encoding="utf-8").splitlines()
    data = json.loads(first)
    for key in data:
        spoilt = {name: value for name, value in data.items() if name != key}
        with pytest.raises(DocumentError):
            SUBJECT.read(json.dumps(spoilt))


def test_every_document_has_a_schema_that_its_own_json_fits(report: SubjectReport) -> None:
    assert set(SCHEMAS) == {
        *("subject", "groups", "stability", "inspection", "verification", "manifest")
    }
    schema = SUBJECT.schema()
    assert set(schema["properties"]) == set(report.to_dict())
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(report.to_dict())
    assert schema["properties"]["format"] == {"const": 7}
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
