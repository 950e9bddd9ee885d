"""Rules for attributes checked against the graph, and protected attributes kept out of all of them.

What a rule changes must be a column that features depend on, and nothing that follows from others:
a part of an encoding, a derived column or a bin changes only with what it is made from. A protected
attribute may not change in any of these ways either, nor may what encodes it (see `proxies`).
"""

from collections.abc import Iterator, Mapping, Sequence

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.computed import Computation
from recourse_audit.model.encoding import Encoder
from recourse_audit.recourse.attributes import category_of, is_category
from recourse_audit.recourse.proxies import SAME, ProxySearch
from recourse_audit.settings import AttributeRule, Implication, Settings

NEVER = "and protected attributes (groups.attributes) never change; leave it out"
CHECKED = "if a person has checked that it says something else, list it in recourse.not_protected"


class AttributeChecks:
    """Checks the rules of one policy; the first mistake is an error with its key."""

    def __init__(self, settings: Settings, graph: Graph, encoder: Encoder | None) -> None:
        self.graph = graph
        self.rules = settings.recourse.attributes
        self.protected = settings.groups.attributes
        self.checked = settings.recourse.not_protected
        self.computation = Computation(settings.graph) if encoder is None else encoder.computation
        self.seen = graph.feature_names if encoder is None else encoder.columns
        self.whole = frozenset[str]() if encoder is None else encoder.whole
        self.labels: Mapping[str, Sequence[str]] = {
            name: step.settings.all_labels for name, step in self.computation.categories.items()
        }

    def check_rules(self) -> None:
        """Check every rule: names, protected attributes, values, and what it implies."""
        self._check_not_protected()
        proxies = ProxySearch(self.graph, self.protected)
        by_name = {rule.name: (place, rule) for place, rule in enumerate(self.rules)}
        for place, rule in enumerate(self.rules):
            key = f"recourse.attributes[{place}]"
            for name, where in _names(rule, key):
                self._check_name(name, where)
                self._check_proxy(name, where, proxies)
            self._check_kind(rule, key)
            self._check_whole(rule, key)
            _check_implied(rule, key, by_name)

    @property
    def changeable(self) -> tuple[str, ...]:
        """Every column that some rule changes, itself or by implication."""
        names = (name for rule in self.rules for name, _ in _names(rule, ""))
        return tuple(dict.fromkeys(names))

    def related(self, name: str, protected: str) -> str:
        """How a column is made from a protected one, or the other way round; empty if it is not."""
        computation = self.computation
        if protected in computation.sources(name):
            return f"{name!r} follows from the protected attribute {protected!r}"
        if name in computation.sources(protected):
            return f"the protected attribute {protected!r} follows from {name!r}"
        if name in computation.maker and computation.maker[name] is computation.maker.get(
            protected
        ):
            return f"{name!r} encodes the same as the protected attribute {protected!r}"
        return ""

    def _check_name(self, name: str, where: str) -> None:
        """Refuse what is protected, what follows from something else, and what is not there."""
        if name in self.protected:
            raise SettingsError(
                f"{where}: {name!r} is a protected attribute (groups.attributes), and protected "
                "attributes never change; leave it out"
            )
        for protected in self.protected:
            how = self.related(name, protected)
            if how:
                raise SettingsError(f"{where}: {how}, {NEVER}")
            together = self._together(name, protected)
            if together and name not in self.checked:
                raise SettingsError(
                    f"{where}: {name!r} moves {together!r}, which follows from the protected "
                    f"attribute {protected!r}, {NEVER}; {CHECKED}"
                )
        if name in self.seen:
            return
        step = self.computation.maker.get(name)
        if step is not None:
            parts = " and ".join(repr(one) for one in step.inputs)
            raise SettingsError(
                f"{where}: {name!r} is computed from {parts} ({step.key}) and changes only with "
                f"{'it' if len(step.inputs) == 1 else 'them'}; write the rule for {parts}"
            )
        if name in self.graph.column_names:
            raise SettingsError(
                f"{where}: {name!r} is a column of the nodes but not a feature: the model does not "
                "see it, so changing it changes no decision; leave it out"
            )
        raise SettingsError(
            f"{where}: there is no feature {name!r}; {near_matches(name, self.seen)}"
        )

    def _together(self, name: str, protected: str) -> str:
        """A column that follows from both a column and a protected one; empty if there is none."""
        for made in self.computation.maker:
            sources = self.computation.sources(made)
            if name in sources and protected in sources:
                return made
        return ""

    def _check_kind(self, rule: AttributeRule, key: str) -> None:
        """Refuse steps for a category, values for a number, and categories that nobody knows."""
        if rule.of_category != is_category(self.graph, rule.name):
            raise SettingsError(
                f"{key}: {rule.name!r} holds numbers, so it needs a step, not values or moves"
                if rule.of_category
                else f"{key}.step: {rule.name!r} is a category, so it needs values (or moves), "
                "not a step"
            )
        for place, value in enumerate(rule.values):
            self.check_label(rule.name, value, f"{key}.values[{place}]")
        for place, move in enumerate(rule.moves):
            self.check_label(rule.name, move.before, f"{key}.moves[{place}].from")
            self.check_label(rule.name, move.to, f"{key}.moves[{place}].to")
        for place, implied in enumerate(rule.implies):
            self._check_implied_kind(implied, f"{key}.implies[{place}]")

    def _check_whole(self, rule: AttributeRule, key: str) -> None:
        """Refuse fractions for a column that takes whole numbers only."""
        moves = [(rule.name, rule.step, f"{key}.step")]
        moves += [
            (one.name, one.by, f"{key}.implies[{place}].by")
            for place, one in enumerate(rule.implies)
        ]
        for name, by, where in moves:
            if name in self.whole and by is not None and by != int(by):
                raise SettingsError(
                    f"{where}: {by:g} would give fractions, but {name!r} takes whole numbers only; "
                    "make it whole"
                )

    def _check_implied_kind(self, implied: Implication, key: str) -> None:
        if is_category(self.graph, implied.name) != (implied.to is not None):
            raise SettingsError(
                f"{key}.by: {implied.name!r} is a category; write to, the category it changes to"
                if implied.to is None
                else f"{key}.to: {implied.name!r} holds numbers; write by, the number it moves by"
            )
        if implied.to is not None:
            self.check_label(implied.name, implied.to, f"{key}.to")

    def check_label(self, name: str, value: str, where: str) -> None:
        """Refuse a value that a category does not have."""
        labels = category_of(self.graph, name, self.labels.get(name)).labels
        if value not in labels:
            raise SettingsError(
                f"{where}: {value!r} is not a value of {name!r}; {near_matches(value, labels)}"
            )

    def _check_not_protected(self) -> None:
        for place, name in enumerate(self.checked):
            known = dict.fromkeys((*self.seen, *self.graph.feature_names))
            if name not in known:
                raise SettingsError(
                    f"recourse.not_protected[{place}]: there is no feature {name!r}; "
                    f"{near_matches(name, known)}"
                )

    def _check_proxy(self, name: str, where: str, search: ProxySearch) -> None:
        """Refuse to change what encodes a protected attribute; a respelling is always refused."""
        proxy = search.of(name)
        if proxy is None or (name in self.checked and proxy.relation != SAME):
            return
        hint = "" if proxy.relation == SAME else f"; {CHECKED}"
        raise SettingsError(f"{where}: {proxy.sentence}, {NEVER}{hint}")


