"""What the probes of a model found, as the model stage makes it."""

from dataclasses import dataclass, field

from recourse_audit.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProbeReport(Record):
    """What may be relied on when asking a model; true is good.

    `notes` has a sentence for every false, and for what else a reader must know first.
    """

    deterministic: bool
    node_order: bool
    tie_order: bool
    ties_matter: bool
    packing: bool
    depth: int | None
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        names = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
        return tuple(name for name in names if not getattr(self, name))
