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

from recourse_audit.run.bundle import CHECKSUMS, FOLDERS, MANIFEST, NEW, SIGNATURE
from recourse_audit.run.findings import compact
from recourse_audit.run.fingerprint import digest, digest_of
from recourse_audit.run.manifest import written
from recourse_audit.run.signing import Signer, is_signed

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
        (self.new / CHECKSUMS).write_text(_checksums(self.new, files), "utf-8", newline="\n")
        (self.new / FACTS).unlink()
        os.sync()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.new.replace(self.folder)


def rendered_problems(bundle: Path, public_key: str | None) -> Iterator[str]:
    """What is wrong with the rendered folders of a bundle, a line each."""
    for name in FOLDERS:
        if (bundle / name).is_dir():
            yield from _problems(Rendered(bundle=bundle, name=name), public_key)


def _problems(rendered: Rendered, public_key: str | None) -> Iterator[str]:
    folder, name = rendered.folder, rendered.name
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError:
        yield f"{name}/{MANIFEST}: is missing"
        return
    manifest = _manifest(content)
    if manifest is None:
        yield f"{name}/{MANIFEST}: was changed, or has another format"
        return
    if manifest["of"] != digest(rendered.bundle / MANIFEST):
        yield f"{name}/{MANIFEST}: was made from another bundle; make {name} again"
    files: dict[str, str] = manifest["files"]
    known = {*files, MANIFEST, CHECKSUMS, *([SIGNATURE] if manifest["signed_by"] else [])}
    for path in sorted(folder.rglob("*")):
        own = path.relative_to(folder).as_posix()
        if own not in known and not path.is_dir():
            yield f"{name}/{own}: was added"
    for own, value in files.items():
        path = folder / own
        if not path.is_file():
            yield f"{name}/{own}: is missing"
        elif digest(path) != value:
            yield f"{name}/{own}: was changed"
    yield from _seals(rendered, content, manifest, public_key)


def _seals(
    rendered: Rendered, content: bytes, manifest: dict[str, Any], public_key: str | None
) -> Iterator[str]:
    folder, name, signer = rendered.folder, rendered.name, manifest["signed_by"]
    if public_key is not None and signer != public_key:
        lacking = "is not signed" if signer is None else "is signed with another key"
        yield f"{name}/{MANIFEST}: {lacking}"
    if signer is not None:
        signature = folder / SIGNATURE
        text = signature.read_text("utf-8", "replace") if signature.is_file() else ""
        if not is_signed(content, text, signer):
            yield f"{name}/{SIGNATURE}: is not the signature of its manifest"
    there = folder / CHECKSUMS
    if not there.is_file():
        yield f"{name}/{CHECKSUMS}: is missing"
    elif there.read_bytes() != _checksums(folder, manifest["files"]).encode():
        yield f"{name}/{CHECKSUMS}: was changed, or does not agree with the manifest"


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


def _checksums(folder: Path, files: dict[str, str]) -> str:
    signature = folder / SIGNATURE
    more = {MANIFEST: digest(folder / MANIFEST)}
    more |= {SIGNATURE: digest(signature)} if signature.is_file() else {}
    return "".join(f"{value}  {name}\n" for name, value in sorted((files | more).items()))
