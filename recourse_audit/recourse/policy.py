"""The policy: what a person may be advised to change, checked once against the graph.

Vocabulary
----------
relation   how a tie lies to the subject: it leads from them, leads to them, or is between others;
           and, where nodes are of several kinds, the kind of node at its far end.
rule       the first rule that matches a tie's kind and relation applies to it.
denied     a kind that is never suggested, whatever the rules (see `deny_list`): a kind of tie, or
           the kind of the node at its far end.

`Policy` answers in tables. `actions` turns them into the actions of one subject, and nothing that
is not among these is ever suggested.

What a rule changes must be a column that features depend on, and nothing that follows from others:
a part of an encoding, a derived column or a bin changes only with what it is made from. A protected
attribute may not change in any of these ways either, nor may what encodes it (see `proxies`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import SettingsError
from recourse_audit.graph.computed import Computation, DerivedStep
from recourse_audit.graph.graph import Graph, Indices, Ints
from recourse_audit.graph.tables import Candidates, read_candidates
from recourse_audit.model.decisions import Mask
from recourse_audit.model.preprocessing import Encoder, encoder_of
from recourse_audit.records.texts import same_name
from recourse_audit.recourse.attributes import (
    SIGNS,
    Attribute,
    Labels,
    Movement,
    is_category,
    movements_of,
    read_attribute,
)
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import SAME, SAYS, ProxySearch
from recourse_audit.settings import AttributeRule, ConditionSettings, Settings, TieRule
from recourse_audit.settings.expressions import ColumnName, Comparison, Expression, parse_condition
from recourse_audit.settings.section import near_matches

OUTGOING, INCOMING, OTHERS = range(3)
WAYS = 3
RELATIONS = {
    "own": (OUTGOING, INCOMING),
    "outgoing": (OUTGOING,),
    "others": (OTHERS,),
    "any": (OUTGOING, INCOMING, OTHERS),
}
DEFAULT_RULES = (TieRule(kind="*", allow=("drop",)),)
ANY = "*"
NODE_KIND_COLUMNS = ("kind", "type", "node_kind", "node_type")
NEVER = "and protected attributes (groups.attributes) never change; leave it out"
CHECKED = "if a person has checked that it says something else, list it in recourse.not_protected"


class Conditions:
    """The conditions of a policy as they were read, and the columns that they depend on."""

    def __init__(
        self,
        settings: Sequence[ConditionSettings],
        computation: Computation,
        features: Sequence[str],
        units: Mapping[str, Attribute],
    ) -> None:
        """`units` are the attributes that have a rule.

        Formulas that no feature and no condition needs may lack a value after a change.
        """
        self.texts = tuple(condition.text for condition in settings)
        self.computation = computation
        self._units = units
        self.trees: tuple[tuple[Expression | None, Expression], ...] = tuple(
            (None if own.when is None else parse_condition(own.when), parse_condition(own.then))
            for own in settings
        )
        self.names = tuple(
            tuple(dict.fromkeys((*(when.names if when else ()), *then.names)))
            for when, then in self.trees
        )
        self.base = tuple(frozenset(computation.base(names)) for names in self.names)
        every = tuple(name for names in self.names for name in names)
        wanted = {*features, *every}
        needed = wanted.union(*(computation.sources(name) for name in wanted))
        self.derived = tuple(
            step.settings.name
            for step in computation.steps
            if isinstance(step, DerivedStep) and step.settings.name in needed
        )
        self.columns = computation.base((*every, *self.derived))

    def __bool__(self) -> bool:
        return bool(self.trees or self.derived)

    def user_value(self, name: str, number: np.generic) -> float:
        """A number of the table in the units of its column's rule, if there is one."""
        units = self._units.get(name)
        return float(str(number)) if units is None else units.user_value(number)


