"""Signed letters are printed, written as e-mails and recorded as sent, each as it was signed."""

import csv
import email
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from email.message import EmailMessage
from email.policy import default
from hashlib import sha256
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

import recourse_audit as ra
from recourse_audit.bundle.manifest import NewFolder
from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.bundle.register import COLUMNS, check_register, read_register, register_text
from recourse_audit.bundle.signature import read_public_key
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import CAUSES
from recourse_audit.render.letter_inputs import read_addresses
from recourse_audit.render.outbox import open_outbox
from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import write_pages
from tests.bundle.test_verification import write_keys
from tests.bundles import contents, request, run_here
from tests.command import command, one_line
from tests.render.browser import DESK, PHONE, overflow, visit

POST = ("M. Post", date(2026, 3, 5))
ADDRESSES = "id,name,street,email\n{0},Alex Example,12 Mill Lane,alex@mail.example\n"


def names_of(bundle: Path) -> list[str]:
    with open_finished_audit(bundle) as stored:
        return list(stored.names().values())


def sign(bundle: Path, *ids: str, **given: Any) -> None:
    ra.open_bundle(bundle).write_letters(
        sign_off="A. Clerk", day=date(2026, 3, 1), ids=ids, accept=CAUSES, workers=1, **given
    )


@pytest.fixture(scope="module")
def signed_bundle(audited: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with two signed letters, as HTML and PDF; to be copied."""
    folder = tmp_path_factory.mktemp("signed")
    shutil.copytree(audited / "bundle", folder / "bundle")
    addresses = folder / "addresses.csv"
    addresses.write_text(ADDRESSES.format(names_of(folder / "bundle")[0]), encoding="utf-8")
    sign(folder / "bundle", *names_of(folder / "bundle"), addresses=addresses)
    return folder


@pytest.fixture
def bundle(signed_bundle: Path, tmp_path: Path) -> Path:
    shutil.copytree(signed_bundle, tmp_path / "place")
    return tmp_path / "place" / "bundle"


@pytest.fixture
def ids(bundle: Path) -> list[str]:
    return names_of(bundle)


def record(bundle: Path, *ids: str, **given: Any) -> int:
    with open_outbox(bundle, ids or None) as outbox:
        return outbox.record_sent(*POST, **given)


def rows_of(bundle: Path) -> list[dict[str, str]]:
    with (bundle / "letters" / "register.csv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


# ---------------------------------------------------------------- for the printer


def pages_of(file: Path) -> list[str]:
    """The reference at the foot of each page, "" on an empty one."""
    text = subprocess.run(["pdftotext", file, "-"], capture_output=True, check=True).stdout.decode()
    return [page.strip().splitlines()[-3] if page.strip() else "" for page in text.split("\f")[:-1]]


def test_letters_are_printed_in_the_order_of_their_ids(bundle: Path, ids: list[str]) -> None:
    first, second = bundle.parent / "a.pdf", bundle.parent / "b.pdf"
    with open_outbox(bundle, (ids[1], ids[0])) as outbox:
        assert outbox.print_letters(first) == (first,)
        assert outbox.print_letters(second) == (second,)
    with pikepdf.open(first) as batch:
        assert len(batch.pages) == len(ids)  # each letter of this bundle takes one
    references = [page for page in pages_of(first) if page in ids]
    assert list(dict.fromkeys(references)) == [ids[1], ids[0]]
    assert first.read_bytes() == second.read_bytes()


def test_in_duplex_each_letter_begins_on_a_fresh_sheet(bundle: Path) -> None:
    file = bundle.parent / "batch.pdf"
    with open_outbox(bundle) as outbox:
        outbox.print_letters(file, duplex=True)
    with pikepdf.open(file) as batch:
        sizes = {tuple(map(float, page.mediabox)) for page in batch.pages}
        assert (len(batch.pages) % 2, len(sizes)) == (0, 1)
    pages = pages_of(file)
    assert pages[0] != pages[2]
    assert all(pages[0::2])
    assert not any(pages[1::2])


def test_a_letter_without_a_pdf_cannot_be_printed(
    audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(audited / "bundle", tmp_path / "bundle")
    monkeypatch.setattr("recourse_audit.render.write_letters.open_printer", lambda _: (None, ""))
    [own, _] = names_of(tmp_path / "bundle")
    sign(tmp_path / "bundle", own)
    finished = command("letters", tmp_path / "bundle", "--print", tmp_path / "batch.pdf")
    assert finished.code == 2
    assert f"{own}.pdf: is missing; PDFs need Pango" in one_line(finished)
    record(tmp_path / "bundle", own)
    assert [row["pdf"] for row in rows_of(tmp_path / "bundle")] == [""]
    assert verify_bundle(tmp_path / "bundle").problems == ()


def test_many_letters_are_printed_in_parts_so_that_memory_stays_flat(
    bundle: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recourse_audit.render.outbox.PER_FILE", 1)
    with open_outbox(bundle) as outbox:
        files = outbox.print_letters(bundle.parent / "batch.pdf")
    assert [file.name for file in files] == ["batch.pdf", "batch-2.pdf"]
    assert [pages_of(file)[0] for file in files] == ids


@pytest.mark.parametrize("option", ["--print", "--email"])
def test_what_is_there_already_is_not_replaced(bundle: Path, option: str) -> None:
    target = bundle.parent / "there"
    target.write_text("mine", encoding="utf-8")
    finished = command("letters", bundle, option, target)
    assert (finished.code, target.read_text(encoding="utf-8")) == (2, "mine")
    assert one_line(finished) == f"error: {target}: is there already; choose another name"


@pytest.mark.parametrize("option", ["--print", "--email"])
def test_nothing_half_written_is_left_behind(
    bundle: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pikepdf.Pdf, "save", fail)
    monkeypatch.setattr(EmailMessage, "as_bytes", fail)
    before = sorted(bundle.parent.iterdir())
    finished = command("letters", bundle, option, bundle.parent / "new")
    assert finished.code == 2
    assert "cannot be written (No space left on device)" in one_line(finished)
    assert sorted(bundle.parent.iterdir()) == before


@pytest.mark.parametrize("option", ["--print", "--email"])
def test_a_place_that_is_not_there_is_named(bundle: Path, option: str) -> None:
    target = bundle.parent / "nowhere" / "letters"
    finished = command("letters", bundle, option, target)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {target}: cannot be written (No such file")


# ---------------------------------------------------------------- e-mails


def emails_in(folder: Path) -> list[EmailMessage]:
    texts = (path.read_bytes() for path in sorted(folder.iterdir()))
    return [email.message_from_bytes(text, policy=default) for text in texts]


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def test_an_email_says_what_the_letter_says_and_loads_nothing(bundle: Path, ids: list[str]) -> None:
    addresses = bundle.parent / "addresses.csv"
    for name in ("first", "second"):
        finished = command(
            "letters", bundle, "--email", bundle.parent / name, "--addresses", addresses
        )
        assert finished.code == 0
        assert f"{name}: 2 to be sent, 1 of them without address" in finished.err
    assert contents(bundle.parent / "first") == contents(bundle.parent / "second")
    [message, other] = emails_in(bundle.parent / "first")
    assert (message["To"], other["To"]) == ("alex@mail.example", None)
    assert message["Subject"] == f"Letter about our decision, reference {ids[0]}"
    assert (message["X-Unsent"], message["Date"]) == ("1", None)
    page = body(message, "html")
    assert not re.search(r"<style|<script|<link|<img|http-equiv|url\(|src=|@import", page)
    letter = next((bundle / "letters").glob(f"*{ids[0]}.html")).read_text(encoding="utf-8")
    words = re.sub(r"<[^>]+>|\s+", " ", letter.partition("<body")[2].partition(">")[2]).split()
    assert (
        re.sub(r"<[^>]+>|\s+", " ", page.partition("<body")[2].partition(">")[2]).split() == words
    )
    text = body(message, "plain").replace("\r\n", "\n")
    assert "To\n\nAlex Example\n12 Mill Lane\n\n" in text
    assert "Signed off by A. Clerk" in text
    assert "<" not in text


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_an_email_is_one_column(chromium: Browser, bundle: Path, width: int) -> None:
    with open_outbox(bundle) as outbox:
        outbox.write_emails(bundle.parent / "emails")
    path = bundle.parent / "email.html"
    path.write_text(body(emails_in(bundle.parent / "emails")[0], "html"), encoding="utf-8")
    with visit(chromium, path, width=width) as seen:
        assert (seen.problems, seen.fetched, overflow(seen.page)) == ([], [], 0)
        assert seen.page.evaluate("document.body.getBoundingClientRect().width") <= 672
        # Styles are on the elements, where no policy keeps them from working.
        assert seen.page.evaluate("getComputedStyle(document.body).fontFamily").startswith("Arial")


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        ("nowhere", "'nowhere' is not one e-mail address"),
        ('"a@b.example, c@d.example"', "'a@b.example, c@d.example' is not one"),
        ('"a@b.example\nBcc: x@y.example"', "'a@b.example Bcc: x@y.example' is not one"),
    ],
)
def test_what_is_no_email_address_is_refused(email: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "addresses.csv"
    path.write_text(f"id,name,email\nP1,A,\nP2,B,{email}\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(problem)):
        read_addresses(path)
    path.write_text("id,name,email\nP1,A,\nP2,B,b@mail.example\n", encoding="utf-8")
    assert {own: given.email for own, given in read_addresses(path).items()} == {
        "P1": "",
        "P2": "b@mail.example",
    }


# ---------------------------------------------------------------- the register


def test_a_row_says_what_was_sent_by_whom_and_who_signed_it(bundle: Path, ids: list[str]) -> None:
    finished = command(
        *("letters", bundle, "--sent-by", "M. Post", "--ids", ids[1], "--date", "2026-03-05"),
        *("--how", "post"),
    )
    assert (finished.code, finished.out) == (0, "")
    assert finished.err.endswith("register.csv: 1 added\n")
    [row] = rows_of(bundle)
    files = {
        path.suffix[1:]: sha256(path.read_bytes()).hexdigest()
        for path in (bundle / "letters").glob(f"*{ids[1]}.*")
    }
    assert row == {
        "number": "1",
        "id": ids[1],
        "letter": next((bundle / "letters").glob(f"*{ids[1]}.html")).stem,
        "html": files["html"],
        "pdf": files["pdf"],
        "signed_by": "A. Clerk",
        "signed": "2026-03-01",
        "sent_by": "M. Post",
        "sent": "2026-03-05",
        "how": "post",
    }
    assert verify_bundle(bundle).problems == ()
    page = (bundle / "letters" / "index.html").read_text(encoding="utf-8")
    assert "✓ Sent by post on 5 March 2026, register no.\N{NO-BREAK SPACE}1" in page


def test_what_is_not_named_is_every_signed_letter_that_was_not_sent(
    bundle: Path, ids: list[str]
) -> None:
    record(bundle, ids[0])
    with open_outbox(bundle) as outbox:
        assert [letter.id for letter in outbox.letters.values()] == [ids[1]]
    assert record(bundle) == 1
    assert [row["id"] for row in rows_of(bundle)] == ids
    with (
        pytest.raises(InputError, match="no signed letter waits to be sent"),
        open_outbox(bundle),
    ):
        pass


def test_rows_are_only_added_and_survive_new_letters(bundle: Path, ids: list[str]) -> None:
    record(bundle, ids[0])
    register = bundle / "letters" / "register.csv"
    first = register.read_bytes()
    write_letters(bundle)
    assert register.read_bytes() == first
    with pytest.raises(InputError, match=rf"{ids[0]} was sent on 2026-03-05 .* --accept sent"):
        record(bundle, ids[0])
    assert register.read_bytes() == first
    finished = command(
        *("letters", bundle, "--sent-by", "N. Post", "--ids", f"{ids[1]},{ids[0]}"),
        *("--date", "2026-03-06", "--accept", "sent", "--how", "hand"),
    )
    assert finished.code == 0
    assert register.read_bytes().startswith(first)
    assert [(row["number"], row["id"], row["how"]) for row in rows_of(bundle)] == [
        ("1", ids[0], ""),
        ("2", ids[1], "hand"),
        ("3", ids[0], "hand"),
    ]
    assert verify_bundle(bundle).problems == ()


def test_a_letter_that_was_sent_is_not_reopened(bundle: Path, ids: list[str]) -> None:
    record(bundle, ids[0])
    before = contents(bundle)
    for more in (("--ids", ids[0]), ("--all",)):
        finished = command("letters", bundle, "--reopen", *more, "--workers", "1")
        assert finished.code == 2
        assert f"the letter to {ids[0]} was sent on 2026-03-05 (register.csv, no. 1)" in one_line(
            finished
        )
    assert contents(bundle) == before
    assert command("letters", bundle, "--reopen", "--ids", ids[1], "--workers", "1").code == 0
    assert len(rows_of(bundle)) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--sent-by", "M. Post"), "--sent-by needs to know who"),
        (("--sent-by", " ", "--all"), "--sent-by needs the name of a person"),
        (("--sent-by", "M. Post", "--ids", "nobody"), "there is no subject 'nobody'"),
        (
            ("--sent-by", "M. Post", "--all", "--how", "pigeon"),
            "--how is one of post, email, hand (got 'M. Post' and 'pigeon')",
        ),
        (
            ("--sent-by", "M. Post", "--all", "--date", "2026-02-28"),
            "was signed off on 2026-03-01, so it was not sent on 2026-02-28; correct --date",
        ),
        (
            ("--print", "x.pdf", "--sign-off", "A", "--all"),
            "take signed letters: sign first",
        ),
        (("--sent-by", "M. Post", "--all", "--reopen"), "take signed letters: sign first"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    bundle: Path, words: tuple[str, ...], problem: str
) -> None:
    before = contents(bundle)
    finished = command("letters", bundle, *words)
    assert finished.code == 2
    assert problem in one_line(finished)
    assert contents(bundle) == before


def test_a_draft_is_neither_printed_nor_sent(audited: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(audited / "bundle", folder)
    own, other = names_of(folder)
    assert command("letters", folder, "--print", tmp_path / "x.pdf").code == 2
    sign(folder, other)
    for words in (
        ("--print", tmp_path / "x.pdf"),
        ("--email", tmp_path / "x"),
        ("--sent-by", "M. Post"),
    ):
        finished = command("letters", folder, *words, "--ids", f"{other},{own}")
        assert finished.code == 2
        assert f"there is no signed letter to {own}; sign it off" in one_line(finished)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle"]


def _edit(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_edit, "is not what was sent (register.csv, no. 1)"),
        (Path.unlink, "is missing (register.csv, no. 1)"),
    ],
)
@pytest.mark.parametrize("ending", ["html", "pdf"])
def test_verify_compares_every_row_with_the_letter_that_is_there(
    bundle: Path, ids: list[str], ending: str, spoil: Callable[[Path], None], problem: str
) -> None:
    record(bundle, ids[0])
    path = next((bundle / "letters").glob(f"*{ids[0]}.{ending}"))
    spoil(path)
    assert f"letters/{path.name}: {problem}" in verify_bundle(bundle).problems
    finished = command("letters", bundle, "--sent-by", "M. Post", "--ids", ids[0])
    assert "was changed, added or removed since" in one_line(finished)


def test_a_register_that_was_edited_is_reported_and_never_used(
    bundle: Path, ids: list[str]
) -> None:
    record(bundle)
    register = bundle / "letters" / "register.csv"
    head, first, second = register.read_text(encoding="utf-8").splitlines(keepends=True)
    for text in (
        head + second,
        head + first.replace("M. Post", "N. Post") + second,
        "",
        "x" * 200_000,
        "\0",
    ):
        register.write_text(text, encoding="utf-8")
        problems = verify_bundle(bundle).problems
        assert "letters/register.csv: was changed" in problems
        for words in (("--sent-by", "M. Post", "--ids", ids[0]), ("--workers", "1")):
            assert "register.csv: was changed since it was sealed; restore it" in one_line(
                command("letters", bundle, *words)
            )
    assert "letters/register.csv: is not a register of letters; restore it" in problems


def test_an_interrupted_command_leaves_the_register_as_it_was(
    bundle: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record(bundle, ids[0])
    before = contents(bundle)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NewFolder, "seal", interrupt)
        finished = command("letters", bundle, "--sent-by", "M. Post", "--ids", ids[1])
    assert finished.code == 130
    assert contents(bundle) == before
    assert record(bundle, ids[1]) == 1


def test_letters_that_are_signed_with_a_key_are_signed_again(bundle: Path, ids: list[str]) -> None:
    private, public = write_keys(bundle.parent, "key", 1)
    command("letters", bundle, "--workers", "1", "--sign", private)
    words = ("letters", bundle, "--sent-by", "M. Post", "--ids", ids[0])
    assert "is signed with a key; sign it again with --sign KEY" in one_line(command(*words))
    assert command(*words, "--sign", private).code == 0
    assert [row["id"] for row in rows_of(bundle)] == [ids[0]]
    problems = verify_bundle(bundle, read_public_key(public)).problems
    assert [problem for problem in problems if problem.startswith("letters/")] == []


@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=8)] * 9), max_size=4))
def test_any_register_is_read_as_it_was_written(cells: list[tuple[str, ...]]) -> None:
    from tempfile import TemporaryDirectory

    rows = tuple(
        dict(zip(COLUMNS, (str(number), *row), strict=True)) for number, row in enumerate(cells, 1)
    )
    with TemporaryDirectory() as place:
        (Path(place) / "register.csv").write_bytes(register_text(rows).encode())
        assert read_register(Path(place)) == rows
        assert read_register(Path(place) / "elsewhere") == ()
        for problem in check_register(Path(place)):
            assert "no. " in problem


def test_a_new_audit_does_not_delete_the_register(bundle: Path, ids: list[str]) -> None:
    place = bundle.parent
    again = request(place, bundle, sample=len(ids))
    record(bundle, ids[0])
    before = contents(bundle)
    with pytest.raises(InputError, match="has a register of letters that were sent"):
        run_here(replace(again, fresh=True))
    assert contents(bundle) == before
    shutil.move(bundle / "letters", place / "letters")
    assert run_here(replace(again, fresh=True)).subjects == len(ids)


# ---------------------------------------------------------------- addressees


def test_an_addressee_is_in_nothing_but_the_letter(bundle: Path) -> None:
    write_pages(bundle)
    record(bundle)
    private = (b"Alex Example", b"12 Mill Lane", b"alex@mail.example")
    holders = {
        name
        for name, content in contents(bundle).items()
        if any(text in content for text in private)
    }
    assert {Path(name).name.partition(".")[2] for name in holders} == {"html", "signed.json"}
    assert all(re.fullmatch(r"letters/\d{6}-.*", name) for name in holders)
