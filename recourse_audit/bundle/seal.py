"""Digests, and how a sealed folder is checked against them: a bundle, or what is made from one.

Each problem is one line that begins with the file it is about, as it is named inside the folder.
"""

import hashlib
import platform
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.layout import CHECKSUMS, MANIFEST, SIGNATURE
from recourse_audit.bundle.plain_files import read_plain

PACKAGES = ("recourse-audit", "networkx", "numpy", "onnxruntime", "pyarrow", "scipy")


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """The program first, then packages by name, then Python and SQLite."""
    found = {name: version(name) for name in PACKAGES}
    return found | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFolder:
    """A folder as its manifest says it is: a digest of every file, and whose key signed it."""

    folder: Path
    digests: dict[str, str]
    signed_by: str | None

    def added(self, *more: str, apart: tuple[str, ...] = ()) -> Iterator[str]:
        """Files that the manifest does not name, nor `more`; folders `apart` have their own."""
        known = {*self.digests, *more, MANIFEST, CHECKSUMS}
        known |= {SIGNATURE} if self.signed_by else set()
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            is_apart = len(inside.parts) > 1 and inside.parts[0] in apart
            if inside.as_posix() not in known and not is_apart and not path.is_dir():
                yield f"{inside.as_posix()}: was added"

    def altered(self) -> Iterator[str]:
        """Files that are missing or were changed."""
        for name, value in self.digests.items():
            path = self.folder / name
            if not path.is_file():
                yield f"{name}: is missing"
            elif digest(path) != value:
                yield f"{name}: was changed"

    def unsigned(self, public_key: str | None) -> Iterator[str]:
        """A problem if it is not signed with the expected key."""
        if public_key is not None and self.signed_by != public_key:
            lacking = "is not signed" if self.signed_by is None else "is signed with another key"
            yield f"{MANIFEST}: {lacking}"

    def unchecked(self) -> Iterator[str]:
        """A problem if the checksums are not those of the manifest."""
        content = read_plain(self.folder / CHECKSUMS)
        if content is None:
            yield f"{CHECKSUMS}: is missing"
        elif content != checksums_text(self.folder, self.digests).encode():
            yield f"{CHECKSUMS}: was changed, or does not agree with the manifest"


def checksums_text(folder: Path, digests: dict[str, str]) -> str:
    """Digests in the form that `sha256sum -c` reads, of all files and the manifest itself."""
    signature = folder / SIGNATURE
    more = {MANIFEST: digest(folder / MANIFEST)}
    more |= {SIGNATURE: digest(signature)} if signature.is_file() else {}
    return "".join(f"{value}  {name}\n" for name, value in sorted((digests | more).items()))
