"""A bundle is checked without the model: every file, the counts, the chunks, the signature.

Each problem is one line that begins with the file it is about.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from recourse_audit.bundle.layout import (
    CHECKSUMS,
    DERIVED,
    FILES,
    FOLDERS,
    LOG,
    MANIFEST,
    MARKER,
    SIGNATURE,
    STORE,
    BundleFolder,
    find_irregular,
    is_ours,
    read_plain,
)
from recourse_audit.bundle.manifest import (
    checksums_text,
    chunks_in,
    count_results,
    digest,
    is_unbroken,
    open_manifest,
)
from recourse_audit.bundle.register import check_register
from recourse_audit.bundle.signature import is_signed
from recourse_audit.bundle.store import open_store
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import Manifest, SealedManifest, Verification
from recourse_audit.records.codec import DERIVED_MANIFEST, MANIFEST_DOCUMENT
from recourse_audit.settings.section import is_folder


def verify_bundle(folder: Path, public_key: str | None = None) -> Verification:
    """Check a bundle; with a public key, also that it was signed with the private one."""
    bundle = BundleFolder(folder=folder)
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder; name the bundle to verify")
    if links := tuple(find_irregular(folder)):  # nothing is read through them
        return Verification(problems=links)
    if bundle.checkpoint.is_file():
        raise InputError(
            f"{folder}: this audit is not finished; rerun the same `run` command to resume"
        )
    try:
        manifest, content = open_manifest(MANIFEST_DOCUMENT, folder)
    except DocumentError as error:
        return Verification(problems=(f"{MANIFEST}: {error}",))
    return Verification(
        problems=(
            *_bundle_problems(bundle, manifest, content, public_key),
            *(
                f"{name}/{problem}"
                for name in FOLDERS
                if (folder / name).is_dir()
                for problem in _folder_problems(folder, name, public_key)
            ),
        ),
        subjects=manifest.counts.subjects,
        signed_by=manifest.signed_by,
    )


def leftovers(bundle: Path) -> tuple[str, ...]:
    """Folders of ours that a command left which was stopped; the next one uses or removes them."""
    return tuple(
        name
        for name, what in DERIVED.items()
        if name != what and (bundle / name).is_dir() and is_ours(bundle / name, what)
    )


def _bundle_problems(
    bundle: BundleFolder, manifest: Manifest, content: bytes, public_key: str | None
) -> Iterator[str]:
    apart = (*FOLDERS, *leftovers(bundle.folder))
    altered = [*_file_problems(bundle.folder, manifest, FILES, {LOG}, apart)]
    yield from altered or _counts(bundle, manifest)
    log = read_plain(bundle.log)
    if log is None:
        yield f"{LOG}: is missing"
    elif not is_unbroken(log):
        yield f"{LOG}: was changed"
    yield from _seal_problems(bundle.folder, manifest, content, public_key)


def _folder_problems(bundle: Path, name: str, public_key: str | None) -> Iterator[str]:
    folder = bundle / name
    try:
        manifest, content = open_manifest(DERIVED_MANIFEST, folder)
    except DocumentError as error:
        yield f"{MANIFEST}: {error}"
        return
    if manifest.of != digest(bundle / MANIFEST):
        yield f"{MANIFEST}: was made from another bundle; make {name} again"
    yield from _file_problems(folder, manifest, (MARKER,))
    yield from check_register(folder)
    yield from _seal_problems(folder, manifest, content, public_key)


def _file_problems(
    folder: Path,
    manifest: SealedManifest,
    needed: Collection[str],
    more: Collection[str] = (),
    apart: Collection[str] = (),
) -> Iterator[str]:
    """What was added, removed or changed; `more` may be there, and what is in folders `apart`."""
    known = {*manifest.files, *more, MANIFEST, CHECKSUMS, SIGNATURE if manifest.signed_by else ""}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_apart = len(inside.parts) > 1 and inside.parts[0] in apart
        if inside.as_posix() not in known and not is_apart and not path.is_dir():
            yield f"{inside.as_posix()}: was added"
    yield from (f"{name}: is not in the manifest" for name in needed if name not in manifest.files)
    for name, value in manifest.files.items():
        path = folder / name
        if not path.is_file():
            yield f"{name}: is missing"
        elif digest(path) != value:
            yield f"{name}: was changed"


def _seal_problems(
    folder: Path, manifest: SealedManifest, content: bytes, public_key: str | None
) -> Iterator[str]:
    checksums, signer = read_plain(folder / CHECKSUMS), manifest.signed_by
    if checksums is None:
        yield f"{CHECKSUMS}: is missing"
    elif checksums != checksums_text(folder, manifest.files).encode():
        yield f"{CHECKSUMS}: was changed, or does not agree with the manifest"
    if public_key is not None and signer != public_key:
        lacking = "is not signed" if signer is None else "is signed with another key"
        yield f"{MANIFEST}: {lacking}"
    if signer is None:
        return
    signature = read_plain(folder / SIGNATURE)
    if signature is None:
        yield f"{SIGNATURE}: is missing"
    elif not is_signed(content, signature.decode("utf-8", "replace"), signer):
        yield f"{SIGNATURE}: is not the signature of the manifest"


def _counts(bundle: BundleFolder, manifest: Manifest) -> Iterator[str]:
    """Whether the store holds what the manifest counts, chunk by chunk."""
    counts = manifest.counts
    if sum(counts.statuses.values()) != counts.subjects:
        yield f"{MANIFEST}: the statuses do not add up to the subjects"
    try:
        with open_store(bundle.store) as store:
            if count_results(store) != counts:
                yield f"{STORE}: does not hold what the manifest counts"
            if tuple(chunks_in(store)) != manifest.chunks:
                yield f"{STORE}: its documents are not those of the manifest"
    except InputError as error:  # sealed all the same, by somebody else
        yield str(error).removeprefix(f"{bundle.folder}/")
    with (bundle.folder / "data" / "subjects.jsonl").open("rb") as file:
        lines = sum(1 for _ in file)
    if lines != counts.subjects:
        yield "data/subjects.jsonl: does not have one line per subject"
