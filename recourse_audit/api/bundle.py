"""`Bundle`: what an audit of many found, and what can be made from it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recourse_audit.api.clock import today
from recourse_audit.errors import InputError, SubjectError
from recourse_audit.records import Record

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from recourse_audit.records.bundle import Manifest, Verification
    from recourse_audit.records.groups import GroupReport
    from recourse_audit.records.model import Agreement, Repeats
    from recourse_audit.records.recourse import RecourseStatus
    from recourse_audit.records.subject import SubjectReport
    from recourse_audit.render.batch import RenderOptions
    from recourse_audit.render.letter_facts import SignOff
    from recourse_audit.render.pages.write_pages import WrittenPages
    from recourse_audit.render.signing import Ids
    from recourse_audit.render.write_letters import WrittenLetters
    from recourse_audit.settings import Settings

Level = Literal["auditor", "reviewer", "subject"]


def _html(record: Record) -> str:
    from recourse_audit.render.notebook import html_of

    return html_of(record)


Record.html = staticmethod(_html)


class Bundle:
    """A folder that `Audit.run` wrote: reports on subjects, groups, pages, letters, evidence.

    `was_finished` says whether the `run` that returned it found everything done already.
    """

    def __init__(self, folder: Path | str, *, was_finished: bool = False) -> None:
        self.folder = Path(folder)
        self.was_finished = was_finished

    def __repr__(self) -> str:
        return f"Bundle({str(self.folder)!r}, {len(self):,} subjects)"

    def __len__(self) -> int:
        return sum(self.statuses.values())

    @property
    def statuses(self) -> "dict[RecourseStatus, int]":
        """How many subjects have each status."""
        from recourse_audit.bundle.manifest import count_results
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            return count_results(stored.connection).statuses

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know about the model and the graph before any figure."""
        return tuple(self._manifest.probes.notes.values())

    @property
    def repeats(self) -> "Repeats":
        """How many calls of the model were repeated, and how many with a different answer."""
        return self._manifest.counts.repeats

    @property
    def _manifest(self) -> "Manifest":
        from recourse_audit.bundle.manifest import read_manifest

        return read_manifest(self.folder)

    def __getitem__(self, subject: str) -> "SubjectReport":
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            number = stored.number_of(subject)
            if number is None:
                raise SubjectError(f"{self.folder}: there is no subject {subject!r} in this audit")
            return stored.report(number)

    def __iter__(self) -> "Iterator[SubjectReport]":
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            for result in stored.results():
                yield result.report

    @property
    def agreement(self) -> "Agreement | None":
        """How the decisions on record agree with the model's; None if none are on record."""
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            return stored.agreement

    @property
    def settings(self) -> "Settings":
        """The settings of the audit."""
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            return stored.settings

    def groups(self) -> "GroupReport":
        """Gaps between groups, with their uncertainty."""
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            if stored.finished:
                return stored.group_report()
            from recourse_audit.groups.report import groups_of

            return stored.with_days(groups_of(stored))

    def write_pages(
        self,
        *,
        level: Level = "auditor",
        language: str = "en",
        auditor: str = "",
        pdf: bool = False,
        templates: Path | str | None = None,
        workers: int | None = None,
        sign: Path | str | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> "WrittenPages":
        """Write reports, group report and index into `pages/`.

        Without `again`, pages that were made from this bundle before are kept.
        """
        from recourse_audit.render.pages.write_pages import PageOptions, write_pages

        options = PageOptions(
            level=level, language=language, auditor=auditor, pdf=pdf, templates=_path(templates)
        )
        with _render_options(workers, sign, again, progress) as work:
            return write_pages(self.folder, options, work)

    def write_letters(
        self,
        *,
        language: str | None = None,
        sign_off: str | None = None,
        day: date | None = None,
        ids: "Iterable[str] | Literal['all'] | None" = None,
        accept: Iterable[str] = (),
        reopen: bool = False,
        reviewed: Path | str | None = None,
        settings: Path | str | None = None,
        reasons: Path | str | None = None,
        addresses: Path | str | None = None,
        names: Path | str | None = None,
        templates: Path | str | None = None,
        workers: int | None = None,
        sign: Path | str | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> "WrittenLetters":
        """Write letters to the subjects into `letters/`: drafts, unless somebody signs them off.

        Letters that were signed off before stay as they are; if they would now read differently,
        nothing is written.

        Parameters
        ----------
        language
            In place of `letters.language` of the settings.
        sign_off, day
            Who answers for the letters in `ids`, and the day on them (today if not given).
        ids
            The subjects whose letters are signed off; "all" is every letter without a cause
            against it. What is refused is in `refused` of the result.
        accept
            Causes that do not keep the letters in `ids` from being signed off: "fragile",
            "no-reason", "ties-only", "unreviewed".
        reopen
            Make the letters in `ids` drafts again.
        reviewed
            CSV: who has read whose draft (`id`, `reviewer`, `reviewed`, and perhaps `draft`).
        settings
            An `audit.toml` whose [letters] replace those of the bundle.
        reasons, addresses
            CSV files: reasons that a person has confirmed, and where letters go.
        names
            CSV with everybody's id and names: reasons that name somebody else are refused.
        """
        from recourse_audit.render.signing import Signing
        from recourse_audit.render.write_letters import LetterOptions, write_letters

        options = LetterOptions(
            templates=_path(templates),
            settings=_path(settings),
            language=language,
            reasons=_path(reasons),
            addresses=_path(addresses),
            names=_path(names),
            reviewed=_path(reviewed),
            signing=Signing(
                by=_sign_off(sign_off, day),
                ids=_ids(ids),
                accept=frozenset(accept),
                reopen=reopen,
            ),
        )
        with _render_options(workers, sign, again, progress) as work:
            return write_letters(self.folder, options, work)

    def verify(self, *, key: Path | str | None = None) -> "Verification":
        """Check every file, the counts, the events and the signature, without the model."""
        from recourse_audit.bundle.signature import read_public_key
        from recourse_audit.bundle.verification import verify_bundle

        return verify_bundle(self.folder, None if key is None else read_public_key(Path(key)))

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Folders that `write_pages` or `write_letters` left when it was killed."""
        from recourse_audit.bundle.derived_folder import leftovers

        return leftovers(self.folder)

    def replay(self, settings: Path | str, count: int, *, seed: int = 0) -> tuple[str, ...]:
        """Work out a sample of subjects again, and name what differs, one line each."""
        from recourse_audit.audit.load import load_audit
        from recourse_audit.bundle.manifest import read_manifest
        from recourse_audit.execute.pipeline import replay

        audit = load_audit(settings, seed=read_manifest(self.folder).seed)
        return tuple(replay(self.folder, audit, Path(settings), count, seed))

    def to_arrow(self) -> "pa.Table":
        """One row per subject: the summary, probabilities and groups."""
        from recourse_audit.bundle.reader import open_stored_audit
        from recourse_audit.bundle.tables import arrow_table

        with open_stored_audit(self.folder) as stored:
            return arrow_table(stored)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame; needs pandas, which this package does not install."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError:
            raise InputError("to_pandas() needs pandas; install it, or use to_arrow()") from None


def open_bundle(folder: Path | str) -> Bundle:
    """Open a folder that `Audit.run` or `recourse-audit run` wrote."""
    from recourse_audit.bundle.reader import open_stored_audit

    with open_stored_audit(Path(folder)):
        return Bundle(folder)


@contextmanager
def _render_options(
    workers: int | None, sign: Path | str | None, again: bool, progress: bool
) -> "Iterator[RenderOptions]":
    from recourse_audit.bundle.signature import read_signer
    from recourse_audit.render.batch import RenderOptions
    from recourse_audit.render.terminal.progress import steps_on_stderr

    with steps_on_stderr(shown=progress) as steps:
        yield RenderOptions(
            workers=os.cpu_count() or 1 if workers is None else workers,
            signer=None if sign is None else read_signer(Path(sign)),
            again=again,
            begin=steps.begin,
            done=steps.advance,
        )


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _ids(given: "Iterable[str] | None") -> "Ids":
    """The ids of letters; a text other than "all" is one id, and not a list of characters."""
    if given is None or given == "all":
        return given
    return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))


def _sign_off(name: str | None, day: date | None) -> "SignOff | None":
    from recourse_audit.render.letter_facts import SignOff
    from recourse_audit.render.letter_inputs import Signer
    from recourse_audit.render.text import plain

    if name is None:
        return None
    if not name.strip():
        raise InputError("--sign-off needs the name of a person")
    return SignOff(name=Signer(plain(name.strip())), day=day or today())
