"""The group summary of a bundle, finished or not."""

import json
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from recourse_audit.errors import InputError
from recourse_audit.groups.records import Days, GroupReport
from recourse_audit.groups.report import group_report
from recourse_audit.bundle.layout import Bundle
from recourse_audit.bundle.log import days_of
from recourse_audit.bundle.reader import bundle_store
from recourse_audit.settings import GroupSettings

SETTINGS = "settings.json"


def groups_of(folder: Path) -> GroupReport:
    """Compare the groups of the audit in a folder, as its own settings ask for it."""
    with bundle_store(folder) as opened:
        settings = _settings(folder / SETTINGS)
        try:
            report = group_report(
                opened.connection,
                settings,
                finished=opened.finished,
                done=opened.done,
                total=opened.total,
            )
        except InputError as error:
            raise InputError(f"{folder}: {error}") from None
    days = days_of(Bundle(folder=folder).log)
    return report if days is None else replace(report, ran=Days(first=days[0], last=days[1]))


def _settings(path: Path) -> GroupSettings:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return GroupSettings.model_validate(document["groups"])
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); it belongs to the bundle, restore it"
        ) from None
    except (ValueError, KeyError, TypeError, ValidationError):
        raise InputError(
            f"{path}: is not what `run` wrote; restore it, or run the audit again"
        ) from None
