"""The palette: contrast, and whether marks differ for people who see colours differently."""

import re

import numpy as np
import pytest

from recourse_audit.render.drawing import COLOURS
from recourse_audit.render.templates import Templates

# Linear RGB as it is seen without one kind of cone (Machado, Oliveira and Fernandes 2009).
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "achromatopsia": [[0.2126, 0.7152, 0.0722]] * 3,
}
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])
# A difference of about 2 can just be seen side by side; of 10, at a glance.
AT_A_GLANCE = 10


def themes() -> dict[str, dict[str, str]]:
    light, dark = Templates().text("styles/tokens.css").split("prefers-color-scheme: dark")
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))
        for name, text in (("light", light), ("dark", dark))
    }


def linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The ratio that WCAG 2 asks for."""
    lightness = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (lightness[1] + 0.05) / (lightness[0] + 0.05)


def lab(colour: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which distances are about as large as they look."""
    xyz = TO_XYZ @ np.clip(colour, 0, 1)
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def difference(one: str, other: str, seen: list[list[float]]) -> float:
    first, second = (lab(np.array(seen) @ linear(colour)) for colour in (one, other))
    return float(np.linalg.norm(first - second))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_text_has_enough_contrast(theme: str) -> None:
    found = themes()[theme]
    for name in ("ink", "muted", "accent", "yes", "no", "open"):
        assert contrast(found[name], found["paper"]) >= 4.5, name
    for ground in ("no-tint", "shade", "raised", "warning"):
        assert contrast(found["ink"], found[ground]) >= 4.5, ground
    for name in ("muted", "no"):
        assert contrast(found[name], found["warning"]) >= 4.5, name
    assert contrast(found["paper"], found["yes"]) >= 4.5
    assert contrast(found["axis"], found["paper"]) >= 3


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_marks_say_differs_for_everybody(theme: str, deficiency: str) -> None:
    """Solid, tinted inside an outline, and dashed: without any colour, outlines still tell."""
    found = themes()[theme]
    grey = deficiency == "achromatopsia"
    grounds = [("yes", "no-tint"), ("yes", "paper"), ("no", "paper"), ("open", "paper")]
    for one, other in [*grounds, *([] if grey else [("yes", "no"), ("no-tint", "paper")])]:
        distance = difference(found[one], found[other], DEFICIENCIES[deficiency])
        assert distance >= AT_A_GLANCE, (one, other)


def test_pictures_have_the_colours_of_the_light_page() -> None:
    light = themes()["light"]
    assert {name: light[name] for name in COLOURS} == COLOURS


def test_every_colour_of_pictures_follows_the_page_on_a_screen() -> None:
    sheet = Templates().text("styles/tokens.css")
    for name in COLOURS:
        for what in ("fill", "stroke"):
            assert f".{what}-{name} {{ {what}: var(--{name}); }}" in sheet
