"""Templates, catalogues and GraphML files put together from pieces of their languages."""

from random import Random

NAMES = (
    "view",
    "view.title",
    "view.nobody",
    "view.rows",
    "loop",
    "self",
    "caller",
    "n",
    "range(3)",
)
ATOMS = (
    *NAMES,
    *("''", "'a'", "1", "2**70", "1.5", "[]", "[1, 'a']", "{}", "none", "true", "'\\ud800'"),
    *("view.__class__", "''.__class__", "view['__dict__']", "head('styles/page.css')", "head()"),
    *("head('../x')", "script('scripts/index.js')", "cycler", "joiner()", "namespace(a=1)", "dict"),
)
FILTERS = (
    *("upper", "length", "join", "list", "first", "int", "default('')", "safe", "sort", "sum", "e"),
    *("map(attribute='__class__')", "attr('x')", "batch(10**9)", "center(99)", "groupby('a')"),
    *(
        "truncate(3)",
        "items",
        "tojson",
        "format(1)",
        "random",
        "select",
        "max",
        "unique",
        "dictsort",
    ),
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "~", "==", "<", "in", "and", "or", "is", "if")


def expression(draw: Random, depth: int = 0) -> str:
    """An expression, mostly valid."""
    if depth > 3 or draw.random() < 0.4:
        return draw.choice(ATOMS)
    inner = expression(draw, depth + 1)
    match draw.randrange(6):
        case 0:
            return f"({inner})|{draw.choice(FILTERS)}"
        case 1:
            return f"({inner} {draw.choice(OPERATORS)} {expression(draw, depth + 1)})"
        case 2:
            return f"{inner}({expression(draw, depth + 1)})"
        case 3:
            return f"{inner}[{expression(draw, depth + 1)}]"
        case 4:
            return f"{inner}.{draw.choice(('title', '__globals__', 'append', 'format', 'x', '_y'))}"
        case _:
            return f"({inner} if {expression(draw, depth + 1)} else {draw.choice(ATOMS)})"


def template(content: bytes, draw: Random) -> bytes:
    """One of our templates with statements of all kinds put into it."""
    text = content.decode()
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.choice([place for place, letter in enumerate(text) if letter == "\n"])
        text = text[:at] + _statement(draw, 0) + text[at:]
    return text.encode("utf-8", "surrogatepass")


def _statement(draw: Random, depth: int) -> str:
    inner = _statement(draw, depth + 1) if depth < 3 else "text"
    some = expression(draw)
    return draw.choice(
        (
            f"{{{{ {some} }}}}",
            f"{{% if {some} %}}{inner}{{% endif %}}",
            f"{{% for n in {some} %}}{inner}{{% endfor %}}",
            f"{{% for n in {some} recursive %}}{{{{ loop({some}) }}}}{{% endfor %}}",
            f"{{% set n = {some} %}}{inner}",
            f"{{% set n %}}{inner}{{% endset %}}",
            f"{{% macro n(a) %}}{inner}{{{{ n({some}) }}}}{{% endmacro %}}{{{{ n(1) }}}}",
            f"{{% call({some}) n() %}}{inner}{{% endcall %}}",
            f"{{% include {some} %}}",
            "{% include 'pages/subject.html' %}",
            "{% extends 'pages/base.html' %}",
            f"{{% block {draw.choice(('content', 'head', 'x', '1'))} %}}{inner}{{% endblock %}}",
            f"{{% filter {draw.choice(FILTERS)} %}}{inner}{{% endfilter %}}",
            f"{{% with n = {some} %}}{inner}{{% endwith %}}",
            f"{{% import {some} as n %}}{inner}",
            f"{{% autoescape {some} %}}{inner}{{% endautoescape %}}",
            f"{{% raw %}}{inner}{{% endraw %}}",
            "<meta http-equiv=refresh content=0>",
            "{# " + inner,
            "{% for n in range(10**9) %}" + "{% endfor %}",
        )
    )


PLURALS = ("n != 1", "n/0", "n%0", "0-n", "n>1?n:0", "n?", "((n", "n*n*n", "9", "x", "n & 1", "!n")


def catalogue(content: bytes, draw: Random) -> bytes:
    """A catalogue with another rule for plurals, or messages twice, empty or with other braces."""
    text = content.decode()
    match draw.randrange(5):
        case 0:
            return text.replace("(n != 1)", f"({draw.choice(PLURALS)})").encode()
        case 1:
            count = draw.choice(("0", "1", "3", "6", "7", "999999999999", "-1", "x"))
            return text.replace("nplurals=2", f"nplurals={count}").encode()
        case 2:
            for _ in range(draw.choice((1, 9))):
                text = text.replace("{", draw.choice(("{{", "{}", "{x.y", "{0!r:9}", "")), 1)
            return text.encode()
        case 3:
            entries = text.split("\n\n")
            draw.shuffle(entries)
            return "\n\n".join(entries[: draw.randrange(len(entries) + 1)]).encode()
        case _:
            more = draw.choice(
                (
                    'msgid "closing"\nmsgstr ""\n',
                    'msgctxt "a"\nmsgid "closing"\nmsgstr "{x}"\n',
                    'msgid "a"\nmsgid_plural "b"\nmsgstr[5] "c"\n',
                    'msgid "a"\nmsgstr[x] "c"\n',
                    '#~ msgid "closing"\n#~ msgstr ""\n',
                    "msgid\nmsgstr\n",
                    '#, fuzzy, python-format\nmsgid "%s"\nmsgstr "%d"\n',
                )
            )
            return f"{text}\n{more}".encode()


PIECES = (
    *('<node id="a"/>', '<node id="z"><data key="k0">1</data></node>', "<node/>", "<edge/>"),
    *('<edge source="a" target="b"/>', '<edge id="1" source="a" target="a" directed="true"/>'),
    *('<data key="k0">x</data>', '<data key="k0">9</data>', "<data/>", '<data key="zz">1</data>'),
    *(
        "<hyperedge/>",
        '<port name="p"/>',
        "<desc>a<b/>c</desc>",
        "<graph/>",
        "<locator/>",
        "<x:y/>",
    ),
    *('<key id="k0" for="node" attr.name="f0" attr.type="int"/>', "<!-- c -->", "<?pi x?>"),
    *('<key id="k9" for="all" attr.name="f1" attr.type="double"><default>1</default></key>',),
    *("</graph>", "</node>", "<![CDATA[1]]>", "&lt;", "&x;", "&#0;", "<!DOCTYPE a>", "text"),
    *('<y:NodeLabel xmlns:y="http://www.yworks.com/xml/graphml">L</y:NodeLabel>',),
)


def graphml(content: bytes, draw: Random) -> bytes:
    """A GraphML file with elements in places where they may or may not be."""
    text = content.decode()
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.choice([place + 1 for place, letter in enumerate(text) if letter == ">"])
        text = text[:at] + draw.choice(PIECES) + text[at:]
    if draw.random() < 0.3:
        text = text.replace("\n", "")
    return text.encode()
