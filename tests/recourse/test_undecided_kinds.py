"""`inspect audit.toml` names the kinds of ties on which nobody has decided yet."""

from pathlib import Path
from typing import Any

import pytest

from recourse_audit.audit.inspection import inspect_model, undecided_kinds
from tests.audits import small_audit
from tests.command import command
from tests.recourse.worlds import settings_with, town

KINDS = ("address", "bazaar", "grandson", "payment")
DROP: dict[str, Any] = {"kind": "payment", "allow": ["drop"]}
REST: dict[str, Any] = {"kind": "*", "allow": ["drop"]}


@pytest.mark.parametrize(
    ("recourse", "undecided"),
    [
        ({}, {"address": True, "bazaar": True, "payment": True}),
        ({"never": ["bazaar"]}, {"address": True, "payment": True}),
        ({"ties": [DROP]}, {"address": False, "bazaar": False}),
        ({"ties": [DROP, REST]}, {"address": True, "bazaar": True}),
        ({"ties": [DROP, {**REST, "allow": []}]}, {"address": False, "bazaar": False}),
        ({"ties": [DROP, {**DROP, "kind": "address"}], "never": ["bazaar"]}, {}),
    ],
)
def test_kinds_that_are_neither_denied_nor_named_are_undecided(
    recourse: dict[str, Any], undecided: dict[str, bool]
) -> None:
    assert undecided_kinds(settings_with(**recourse), town(kinds=KINDS)) == undecided


def test_inspect_names_them(tmp_path: Path) -> None:
    path = small_audit(tmp_path)
    found = inspect_model(path, None)
    assert found.undecided
    printed = " ".join(command("inspect", path).err.split())
    assert "Kinds of ties that no rule names, which may be suggested now: " in printed
    assert all(repr(kind) in printed for kind in found.undecided)
    assert "or list it in recourse.never." in printed
    assert inspect_model(path.parent / found.name, None).undecided == {}
