"""What makes an audit end with exit code 3, if the user asks for that with `--fail-on`."""

from collections.abc import Iterator, Sequence

from recourse_audit.errors import InputError

STATUS = {
    "errors": "error",
    "infeasible": "certified_infeasible",
    "not-found": "not_found_within_budget",
}


def read_thresholds(texts: Sequence[str]) -> dict[str, float]:
    """Shares by status: `errors` alone is any at all, `infeasible=0.2` more than that share."""
    limits = {}
    for text in texts:
        name, given, share = text.partition("=")
        try:
            limit = float(share) if given else 0.0
        except ValueError:
            limit = -1.0
        if name not in STATUS or not 0 <= limit <= 1:
            raise InputError(
                f"--fail-on {text}: is none of {', '.join(STATUS)}, alone or with a share from 0 "
                "to 1, as in infeasible=0.2; nor is it gap, which takes no share"
            )
        limits[name] = limit
    return limits


def exceeded(statuses: dict[str, int], limits: dict[str, float]) -> Iterator[str]:
    """What is over its threshold, a sentence each.

    Shares are of the subjects who need options: those decided on favourably do not count.
    """
    needy = sum(statuses.values()) - statuses["already_favourable"]
    for name, limit in limits.items():
        count = statuses[STATUS[name]]
        if count > limit * needy:
            yield f"{name}: {count:,} of {needy:,} subjects, more than {limit:g} of them"
