"""A folder of files made from a finished bundle, such as pages or letters, sealed by itself.

The evidence is not touched when pages are made again. Each folder has its own `manifest.json`, with
the digest of the bundle's manifest that it was made from, what it was made with, and a digest of
every file; and `checksums.txt` for `sha256sum -c`. Files are collected in a folder beside it, which
takes its place when all are there; made again with the same, what is there is kept.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from recourse_audit.bundle.layout import CHECKSUMS, FOLDERS, MANIFEST, NEW, SIGNATURE
from recourse_audit.bundle.seal import SealedFolder, checksums_text, digest, digest_of, read
from recourse_audit.bundle.signature import Signer, is_signed
from recourse_audit.errors import DocumentError
from recourse_audit.records.codec import DERIVED_MANIFEST
from recourse_audit.records.manifest import DERIVED_FORMAT, DerivedManifest, MadeWith

BEGUN = "begun.json"
OURS = {MANIFEST, CHECKSUMS, SIGNATURE}


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedFolder:
    """One such folder of a bundle, by the folder of the bundle and its own name."""

    bundle: Path
    name: Literal["pages", "letters"]

    @property
    def folder(self) -> Path:
        return self.bundle / self.name

    @property
    def new(self) -> Path:
        """Where files wait until all are there."""
        return self.bundle / f"{self.name}{NEW}"

    def begin(self, made_with: MadeWith) -> None:
        """Get ready to collect files; those of an attempt made with the same are kept."""
        text = _text(self._unsealed(made_with))
        kept = self.new / BEGUN
        if not kept.is_file() or kept.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.new, ignore_errors=True)
            self.new.mkdir()
            kept.write_text(text, encoding="utf-8", newline="\n")
        for name in OURS:
            (self.new / name).unlink(missing_ok=True)

    def is_there(self, *, paper: bool) -> bool:
        """Whether the folder is there already, made from this bundle, whoever asked for it.

        Made where PDFs could not be, it is not complete once they can (`paper`).
        """
        content = read(self.folder / MANIFEST)
        try:
            manifest = DERIVED_MANIFEST.read(content or b"")
        except DocumentError:
            return False
        same = manifest.of == digest(self.bundle / MANIFEST)
        return same and (manifest.made_with.paper or not paper)

    def has(self, name: str) -> bool:
        """Whether a file is there and complete."""
        path = self.new / name
        return path.is_file() and path.stat().st_size > 0

    def put(self, name: str, content: bytes) -> None:
        """Write a file, completely or not at all."""
        path = self.new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(content)
        part.replace(path)

    def seal(self, made_with: MadeWith, names: set[str], signer: Signer | None = None) -> None:
        """Write down what all files are, and put the folder in its place.

        Only the files named stay, so that nothing is left of an attempt that made others.
        """
        for path in sorted(self.new.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file() and path.relative_to(self.new).as_posix() not in names:
                path.unlink()
        files = {name: digest(self.new / name) for name in sorted(names)}
        public = None if signer is None else signer.public
        text = _text(replace(self._unsealed(made_with), signed_by=public, files=files))
        (self.new / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
        if signer is not None:
            (self.new / SIGNATURE).write_text(signer.sign(text), encoding="utf-8", newline="\n")
        (self.new / CHECKSUMS).write_text(checksums_text(self.new, files), "utf-8", newline="\n")
        os.sync()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.new.replace(self.folder)

    def _unsealed(self, made_with: MadeWith) -> DerivedManifest:
        return DerivedManifest(
            format=DERIVED_FORMAT,
            of=digest(self.bundle / MANIFEST),
            made_with=made_with,
            signed_by=None,
            files={},
            content="",
        )


def derived_problems(bundle: Path, public_key: str | None) -> Iterator[str]:
    """What is wrong with the pages and letters of a bundle, one line per problem."""
    for name in FOLDERS:
        if (bundle / name).is_dir():
            derived = DerivedFolder(bundle=bundle, name=name)
            yield from (f"{name}/{problem}" for problem in _problems(derived, public_key))


def _problems(derived: DerivedFolder, public_key: str | None) -> Iterator[str]:
    content = read(derived.folder / MANIFEST)
    if content is None:
        yield f"{MANIFEST}: is missing"
        return
    try:
        manifest = DERIVED_MANIFEST.read(content)
    except DocumentError as error:
        yield f"{MANIFEST}: {error}"
        return
    if _text(manifest).encode() != content:
        yield f"{MANIFEST}: was changed"
        return
    if manifest.of != digest(derived.bundle / MANIFEST):
        yield f"{MANIFEST}: was made from another bundle; make {derived.name} again"
    signer = manifest.signed_by
    sealed = SealedFolder(folder=derived.folder, digests=manifest.files, signed_by=signer)
    yield from (*sealed.added(), *sealed.altered(), *sealed.unsigned(public_key))
    if signer is not None:
        signature = derived.folder / SIGNATURE
        text = signature.read_text("utf-8", "replace") if signature.is_file() else ""
        if not is_signed(content, text, signer):
            yield f"{SIGNATURE}: is not the signature of its manifest"
    yield from sealed.unchecked()


def _text(manifest: DerivedManifest) -> str:
    """The manifest as it is written, with a digest of everything else in it."""
    rest = replace(manifest, content="")
    return DERIVED_MANIFEST.write_indented(
        replace(rest, content=digest_of(DERIVED_MANIFEST.write(rest)))
    )