def _names(rule: AttributeRule, key: str) -> Iterator[tuple[str, str]]:
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
        if implied.by is None:
            _check_implied_category(f"{key}.implies[{place}].to", implied, there, own)
            continue
        if own.integer and implied.by != int(implied.by):
            raise SettingsError(
                f"{key}.implies[{place}].by: moves {implied.name!r} by {implied.by:g}, but that "
                "attribute takes only whole numbers; make it whole, or leave it out"
            )
        signs = (
            (1,)
            if rule.of_category
            else {"up": (1,), "down": (-1,), "any": (1, -1)}[rule.direction]
        )
        wrong = [sign for sign in signs if goes_against(own, sign * implied.by)]
        if wrong:
            step = "a change" if rule.of_category else f"a step {'up' if wrong[0] > 0 else 'down'}"
            raise SettingsError(
                f"{key}.implies[{place}].by: {step} of {rule.name!r} would move "
                f"{implied.name!r} by {wrong[0] * implied.by:g}, but "
                f"recourse.attributes[{there}].direction lets it go only {own.direction}; set "
                f"{key}.direction, or correct one of the two"
            )


def _check_implied_category(
    where: str, implied: Implication, there: int, own: AttributeRule
) -> None:
    targets = {move.to for move in own.moves} or set(own.values)
    if implied.to not in targets:
        raise SettingsError(
            f"{where}: changes {implied.name!r} to {implied.to!r}, which "
            f"recourse.attributes[{there}] never allows; correct one of the two"
        )


def goes_against(rule: AttributeRule, change: float) -> bool:
    """Whether a change of an attribute has the direction that its rule forbids."""
    return rule.direction == ("down" if change > 0 else "up") and change != 0
