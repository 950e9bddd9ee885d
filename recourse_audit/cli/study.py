"""`study`: the paper's human study, as a page for those who answer, and its analysis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from recourse_audit.cli.printing import Templates, say, write
from recourse_audit.errors import DocumentError, InputError

if TYPE_CHECKING:
    from recourse_audit.records.study import StudyAnswers, StudyKey
    from recourse_audit.render.templates import Templates as Sources


def study(
    paths: Annotated[
        list[Path],
        Argument(help="The folder that `run` wrote; with --analyse, the files with answers."),
    ],
    out: Annotated[Path, Option(metavar="DIR", help="The folder of the study, in both steps.")],
    subjects: Annotated[int, Option(min=2, max=50, help="How many people to show.")] = 5,
    seed: Annotated[int, Option(min=0, help="Random seed: whom to show, in which order.")] = 0,
    analyse: Annotated[bool, Option("--analyse", help="Analyse answers to the study.")] = False,
    language: Annotated[str, Option(help="Language of the page: en, de, fr or es.")] = "en",
    information: Annotated[
        Path | None,
        Option(help="A text file: who asks, what for, and whom to turn to; the page begins so."),
    ] = None,
    templates: Templates = None,
) -> None:
    """Ask people whether explanations convince them, and analyse what they answer.

    The first step writes a page to send to participants, and a key to keep; with --analyse, the
    second reads the key and the files that participants have saved.
    """
    from recourse_audit.render import templates as sources_of

    sources = sources_of.Templates(templates)
    if analyse:
        _analyse(paths, out, language, sources)
        return
    from recourse_audit.bundle.reader import open_finished_audit
    from recourse_audit.render.study import KEY, PAGE, make_study

    if len(paths) > 1:
        raise InputError(f"{paths[1]}: study takes one bundle; to read answers, add --analyse")
    about = _read(information) if information else ""
    with open_finished_audit(paths[0]) as stored:
        files = make_study(stored, subjects, seed, language, sources, about)
    key = out / KEY
    if key.exists() and key.read_bytes() != files[KEY]:
        raise InputError(f"{out}: holds another study, whose answers need its key; choose another")
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write(out / name, content.decode())
    say(f"{out / PAGE}: send this to participants; {2 * subjects} cases after 2 to practise on")
    say(f"{key}: keep this, and do not show it; it says what is high and low, and names people")
    if not about.strip():
        say("! The page does not say who asks, what for, and whom to turn to: add --information")
    say(f"Then: recourse-audit study --analyse ANSWERS.json … --out {out}")


def _analyse(paths: list[Path], out: Path, language: str, sources: "Sources") -> None:
    from recourse_audit.bundle.manifest import digest_of
    from recourse_audit.groups.study import analyse
    from recourse_audit.records.codec import STUDY_ANALYSIS, STUDY_KEY
    from recourse_audit.render.i18n import Words
    from recourse_audit.render.study import KEY, AnalysisPage

    text = _read(out / KEY)
    try:
        key = STUDY_KEY.read(text)
    except DocumentError as error:
        raise InputError(f"{out / KEY}: {error}") from None
    answers = _read_answers(paths, key, digest_of(text))
    analysis = analyse(key, digest_of(text), answers)
    page = AnalysisPage(words=Words(language, sources), analysis=analysis, key=key)
    write(out / "analysis.json", STUDY_ANALYSIS.write_indented(analysis))
    write(out / "analysis.html", sources.render("pages/study_analysis.html", view=page))
    left_out = f", {len(analysis.left_out)} left out" if analysis.left_out else ""
    say(f"{out / 'analysis.html'}: {analysis.participants} participants{left_out}")


def _read_answers(paths: list[Path], key: "StudyKey", study: str) -> list["StudyAnswers"]:
    """The answers in some files; any that cannot be counted is refused."""
    from recourse_audit.records.codec import STUDY_ANSWERS

    answers: dict[str, StudyAnswers] = {}
    for path in paths:
        try:
            given = STUDY_ANSWERS.read(_read(path))
        except DocumentError as error:
            raise InputError(f"{path}: {error}; ask for the file again, or leave it out") from None
        if given.study != study:
            raise InputError(f"{path}: answers another study than the one of this --out")
        if len(given.answers) != len(key.cases):
            raise InputError(
                f"{path}: answers {len(given.answers)} of {len(key.cases)} cases; leave it out"
            )
        if given.participant in answers:
            raise InputError(
                f"{path}: the code {given.participant!r} is in another file too; leave one out"
            )
        answers[given.participant] = given
    return list(answers.values())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read; name a file of this study") from None
