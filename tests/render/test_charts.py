"""Pictures: the words beside them hold every figure, and nothing rests on colour alone."""

import re
from collections.abc import Callable
from itertools import pairwise
from random import Random
from xml.etree import ElementTree as Xml

import pytest

from recourse_audit.audit.rollout import roll_out
from recourse_audit.records.group_figures import Interval
from recourse_audit.records.search import ObjectiveGrid
from recourse_audit.render.charts import draw_objective_grid, draw_roll_out, draw_tree, place_tree
from recourse_audit.render.drawing import (
    COLOURS,
    GAP_ROW,
    Drawing,
    Picture,
    Strip,
    effort_strip,
    figure,
    gaps_axis,
    share_bar,
    short,
    shorten,
    ticks,
    widen,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import template_folder

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title></svg><script>alert(1)</script>{{7*7}}{% raw %}&\"'\x1b[31m\u202e"


def some_tree(name: str = "P{}") -> Picture:
    names = [name.replace("{}", str(place)) for place in range(5)]
    return draw_tree(
        names,
        [False, True, None, True, False],
        [(0, 1), (0, 2), (0, 3), (3, 4)],
        [(0, 3)],
        word="removed",
        alt=f"The explanation as a small graph. Removed: {names[0]}",
    )


WORDS = Words()


def some_grid() -> Picture:
    return draw_objective_grid(
        ObjectiveGrid(
            simulatability=(-0.45, 0.0),
            relevance=(0.0, 1.75),
            columns=32,
            rows=20,
            counts=((0, 1), (5, 9), (31, 1234), (639, 2)),
        ),
        WORDS,
        "1,246 pairs of the search by both objectives, three on the front",
        front=((-0.07, 1.75), (-0.03, 0.9), (0.0, 0.2)),
        choices=((-0.03, 0.9), (0.0, 0.2), (-0.001, 0.21)),
    )


def some_rollout(name: str = "P{}") -> Picture:
    rolled = roll_out([(0, 1), (1, 0), (1, 2), (2, 1)], range(3), subject=0, removed=[2], depth=2)
    return draw_roll_out(rolled, [name.replace("{}", str(node)) for node in range(3)], WORDS)


SAID = "women: 30.0%, with an interval from 20.0% to 45.0%"
STEPS = ((0.5, 0.1), (1, 0.3), (3, 0.52))


def some_curves(name: str = SAID) -> Picture:
    return effort_strip(STEPS, [("no", 0.4), ("open", 0.08)], 3.0, ("0%", "100%"), name)


def some_gaps(name: str = SAID) -> Picture:
    axis = gaps_axis([-0.1, 0.3], 0.1)
    return Strip(axis, name, GAP_ROW).estimate(0.1, Interval(low=-0.1, high=0.3)).picture()


def some_parts(name: str = SAID) -> Picture:
    return share_bar(name, ("yes", 0.5), ("no", 0.47), ("open", 0.03))


PICTURES: dict[str, Callable[[], Picture]] = {
    "tree": some_tree,
    "objective grid": some_grid,
    "roll-out": some_rollout,
    "cost curves": some_curves,
    "gaps": some_gaps,
    "parts": some_parts,
}
WITH_A_NAME: dict[str, Callable[[str], Picture]] = {
    "tree": some_tree,
    "roll-out": some_rollout,
    "cost curves": some_curves,
    "gaps": some_gaps,
    "parts": some_parts,
}


@pytest.mark.parametrize("make", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_well_formed_and_carries_its_words_as_its_title(
    make: Callable[[], Picture],
) -> None:
    picture = make()
    root = Xml.fromstring(picture.svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == picture.alt
    assert len(picture.alt) > 40


@pytest.mark.parametrize("make", PICTURES.values(), ids=PICTURES)
def test_colours_are_plain_and_have_a_name_for_the_style_sheet(
    make: Callable[[], Picture],
) -> None:
    picture = make()
    assert "var(" not in picture.svg
    assert "style=" not in picture.svg
    for element in Xml.fromstring(picture.svg).iter():
        classes = (element.get("class") or "").split()
        for attribute in ("fill", "stroke"):
            value = element.get(attribute)
            if value not in (None, "none"):
                [name] = [one for one in classes if one.startswith(f"{attribute}-")]
                assert COLOURS[name.removeprefix(f"{attribute}-")] == value


@pytest.mark.parametrize("make", WITH_A_NAME.values(), ids=WITH_A_NAME)
def test_a_hostile_name_is_text_in_a_picture(make: Callable[[str], Picture]) -> None:
    picture = make(HOSTILE)
    root = Xml.fromstring(picture.svg)
    assert not [element for element in root.iter() if element.tag == f"{SVG}script"]
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert "alert(1)" in (root[0].text or "")
    assert not set(picture.svg) & {"\x1b", "\u202e"}


def test_the_style_sheet_knows_every_colour_by_its_name_and_value() -> None:
    sheet = (template_folder() / "styles" / "tokens.css").read_text(encoding="utf-8")
    light, dark = sheet.split("prefers-color-scheme: dark", maxsplit=1)
    for name, value in COLOURS.items():
        assert f"--{name}: {value};" in light
        assert re.search(rf"--{name}: #[0-9a-f]{{6}};", dark)
        assert f".fill-{name} {{ fill: var(--{name}); }}" in dark
        assert f".stroke-{name} {{ stroke: var(--{name}); }}" in dark


def luminance(colour: str) -> float:
    channels = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_has_a_contrast_of_4_5_and_marks_one_of_3(mode: str) -> None:
    sheet = (template_folder() / "styles" / "tokens.css").read_text(encoding="utf-8")
    part = sheet.split("prefers-color-scheme: dark", maxsplit=1)[mode == "dark"]
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", part))
    for text in ("ink", "muted", "accent"):
        for ground in ("paper", "raised", "warning"):
            assert contrast(colours[text], colours[ground]) >= 4.5
    for mark in ("class-0", "class-1", "class-2", "class-3", "class-other"):
        assert contrast(colours[mark], colours["paper"]) >= 3


def test_a_tree_draws_every_tie_once_and_removed_ones_dashed_with_a_word() -> None:
    root = Xml.fromstring(some_tree().svg)
    lines = [line.get("stroke-dasharray") for line in root.iter(f"{SVG}polyline")]
    assert sorted(map(bool, lines)) == [False, False, False, True]
    words = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert sorted(words) == ["P0", "P1", "P2", "P3", "P4", "removed"]


def test_no_tie_of_a_tree_crosses_a_label() -> None:
    """Over trees of up to twelve people with names of every length."""
    random = Random(5)
    for _ in range(200):
        count = random.randint(2, 12)
        ties = [(random.randrange(node), node) for node in range(1, count)]
        labels = ["n" * random.randint(1, 28) for _ in range(count)]
        places = place_tree(labels, ties)
        assert len({place.mark for place in places}) == count
        for place in places:
            left, top, right, bottom = place.label
            for other in places:
                for (x1, y1), (x2, y2) in pairwise(other.tie):
                    apart_across = max(x1, x2) <= left or min(x1, x2) >= right
                    apart_down = max(y1, y2) <= top or min(y1, y2) >= bottom
                    assert apart_across or apart_down
                x, y = other.mark
                assert not (left < x < right and top < y < bottom)


def test_the_front_is_a_staircase_from_the_left_edge_to_the_bottom() -> None:
    root = Xml.fromstring(some_grid().svg)
    stairs = [path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert re.fullmatch(r"M62 28(H[\d.]+V[\d.]+){3}", stairs[0])
    assert stairs[0].endswith("V288")


def test_choices_in_nearly_the_same_place_share_a_disc() -> None:
    words = [element.text for element in Xml.fromstring(some_grid().svg).iter(f"{SVG}text")]
    assert "1" in words
    assert "2, 3" in words


def test_a_grid_of_one_value_is_drawn_where_that_value_is() -> None:
    picture = draw_objective_grid(
        ObjectiveGrid(
            simulatability=(0.0, 0.0),
            relevance=(0.4, 0.4),
            columns=32,
            rows=20,
            counts=((0, 3),),
        ),
        WORDS,
        "1,246 pairs of the search by both objectives, three on the front",
        front=((0.0, 0.4),),
        choices=((0.0, 0.4),),
    )
    root = Xml.fromstring(picture.svg)
    [cell] = [path for path in root.iter(f"{SVG}path") if path.get("fill-opacity")]
    [disc] = [rect for rect in root.iter(f"{SVG}rect") if rect.get("rx")]
    x, y = map(float, re.findall(r"[\d.]+", cell.get("d") or "")[:2])
    assert float(disc.get("x") or 0) <= x <= float(disc.get("x") or 0) + 20
    assert float(disc.get("y") or 0) <= y <= float(disc.get("y") or 0) + 20


def test_the_roll_out_marks_every_part_by_shape_and_word() -> None:
    picture = some_rollout()
    assert "Treatment: the data of P2." in picture.alt
    assert "Mediators: P1 at layer 1." in picture.alt
    assert "Confounders: the data of P0 and the data of P1." in picture.alt
    assert "confounder: acts on both" in picture.svg
    assert "stroke-dasharray" in picture.svg


def test_effort_curves_end_in_a_bar_of_those_without_an_option() -> None:
    svg = some_curves().svg
    bars = re.findall(r'<rect [^>]*height="([\d.]+)"[^>]*class="(fill-[a-z-]+)', svg)
    sizes = {name: float(height) / 50 for height, name in bars}
    assert sizes == pytest.approx(
        {"fill-yes": 0.52, "fill-no-tint": 0.4, "fill-paper": 0.08}, abs=0.02
    )
    assert "stroke-dasharray" in svg
    alone = effort_strip((), [("no", 1.0)], 1.0, ("0%", "100%"), "")
    assert 'class="fill-yes' not in alone.svg


def test_parts_of_a_bar_are_solid_tinted_and_dashed_as_wide_as_their_shares() -> None:
    svg = some_parts().svg
    bars = re.findall(r'<rect [^>]* width="([\d.]+)"[^>]*class="(fill-[a-z-]+)', svg)
    assert [name for _, name in bars] == ["fill-yes", "fill-no-tint", "fill-paper"]
    shares = [float(width) / 238.5 for width, _ in bars]
    assert shares == pytest.approx([0.5, 0.47, 0.03], abs=0.001)
    assert svg.count("stroke-dasharray") == 1


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([], -0.2, 0.4), ([-0.35, 0.6], -0.4, 0.6), ([-1.0, 1.0], -1.0, 1.0), ([0.41], -0.2, 0.6)],
)
def test_gaps_are_drawn_on_round_ends_around_zero(
    values: list[float], low: float, high: float
) -> None:
    axis = gaps_axis(values, 0.1)
    assert (axis.low, axis.high) == pytest.approx((low, high))
    assert (axis.line, axis.shade) == (0.0, 0.1)
    assert any(abs(tick) < 1e-9 for tick in axis.ticks)
    assert len(axis.ticks) <= 4
    places = [axis(tick) for tick in axis.ticks]
    assert min(after - before for before, after in pairwise(places)) > 80, "or figures touch"


def test_no_break_spaces_are_never_written_out_in_drawings() -> None:
    assert "\\x" not in some_curves("41,2\N{NO-BREAK SPACE}%").svg


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.45, 0, [-0.4, -0.3, -0.2, -0.1, 0]),
        (0, 7, [0, 2, 4, 6]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_figures_of_ticks_have_the_decimals_that_their_step_needs() -> None:
    assert [figure(value, 0.2) for value in (0.0, -0.0, 0.2, 0.6000001)] == [
        "0.0",
        "0.0",
        "0.2",
        "0.6",
    ]
    assert figure(1500, 500) == "1500"


def test_a_range_of_one_value_can_be_drawn() -> None:
    low, high = widen(0.4, 0.4)
    assert low < 0.4 < high


def test_numbers_are_short_and_text_gives_way_in_the_middle() -> None:
    assert [short(value) for value in (1.0, 1.255, -0.001, 100.0)] == ["1", "1.25", "0", "100"]
    assert shorten("P0004", 7) == "P0004"
    assert shorten("customer-0193", 7) == "cus…193"


def test_an_unknown_colour_stays_as_it_is() -> None:
    drawing = Drawing(10, 10, "words")
    drawing.add("rect", fill="none", width=3.0)
    assert '<rect fill="none" width="3" />' in drawing.picture().svg
