"""A folder of files made from a finished bundle, such as pages or letters, sealed by itself.

The evidence is not touched when pages are made again. Each folder has its own `manifest.json`, with
the digest of the bundle's manifest that it was made from, what it was made with, and a digest of
every file; and `checksums.txt` for `sha256sum -c`. Files are collected in a folder beside the one
that they replace, which they do when all are there; whatever goes wrong before, the folder beside
goes, and the one that was there stays.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from recourse_audit.bundle.layout import (
    CHECKSUMS,
    FOLDERS,
    MANIFEST,
    MARKER,
    NEW,
    OLD,
    SIGNATURE,
    is_ours,
    marker_text,
    read_plain,
    refuse_others,
    remove_folder,
    sync,
    write_plain,
)
from recourse_audit.bundle.manifest import SealedFolder, checksums_text, digest, digest_of
from recourse_audit.bundle.signature import Signer, is_signed
from recourse_audit.errors import DocumentError
from recourse_audit.records.bundle import DERIVED_FORMAT, DerivedManifest, MadeWith
from recourse_audit.records.codec import DERIVED_MANIFEST


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

    @property
    def old(self) -> Path:
        """Where the folder made before waits until the new one is in its place."""
        return self.bundle / f"{self.name}{OLD}"

    def tidy(self) -> None:
        """Clear up after a command that was killed: what was there stays, or comes back."""
        refuse_others(self.folder, self.name)
        if self.old.is_dir() and not self.folder.exists():
            self.old.replace(self.folder)
        remove_folder(self.old, self.name)
        remove_folder(self.new, self.name)

    @contextmanager
    def remake(self, made_with: MadeWith, signer: Signer | None = None) -> Iterator["NewFolder"]:
        """Give a folder to put files into, which then takes the place of this one.

        The lock of the bundle must be held.
        """
        self.tidy()
        new = NewFolder(self.new, self.name)
        try:
            yield new
            new.seal(self._manifest(made_with), signer)
            if self.folder.exists():
                self.folder.replace(self.old)
            self.new.replace(self.folder)
            sync(self.bundle)
            remove_folder(self.old, self.name)
        except BaseException:
            with suppress(OSError):  # what stopped this may keep anything from being removed
                remove_folder(self.new, self.name)
            raise

    def is_there(self, *, paper: bool) -> bool:
        """Whether the folder is there already, made from this bundle, whoever asked for it.

        Made where PDFs could not be, it is not complete once they can (`paper`).
        """
        content = read_plain(self.folder / MANIFEST)
        try:
            manifest = DERIVED_MANIFEST.read(content or b"")
        except DocumentError:
            return False
        same = manifest.of == digest(self.bundle / MANIFEST)
        return same and (manifest.made_with.paper or not paper)

    def _manifest(self, made_with: MadeWith) -> DerivedManifest:
        """The manifest before there are any files: what is made, from which bundle, for whom."""
        return DerivedManifest(
            format=DERIVED_FORMAT,
            of=digest(self.bundle / MANIFEST),
            made_with=made_with,
            signed_by=None,
            files={},
            content="",
        )


class NewFolder:
    """Files that wait beside the folder which they are to replace, with their digests."""

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        self._digests: dict[str, str] = {}
        path.mkdir()
        self.put(MARKER, marker_text(what))

    def put(self, name: str, content: bytes) -> None:
        """Write a file."""
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_plain(path, content)
        self._digests[name] = hashlib.sha256(content).hexdigest()

    def seal(self, unsealed: DerivedManifest, signer: Signer | None) -> None:
        """Write down what all files are, and wait until a power loss cannot take them."""
        files = dict(sorted(self._digests.items()))
        public = None if signer is None else signer.public
        text = manifest_text(replace(unsealed, signed_by=public, files=files))
        write_plain(self._path / MANIFEST, text.encode())
        if signer is not None:
            write_plain(self._path / SIGNATURE, signer.sign(text).encode())
        write_plain(self._path / CHECKSUMS, checksums_text(self._path, files).encode())
        os.sync()


def leftovers(bundle: Path) -> tuple[str, ...]:
    """Folders of ours that a command left which was killed; the next one removes them."""
    waiting = ((f"{name}{ending}", name) for name in FOLDERS for ending in (NEW, OLD))
    return tuple(
        folder
        for folder, what in waiting
        if (bundle / folder).is_dir() and is_ours(bundle / folder, what)
    )


def derived_problems(bundle: Path, public_key: str | None) -> Iterator[str]:
    """What is wrong with the pages and letters of a bundle, one line per problem."""
    for name in FOLDERS:
        if (bundle / name).is_dir():
            derived = DerivedFolder(bundle=bundle, name=name)
            yield from (f"{name}/{problem}" for problem in _problems(derived, public_key))


def _problems(derived: DerivedFolder, public_key: str | None) -> Iterator[str]:
    content = read_plain(derived.folder / MANIFEST)
    if content is None:
        yield f"{MANIFEST}: is missing"
        return
    try:
        manifest = DERIVED_MANIFEST.read(content)
    except DocumentError as error:
        yield f"{MANIFEST}: {error}"
        return
    if manifest_text(manifest).encode() != content:
        yield f"{MANIFEST}: was changed"
        return
    if manifest.of != digest(derived.bundle / MANIFEST):
        yield f"{MANIFEST}: was made from another bundle; make {derived.name} again"
    if MARKER not in manifest.files:
        yield f"{MARKER}: is not in the manifest"
    signer = manifest.signed_by
    sealed = SealedFolder(folder=derived.folder, digests=manifest.files, signed_by=signer)
    yield from (*sealed.find_added(), *sealed.find_altered(), *sealed.check_key(public_key))
    if signer is not None:
        signature = read_plain(derived.folder / SIGNATURE) or b""
        if not is_signed(content, signature.decode("utf-8", "replace"), signer):
            yield f"{SIGNATURE}: is not the signature of its manifest"
    yield from sealed.check_checksums()


def manifest_text(manifest: DerivedManifest) -> str:
    """The manifest as it is written, with a digest of everything else in it."""
    rest = replace(manifest, content="")
    return DERIVED_MANIFEST.write_indented(
        replace(rest, content=digest_of(DERIVED_MANIFEST.write(rest)))
    )
