"""Pages about people among several kinds of nodes: the hiring sample as a reader meets it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.report import explain, try_by_hand
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import SignOff
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import MoveAction
from recourse_audit.records.subject import EgoNetwork, SubjectReport
from recourse_audit.render.batch import file_name
from recourse_audit.render.charts import draw_kind, kind_shape
from recourse_audit.render.drawing import SHAPES
from recourse_audit.render.i18n import LANGUAGES, Words, words_of
from recourse_audit.render.letter_inputs import read_reviews
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.redaction import Level, redact
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.render.write_letters import Signing
from tests.audit.hiring_world import SAMPLE
from tests.render.subject_pages import ReadPage, read
from tests.render.subject_reports import facts

OWN = "person:P0009"
EMPLOYER, SCHOOL = "employer:E057", "school:S019"


@pytest.fixture(scope="module")
def audit() -> LoadedAudit:
    return load_audit(SAMPLE / "audit.toml")


@pytest.fixture(scope="module")
def report(audit: LoadedAudit) -> SubjectReport:
    return explain(audit, ["P0009"])[0]


def page(
    audit: LoadedAudit, report: SubjectReport, level: Level = "auditor", language: str = "en"
) -> ReadPage:
    words = words_of(audit.settings, language, Templates())
    return read(report, facts(("rejected", "invited")), level=level, words=words)


def near(report: SubjectReport) -> EgoNetwork:
    assert report.ego_network is not None
    return report.ego_network


def test_own_data_are_the_columns_of_people(report: SubjectReport) -> None:
    assert report.own_data is not None
    columns = report.own_data.columns
    names = ["test_score", "certificates", "years_experience", "languages"]
    assert [column.name for column in columns] == names
    assert all(column.answer is not None for column in columns)


def test_a_report_says_which_nodes_are_no_people(report: SubjectReport) -> None:
    assert report.kinds == ("person", "employer", "school")
    for node in near(report).nodes:
        kind = node.id.split(":")[0]
        assert node.kind == ("" if kind == "person" else kind)
        assert report.kind_of(node.id) == node.kind
        assert bool(node.decision) != bool(node.kind)
    assert report.kind_of("employer:not near") == "employer"
    assert report.kind_of("person:not near") == ""
    assert SUBJECT.read(SUBJECT.write(report)) == report


def test_ties_between_people_have_the_direction_of_the_table(report: SubjectReport) -> None:
    rows = (SAMPLE / "recommends.csv").read_text(encoding="utf-8").splitlines()[1:]
    table = {tuple(f"person:{end}" for end in row.split(",")[:2]) for row in rows}
    directed = [tie for tie in near(report).ties if tie.directed]
    assert directed
    assert {tie.kind for tie in directed} == {"recommends"}
    assert {tie.ends for tie in directed} <= table
    others = [tie for tie in near(report).ties if not tie.directed]
    assert {tie.kind for tie in others} == {"works_at", "studied_at"}


def test_a_page_names_columns_and_relations_that_moved_no_decision(
    audit: LoadedAudit, report: SubjectReport
) -> None:
    assert "moved no decision" not in page(audit, report).text()
    person, employer, school = report.probes.kinds
    silent = (person, replace(employer, silent=("employer.age",)), replace(school, hops=None))
    relations = tuple(replace(relation, matters=False) for relation in report.probes.relations[:1])
    probes = replace(report.probes, kinds=silent, relations=relations)
    text = page(audit, replace(report, probes=probes)).text()
    assert "Columns of employer that moved no decision: employer.age." in text
    assert "No school ever moved a decision: the model does not look at them." in text
    assert "Ties of the relation works_at moved no decision: the model ignores them." in text


def test_own_ties_are_named_in_the_users_words(audit: LoadedAudit, report: SubjectReport) -> None:
    read = page(audit, report)
    labels = [row[0] for row in read.ladder]
    assert f"Job: {EMPLOYER}" in labels
    assert f"School: {SCHOOL}" in labels
    assert "Recommended by: person:P0895 (refused)" in labels
    assert read.pairs[0].startswith(f"1 Job: {EMPLOYER} ")


def test_without_words_an_arrow_says_the_direction(report: SubjectReport) -> None:
    rows = read(report, facts(("rejected", "invited")), words=Words())
    assert any(row[0].startswith("Recommends tie ← person:P0895 (") for row in rows.ladder)
    assert "person:P0009 ← person:P0895" in rows.annex("Sets of ties")
    back = [
        replace(tie, ends=tie.ends[::-1]) if OWN in tie.ends and tie.directed else tie
        for tie in near(report).ties
    ]
    turned = replace(report, ego_network=replace(near(report), ties=tuple(back)))
    rows = read(turned, facts(("rejected", "invited")), words=Words())
    assert any(row[0].startswith("Recommends tie → person:P0895 (") for row in rows.ladder)
    both = replace(report, ego_network=replace(near(report), ties=(*near(report).ties, *back)))
    rows = read(both, facts(("rejected", "invited")), words=Words())
    assert any("↔ person:P0895" in row[0] for row in rows.ladder)


def test_the_command_of_a_page_drops_ties_in_their_direction(
    audit: LoadedAudit, report: SubjectReport
) -> None:
    carriers, own = report.carriers, report.own_data
    assert carriers is not None
    assert own is not None
    [tie] = [tie for tie in carriers.own if "person:P0895" in tie.removed[0]]
    alone = replace(
        report, own_data=replace(own, columns=()), carriers=replace(carriers, own=(tie,))
    )
    command = SubjectPage(alone, facts(("rejected", "invited"))).command
    change = "drop person:P0895-person:P0009"
    assert command.endswith(f"explain audit.toml {OWN} --what-if '{change}'")
    tried = try_by_hand(audit, OWN, [change])
    assert tried.probabilities == pytest.approx(tie.probabilities)


def test_other_kinds_are_counted_by_name(audit: LoadedAudit, report: SubjectReport) -> None:
    read = page(audit, report)
    about = read.annex("The neighbourhood")
    assert "direct ties 4 refused, 3 invited, 1 employer, 1 school; 2 ties away" in about
    assert "without a decision" not in about
    assert re.search(r"[0-9]+ nodes are within 2 ties", about)
    decided = dict(
        zip(
            read.column("Nodes nearby, nearest first", "Node"),
            read.column("Nodes nearby, nearest first", "Decision"),
            strict=True,
        )
    )
    assert decided[f"[square] {EMPLOYER}"] == decided[f"[diamond] {SCHOOL}"] == "not decided on"
    assert decided["person:P0895"] == "refused"
    assert "subgraphs of up to 4 nodes" in read.annex("The search")


def test_without_a_plural_the_number_stands_behind() -> None:
    assert [Words().count_nodes("bank_account", count) for count in (1, 2)] == [
        "1 bank account",
        "bank account (2)",
    ]
    assert [Words().count_nodes("7", count) for count in (1, 2)] == ["kind 7 (1)", "kind 7 (2)"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_calls_a_node_a_person(
    audit: LoadedAudit, report: SubjectReport, language: str
) -> None:
    words = words_of(audit.settings, language, Templates())
    plain = words.of_kinds(several=False)
    text = page(audit, report, language=language).text()
    for key in (key.removesuffix(".of_kinds") for key in words.keys if key.endswith(".of_kinds")):
        for form in plain.forms(key):
            start = re.split(r"[{}]", form)[0].strip()
            variant = {
                re.split(r"[{}]", other)[0].strip() for other in words.forms(f"{key}.of_kinds")
            }
            if len(start) > 12 and start not in variant:
                assert start not in text, key
    assert words.count_nodes("employer", 1) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_for_kinds_take_what_the_others_take(language: str) -> None:
    words = Words(language)
    for key in (key for key in words.keys if key.endswith(".of_kinds")):
        usual, variant = words.forms(key.removesuffix(".of_kinds")), words.forms(key)
        assert len(usual) == len(variant), key
        for first, second in zip(usual, variant, strict=True):
            marks = re.findall(r"\{[a-z_]+\}", first)
            assert sorted(marks) == sorted(re.findall(r"\{[a-z_]+\}", second)), key


def test_pictures_show_kinds_by_shape_with_a_key(audit: LoadedAudit, report: SubjectReport) -> None:
    read = page(audit, report)
    html = read.html[read.html.index('id="counterfactuals"') : read.html.index('class="annex"')]
    assert html.count("<polygon") >= 3
    assert "stroke-open" not in html  # the dashes of people without a decision
    assert "[square] Square: employer. [diamond] Diamond: school." in read.text()


def test_every_kind_has_a_mark_of_its_own() -> None:
    marks = [draw_kind(kind, "").svg for kind in range(1, 11)]
    assert len(set(marks)) == len(marks)
    assert [kind_shape(kind) for kind in range(1, len(SHAPES))] == [*SHAPES[1:]]


def test_a_reviewer_reads_numbers_by_kind_and_the_subject_nothing_else(
    audit: LoadedAudit, report: SubjectReport
) -> None:
    redacted = redact(report, "reviewer")
    names = {node.id for node in near(redacted).nodes}
    assert {"employer 1", "school 1", "person 1", OWN} <= names
    read = page(audit, report, "reviewer")
    assert "[square] employer 1" in read.column("Nodes nearby, nearest first", "Node")
    assert "Job: employer 1" in [row[0] for row in read.ladder]
    for level in ("reviewer", "subject"):
        html = page(audit, report, level).html
        assert not re.search(r"(employer|school):[A-Z]|person:(?!P0009)[A-Z]", html)
    text = page(audit, report, "subject").text()
    assert "Work for another employer" in text
    assert not re.search(r"(employer|school|person) [0-9]", text)


def test_files_of_a_subject_have_readable_names() -> None:
    assert file_name(8, OWN) == "000008-person-P0009"


@pytest.mark.parametrize("level", ["auditor", "reviewer"])
@pytest.mark.parametrize(("shared_by", "named"), [(10, False), (11, True), (None, False)])
def test_a_page_says_whom_a_letter_may_name(
    audit: LoadedAudit, report: SubjectReport, level: Level, shared_by: int | None, named: bool
) -> None:
    move = MoveAction(tie=(OWN, EMPLOYER), to="employer:E003", kind="works_at", shared_by=shared_by)
    assert report.recourse is not None
    option = replace(report.recourse.options[0], actions=(move,))
    moved = replace(report, recourse=replace(report.recourse, options=(option,)))
    old, new = (EMPLOYER, "employer:E003") if level == "auditor" else ("employer 1", "employer 7")
    clerk = page(audit, moved, level).clerk
    never = old if named else f"{old} and {new}"
    assert f"The letter does not name {never}." in clerk
    assert (f"The letter may name {new}: at least 11 people" in clerk) == named
    letter = LetterWriter(audit.settings, Templates()).letter(moved)
    assert letter is not None
    assert (
        any(tie.to == (("employer", "E003"),) for option in letter.options for tie in option.ties)
        == named
    )


# ---------------------------------------------------------------- letters


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_has_the_id_of_the_users_table_and_says_what_ties_are_with(
    audit: LoadedAudit, report: SubjectReport, language: str
) -> None:
    letters = audit.settings.letters.model_copy(update={"language": language})
    settings = audit.settings.model_copy(update={"letters": letters})
    writer = LetterWriter(settings, Templates())
    letter = writer.letter(report)
    assert letter is not None
    assert letter.reference == OWN
    text = ReadPage(writer.html(letter)).text()
    assert "P0009" in text
    assert "person:" not in text
    words = words_of(settings, language, Templates())
    kinds = [words.forms_of(kind)[-1] for kind in ("employer", "school")]
    assert f"({words.say('connections.people')}, {', '.join(kinds)})" in text
    assert words.say("connections") not in text


@pytest.mark.parametrize("own", ["P0009", "person:P0009"])
def test_staff_write_ids_with_their_kind_or_without(
    audit: LoadedAudit, report: SubjectReport, tmp_path: Path, own: str
) -> None:
    reasons, addresses, reviews = (tmp_path / f"{n}.csv" for n in ("reasons", "lines", "reviews"))
    reasons.write_text(f"id,confirm,note,reason\n{own},yes,x,Few certificates\n", encoding="utf-8")
    addresses.write_text(f"id,line1\n{own},1 Mill Lane\n", encoding="utf-8")
    reviews.write_text(f"id,reviewer,reviewed\n{own},B. Clerk,2026-11-18\n", encoding="utf-8")
    writer = LetterWriter(audit.settings, Templates(), reasons=reasons, addresses=addresses)
    letter = writer.letter(report)
    assert letter is not None
    assert letter.reasons == ("Few certificates",)
    assert letter.recipient == ("1 Mill Lane",)
    assert [*read_reviews(reviews, "person:")] == [OWN]
    signing = Signing(by=SignOff(name="A. Clerk", day="2026-11-18"), ids=(own,))
    assert signing.of_kind("person:").names(OWN)
    assert not signing.of_kind("person:").names("person:P0010")


@pytest.mark.parametrize("named", ["P0895", "person:P0895", "E057", "employer E057"])
def test_a_reason_names_nobody_else_with_their_kind_or_without(
    audit: LoadedAudit, report: SubjectReport, tmp_path: Path, named: str
) -> None:
    reasons = tmp_path / "reasons.csv"
    reasons.write_text(
        f"id,confirm,note,reason\nP0009,yes,x,Too close to {named}\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match="names another person"):
        LetterWriter(audit.settings, Templates(), reasons=reasons).letter(report)
    reasons.write_text(
        "id,confirm,note,reason\nP0009,yes,x,P0009 has few certificates\n", encoding="utf-8"
    )
    assert LetterWriter(audit.settings, Templates(), reasons=reasons).letter(report) is not None


def test_ids_of_people_who_are_not_near_are_looked_up_without_their_kind(
    audit: LoadedAudit, report: SubjectReport, tmp_path: Path
) -> None:
    reasons = tmp_path / "reasons.csv"
    reasons.write_text("id,confirm,note,reason\nP0009,yes,x,Works with P1200\n", encoding="utf-8")
    writer = LetterWriter(
        audit.settings, Templates(), reasons=reasons, everybody=lambda: [OWN, "person:P1200"]
    )
    with pytest.raises(InputError, match="names another person, person:P1200"):
        writer.letter(report)
