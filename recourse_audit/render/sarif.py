"""Findings as SARIF 2.1.0, in which code hosts show them: a rule per kind, a result per finding.

A finding has the same fingerprint in every audit that has it, whatever its figures. No person is
named in any of it.
"""

import json
import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from recourse_audit.bundle.manifest import digest_of
from recourse_audit.records.bundle import CodeFinding
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def find_gaps(report: GroupReport, words: Words) -> Iterator[CodeFinding]:
    """The gaps that are shown, in the words of the group report."""
    page = GroupPage(report, words)
    for gap in report.flags:
        what = page.words.say(f"report.measure.{gap.measure}")
        verdict = page.say("verdict", gap.verdict)
        yield CodeFinding(
            rule=f"gap/{gap.measure}",
            title=f"{verdict.lstrip('▲ ')}: {what}",
            about=f"{gap.table}: {gap.group} against {gap.reference}",
            text=page.say("finding", gap),
        )


def sarif_log(findings: Sequence[CodeFinding], place: Path, problem: str = "") -> str:
    """A log of findings about a file; with a problem, none does not mean that all is well."""
    titles = {finding.rule: finding.title for finding in findings}
    uri = quote(Path(os.path.relpath(place)).as_posix())
    notes = [{"level": "error", "message": {"text": problem}}] if problem else []
    driver = {
        "name": "recourse-audit",
        "version": version("recourse-audit"),
        "rules": [{"id": rule, "shortDescription": {"text": titles[rule]}} for rule in titles],
    }
    results = [
        {
            "ruleId": finding.rule,
            "ruleIndex": [*titles].index(finding.rule),
            "level": "warning",
            "message": {"text": finding.text},
            # A figure has no line, but code hosts ask for one.
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri},
                        "region": {"startLine": 1},
                    }
                }
            ],
            "partialFingerprints": {"finding/v1": digest_of(f"{finding.rule}\n{finding.about}")},
        }
        for finding in findings
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return f"{json.dumps(log, indent=1, ensure_ascii=False)}\n"
