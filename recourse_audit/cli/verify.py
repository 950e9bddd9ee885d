"""`verify`: whether a bundle is still what was sealed."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from recourse_audit.cli.printing import AsJson, BundleArgument, doing, print_json, say
from recourse_audit.errors import InputError, VerificationError

if TYPE_CHECKING:
    from recourse_audit.records.bundle import Verification


def verify(
    bundle: BundleArgument,
    key: Annotated[
        Path | None, Option(help="Require a signature by this Ed25519 public key (PEM).")
    ] = None,
    replay: Annotated[
        int | None, Option(min=1, help="Work out a random sample of N subjects again, and compare.")
    ] = None,
    settings: Annotated[Path | None, Option(help="The audit.toml, for --replay.")] = None,
    seed: Annotated[int, Option(min=0, help="Random seed for --replay.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Check that a bundle is what was sealed.

    Offline: files, counts, events and signature. Prints one line per problem.
    """
    from recourse_audit.api import Bundle
    from recourse_audit.render.text import plain

    if replay is not None and settings is None:
        raise InputError("--replay needs --settings FILE: the audit.toml with its model and graph")
    opened = Bundle(bundle)
    with doing("Checking every file"):
        verification = opened.verify(key=key)
    if replay is not None and settings is not None and not verification.problems:
        with doing("Working out subjects again"):
            problems = opened.replay(settings, replay, seed=seed)
            verification = replace(verification, problems=problems)
    for name in opened.leftovers:
        say(f"! {name}/: left by a command that was stopped, and not checked; rerun it")
    if as_json:
        print_json(verification.to_dict())
    else:
        for line in verification.problems or [_sound(bundle, verification, replay)]:
            typer.echo(plain(line))
    if verification.problems:
        raise typer.Exit(VerificationError.exit_code)


def _sound(bundle: Path, verification: "Verification", replay: int | None) -> str:
    from recourse_audit.render.text import number

    key = verification.signed_by
    signed = f", signed by {key[:16]}…" if key else ", manifest not signed"
    again = f"; {min(replay, verification.subjects or 0)} worked out again" if replay else ""
    return f"{bundle}: unchanged, {number(verification.subjects or 0, 'subject')}{signed}{again}"