class Policy:
    """The rules for one graph; tables have one row per kind of tie and one column per relation.

    Where rules can tell far ends apart by their kind (`far_names`, `far_kind` by node), there are
    three columns per kind of far end; ties between others use the first three. `fits` says which
    ties there can be. Opening a policy checks the settings against the graph; the first mistake is
    reported with its key. `together` numbers the rule by which all own ties of a kind end as one
    change; -1 if they end one by one.
    """

    def __init__(self, settings: Settings, graph: Graph, encoder: Encoder | None = None) -> None:
        """`encoder` is that of the settings' encodings and formulas, unless another is given."""
        encoder = encoder_of(settings.graph, graph) if encoder is None else encoder
        recourse = settings.recourse
        self.settings = recourse
        self.graph = graph
        self.encoder = encoder
        self.protected = settings.groups.attributes
        self.rules = recourse.ties or DEFAULT_RULES
        node_kinds, codes = kinds_of_nodes(settings, graph)
        self.far_names: tuple[str, ...] = ("",)
        self.far_kind: Ints = np.zeros(graph.node_count, np.int64)
        if graph.kinds is not None:
            self.far_names = graph.kinds.names
            self.far_kind = graph.kinds.of(np.arange(graph.node_count))
        elif any(rule.to_kind is not None for rule in self.rules):
            self.far_names, self.far_kind = node_kinds, codes
        self.one_way = one_way(graph)
        self.fits = _possible_relations(graph, self.one_way, self.far_kind, len(self.far_names))
        self.denied = self._check_ties(node_kinds)
        checks = _AttributeChecks(settings, graph, encoder)
        checks.check_rules()
        self.movements = movements_of(graph, recourse.attributes, checks.labels)
        units = {
            attribute.name: attribute
            for movement in self.movements
            for attribute in movement.attributes
            if attribute.is_number
        }
        self.conditions = Conditions(
            recourse.conditions, checks.computation, graph.feature_names, units
        )
        checks.check_conditions(self.conditions)
        shape = self.fits.shape
        self.drop, self.add, self.move, self.near = (np.zeros(shape, bool) for _ in range(4))
        self.cost = np.zeros(shape)
        self.together = np.full(shape, -1)
        for number, rule in reversed([*enumerate(self.rules)]):
            matched = self._cells(rule)
            self.drop[matched] = "drop" in rule.allow
            self.together[matched] = number if rule.together else -1
            self.add[matched] = "add" in rule.allow
            self.move[matched] = "move" in rule.allow
            self.near[matched] = rule.to == "near"
            self.cost[matched] = rule.cost
        own = self.fits.copy()
        own[:, OTHERS::WAYS] = False
        self.add &= own & ~self.denied[:, None]
        self.move &= own
        # That people are tied to others of their own kind says nothing about them.
        people = () if graph.kinds is None else graph.kinds.names[:1]
        never = [
            kind in recourse.never or (kind not in people and is_denied(kind))
            for kind in node_kinds
        ]
        self.denied_nodes: Mask = np.array([*never, False], bool)[codes]
        self.candidates: Candidates | None = None
        if recourse.candidates is not None:
            self.candidates = read_candidates(recourse.candidates, graph, settings.graph)

    def on(self, graph: Graph) -> "Policy":
        """The same rules for a graph that differs in its ties alone."""
        other = copy(self)
        other.graph = graph
        return other

    def rule_for(self, kind: str, relation: int) -> TieRule | None:
        place = self.graph.ties.kinds.index(kind)
        return next((rule for rule in self.rules if self._cells(rule)[place, relation]), None)

    def relations(
        self, subject: int, source: Ints | Indices, target: Ints | Indices, kind: Ints
    ) -> Ints:
        """The relation of ties of some kinds from `source` to `target` to a subject.

        Own ties without a direction count as outgoing. Nobody asks about a tie from a node to
        itself, because such ties are never changed.
        """
        incoming = np.where(self.one_way[kind], INCOMING, OUTGOING)
        outward, inward = np.equal(source, subject), np.equal(target, subject)
        own = (
            np.where(outward, OUTGOING, incoming)
            + WAYS * self.far_kind[np.where(outward, target, source)]
        )
        return np.where(outward | inward, own, OTHERS)

    def _cells(self, rule: TieRule) -> Mask:
        kinds = np.array([rule.kind in (ANY, kind) for kind in self.graph.ties.kinds], bool)
        ways = np.isin(np.arange(WAYS), RELATIONS[rule.whose])
        far = np.array([rule.to_kind in (None, name) for name in self.far_names], bool)
        return kinds[:, None] & (far[:, None] & ways).ravel()

    def _check_ties(self, node_kinds: Sequence[str]) -> Mask:
        """Refuse rules for ties that cannot be meant; mark the kinds that are never suggested."""
        recourse, kinds = self.settings, self.graph.ties.kinds
        for place, kind in enumerate(recourse.never):
            if kind not in (*kinds, *node_kinds):
                hint = _hint(kind, (*kinds, *node_kinds))
                raise SettingsError(
                    f"recourse.never[{place}]: there is no kind of tie {kind!r}; {hint}"
                )
        denied = np.array([is_denied(kind) or kind in recourse.never for kind in kinds], bool)
        for place, rule in enumerate(recourse.ties):
            key = f"recourse.ties[{place}]"
            if rule.kind != ANY and rule.kind not in kinds:
                hint = _hint(rule.kind, kinds, ANY)
                raise SettingsError(f"{key}.kind: there is no kind of tie {rule.kind!r}; {hint}")
            if rule.to_kind is not None and rule.to_kind not in self.far_names:
                hint = "no column of the nodes says what kind each is (recourse.node_kind)"
                hint = near_matches(rule.to_kind, self.far_names) if self.far_names else hint
                raise SettingsError(
                    f"{key}.to_kind: there is no kind of node {rule.to_kind!r}; {hint}"
                )
            if rule.kind != ANY and rule.allow and denied[kinds.index(rule.kind)]:
                raise SettingsError(
                    f"{key}: allows changes of {rule.kind!r}, a kind that is never suggested; set "
                    "allow to [] or leave the rule out"
                )
            cells = self._cells(rule) & self.fits
            if self.graph.kinds is not None and not cells.any():
                to = "" if rule.to_kind is None else f" to a node of the kind {rule.to_kind!r}"
                raise SettingsError(
                    f"{key}: can never match, because nobody can have a tie like that{to}; correct "
                    "kind, to_kind or whose, or leave the rule out"
                )
            for earlier, other in enumerate(recourse.ties[:place]):
                covers = not (cells & ~self._cells(other)).any() and other.kind in (ANY, rule.kind)
                if covers and len(kinds):
                    raise SettingsError(
                        f"{key}: can never match, because recourse.ties[{earlier}] matches "
                        "everything that it does; put the narrower rule first, or leave one out"
                    )
        return denied

    def movement(self, name: str) -> Movement | None:
        return next((movement for movement in self.movements if movement.rule.name == name), None)


