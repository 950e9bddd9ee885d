"""Figures as the terminal writes them: a real minus, one decimal in shares, "to" in intervals."""

import re

from recourse_audit.records.group_figures import Interval, Rate

MINUS = "\N{MINUS SIGN}"
NOBODY = "nobody"
# Figures inside sentences that other stages made: -0.982, 95 %, <.001, [34, 49].
_NEGATIVE = re.compile(r"(?<![\w.\-])-(?=\d[\d,]*\.\d)")
_SPACED_PERCENT = re.compile(r"(?<=\d) %")
_SHORT_SHARE = re.compile(r"(?<!\S)([<>])\.(?=\d)")


def probability(value: float) -> str:
    """Three decimals; what is just short of all or nothing is not rounded to it."""
    if 0.9995 <= value < 1:
        return "> 0.999"
    return "< 0.001" if 0 < value < 0.0005 else f"{value:.3f}"


def amount(value: float) -> str:
    """A score in its own units, with a real minus."""
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
    return minus(f"{value:,.{decimals}f}")


def signed(value: float, decimals: int = 3) -> str:
    """A difference with its sign; one that rounds to nothing has none."""
    text = f"{value:+,.{decimals}f}"
    return minus(text) if any(digit in text for digit in "123456789") else text[1:]


def signed_amount(value: float) -> str:
    """A difference of scores with its sign."""
    return f"+{amount(value)}" if value > 0 else amount(value)


def percent(share: float | None) -> str:
    """A share with one decimal: 28.9%."""
    return NOBODY if share is None else minus(f"{share:.1%}")


def points(difference: float) -> str:
    """A difference of shares in points, with its sign: +32, or one decimal below one."""
    return signed(100 * difference, 1 if abs(difference) < 0.01 else 0)


def points_between(interval: Interval | None) -> str:
    """An interval of such a difference: +21 to +43; empty if there is none."""
    return "" if interval is None else f"{points(interval.low)} to {points(interval.high)}"


def points_with_interval(difference: float, interval: Interval | None) -> str:
    """Both in a table: +21 points (+11 to +30)."""
    between = points_between(interval)
    return f"{points(difference)} points" + (f" ({between})" if between else "")


def rate(found: Rate) -> str:
    """A share with its interval, which allows for ties if that was measured: 41.2% (34 to 49)."""
    if found.share is None:
        return NOBODY
    interval = found.on_graph or found.interval
    if interval is None:
        return percent(found.share)
    return f"{percent(found.share)} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def minus(text: str) -> str:
    """A figure with a real minus in place of a hyphen."""
    return text.replace("-", MINUS)


def tidy(sentence: str) -> str:
    """A sentence from another stage with its figures written as here; hyphens in names stay."""
    text = _NEGATIVE.sub(MINUS, sentence)
    text = _SPACED_PERCENT.sub("%", text)
    return _SHORT_SHARE.sub(r"\1 0.", text)
