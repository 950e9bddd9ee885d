"""What a second person needs to check a bundle: commands, digests, settings, versions."""

from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.records.bundle import Manifest
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import plain
from recourse_audit.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The SHA-256 of a file that the audit read or wrote."""

    what: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How to check the bundle, and what it was made from."""

    seal: str
    commands: tuple[str, ...]
    files: str
    digests: tuple[Digest, ...]
    settings: str
    checks: tuple[str, ...]
    versions: str


def evidence_of(
    manifest: Manifest, manifest_digest: str, settings: Settings | None, words: Words
) -> Evidence:
    """Gather it; `manifest_digest` is that of the manifest's file."""
    digests = tuple(_digests(manifest, manifest_digest, words))
    return Evidence(
        seal=words.say("evidence.signed", key=manifest.signed_by)
        if manifest.signed_by
        else words.say("evidence.unsigned"),
        commands=_commands(manifest.signed_by),
        files=", ".join(f"{one.what} {one.sha256[:8]}…" for one in digests[:3]),
        digests=digests,
        settings=_settings(settings, manifest.seed, words),
        checks=tuple(_checks(manifest, words)),
        versions=", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
    )


def _commands(signed_by: str | None) -> tuple[str, ...]:
    key = " --key KEY.pub" if signed_by else ""
    return (
        "sha256sum -c checksums.txt",
        f"recourse-audit verify .{key}",
        f"recourse-audit verify .{key} --replay 20 --settings audit.toml",
    )


def _digests(manifest: Manifest, manifest_digest: str, words: Words) -> Iterator[Digest]:
    inputs, files = manifest.inputs, manifest.files
    model = ", ".join(inputs.model.files)
    yield Digest(what=words.say("evidence.model"), file=plain(model), sha256=inputs.model.sha256)
    if inputs.preprocessing is not None:
        yield Digest(
            what=words.say("evidence.preprocessing"),
            file=plain(", ".join(inputs.preprocessing.files)),
            sha256=inputs.preprocessing.sha256,
        )
    for part, one in inputs.graph.items():
        name = words.say(f"evidence.{part}") if f"evidence.{part}" in words.keys else plain(part)
        yield Digest(what=name, file=plain(one.file), sha256=one.sha256)
    for key, name in (("settings", "settings.json"), ("store", "store.sqlite")):
        yield Digest(what=words.say(f"evidence.{key}"), file=name, sha256=files[name].sha256)
    if inputs.candidates is not None:
        what = words.say("evidence.candidates")
        yield Digest(what=what, file="candidates", sha256=inputs.candidates)
    yield Digest(what=words.say("evidence.manifest"), file="manifest.json", sha256=manifest_digest)


def _settings(settings: Settings | None, seed: int, words: Words) -> str:
    """The settings that shape the result most."""
    if settings is None:
        return words.say("evidence.seed", seed=str(seed))
    return ", ".join(
        (
            words.say_count("evidence.changes", settings.recourse.max_changes),
            words.say("evidence.concern", points=words.number(100 * settings.groups.concern)),
            words.say("evidence.smallest", count=words.number(settings.groups.smallest)),
            words.say("evidence.seed", seed=str(seed)),
        )
    )


def _checks(manifest: Manifest, words: Words) -> Iterator[str]:
    """Whether the model answers alike, and whether answers about changes are the whole graph's."""
    repeats, compared = manifest.counts.repeats, manifest.counts.compared
    if not repeats.calls:
        yield words.say("evidence.no_repeats")
    elif not repeats.differed:
        yield words.say_count("evidence.repeats_equal", repeats.calls)
    else:
        yield words.say(
            "evidence.repeats_differ",
            calls=words.number(repeats.calls),
            differed=words.number(repeats.differed),
            largest=f"{repeats.largest:.2g}",
        )
    if not compared.answers:
        yield words.say("evidence.not_compared")
    elif not compared.largest:
        yield words.say_count("evidence.compared_equal", compared.answers)
    else:
        yield words.say_count(
            "evidence.compared_differ", compared.answers, largest=f"{compared.largest:.2g}"
        )
