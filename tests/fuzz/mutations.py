"""Valid files, damaged: bits, bytes, lines, numbers and encodings, by a seeded generator."""

import re
from random import Random

NUMBERS = (
    *("0", "-0", "-1", "1e999", "-1e999", "nan", "inf", "1e-999", "0x10", "1_000", "٣"),
    *(str(2**31), str(2**63 - 1), str(2**63), str(-(2**63) - 1), str(2**64), "9" * 400, "9" * 5000),
    f"0x{'f' * 5000}",
)
TOKENS = (
    *(
        "\x00",
        "\ufeff",
        "\r",
        "\n",
        "\t",
        '"',
        "'",
        "=cmd|x",
        "../../../x",
        "/dev/zero",
        "{{",
        "}}",
    ),
    *("<![CDATA[", "&amp;", "&x;", "%s%n", "\u202e", "\ud7ff", "\U0010ffff", "é", "null", "true"),
    *(
        "[" * 1500,
        "{" * 1500,
        "A" * 5000,
        "",
        ",",
        ";",
        "\\",
        "\\u0000",
        "\\ud800",
        "--",
        "__class__",
    ),
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def damaged(content: bytes, other: bytes, draw: Random) -> bytes:
    """A file with one to four kinds of damage; `other` is a second file to splice with."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(KINDS)(content, other, draw)
    return content[:2_000_000]


def _flip(content: bytes, _: bytes, draw: Random) -> bytes:
    changed = bytearray(content)
    for _unused in range(draw.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _set(content: bytes, _: bytes, draw: Random) -> bytes:
    changed = bytearray(content)
    if changed:
        at = draw.randrange(len(changed))
        size = draw.choice((1, 2, 4, 8))
        changed[at : at + size] = draw.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * size
    return bytes(changed)


def _cut(content: bytes, _: bytes, draw: Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _slice(content: bytes, draw: Random) -> tuple[int, int]:
    start = draw.randrange(len(content) + 1)
    return start, min(len(content), start + draw.choice((1, 4, 16, 64, 256)))


def _delete(content: bytes, _: bytes, draw: Random) -> bytes:
    start, end = _slice(content, draw)
    return content[:start] + content[end:]


def _repeat(content: bytes, _: bytes, draw: Random) -> bytes:
    start, end = _slice(content, draw)
    return content[:end] + content[start:end] * draw.choice((1, 1, 3, 50)) + content[end:]


def _splice(content: bytes, other: bytes, draw: Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)] + other[draw.randrange(len(other) + 1) :]


def _insert(content: bytes, _: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    token = draw.choice(TOKENS + NUMBERS).encode()
    return content[:at] + token + content[at:]


def _number(content: bytes, _: bytes, draw: Random) -> bytes:
    found = [*_NUMBER.finditer(content)]
    if not found:
        return content
    one = draw.choice(found)
    return content[: one.start()] + draw.choice(NUMBERS).encode() + content[one.end() :]


def _lines(content: bytes, _: bytes, draw: Random) -> bytes:
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            lines.insert(at, lines[at])
        case 1:
            del lines[at]
        case 2:
            to = draw.randrange(len(lines))
            lines[at], lines[to] = lines[to], lines[at]
        case _:
            draw.shuffle(lines)
    return b"\n".join(lines)


def _recode(content: bytes, _: bytes, draw: Random) -> bytes:
    text = content.decode("utf-8", "replace")
    name = draw.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32", "cp500"))
    return text.encode(name, "replace")


KINDS = (
    *(_flip, _set, _cut, _delete, _repeat, _splice, _insert, _insert, _number, _number, _lines),
    *(_lines, _recode),
)
