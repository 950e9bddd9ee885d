"""What the probes of a model found, as the model stage makes it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """What may be relied on when asking a model; true is good, and every false has a sentence."""

    deterministic: bool
    node_order: bool
    tie_order: bool
    ties_matter: bool
    packing: bool
    depth: int | None
    sentences: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        names = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
        return tuple(name for name in names if not getattr(self, name))