def one_way(graph: Graph) -> Mask:
    """Whether ties of each kind have a direction."""
    if graph.relations:
        return np.array([relation.directed for relation in graph.relations], bool)
    return np.full(len(graph.ties.kinds), graph.directed)


def can_lead_both_ways(graph: Graph) -> Mask:
    """Whether two ties of a kind between the same two nodes can differ in their direction."""
    if not graph.relations:
        return one_way(graph)
    within = [relation.source == relation.target for relation in graph.relations]
    return np.logical_and(one_way(graph), within)


def _possible_relations(graph: Graph, one_way: Mask, far_kind: Ints, count: int) -> Mask:
    """Which relations ties of a kind can have to somebody, by what the graph declares or has."""
    possible: Mask = np.ones((len(graph.ties.kinds), WAYS * count), bool)
    possible[:, INCOMING::WAYS] = one_way[:, None]
    if graph.kinds is None:
        return possible
    kind: NDArray[np.integer] = graph.ties.kind
    ends = far_kind[graph.ties.source], far_kind[graph.ties.target]
    if graph.relations:
        kind = np.arange(len(graph.relations))
        sides = [(relation.source, relation.target) for relation in graph.relations]
        ends = tuple(np.array(sides, np.int64).T)
    seen = np.zeros_like(possible)
    seen[:, OTHERS::WAYS] = True
    for way, own, other in ((OUTGOING, *ends), (INCOMING, *ends[::-1])):
        people = own == 0
        relation = np.where(one_way[kind], way, OUTGOING) + WAYS * other
        seen[kind[people], relation[people]] = True
    return possible & seen


