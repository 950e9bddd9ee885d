"""Prints what this machine lacks for PDF output, one word per line: `pango`, `subset`, `font`.

Runs before any package is installed, so it uses only the standard library. It opens the libraries
in the same way as WeasyPrint, because an installed package need not mean a library that opens.
"""

import ctypes
import ctypes.util
import sys
from collections.abc import Iterator

PANGO = (
    ("gobject-2.0", "libgobject-2.0.so.0", "libgobject-2.0.0.dylib"),
    ("pango-1.0", "libpango-1.0.so.0", "libpango-1.0.dylib"),
    ("pangoft2-1.0", "libpangoft2-1.0.so.0", "libpangoft2-1.0.dylib"),
    ("harfbuzz", "libharfbuzz.so.0", "libharfbuzz.0.dylib"),
)
SUBSET = ("harfbuzz-subset", "libharfbuzz-subset.so.0", "libharfbuzz-subset.0.dylib")
FONTCONFIG = ("fontconfig", "libfontconfig.so.1", "libfontconfig.1.dylib")


class FontSet(ctypes.Structure):
    """The first fields of fontconfig's FcFontSet, with the number of fonts."""

    _fields_ = (("count", ctypes.c_int), ("capacity", ctypes.c_int))


def open_library(names: tuple[str, ...]) -> ctypes.CDLL | None:
    """Open the first library of these names that can be opened."""
    for name in (*names[1:], ctypes.util.find_library(names[0])):
        if name is None:
            continue
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def count_fonts(fontconfig: ctypes.CDLL) -> int:
    """Count the fonts that fontconfig finds in the system's and the user's folders."""
    fontconfig.FcConfigGetFonts.restype = ctypes.POINTER(FontSet)
    fontconfig.FcConfigGetFonts.argtypes = (ctypes.c_void_p, ctypes.c_int)
    fontconfig.FcInit()
    fonts = fontconfig.FcConfigGetFonts(None, 0)
    return fonts.contents.count if fonts else 0


def find_missing() -> Iterator[str]:
    """Yield one word for each missing thing."""
    fontconfig = open_library(FONTCONFIG)
    if fontconfig is None or not all(map(open_library, PANGO)):
        yield "pango"
    if open_library(SUBSET) is None:
        yield "subset"
    if fontconfig is None or count_fonts(fontconfig) == 0:
        yield "font"


if __name__ == "__main__":
    sys.stdout.writelines(f"{word}\n" for word in find_missing())
