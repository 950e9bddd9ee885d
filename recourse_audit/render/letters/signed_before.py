"""Letters that were signed off before: they stay as they are, byte for byte.

They may have been sent, and the folder is the record of what people were told. So a letter is kept
with its name and its date until somebody reopens it; if it would now read differently, nothing is
written, and the command says which letters these are.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from recourse_audit.bundle.derived_folder import DerivedFolder
from recourse_audit.bundle.layout import MANIFEST, read_plain
from recourse_audit.bundle.manifest import digest
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import DerivedManifest, SignedLetter
from recourse_audit.records.codec import DERIVED_MANIFEST, SIGNED_LETTER
from recourse_audit.render.batch import Files, file_name
from recourse_audit.render.letters.signing import TABLE
from recourse_audit.render.text import plain

SIGNED = ".signed.json"
ALLOWED = ".allowed.json"
MOST_NAMED = 5


def signed_before(derived: DerivedFolder, names: Mapping[int, str]) -> dict[int, SignedLetter]:
    """The letters of the folder that are signed off, by the number of their subject.

    Raises
    ------
    InputError
        There are signed letters, but not of this bundle, or not as they were sealed.
    """
    folder = derived.folder
    there = any(folder.glob(f"*{SIGNED}"))
    manifest = _manifest(folder)
    sealed = manifest is not None and any(name.endswith(SIGNED) for name in manifest.files)
    if not there and not sealed:
        return {}
    if manifest is None or not there or manifest.of != digest(derived.bundle / MANIFEST):
        raise InputError(
            f"{folder}: has letters that were signed off, and not by this version from this "
            "bundle; move the folder elsewhere to keep them, and run the command again"
        )
    return dict(_records(folder, names, manifest))


def drafts_before(derived: DerivedFolder, names: Mapping[int, str]) -> dict[int, str]:
    """The fingerprints of drafts that are still as they were sealed, by number.

    Signing one letter off need not make all drafts again.
    """
    folder, manifest = derived.folder, _manifest(derived.folder)
    if manifest is None or manifest.of != digest(derived.bundle / MANIFEST):
        return {}
    table = read_plain(folder / TABLE) or b""
    if sha256(table).hexdigest() != manifest.files.get(TABLE):
        return {}
    rows = csv.DictReader(table.decode().splitlines())
    drafts = {row["letter"]: row["draft"] for row in rows if row["status"] != "signed"}
    found = {number: file_name(number, own) for number, own in names.items()}
    return {
        number: drafts[name]
        for number, name in found.items()
        if name in drafts and _changed(folder, name, manifest) is None
    }


def files_of(folder: Path, name: str) -> Files:
    """All files of a letter, as they are."""
    found = {file: read_plain(folder / file) for file in _possible(name)}
    return {file: content for file, content in found.items() if content is not None}


def reads_the_same(before: bytes, now: str) -> bool:
    """Whether two letters say the same; their style may differ."""
    return before.decode("utf-8", "replace").partition("<body")[2] == now.partition("<body")[2]


def refuse_changed(changed: Sequence[str]) -> None:
    """Refuse to write if letters that are signed off would read differently."""
    if not changed:
        return
    named = plain(",".join(changed[:MOST_NAMED]))
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    raise InputError(
        f"these letters are signed off and would now read differently: {named}{more}; give the "
        "settings, language, templates and files that they were signed with, or make them drafts "
        "again with --reopen and --ids"
    )


def _manifest(folder: Path) -> DerivedManifest | None:
    try:
        return DERIVED_MANIFEST.read(read_plain(folder / MANIFEST) or b"")
    except DocumentError:
        return None


def _records(
    folder: Path, names: Mapping[int, str], manifest: DerivedManifest
) -> Iterator[tuple[int, SignedLetter]]:
    for number, own in names.items():
        name = file_name(number, own)
        if f"{name}{SIGNED}" not in manifest.files:
            continue
        file = _changed(folder, name, manifest)
        if file is not None:
            raise InputError(
                f"{folder / file}: belongs to a letter that is signed off, and was changed, added "
                "or removed since; restore it, or move the folder elsewhere"
            )
        try:
            yield number, SIGNED_LETTER.read(files_of(folder, name)[f"{name}{SIGNED}"])
        except DocumentError as error:
            raise InputError(f"{folder / name}{SIGNED}: {error}") from None


def _changed(folder: Path, name: str, manifest: DerivedManifest) -> str | None:
    """The first file of a letter that is not what was sealed."""
    files = files_of(folder, name)
    for file in _possible(name):
        content = files.get(file)
        now = None if content is None else sha256(content).hexdigest()
        if now != manifest.files.get(file):
            return file
    return None


def _possible(name: str) -> tuple[str, ...]:
    return tuple(f"{name}{ending}" for ending in (".html", ".pdf", SIGNED, ALLOWED))
