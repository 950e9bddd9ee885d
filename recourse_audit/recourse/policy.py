"""The policy: what a person may be advised to change, checked once against the graph.

Vocabulary
----------
relation   how a tie lies to the subject: it leads from them, leads to them, or is between others.
rule       the first rule that matches a tie's kind and relation applies to it.
denied     a kind that is never suggested, whatever the rules (see `deny_list`): a kind of tie, or
           the kind of the node at its far end.

`Policy` answers in tables. `permitted` turns them into the actions of one subject, and nothing
that is not among these is ever suggested.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.candidates import Candidates, read_candidates
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.computed import Computation
from recourse_audit.model.decisions import Mask
from recourse_audit.model.encoding import Encoder, encoder_of
from recourse_audit.records.names import same_name
from recourse_audit.recourse.attribute_checks import AttributeChecks
from recourse_audit.recourse.attributes import Attribute, Movement, movements_of
from recourse_audit.recourse.condition_checks import check_conditions
from recourse_audit.recourse.condition_trees import Conditions
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.settings import GraphSettings, RecourseSettings, Settings, TieRule

OUTGOING, INCOMING, OTHERS = range(3)
RELATIONS = {
    "own": (OUTGOING, INCOMING),
    "outgoing": (OUTGOING,),
    "others": (OTHERS,),
    "any": (OUTGOING, INCOMING, OTHERS),
}
DEFAULT_RULES = (TieRule(kind="*", allow=("drop",)),)
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules for one graph; tables have one row per kind of tie and one column per relation."""

    settings: RecourseSettings
    graph: Graph
    rules: tuple[TieRule, ...]
    denied: Mask
    drop: Mask
    add: Mask
    near: Mask
    cost: Floats
    movements: tuple[Movement, ...]
    protected: tuple[str, ...]
    conditions: Conditions
    encoder: Encoder | None
    columns: GraphSettings
    denied_nodes: Mask
    candidates: Candidates | None

    def rule_for(self, kind: str, relation: int) -> TieRule | None:
        """The first rule that matches, found by walking through all of them."""
        for rule in self.rules:
            if rule.kind in (ANY, kind) and relation in RELATIONS[rule.whose]:
                return rule
        return None

    def movement(self, name: str) -> Movement | None:
        """The rule for an attribute, if there is one."""
        return next((one for one in self.movements if one.rule.name == name), None)


def relations(
    graph: Graph, subject: int, source: Ints | Indices | int, target: Ints | Indices | int
) -> Ints:
    """The relation of ties from `source` to `target` to a subject.

    Own ties without a direction count as outgoing. Nobody asks about a tie from a node to itself,
    because such ties are never changed.
    """
    incoming = INCOMING if graph.directed else OUTGOING
    leads_out, leads_in = np.equal(source, subject), np.equal(target, subject)
    return np.where(leads_out, OUTGOING, np.where(leads_in, incoming, OTHERS))


def open_policy(settings: Settings, graph: Graph, encoder: Encoder | None = None) -> Policy:
    """Check the policy against the graph; the first mistake is reported with its key.

    `encoder` is that of the settings' encodings and formulas, unless another one is given.
    """
    encoder = encoder_of(settings.graph, graph) if encoder is None else encoder
    recourse, kinds = settings.recourse, graph.ties.kinds
    protected = settings.groups.attributes
    node_kinds = kinds_of_nodes(settings, graph)
    _check_never(recourse.never, (*kinds, *dict.fromkeys(node_kinds)))
    denied = np.array([is_denied(kind) or kind in recourse.never for kind in kinds], bool)
    _check_ties(recourse.ties, kinds, denied, directed=graph.directed)
    checks = AttributeChecks(settings, graph, encoder)
    checks.check_rules()
    moved = movements_of(graph, recourse.attributes, checks.labels)
    conditions = Conditions(
        recourse.conditions,
        checks.computation,
        graph.feature_names,
        {
            one.name: one
            for movement in moved
            for one in movement.moved
            if isinstance(one, Attribute)
        },
    )
    check_conditions(checks, conditions)
    _check_line(settings, checks.computation)
    rules = recourse.ties or DEFAULT_RULES
    drop, add, near = (np.zeros((len(kinds), 3), bool) for _ in range(3))
    cost = np.zeros((len(kinds), 3))
    for rule in reversed(rules):
        matched = np.array([rule.kind in (ANY, kind) for kind in kinds], bool)
        for relation in RELATIONS[rule.whose]:
            drop[matched, relation] = "drop" in rule.allow
            add[matched, relation] = "add" in rule.allow
            near[matched, relation] = rule.to == "near"
            cost[matched, relation] = rule.cost
    add[:, OTHERS] = False
    return Policy(
        settings=recourse,
        graph=graph,
        rules=rules,
        denied=denied,
        drop=drop,
        add=add & ~denied[:, None],
        near=near,
        cost=cost,
        movements=moved,
        protected=protected,
        conditions=conditions,
        encoder=encoder,
        columns=settings.graph,
        denied_nodes=_denied_nodes(node_kinds, recourse.never, graph.node_count),
        candidates=(
            None
            if recourse.candidates is None
            else read_candidates(recourse.candidates, graph, settings.graph)
        ),
    )


