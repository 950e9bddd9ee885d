"""Pages or letters while they are made: nothing of an interrupted attempt is taken on trust.

Files are collected in a folder beside the one that they replace, which they do when all are there.
What was begun is written down first: from which bundle, with which templates, for which readers,
signed off by whom. Each file has a record, a digest of that, its name and its content, so that a
file made for other readers is never taken for one of these. Runs of subjects that are finished are
noted with the records of their files; with a key to sign with, the notes are signed, too. An
attempt made with the same continues with the files that still are what was noted, and makes all
others again.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from recourse_audit.bundle.derived_folder import DerivedFolder, manifest_text
from recourse_audit.bundle.layout import CHECKSUMS, MANIFEST, SIGNATURE
from recourse_audit.bundle.plain_files import (
    MARKER,
    is_marked,
    marker_of,
    read_plain,
    refuse_irregular,
    refuse_others,
    remove_folder,
    sync,
    write_plain,
)
from recourse_audit.bundle.seal import checksums_text, digest_of
from recourse_audit.bundle.signature import Signer
from recourse_audit.errors import InputError
from recourse_audit.records.manifest import MadeWith

BEGUN = "begun.json"
FINISHED = ".finished"


class Attempt:
    """Collects the files of a folder; the lock of the bundle must be held."""

    def __init__(
        self, derived: DerivedFolder, made_with: MadeWith, signer: Signer | None = None
    ) -> None:
        """Begin, or resume an attempt that was made with the same."""
        self.derived = derived
        self._signer = signer
        self._unsealed = derived.unsealed(made_with)
        self._records: dict[str, str] = {}
        begun = manifest_text(self._unsealed).encode()
        self._begun = hashlib.sha256(begun).digest()
        refuse_others(derived.folder, derived.name)
        derived.tidy()
        if read_plain(self._new / BEGUN) != begun or not is_marked(self._new, derived.name):
            remove_folder(self._new, derived.name)
            self._new.mkdir()
            write_plain(self._new / MARKER, marker_of(derived.name))
            write_plain(self._new / BEGUN, begun)
        refuse_irregular(self._new)
        self._records[MARKER] = self._record(MARKER, marker_of(derived.name))

    @property
    def _new(self) -> Path:
        return self.derived.new

    def put(self, name: str, content: bytes) -> None:
        """Write a file, completely or not at all."""
        self._write(name, content)
        self._records[name] = self._record(name, content)

    def finish(self, run: str, names: Iterable[str]) -> None:
        """Note that a run of subjects is finished, and what its files are."""
        records = {name: self._records[name] for name in names}
        note = json.dumps({"run": run, "files": records})
        signed = json.dumps({"note": note, "signed": self._signed(note)})
        self._write(f"{FINISHED}/{run}", signed.encode())

    def resume(self, run: str) -> bool:
        """Whether a run of subjects was finished, and its files are still what they were."""
        records = self._noted(run)
        if records is None:
            return False
        for name, record in records.items():
            content = read_plain(self._new / name)
            if content is None or self._record(name, content) != record:
                return False
        self._records.update(records)
        return True

    def seal(self) -> None:
        """Write down what all files are, and put the folder in its place.

        Only files that were put here stay, and only if they are what was put here.
        """
        self._remove_others()
        files = {name: self._digest(name) for name in sorted(self._records)}
        signer = self._signer
        public = None if signer is None else signer.public
        text = manifest_text(replace(self._unsealed, signed_by=public, files=files))
        write_plain(self._new / MANIFEST, text.encode())
        if signer is not None:
            write_plain(self._new / SIGNATURE, signer.sign(text).encode())
        write_plain(self._new / CHECKSUMS, checksums_text(self._new, files).encode())
        os.sync()
        if self.derived.folder.exists():
            self.derived.folder.replace(self.derived.old)
        self._new.replace(self.derived.folder)
        sync(self.derived.bundle)
        remove_folder(self.derived.old, self.derived.name)

    def _remove_others(self) -> None:
        for path in sorted(self._new.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif not path.is_dir() and path.relative_to(self._new).as_posix() not in self._records:
                path.unlink()

    def _digest(self, name: str) -> str:
        content = read_plain(self._new / name)
        if content is None or self._record(name, content) != self._records[name]:
            raise InputError(
                f"{self._new / name}: was changed while {self.derived.name} were made; rerun the "
                "same command to make it again"
            )
        return hashlib.sha256(content).hexdigest()

    def _record(self, name: str, content: bytes) -> str:
        own = hashlib.sha256(content).hexdigest()
        return digest_of(json.dumps([self._begun.hex(), name, own]))

    def _signed(self, note: str) -> str:
        return digest_of(note) if self._signer is None else self._signer.sign(note)

    def _noted(self, run: str) -> dict[str, str] | None:
        """The records of a run that was finished; None if the note is missing or not ours."""
        content = read_plain(self._new / FINISHED / run)
        try:
            signed = json.loads(content or b"")
            note = json.loads(signed["note"])
            ours = signed["signed"] == self._signed(signed["note"]) and note["run"] == run
            return (
                {str(name): str(record) for name, record in note["files"].items()} if ours else None
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _write(self, name: str, content: bytes) -> None:
        path = self._new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        write_plain(part, content)
        part.replace(path)
