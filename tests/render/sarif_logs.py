"""What SARIF 2.1.0 asks of a log: for each object that we write, its keys and which are needed."""

from collections.abc import Mapping
from typing import Any

# Written by hand from the specification: the keys that are needed, then others that we may write.
OBJECTS: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"invocations", "results"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "rules"}),
    "rules": ({"id"}, {"shortDescription"}),
    "invocations": ({"executionSuccessful"}, {"toolExecutionNotifications"}),
    "toolExecutionNotifications": ({"message"}, {"level"}),
    "results": ({"message"}, {"ruleId", "ruleIndex", "level", "locations", "partialFingerprints"}),
    "locations": (set(), {"physicalLocation"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "region": (set(), {"startLine"}),
    "artifactLocation": ({"uri"}, set()),
    "message": ({"text"}, set()),
    "shortDescription": ({"text"}, set()),
}


def check_log(log: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Check a log against what SARIF asks for; its results."""
    assert log["version"] == "2.1.0"
    check("log", log)
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    results: list[dict[str, Any]] = run["results"]
    for result in results:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        [place] = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        # Without a line, GitHub shows a finding nowhere.
        assert place["physicalLocation"]["region"]["startLine"] == 1
        assert " " not in uri
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    prints = [result["partialFingerprints"]["finding/v1"] for result in results]
    assert len(prints) == len(set(prints))
    return results


def check(name: str, value: Mapping[str, Any]) -> None:
    needed, more = OBJECTS[name]
    assert needed <= set(value) <= needed | more, name
    for key, inner in value.items():
        each = "run" if key == "runs" else key
        for one in inner if isinstance(inner, list) else [inner]:
            if each in OBJECTS:
                check(each, one)
            elif key != "partialFingerprints":
                assert isinstance(one, str | int), key