def _check_line(settings: Settings, computation: Computation) -> None:
    """Refuse to change what decides which cut-off applies: advice must not move the line."""
    by = settings.decision.cut_off_by
    if by is None:
        return
    column = by.column
    sources = {column, *computation.sources(column)}
    for place, rule in enumerate(settings.recourse.attributes):
        for name in (rule.name, *(implied.name for implied in rule.implies)):
            if name in sources:
                raise SettingsError(
                    f"recourse.attributes[{place}]: changes {name!r}, but {column!r} decides which "
                    "cut-off applies (decision.cut_off_by), and advice must not move the line; "
                    "leave the rule out"
                )


def kinds_of_nodes(settings: Settings, graph: Graph) -> tuple[str, ...]:
    """The kind of every node, in order; empty if no column says it."""
    column, known = settings.recourse.node_kind, graph.attributes
    if column is None:
        texts = (name for name, values in known.items() if values.dtype.kind not in "biuf")
        column = next((name for name in texts if _says_kind(name)), None)
    elif column not in known:
        raise SettingsError(
            f"recourse.node_kind: the nodes have no column {column!r} besides the model's "
            f"features; {near_matches(column, known)}"
        )
    return () if column is None else tuple(map(str, known[column].tolist()))


def _says_kind(name: str) -> bool:
    return any(same_name(name, one) for one in ("kind", "type", "node_kind", "node_type"))


def _denied_nodes(kinds: Sequence[str], never: Collection[str], count: int) -> Mask:
    if not kinds:
        return np.zeros(count, bool)
    denied = {kind for kind in set(kinds) if is_denied(kind) or kind in never}
    return np.array([kind in denied for kind in kinds], bool)


def _check_never(never: Iterable[str], kinds: Sequence[str]) -> None:
    for place, kind in enumerate(never):
        if kind not in kinds:
            raise SettingsError(
                f"recourse.never[{place}]: there is no kind of tie {kind!r}; {_known(kind, kinds)}"
            )


def _known(kind: str, kinds: Sequence[str], *more: str) -> str:
    """Which kind may have been meant, to end a sentence with."""
    if not kinds:
        return "the graph has no ties at all, so check the file of ties, or leave the kind out"
    return near_matches(kind, [*kinds, *more])


def _check_ties(
    rules: Sequence[TieRule], kinds: Sequence[str], denied: Mask, *, directed: bool
) -> None:
    for place, rule in enumerate(rules):
        key = f"recourse.ties[{place}]"
        if rule.kind != ANY and rule.kind not in kinds:
            raise SettingsError(
                f"{key}.kind: there is no kind of tie {rule.kind!r}; "
                f"{_known(rule.kind, kinds, ANY)}"
            )
        if rule.kind != ANY and rule.allow and denied[kinds.index(rule.kind)]:
            raise SettingsError(
                f"{key}: allows changes of {rule.kind!r}, a kind that is never suggested; set "
                "allow to [] or leave the rule out"
            )
        for earlier, other in enumerate(rules[:place]):
            if other.kind in (ANY, rule.kind) and _takes(other, rule, directed=directed):
                raise SettingsError(
                    f"{key}: can never match, because recourse.ties[{earlier}] matches everything "
                    "that it does; put the narrower rule first, or leave one out"
                )


def _takes(earlier: TieRule, later: TieRule, *, directed: bool) -> bool:
    """Whether the earlier rule covers every relation that the later one is about."""
    there = set(RELATIONS[earlier.whose])
    wanted = set(RELATIONS[later.whose])
    return wanted - ({INCOMING} if not directed else set()) <= there
