"""A bundle is checked without the model: every file, the counts, the events, the signature.

Each problem is one line that begins with the file it is about.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from recourse_audit.bundle.checkpoint import is_unbroken
from recourse_audit.bundle.derived_folder import derived_problems, leftovers
from recourse_audit.bundle.layout import (
    FILES,
    FOLDERS,
    LOG,
    MANIFEST,
    SIGNATURE,
    STORE,
    BundleFolder,
    find_irregular,
    read_plain,
)
from recourse_audit.bundle.manifest import (
    SealedFolder,
    chunk_digests,
    count_results,
    parse_manifest,
)
from recourse_audit.bundle.signature import is_signed
from recourse_audit.bundle.store import open_store
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import VERIFICATION_FORMAT, Manifest, Verification
from recourse_audit.settings.section import is_folder


def verify_bundle(folder: Path, public_key: str | None = None) -> Verification:
    """Check a bundle; with a public key, also that it was signed with the private one."""
    bundle = BundleFolder(folder=folder)
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder; name the bundle to verify")
    if links := tuple(find_irregular(folder)):  # nothing is read through them
        return Verification(format=VERIFICATION_FORMAT, problems=links)
    if bundle.checkpoint.is_file():
        raise InputError(
            f"{folder}: this audit is not finished; rerun the same `run` command to resume"
        )
    content = read_plain(folder / MANIFEST)
    if content is None:
        return Verification(format=VERIFICATION_FORMAT, problems=(f"{MANIFEST}: is missing",))
    try:
        manifest = parse_manifest(content)
    except DocumentError as error:
        return Verification(format=VERIFICATION_FORMAT, problems=(f"{MANIFEST}: {error}",))
    return Verification(
        format=VERIFICATION_FORMAT,
        problems=tuple(_problems(bundle, manifest, content, public_key)),
        subjects=manifest.counts.subjects,
        signed_by=manifest.signed_by,
    )


def _problems(
    bundle: BundleFolder, manifest: Manifest, content: bytes, public_key: str | None
) -> Iterator[str]:
    sealed = SealedFolder(
        folder=bundle.folder,
        digests={name: file.sha256 for name, file in manifest.files.items()},
        signed_by=manifest.signed_by,
    )
    altered = [
        *sealed.find_added(LOG, apart=(*FOLDERS, *leftovers(bundle.folder))),
        *(f"{name}: is not in the manifest" for name in FILES if name not in manifest.files),
        *sealed.find_altered(),
    ]
    yield from altered or _counts(bundle, manifest)
    yield from sealed.check_checksums()
    log = read_plain(bundle.log)
    if log is None:
        yield f"{LOG}: is missing"
    elif not is_unbroken(log):
        yield f"{LOG}: was changed"
    yield from sealed.check_key(public_key)
    yield from _signature(sealed, content)
    yield from derived_problems(bundle.folder, public_key)


def _counts(bundle: BundleFolder, manifest: Manifest) -> Iterator[str]:
    """Whether the store holds what the manifest counts, chunk by chunk."""
    counts = manifest.counts
    if sum(counts.statuses.values()) != counts.subjects:
        yield f"{MANIFEST}: the statuses do not add up to the subjects"
    try:
        with open_store(bundle.store) as store:
            if count_results(store) != counts:
                yield f"{STORE}: does not hold what the manifest counts"
            sealed = [replace(chunk, hash="") for chunk in manifest.chunks]
            if list(chunk_digests(store)) != sealed:
                yield f"{STORE}: its documents are not those of the events"
    except InputError as error:  # sealed all the same, by somebody else
        yield str(error).removeprefix(f"{bundle.folder}/")
    with (bundle.folder / "data" / "subjects.jsonl").open("rb") as file:
        lines = sum(1 for _ in file)
    if lines != counts.subjects:
        yield "data/subjects.jsonl: does not have one line per subject"


def _signature(sealed: SealedFolder, content: bytes) -> Iterator[str]:
    if sealed.signed_by is None:
        return
    signature = read_plain(sealed.folder / SIGNATURE)
    if signature is None:
        yield f"{SIGNATURE}: is missing"
    elif not is_signed(content, signature.decode("utf-8", "replace"), sealed.signed_by):
        yield f"{SIGNATURE}: is not the signature of the manifest"
