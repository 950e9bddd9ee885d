"""A folder of files made from a finished bundle, such as pages or letters, sealed by itself.

The evidence is not touched when pages are made again. Each folder has its own `manifest.json`, with
the digest of the bundle's manifest that it was made from, what it was made with, and a digest of
every file; and `checksums.txt` for `sha256sum -c`. Files are collected in a folder beside it, which
takes its place when all are there; made again with the same facts, what is there is kept.
"""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recourse_audit.bundle.layout import CHECKSUMS, FOLDERS, MANIFEST, NEW, SIGNATURE
from recourse_audit.records.codec import compact
from recourse_audit.bundle.digests import digest, digest_of
from recourse_audit.bundle.manifest import written
from recourse_audit.bundle.seal import Sealed, checksums_text, read
from recourse_audit.bundle.signature import Signer, is_signed

FORMAT = 1
FACTS = "facts.json"
OURS = {MANIFEST, CHECKSUMS, SIGNATURE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """One such folder of a bundle.

    Parameters
    ----------
    bundle
        The folder of the bundle.
    name
        One of `FOLDERS`.
    """

    bundle: Path
    name: str

    @property
    def folder(self) -> Path:
        return self.bundle / self.name

    @property
    def new(self) -> Path:
        """Where files wait until all are there."""
        return self.bundle / f"{self.name}{NEW}"

    def begin(self, facts: dict[str, Any]) -> None:
        """Get ready to collect files; those of an attempt with the same facts are kept."""
        whole = {"format": FORMAT, "of": digest(self.bundle / MANIFEST), **facts}
        text = written(whole)
        kept = self.new / FACTS
        if not kept.is_file() or kept.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.new, ignore_errors=True)
            self.new.mkdir()
            kept.write_text(text, encoding="utf-8", newline="\n")
        for name in OURS:
            (self.new / name).unlink(missing_ok=True)

    def is_there(self, *, paper: bool) -> bool:
        """Whether the folder is there already, made of this bundle, whoever asked for it.

        Made where no PDF could be, it is not all there once one can (`paper`).
        """
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            made_of = manifest["of"] == digest(self.bundle / MANIFEST)
            return bool(made_of and (manifest["paper"] or not paper))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def has(self, name: str) -> bool:
        """Whether a file is there, whole."""
        path = self.new / name
        return path.is_file() and path.stat().st_size > 0

    def put(self, name: str, content: bytes) -> None:
        """Write a file, at once or not at all."""
        path = self.new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(content)
        part.replace(path)

    def seal(self, names: set[str], signer: Signer | None = None) -> None:
        """Write down what all files are, and put the folder in its place.

        Only the files named stay, so that nothing is left of an attempt that made others.
        """
        for path in sorted(self.new.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file() and path.relative_to(self.new).as_posix() not in {*names, FACTS}:
                path.unlink()
        facts = json.loads((self.new / FACTS).read_text(encoding="utf-8"))
        files = {name: digest(self.new / name) for name in sorted(names)}
        public = None if signer is None else signer.public
        text = _sealed({**facts, "signed_by": public, "files": files})
        (self.new / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
        if signer is not None:
            (self.new / SIGNATURE).write_text(signer.sign(text), encoding="utf-8", newline="\n")
        (self.new / CHECKSUMS).write_text(checksums_text(self.new, files), "utf-8", newline="\n")
        (self.new / FACTS).unlink()
        os.sync()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.new.replace(self.folder)


def rendered_problems(bundle: Path, public_key: str | None) -> Iterator[str]:
    """What is wrong with the rendered folders of a bundle, a line each."""
    for name in FOLDERS:
        if (bundle / name).is_dir():
            rendered = Rendered(bundle=bundle, name=name)
            yield from (f"{name}/{problem}" for problem in _problems(rendered, public_key))


def _problems(rendered: Rendered, public_key: str | None) -> Iterator[str]:
    content = read(rendered.folder / MANIFEST)
    manifest = None if content is None else _manifest(content)
    if content is None or manifest is None:
        lacking = "is missing" if content is None else "was changed, or has another format"
        yield f"{MANIFEST}: {lacking}"
        return
    if manifest["of"] != digest(rendered.bundle / MANIFEST):
        yield f"{MANIFEST}: was made from another bundle; make {rendered.name} again"
    signer = manifest["signed_by"]
    sealed = Sealed(folder=rendered.folder, digests=manifest["files"], signed_by=signer)
    yield from (*sealed.added(), *sealed.altered(), *sealed.unsigned(public_key))
    if signer is not None:
        signature = rendered.folder / SIGNATURE
        text = signature.read_text("utf-8", "replace") if signature.is_file() else ""
        if not is_signed(content, text, signer):
            yield f"{SIGNATURE}: is not the signature of its manifest"
    yield from sealed.unchecked()


def _manifest(content: bytes) -> dict[str, Any] | None:
    try:
        manifest: dict[str, Any] = json.loads(content)
        rest = {key: value for key, value in manifest.items() if key != "content"}
        whole = {"of", "signed_by", "files"} <= set(manifest) and manifest["format"] == FORMAT
        same = whole and _sealed(rest).encode() == content
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return manifest if same else None


def _sealed(manifest: dict[str, Any]) -> str:
    """The manifest as it is written, with a digest of the rest at its end."""
    return written(manifest | {"content": digest_of(compact(manifest))})