def kinds_of_nodes(settings: Settings, graph: Graph) -> tuple[tuple[str, ...], Ints]:
    """The kinds of nodes, and the kind of each; -1 where nothing says it.

    In a graph of several kinds, a column that the settings name says more about the nodes that have
    a value in it.
    """
    column, known = settings.recourse.node_kind, graph.attributes
    names: tuple[str, ...] = ()
    codes: Ints = np.full(graph.node_count, -1)
    if graph.kinds is not None:
        names, codes = graph.kinds.names, graph.kinds.of(np.arange(graph.node_count))
    if column is None and graph.kinds is None:
        texts = (name for name, values in known.items() if values.dtype.kind not in "biuf")
        says_kind = (n for n in texts if any(same_name(n, own) for own in NODE_KIND_COLUMNS))
        column = next(says_kind, None)
    elif column is not None and column not in known:
        raise SettingsError(
            f"recourse.node_kind: the nodes have no column {column!r} besides the model's "
            f"features; {near_matches(column, known)}"
        )
    if column is not None:
        values = [*map(str, known[column].tolist())]
        more = {name: len(names) + code for code, name in enumerate(dict.fromkeys(values))}
        own = np.array([more[value] for value in values], np.int64)
        there = np.array([graph.kinds is None or bool(value.strip()) for value in values], bool)
        names, codes = (*names, *more), np.where(there, own, codes)
    return names, codes


def _hint(kind: str, kinds: Sequence[str], *more: str) -> str:
    """Which kind may have been meant, to end a sentence with."""
    if not kinds:
        return "the graph has no ties at all, so check the file of ties, or leave the kind out"
    return near_matches(kind, [*kinds, *more])


def _check_known(name: str, known: Collection[str], problem: str) -> None:
    if name not in known:
        raise SettingsError(f"{problem} {name!r}; {near_matches(name, known)}")


