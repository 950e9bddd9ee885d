"""What people know and a model does not take as it is: categories and derived numbers."""

from functools import cached_property
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.expressions import Expression, parse_formula
from recourse_audit.settings.section import Section

EncodingKind = Literal["one_hot", "ordinal", "thermometer", "binned"]


class EncodingSettings(Section):
    """A category that columns of numbers stand for; everything speaks of the category."""

    name: str = Field(min_length=1, description="What the category is called everywhere.")
    kind: EncodingKind = Field(
        description="'one_hot': one column per label, 1 in the column of the label and 0 in the "
        "others; 'ordinal': one column with the number of the label; 'thermometer': 1 in the first "
        "columns up to the label, 0 in the others; 'binned': the interval that a number lies in, "
        "as one_hot or ordinal columns."
    )
    columns: tuple[str, ...] = Field(
        min_length=1, description="The columns of the nodes that encode it, in the labels' order."
    )
    labels: tuple[str, ...] = Field(
        default=(),
        description="The names of the categories, in order; bins may be named by their edges.",
    )
    values: tuple[float, ...] = Field(
        default=(), description="Of 'ordinal': the code of each label; 0, 1, 2, … if absent."
    )
    edges: tuple[float, ...] = Field(
        default=(),
        description="Of 'binned': the numbers between the bins, ascending; an edge belongs to the "
        "bin above it.",
    )
    of: str | None = Field(
        default=None,
        description="Of 'binned': the column with the number itself, if the nodes have it. Then "
        "the number is what may change, and its bin follows.",
    )

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if self.kind != "binned" and (self.edges or self.of is not None):
            raise ValueError("edges and of belong to kind 'binned'; leave them out")
        if self.kind != "ordinal" and self.values:
            raise ValueError("values belong to kind 'ordinal'; leave them out")
        if self.kind == "binned":
            self._check_bins()
        elif len(self.labels) < 2:
            raise ValueError(f"needs at least two labels (got {len(self.labels)})")
        self._check_widths()
        for what in ("labels", "columns", "values"):
            given = getattr(self, what)
            if len(set(given)) < len(given):
                raise ValueError(f"{what} must not repeat one ({', '.join(map(str, given))})")
        if any(not label.strip() for label in self.labels):
            raise ValueError("labels must not be empty")
        if self.name in self.columns:
            raise ValueError(
                f"name must differ from its columns (got {self.name!r}); the numbers keep the "
                "column's name, and the category needs one of its own"
            )
        return self

    def _check_bins(self) -> None:
        if not self.edges:
            raise ValueError("needs edges: the numbers between the bins")
        if any(low >= high for low, high in pairwise(self.edges)):
            raise ValueError("edges must be ascending")
        if self.labels and len(self.labels) != len(self.edges) + 1:
            raise ValueError(
                f"needs {len(self.edges) + 1} labels, one more than edges (got {len(self.labels)})"
            )

    def _check_widths(self) -> None:
        count, width = len(self.all_labels), len(self.columns)
        wanted = {
            "one_hot": (count,),
            "ordinal": (1,),
            "thermometer": (count - 1, count),
            "binned": (1, count),
        }[self.kind]
        if width not in wanted:
            several = " or ".join(map(str, wanted))
            raise ValueError(f"needs {several} columns for {count} labels (got {width})")
        if self.values and len(self.values) != count:
            raise ValueError(f"needs as many values as labels (got {len(self.values)} and {count})")

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels as given; those of bins without any say the interval."""
        if self.labels:
            return self.labels
        shown = [f"{edge:.12g}" for edge in self.edges]
        inner = (f"{low} to under {high}" for low, high in pairwise(shown))
        return (f"under {shown[0]}", *inner, f"{shown[-1]} and over")

    @property
    def codes(self) -> tuple[tuple[float, ...], ...]:
        """What the columns hold for each label."""
        count, width = len(self.all_labels), len(self.columns)
        if self.kind == "thermometer":
            first = width - count + 1
            return tuple(
                tuple(float(place < label + first) for place in range(width))
                for label in range(count)
            )
        if width == 1 and self.kind != "one_hot":
            return tuple((code,) for code in self.values or map(float, range(count)))
        return tuple(
            tuple(float(place == label) for place in range(width)) for label in range(count)
        )


class DerivedSettings(Section):
    """A column that is computed from others, again whenever one of them changes."""

    name: str = Field(min_length=1, description="What the column is called.")
    formula: str = Field(
        description="Arithmetic on columns, as they stand in the table: + - * / **, parentheses, "
        "numbers and names; a name that is not a plain word in backquotes. Never run as code."
    )

    @field_validator("formula")
    @classmethod
    def _readable(cls, formula: str) -> str:
        parse_formula(formula)
        return formula

    @cached_property
    def tree(self) -> Expression:
        """The formula as it was read."""
        return parse_formula(self.formula)


def repeated_column(
    encodings: tuple[EncodingSettings, ...], derived: tuple[DerivedSettings, ...]
) -> str:
    """What is wrong with the names of encodings and derived columns together; empty if nothing."""
    made: dict[str, str] = {}
    for place, encoding in enumerate(encodings):
        for name in encoding.columns:
            if name in made:
                return f"encodings[{place}].columns: {name!r} is already {made[name]}"
            made[name] = f"a column of encodings[{place}]"
    named: dict[str, str] = {}
    keys = [(f"encodings[{place}]", one.name) for place, one in enumerate(encodings)]
    keys += [(f"derived[{place}]", one.name) for place, one in enumerate(derived)]
    for key, name in keys:
        known = named.get(name) or made.get(name)
        if known is not None:
            return f"{key}.name: {name!r} is already {known}"
        named[name] = f"the name of {key}"
    return ""
