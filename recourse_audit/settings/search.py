"""How far the search for explanations goes, and how effects are adjusted for confounders."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from recourse_audit.settings.section import Section

LARGEST_EXPLANATION = 8
# What the runtime takes.
LARGEST_SEED = 2**63 - 1
# Of the features of confounders; with fewer, the interval of a mean is not to be relied on.
FIRST_DRAWS = 60


class SearchSettings(Section):
    """How large an explanation may be, and how far and how long to search for it."""

    max_nodes: int = Field(
        default=4,
        ge=2,
        le=LARGEST_EXPLANATION,
        description="Maximum number of nodes in an explanation (C in the paper).",
    )
    max_hops: int | None = Field(
        default=None,
        ge=1,
        le=8,
        description="Maximum distance from the subject in hops (D in the paper); the model's depth "
        "if absent.",
    )
    budget: int = Field(
        default=200_000, description="Maximum number of subgraphs evaluated per subject."
    )
    counterfactuals: int = Field(
        default=3,
        ge=1,
        le=20,
        description="Maximum number of diverse counterfactuals shown per subject.",
    )
    carrier_budget: int = Field(
        default=128,
        ge=0,
        le=100_000,
        description="Maximum number of sets of ties whose removal is tried on the whole graph for "
        "one subject, to find the ties that carry the decision there; up to four times as many, if "
        "all sets of one and two of the subject's own ties need it. 0 for none.",
    )
    prefer: Literal["paper", "whole_graph"] = Field(
        default="paper",
        description="What the terminal shows first: the paper's counterfactuals, or the ties that "
        "carry the decision on the whole graph. Pages begin with the whole graph in either case.",
    )
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED, description="Seed of all random draws.")

    @field_validator("budget")
    @classmethod
    def _check_budget(cls, budget: int, info: ValidationInfo) -> int:
        max_nodes: int = info.data.get("max_nodes", 2)
        least = 2**max_nodes
        if budget < least:
            raise ValueError(
                f"must be at least {least}, enough for one explanation of {max_nodes} nodes with "
                f"its counterfactuals (got {budget})"
            )
        return budget


class CaveatSettings(Section):
    """How effects are adjusted for confounders, and which are too small to matter."""

    draws: int = Field(
        default=960,
        ge=0,
        le=10_000,
        description="Maximum number of draws of the confounders' features per effect: 60 at "
        "first, then four times as many until the grade is settled. 0 for none.",
    )
    smallest_effect: float = Field(
        default=0.01,
        gt=0,
        le=1,
        description="Smallest change of a probability that counts as an effect; for a score, in"
        " standard deviations of everybody's scores.",
    )
    stratum: str | None = Field(
        default=None,
        description="Draw only from nodes with the subject's value in this column.",
    )

    @field_validator("draws")
    @classmethod
    def _check_draws(cls, draws: int) -> int:
        if 0 < draws < FIRST_DRAWS:
            raise ValueError(f"must be 0, or at least {FIRST_DRAWS} (got {draws})")
        return draws
