"""Reads a PDF as a screen reader does: by its structure tree, never by where things stand."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pikepdf

_PAIRS = re.compile(r"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>")
_RANGES = re.compile(r"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>")
_SECTIONS = re.compile(r"begin(bfchar|bfrange)(.*?)end\1", re.DOTALL)
BLOCKS = {"/H1", "/H2", "/H3", "/P", "/TH", "/TD", "/Lbl", "/LBody"}


@dataclass(frozen=True, kw_only=True)
class Element:
    """A structure element: its role, its roles above, and all text below it."""

    role: str
    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a PDF says of itself, its elements in reading order, and text outside of its tree."""

    language: str
    title: str
    displays_title: bool
    marked: bool
    part: str
    elements: tuple[Element, ...]
    outside: tuple[str, ...]
    untagged: tuple[str, ...]
    fonts: frozenset[str]
    pages: int

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Role and text of all headings, paragraphs, cells and items."""
        return [(one.role[1:], one.text) for one in self.elements if one.role in BLOCKS]

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.blocks)

    def roles(self) -> set[str]:
        return {one.role[1:] for one in self.elements}


def read_pdf(content: bytes) -> Reading:
    with pikepdf.open(io.BytesIO(content)) as pdf:
        root = pdf.Root
        marks: dict[tuple[int, int], str] = {}
        untagged: list[str] = []
        fonts: set[str] = set()
        numbers: dict[tuple[int, int], int] = {}
        for number, page in enumerate(pdf.pages):
            numbers[page.obj.objgen] = number
            for mark, text in _marked(page, fonts):
                if mark is None:
                    untagged.append(text)
                else:
                    marks[number, mark] = marks.get((number, mark), "") + text
        seen: set[tuple[int, int]] = set()
        elements: list[Element] = []
        for child in _kids(root.StructTreeRoot):
            _walk(child, (), marks, numbers, seen, elements)
        metadata = pdf.open_metadata()
        return Reading(
            language=str(root.Lang),
            title=str(metadata["dc:title"]),
            displays_title=bool(root.ViewerPreferences.DisplayDocTitle),
            marked=bool(root.MarkInfo.Marked),
            part=str(metadata["pdfuaid:part"]),
            elements=tuple(elements),
            outside=tuple(text for mark, text in sorted(marks.items()) if mark not in seen),
            untagged=tuple(untagged),
            fonts=frozenset(fonts),
            pages=len(pdf.pages),
        )


def _kids(element: Any) -> list[Any]:
    kids = element.get("/K", [])
    return list(kids) if isinstance(kids, pikepdf.Array) else [kids]


def _walk(
    element: Any,
    path: tuple[str, ...],
    marks: dict[tuple[int, int], str],
    pages: dict[tuple[int, int], int],
    seen: set[tuple[int, int]],
    elements: list[Element],
) -> str:
    """Add an element and all below it, in order; its text comes from its marked content."""
    role = str(element.S)
    place = len(elements)
    elements.append(Element(role=role, path=path, text=""))
    page = pages[element.Pg.objgen] if "/Pg" in element else -1
    texts = []
    for kid in _kids(element):
        if isinstance(kid, int):
            assert (page, kid) not in seen, "read twice"
            seen.add((page, kid))
            texts.append(marks.get((page, kid), ""))  # a drawing has no text
        elif kid.get("/Type") == "/StructElem":
            texts.append(_walk(kid, (*path, role), marks, pages, seen, elements))
    # A line that ends without a space goes on with one.
    text = re.sub(r"\s+", " ", " ".join(texts)).strip()
    elements[place] = Element(role=role, path=path, text=text)
    return text


def _marked(page: pikepdf.Page, fonts: set[str]) -> Iterator[tuple[int | None, str]]:
    """Text of a page with the mark it stands in; None if it is in none and no artifact either."""
    maps = {}
    for name, font in page.Resources.Font.items():
        fonts.add(str(font.BaseFont).split("+")[-1])
        maps[str(name)] = _letters(font.ToUnicode.read_bytes().decode("latin-1"))
    stack: list[int | str] = []
    letters: dict[int, str] = {}
    for instruction in pikepdf.parse_content_stream(page):
        operands: Any = instruction.operands
        match str(instruction.operator):
            case "BDC":
                stack.append(int(operands[1].MCID) if "/MCID" in operands[1] else "artifact")
                if "/MCID" in operands[1]:
                    yield int(operands[1].MCID), ""  # a picture has a mark and no text
            case "BMC":
                stack.append("artifact" if operands[0] == "/Artifact" else "other")
            case "EMC":
                stack.pop()
            case "Tf":
                letters = maps[str(operands[0])]
            case "Tj" | "TJ":
                text = _decoded(operands[0], letters)
                inside = [one for one in stack if isinstance(one, int)]
                if "artifact" not in stack:
                    yield (inside[-1] if inside else None), text


def _decoded(shown: Any, letters: dict[int, str]) -> str:
    parts = list(shown) if isinstance(shown, pikepdf.Array) else [shown]
    text = ""
    for part in parts:
        if isinstance(part, pikepdf.String):
            codes = bytes(part)
            pairs = zip(codes[::2], codes[1::2], strict=True)
            text += "".join(letters[high * 256 + low] for high, low in pairs)
    return text


def _letters(table: str) -> dict[int, str]:
    """A font's glyphs as text."""
    found: dict[int, str] = {}
    for kind, body in _SECTIONS.findall(table):
        if kind == "bfchar":
            for code, text in _PAIRS.findall(body):
                found[int(code, 16)] = bytes.fromhex(text).decode("utf-16-be")
        else:
            for first, last, text in _RANGES.findall(body):
                start = int(text, 16)
                for step in range(int(last, 16) - int(first, 16) + 1):
                    found[int(first, 16) + step] = chr(start + step)
    return found
