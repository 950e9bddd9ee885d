"""Records as JSON documents, under the names that other programs rely on."""

from dataclasses import asdict
from typing import Any

from recourse_audit.records.codec import FORMAT, probes_document
from recourse_audit.model.signature import Signature
from recourse_audit.records.probes import ProbeReport
from recourse_audit.records.stability import StabilityReport


def stability_document(report: StabilityReport) -> dict[str, Any]:
    """What `stability --json` prints."""
    return {"format": FORMAT, **asdict(report)}


def model_document(
    signature: Signature, probes: ProbeReport | None, sha256: str, problem: str = ""
) -> dict[str, Any]:
    """What `inspect --json` prints."""
    output = signature.output
    document: dict[str, Any] = {
        "format": FORMAT,
        "sha256": sha256,
        "inputs": [
            {
                "name": port.name,
                "dtype": port.dtype,
                "shape": list(port.shape),
                "role": port.role,
                "why": port.why,
            }
            for port in signature.inputs
        ],
        "output": {
            "name": output.name,
            "dtype": output.dtype,
            "shape": list(output.shape),
            "kind": output.kind,
            "classes": output.classes,
            "why": output.why,
        },
    }
    if probes is not None:
        document["probes"] = probes_document(probes)
        document["notes"] = probes.notes
    if problem:
        document["problem"] = problem
    return document