class _AttributeChecks:
    """Checks rules for attributes, and conditions; the first mistake is an error with its key."""

    def __init__(self, settings: Settings, graph: Graph, encoder: Encoder | None) -> None:
        self._graph = graph
        self._rules = settings.recourse.attributes
        self._protected = settings.groups.attributes
        self._checked = settings.recourse.not_protected
        self._cut_off_by = settings.decision.cut_off_by
        self.computation = Computation(settings.graph) if encoder is None else encoder.computation
        self._seen = graph.person_features if encoder is None else encoder.columns
        self._whole = frozenset[str]() if encoder is None else encoder.whole
        self.labels: Labels = {
            name: step.settings.all_labels for name, step in self.computation.categories.items()
        }

    def check_rules(self) -> None:
        for place, name in enumerate(self._checked):
            known = dict.fromkeys((*self._seen, *self._graph.feature_names))
            _check_known(name, known, f"recourse.not_protected[{place}]: there is no feature")
        proxies = ProxySearch(self._graph, self._protected)
        by_name = {rule.name: (place, rule) for place, rule in enumerate(self._rules)}
        for place, rule in enumerate(self._rules):
            key = f"recourse.attributes[{place}]"
            for name, where in _names(rule, key):
                self._check_name(name, where)
                self._check_proxy(name, where, proxies)
                self._check_cut_off(name, key)
            self._check_kind(rule, key)
            _check_implied(rule, key, by_name)

    def _check_cut_off(self, name: str, key: str) -> None:
        """Refuse to change what decides which cut-off applies: advice must not move the line."""
        column = "" if self._cut_off_by is None else self._cut_off_by.column
        if column and name in (column, *self.computation.sources(column)):
            raise SettingsError(
                f"{key}: changes {name!r}, but {column!r} decides which cut-off applies "
                "(decision.cut_off_by), and advice must not move the line; leave the rule out"
            )

    def _check_name(self, name: str, where: str) -> None:
        """Refuse what is protected, what follows from something else, and what is not there."""
        if name in self._protected:
            raise SettingsError(
                f"{where}: {name!r} is a protected attribute (groups.attributes), and protected "
                "attributes never change; leave it out"
            )
        for protected in self._protected:
            how = self._relation(name, protected)
            if how:
                raise SettingsError(f"{where}: {how}, {NEVER}")
            for column in () if name in self._checked else self.computation.maker:
                if {name, protected} <= {*self.computation.sources(column)}:
                    raise SettingsError(
                        f"{where}: {name!r} moves {column!r}, which follows from the protected "
                        f"attribute {protected!r}, {NEVER}; {CHECKED}"
                    )
        if name in self._seen:
            return
        kinds = self._graph.kinds
        if kinds is not None and name in self._graph.feature_names:
            raise SettingsError(
                f"{where}: {name!r} is not an attribute of the kind {kinds.names[0]!r}, which is "
                "decided on, and so not a person's to change; leave it out"
            )
        step = self.computation.maker.get(name)
        if step is not None:
            parts = " and ".join(repr(name) for name in step.inputs)
            raise SettingsError(
                f"{where}: {name!r} is computed from {parts} ({step.key}) and changes only with "
                f"{'it' if len(step.inputs) == 1 else 'them'}; write the rule for {parts}"
            )
        if name in self._graph.column_names:
            raise SettingsError(
                f"{where}: {name!r} is a column of the nodes but not a feature: the model does not "
                "see it, so changing it changes no decision; leave it out"
            )
        _check_known(name, self._seen, f"{where}: there is no feature")

    def _relation(self, name: str, protected: str) -> str:
        """How a column is made from a protected one, or the other way round; empty if it is not."""
        computation = self.computation
        if protected in computation.sources(name):
            return f"{name!r} follows from the protected attribute {protected!r}"
        if name in computation.sources(protected):
            return f"the protected attribute {protected!r} follows from {name!r}"
        maker = computation.maker.get(name)
        if maker is not None and maker is computation.maker.get(protected):
            return f"{name!r} encodes the same as the protected attribute {protected!r}"
        return ""

    def _check_proxy(self, name: str, where: str, search: ProxySearch) -> None:
        """Refuse to change what encodes a protected attribute; a respelling is always refused."""
        relation, protected = search.of(name) or (None, "")
        if relation is None or (name in self._checked and relation != SAME):
            return
        hint = "" if relation == SAME else f"; {CHECKED}"
        problem = SAYS[relation].format(repr(protected))
        raise SettingsError(f"{where}: {name!r} {problem}, {NEVER}{hint}")

    def _check_kind(self, rule: AttributeRule, key: str) -> None:
        """Refuse steps for a category, values for a number, and categories that nobody knows."""
        if rule.of_category != is_category(self._graph, rule.name):
            raise SettingsError(
                f"{key}: {rule.name!r} holds numbers, so it needs a step, not values or moves"
                if rule.of_category
                else f"{key}.step: {rule.name!r} is a category, so it needs values (or moves), "
                "not a step"
            )
        self._check_whole(rule.name, rule.step, f"{key}.step")
        for place, value in enumerate(rule.values):
            self._check_label(rule.name, value, f"{key}.values[{place}]")
        for place, move in enumerate(rule.moves):
            self._check_label(rule.name, move.before, f"{key}.moves[{place}].from")
            self._check_label(rule.name, move.to, f"{key}.moves[{place}].to")
        for place, implied in enumerate(rule.implies):
            where, name, to = f"{key}.implies[{place}]", implied.name, implied.to
            if is_category(self._graph, name) != (to is not None):
                raise SettingsError(
                    f"{where}.by: {name!r} is a category; write to, the category it changes to"
                    if to is None
                    else f"{where}.to: {name!r} holds numbers; write by, the number it moves by"
                )
            self._check_whole(name, implied.by, f"{where}.by")
            if to is not None:
                self._check_label(name, to, f"{where}.to")

    def _check_label(self, name: str, value: str, where: str) -> None:
        labels = read_attribute(self._graph, name, None, self.labels.get(name)).labels or ()
        if value not in labels:
            raise SettingsError(
                f"{where}: {value!r} is not a value of {name!r}; {near_matches(value, labels)}"
            )

    def _check_whole(self, name: str, by: float | None, where: str) -> None:
        if name in self._whole and by is not None and by != int(by):
            raise SettingsError(
                f"{where}: {by:g} would give fractions, but {name!r} takes whole numbers only; "
                "make it whole"
            )

    def check_conditions(self, conditions: Conditions) -> None:
        """Refuse what cannot be compared, and what ties a change to a protected attribute."""
        known = self._graph.column_names
        for place, trees in enumerate(conditions.trees):
            for word, tree in zip(("if", "then"), trees, strict=True):
                key = f"recourse.conditions[{place}].{word}"
                for name in () if tree is None else tree.names:
                    _check_known(name, known, f"{key}: the nodes have no column")
                for comparison in () if tree is None else tree.comparisons:
                    self._check_comparison(comparison, key)
            self._check_condition_protected(conditions, place)

    def _check_comparison(self, comparison: Comparison, key: str) -> None:
        sides = comparison.left, comparison.right
        texts = [
            is_category(self._graph, side.name)
            if isinstance(side, ColumnName)
            else isinstance(side, str)
            for side in sides
        ]
        column = next(side.name for side in sides if isinstance(side, ColumnName))
        if texts[0] != texts[1]:
            what = "a category" if is_category(self._graph, column) else "a number"
            raise SettingsError(
                f"{key}: {column!r} is {what} and is compared with something else; compare texts "
                "(in quotes) with categories, and numbers with numbers"
            )
        if texts[0] and comparison.sign not in ("=", "!="):
            raise SettingsError(
                f"{key}: {column!r} is a category, which is neither less nor more than another; "
                "use = or !="
            )
        for side in sides:
            if isinstance(side, str):
                self._check_label(column, side, key)

    def _check_condition_protected(self, conditions: Conditions, place: int) -> None:
        """Refuse a condition by which what may change follows from a protected attribute."""
        touched = [
            protected
            for protected in self._protected
            if any(n == protected or self._relation(n, protected) for n in conditions.names[place])
        ]
        changeable = dict.fromkeys(name for rule in self._rules for name, _ in _names(rule, ""))
        base = conditions.base[place]
        moved = [name for name in changeable if name in base and name not in self._checked]
        if touched and moved:
            raise SettingsError(
                f"recourse.conditions[{place}]: makes what {moved[0]!r} may become depend on the "
                f"protected attribute {touched[0]!r} (groups.attributes), and what follows from a "
                f"protected attribute never changes; leave it out; {CHECKED}"
            )


