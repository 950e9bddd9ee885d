"""The policy: what a person may be advised to change, checked once against the graph.

Vocabulary
----------
relation   how a tie lies to the subject: it leads from them, leads to them, or is between others.
rule       the first rule that matches a tie's kind and relation applies to it.
denied     a kind that is never suggested, whatever the rules (see `deny_list`): a kind of tie, or
           the kind of the node at its far end.

`Policy` answers in tables, for the search. `rules.why_not` walks through the rules again and says
in words what forbids a change: for changes tried by hand, and for the last check of every option.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.candidates import Candidates, read_candidates
from recourse_audit.graph.columns import near_matches
from recourse_audit.model.decisions import Mask
from recourse_audit.records.names import same_name
from recourse_audit.recourse.attributes import Movement, movements
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import SAME, ProxySearch
from recourse_audit.settings import AttributeRule, RecourseSettings, Settings, TieRule

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


def open_policy(settings: Settings, graph: Graph) -> Policy:
    """Check the policy against the graph; the first mistake is reported with its key."""
    recourse, kinds = settings.recourse, graph.ties.kinds
    protected = settings.groups.attributes
    node_kinds = kinds_of_nodes(settings, graph)
    _check_never(recourse.never, (*kinds, *dict.fromkeys(node_kinds)))
    denied = np.array([is_denied(kind) or kind in recourse.never for kind in kinds], bool)
    _check_ties(recourse.ties, kinds, denied, directed=graph.directed)
    _check_not_protected(recourse.not_protected, graph)
    proxies = ProxySearch(graph, protected)
    by_name = {rule.name: (place, rule) for place, rule in enumerate(recourse.attributes)}
    for place, attribute in enumerate(recourse.attributes):
        key = f"recourse.attributes[{place}]"
        _check_attribute(attribute, key, graph, protected)
        _check_proxies(attribute, key, proxies, recourse.not_protected)
        _check_implied(attribute, key, by_name)
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
        movements=movements(graph, recourse.attributes),
        protected=protected,
        denied_nodes=_denied_nodes(node_kinds, recourse.never, graph.node_count),
        candidates=(
            None
            if recourse.candidates is None
            else read_candidates(recourse.candidates, graph, settings.graph)
        ),
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


def _check_attribute(rule: AttributeRule, key: str, graph: Graph, protected: Sequence[str]) -> None:
    names = [(rule.name, f"{key}.name")]
    names += [
        (implied.name, f"{key}.implies[{place}].name") for place, implied in enumerate(rule.implies)
    ]
    for name, where in names:
        if name in protected:
            raise SettingsError(
                f"{where}: {name!r} is a protected attribute (groups.attributes), and protected "
                "attributes never change; leave it out"
            )
        if name in graph.feature_names:
            continue
        if name in graph.attributes:
            raise SettingsError(
                f"{where}: {name!r} is a column of the nodes but not a feature: the model does not "
                "see it, so changing it changes no decision; leave it out"
            )
        raise SettingsError(
            f"{where}: there is no feature {name!r}; {near_matches(name, graph.feature_names)}"
        )


def _check_not_protected(names: Iterable[str], graph: Graph) -> None:
    for place, name in enumerate(names):
        if name not in graph.feature_names:
            raise SettingsError(
                f"recourse.not_protected[{place}]: there is no feature {name!r}; "
                f"{near_matches(name, graph.feature_names)}"
            )


def _check_proxies(
    rule: AttributeRule, key: str, search: ProxySearch, checked: Collection[str]
) -> None:
    """Refuse to change what encodes a protected attribute; a mere respelling is always refused."""
    names = [(rule.name, f"{key}.name")]
    names += [(one.name, f"{key}.implies[{at}].name") for at, one in enumerate(rule.implies)]
    for name, where in names:
        proxy = search.of(name)
        if proxy is None or (name in checked and proxy.relation != SAME):
            continue
        hint = (
            ""
            if proxy.relation == SAME
            else (
                "; if a person has checked that it says something else, list it in "
                "recourse.not_protected"
            )
        )
        raise SettingsError(
            f"{where}: {proxy.sentence}, and protected attributes (groups.attributes) never "
            f"change; leave it out{hint}"
        )


def _check_implied(
    rule: AttributeRule, key: str, rules: Mapping[str, tuple[int, AttributeRule]]
) -> None:
    """Refuse an implied move that breaks the rule for the attribute that it moves."""
    for place, implied in enumerate(rule.implies):
        if implied.name not in rules:
            continue
        there, own = rules[implied.name]
        if own.integer and implied.by != int(implied.by):
            raise SettingsError(
                f"{key}.implies[{place}].by: moves {implied.name!r} by {implied.by:g}, but that "
                "attribute takes only whole numbers; make it whole, or leave it out"
            )
        signs = {"up": (1,), "down": (-1,), "any": (1, -1)}[rule.direction]
        wrong = [sign for sign in signs if goes_against(own, sign * implied.by)]
        if wrong:
            step = "up" if wrong[0] > 0 else "down"
            raise SettingsError(
                f"{key}.implies[{place}].by: a step {step} of {rule.name!r} would move "
                f"{implied.name!r} by {wrong[0] * implied.by:g}, but "
                f"recourse.attributes[{there}].direction lets it go only {own.direction}; set "
                f"{key}.direction, or correct one of the two"
            )


def goes_against(rule: AttributeRule, change: float) -> bool:
    """Whether a change of an attribute has the direction that its rule forbids."""
    return rule.direction == ("down" if change > 0 else "up") and change != 0
