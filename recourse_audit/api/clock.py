"""The clock. It is read here and nowhere below."""

from datetime import UTC, date, datetime


def now() -> str:
    """The time as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def today() -> date:
    """The day where this machine is."""
    return datetime.now().astimezone().date()