def _names(rule: AttributeRule, key: str) -> Iterator[tuple[str, str]]:
    """The attributes that a rule moves, each with the key that names it."""
    yield rule.name, f"{key}.name"
    for place, implied in enumerate(rule.implies):
        yield implied.name, f"{key}.implies[{place}].name"


def _check_implied(
    rule: AttributeRule, key: str, rules: Mapping[str, tuple[int, AttributeRule]]
) -> None:
    """Refuse an implied move that breaks the rule for the attribute that it moves."""
    for place, implied in enumerate(rule.implies):
        if implied.name not in rules:
            continue
        there, own = rules[implied.name]
        key_of_own = f"recourse.attributes[{there}]"
        if implied.by is None:
            if implied.to not in ({move.to for move in own.moves} or own.values):
                raise SettingsError(
                    f"{key}.implies[{place}].to: changes {implied.name!r} to {implied.to!r}, which "
                    f"{key_of_own} never allows; correct one of the two"
                )
            continue
        where = f"{key}.implies[{place}].by"
        if own.integer and implied.by != int(implied.by):
            raise SettingsError(
                f"{where}: moves {implied.name!r} by {implied.by:g}, but that attribute takes only "
                "whole numbers; make it whole, or leave it out"
            )
        for sign in (1,) if rule.of_category else SIGNS[rule.direction]:
            by = sign * implied.by
            if by and own.direction == ("down" if by > 0 else "up"):
                step = "a change" if rule.of_category else f"a step {'up' if sign > 0 else 'down'}"
                raise SettingsError(
                    f"{where}: {step} of {rule.name!r} would move {implied.name!r} by {by:g}, but "
                    f"{key_of_own}.direction lets it go only {own.direction}; set "
                    f"{key}.direction, or correct one of the two"
                )
