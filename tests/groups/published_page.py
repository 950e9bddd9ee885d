"""What the page of a group report says, as an attacker reads it.

Tables, the words of charts and of the text alternatives of drawings, and the places of their marks,
because a mark is where its figure is. Every figure that other files say as well must be the same.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.groups.published import Cell, Names, Published, Ties

SHARE = r"([\d.]+)%"
# What the parts of a bar are called, and the figure that each is.
PARTS = {
    "have an option": "verified",
    "none exists or none was found": "without",
    "none exists": "infeasible",
    "not decided": "not_found",
}
ROUNDED = 0.00051  # a share has one decimal
DIAMOND = 6.25  # from the middle of a diamond to its right corner


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a chart: its heading, its drawing and its words."""

    name: str
    drawing: str
    alt: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with its caption, its rows and the drawing of its axis."""

    caption: str
    rows: tuple[Row, ...]
    axis: str


def read_page(known: "Published", names: "Names", page: str) -> None:
    """Everything that the page says of groups."""
    written = {table.replace("_", " ").replace(" x ", ", "): table for table, _ in names}
    _read_about(known, names, page)
    _read_cards(known, names, page)
    for part in page.split('<section class="attribute"')[1:]:
        section = part.split("</section>")[0]
        [heading] = re.findall(r"<h2[^>]*>By (.*?)</h2>", section)
        table = written[html.unescape(heading)]
        for chart in charts_of(section):
            _read_chart(known, names, table, chart)
    for words, table in written.items():
        for name, people, favourable, *_ in table_of(page, f"Impact ratios by {words}"):
            know_text(known, names[table, name], "people", people)
            know_text(known, names[table, name], "favourable", favourable)
        for name, decided, _, _, changed, others, *_ in table_of(
            page, f"Refused on own data alone, by {words}"
        ):
            know_text(known, names[table, name], "decided", decided)
            known.change(names[table, name], "refused", number(changed))
            known.change(names[table, name], "favourable", number(others))
    _read_actions(known, names, written, page)
    for step, (_, _, so_far, *_) in enumerate(table_of(page, "Common options")):
        served = number(so_far)
        known.detail(f"served {step}", "verified", names["overall", "everybody"], served, served)


def _read_about(known: "Published", names: "Names", page: str) -> None:
    [about] = re.findall(r'<p class="about">(.*?)</p>', page, flags=re.DOTALL)
    everybody = names["overall", "everybody"]
    for pattern, figure in (
        (r"([\d,]+) (?:people|person) decided on", "decided"),
        (r"([\d,]+) without a decision", "undecided"),
        (r"([\d,]+) refused \(", "refused"),
    ):
        for found in re.findall(pattern, about):
            know_text(known, everybody, figure, found)


def _read_cards(known: "Published", names: "Names", page: str) -> None:
    """The three cards, which are about the groups of one table; it is known by their names."""
    cards = page.split('<section class="card">')[1:]
    for place, card in enumerate(part.split("</section>")[0] for part in cards):
        # A drawing has a row of its own, below the words that it shows.
        whole = re.sub(r'</tr>\s*<tr role="row">(?=<td class="strip")', "", card)
        rows = [row for row in _rows_of_chart(whole) if row.name]
        tables = {
            table for table, _ in names if rows and all((table, row.name) in names for row in rows)
        }
        if len(tables) != 1:
            continue
        [table] = tables
        for row in rows:
            cell = names[table, row.name]
            if place == 0:
                _know_rate(known, cell, "refused", "decided", row.words)
            elif place == 1:
                _know_parts(known, cell, row.alt)
                for count in re.findall(r"^([\d,]+) audited$", row.words):
                    know_text(known, cell, "usable", count)
            else:
                _know_alone(known, cell, row.words)


def _read_chart(known: "Published", names: "Names", table: str, chart: Chart) -> None:
    if chart.caption.startswith("Whom"):
        _read_marks_of_ties(known.ties[table], chart)
        return
    for row in chart.rows:
        cell = names[table, re.sub(r" (\(.*\)|[\d,]+ audited)$", "", row.name)]
        if chart.caption.startswith("Refused"):
            _know_rate(known, cell, "refused", "decided", row.words)
        elif chart.caption.startswith("Have an option"):
            _know_rate(known, cell, "verified", "usable", row.words)
        else:
            assert chart.caption.startswith("Effort")
            for count in re.findall(r" ([\d,]+) audited$", row.name):
                know_text(known, cell, "usable", count)
            _know_parts(known, cell, row.words)
            _know_steps(known, cell, row, chart.axis)


def _know_rate(known: "Published", cell: "Cell", part: str, whole: str, words: str) -> None:
    """A count of a total, as it is written beside its share."""
    for count, total in re.findall(r"([\d,]+) of ([\d,]+)", words):
        know_text(known, cell, part, count)
        know_text(known, cell, whole, total)


def _know_parts(known: "Published", cell: "Cell", words: str) -> None:
    """The shares of a bar; each is rounded, so it is a pair of inequalities."""
    for share, what in re.findall(rf"{SHARE} ({'|'.join(PARTS)})", words):
        found = float(share) / 100
        known.shares.append((cell, PARTS[what], "usable", found - ROUNDED, found + ROUNDED))


def _know_alone(known: "Published", cell: "Cell", words: str) -> None:
    """Refused alone, and as decided: the first must be what is known of changed decisions."""
    for alone, decided in re.findall(rf"{SHARE} → {SHARE}", words):
        of = known.exact[cell, "decided"]
        assert abs(known.refused_alone(cell) / of - float(alone) / 100) < ROUNDED
        assert abs(known.exact[cell, "refused"] / of - float(decided) / 100) < ROUNDED


def _know_steps(known: "Published", cell: "Cell", row: Row, axis: str) -> None:
    """How many have an option up to each effort: in words, and by the line of the drawing."""
    if not row.drawing:
        return
    usable = known.exact[cell, "usable"]
    for share, effort in re.findall(rf"{SHARE} at ([\d,.]+)", row.alt):
        low, high = (usable * (float(share) / 100 + end) for end in (-ROUNDED, ROUNDED))
        known.detail(f"cost {float(effort.replace(',', '')):g}", "verified", cell, low, high)
    across = _axis(axis, r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([\d.]+)</text>')
    up = _axis(row.drawing, r'<text x="40" y="([\d.]+)"[^>]*>(\d+)%</text>', -4.0)
    [path] = re.findall(r'<path d="M[\d. ]+((?:H[\d.]+V[\d.]+)*)H', row.drawing)
    for x, y in re.findall(r"H([\d.]+)V([\d.]+)", path):
        served = round(_value(up, float(y)) / 100 * usable)
        cost = f"cost {round(_value(across, float(x)), 2):g}"
        if (cost, "verified") in known.details:
            known.detail(cost, "verified", cell, served, served)


def _read_marks_of_ties(ties: "Ties", chart: Chart) -> None:
    """Both marks of a group are its shares of all ties that could be dropped, and are."""
    across = _axis(chart.axis, r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>(\d+)%</text>')
    marks = {
        "droppable": (r'<circle cx="([\d.]+)"', 0.0),
        "dropped first": (r'<polygon points="([\d.]+),', DIAMOND),
    }
    for row in chart.rows:
        for name, (pattern, right) in marks.items():
            for x in re.findall(pattern, row.drawing):
                count = round(_value(across, float(x) - right) / 100 * ties.totals[name])
                known_as = ties.counts.setdefault((row.name, name), count)
                assert known_as == count, (row.name, name)


def _read_actions(known: "Published", names: "Names", written: dict[str, str], page: str) -> None:
    """Whom actions serve and to whom they apply; the same order as in the other files."""
    places: dict[str, int] = {}
    everybody = names["overall", "everybody"]
    for place, (action, applies, _, served, *_) in enumerate(
        table_of(page, "Served by one action, of everybody audited")
    ):
        places[action] = place
        if re.fullmatch(r"[\d,]+", applies):
            count = number(applies)
            known.detail(f"applies {place}", "usable", everybody, count, count)
        if re.fullmatch(r"[\d,]+", served):
            count = number(served)
            known.detail(f"serves {place}", "verified", everybody, count, count)
    for words, table in written.items():
        for action, group, served, *_ in table_of(page, f"Served by one action, by {words}"):
            several = re.split(r", | or ", action)
            if action not in places and any(one not in places for one in several):
                raise AssertionError(action)
            chosen = [places[action]] if action in places else [places[one] for one in several]
            count, of = (number(one) for one in served.split(" of "))
            know_text(known, names[table, group], "usable", str(of))
            figure = f"serves {','.join(map(str, chosen))}"
            known.detail(figure, "verified", names[table, group], count, count)


def charts_of(part: str) -> Iterator[Chart]:
    """The charts of a part of the page."""
    for one in part.split('<div class="chart">')[1:]:
        table = one.split("</table>")[0]
        [caption] = re.findall(r"<caption>(.*?)</caption>", table, flags=re.DOTALL)
        *_, axis = table.split('aria-hidden="true"')
        rows = tuple(row for row in _rows_of_chart(table) if row.name)
        yield Chart(caption=_plain(caption), rows=rows, axis=axis)


def _rows_of_chart(table: str) -> Iterator[Row]:
    body = table.split("<tbody", maxsplit=1)[-1]
    for row in body.split('<tr role="row">')[1:]:
        heading = re.search(r"<th[^>]*>(.*?)</th>", row, flags=re.DOTALL)
        alt = re.search(r"<title>(.*?)</title>", row, flags=re.DOTALL)
        drawing = re.search(r"<svg.*?</svg>", row, flags=re.DOTALL)
        cells = re.sub(r"<svg.*?</svg>|<th.*?</th>", "", row, flags=re.DOTALL)
        yield Row(
            name=_plain(heading[1]) if heading else "",
            drawing=drawing[0] if drawing else "",
            alt=_plain(alt[1]) if alt else "",
            words=_plain(cells.split("</tr>")[0]),
        )


def table_of(page: str, caption: str) -> Iterator[list[str]]:
    """The rows of the table with a caption; none where there is no such table."""
    where = f"<caption>{html.escape(caption)}</caption>"
    if where in page:
        yield from rows_of(page.split(where)[1])


def rows_of(table: str) -> Iterator[list[str]]:
    """The rows of a table, each as the texts of its cells."""
    for row in table.split("</table>", maxsplit=1)[0].split("<tbody>")[1].split("<tr>")[1:]:
        yield [_plain(one) for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]


def _plain(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


def number(text: str) -> int:
    """A count as a page writes it."""
    return int(text.replace(",", ""))


def know_text(known: "Published", cell: "Cell", figure: str, text: str) -> None:
    """Write down a figure if the text is one."""
    if re.fullmatch(r"[\d,]+", text):
        known.know(cell, figure, number(text))


def _axis(figure: str, pattern: str, shift: float = 0.0) -> tuple[float, float]:
    """Place and step of an axis, from two of its ticks."""
    ticks = [(float(place) + shift, float(value)) for place, value in re.findall(pattern, figure)]
    (start, low), (end, high) = ticks[0], ticks[-1]
    step = (high - low) / (end - start) if end != start else 0.0
    return low - step * start, step


def _value(axis: tuple[float, float], place: float) -> float:
    return axis[0] + axis[1] * place
