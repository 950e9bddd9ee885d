"""The roles of inputs in a model of several kinds of nodes: guessed by name and form, then tested.

Every input may fill a slot such as `features:person` or `edges:works_at:reversed`. A name that
mentions a kind or a relation is a strong hint, and so is a width that only one kind has. What is
left is found out by asking: kinds get different numbers of nodes, and an input for ties gets arcs
between the last nodes of two kinds. With the wrong kinds, the model looks for a node that is not
there and fails; the test is made twice, with the sizes the other way round, so that only the right
kinds pass both.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Kinds, Relation
from recourse_audit.model.roles import InputPort, Slot, Sureness, fixed_value, read_declared
from recourse_audit.settings import ModelSettings, Role
from recourse_audit.settings.inputs import TIE_ROLES
from recourse_audit.settings.section import near_matches

# Runs the model with some inputs and returns its outputs; None if it fails.
Ask = Callable[[Mapping[str, NDArray[Any]]], list[NDArray[Any]] | None]

REVERSING = frozenset({"rev", "reverse", "reversed", "inv", "inverse", "back"})
FEATURE_WORDS = frozenset({"x", "feat", "feats", "features", "feature", "node", "nodes", "h", "in"})
TIE_WORDS = frozenset({"edge", "edges", "index", "adj", "adjs", "ties", "e", "dict", "tensor"})
CARRYING = frozenset({"attr", "attrs", "attributes", "edge", "efeat"})
WEIGHING = frozenset({"weight", "weights", "w"})
COUNTING = frozenset({"num", "count", "n", "size", "number"})
ASKING = frozenset({"target", "seed", "query"})
CARRIED: Role = "edge_attributes"
NAMED, IMPOSSIBLE, LEFT_OUT = 8.0, -1e6, -50.0
# A guess that rests on less than a name is tested against all others that would fit.
FIRST_SIZE, MOST_ORDERS = 3, 120


def tokens_of(name: str) -> list[str]:
    """The words of a name, as exporters join and mangle them."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def find_name(name: str, words: Sequence[str]) -> int | None:
    """Where the words of a name begin among others; None if they are not there in a row."""
    wanted = tokens_of(name)
    places = range(len(words) - len(wanted) + 1)
    return next((k for k in places if [*words[k : k + len(wanted)]] == wanted), None)


def is_input_of(name: str, kind: str) -> bool:
    """Whether an input is called like the features of a kind, and like nothing else."""
    words = tokens_of(name)
    return find_name(kind, words) is not None and {*words} <= FEATURE_WORDS | {*tokens_of(kind)}


class Guesser:
    """Scores how well inputs fit slots, by form and by name: `slots` are all that there are."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self.slots = [Slot("target"), Slot("edge_labels")]
        for name, (first, last) in zip(kinds.names, kinds.blocks, strict=True):
            more = [Slot("features", name)] if last > first else []
            self.slots += [Slot("node_count", name), *more]
        for relation in kinds.relations:
            told = TIE_ROLES if relation.attributes else TIE_ROLES[:2]
            for reverse in (False, True) if relation.directed else (False,):
                self.slots += [Slot(role, relation.name, reverse) for role in told]
        self._relations = {relation.name: relation for relation in kinds.relations}

    def score(self, port: InputPort, slot: Slot) -> float:
        """How likely a slot is; `IMPOSSIBLE` where type, rank or width do not fit."""
        shape, words = port.shape, tokens_of(port.name)
        match slot.role:
            case "edges" | "edge_labels" if port.integer and len(shape) == 2 and 2 in shape:
                if slot.role == "edge_labels":
                    return NAMED if {"label", "labels"} & {*words} else IMPOSSIBLE
                return self._mention(slot, words)
            case "features" if port.floating and len(shape) == 2:
                first, last = self._kinds.blocks[self._kinds.names.index(slot.of)]
                if shape[1] not in (last - first, None) and not isinstance(shape[1], str):
                    return IMPOSSIBLE
                edge = 4.0 * bool({"edge", "attr"} & {*words})
                return self._mention(slot, words) + bool(FEATURE_WORDS & {*words}) - edge
            case "edge_attributes" if port.floating and len(shape) == 2:
                width = self._relations[slot.of].attributes
                if isinstance(shape[1], int) and shape[1] != width:
                    return IMPOSSIBLE
                return self._mention(slot, words) + 2.0 * bool(CARRYING & {*words}) - 0.5
            case "edge_weight" if port.floating and (len(shape) == 1 or shape[1:] == (1,)):
                return self._mention(slot, words) + 2.0 * bool(WEIGHING & {*words}) - 1.0
            case "node_count" if port.integer and len(shape) <= 1 and COUNTING & {*words}:
                return self._mention(slot, words)
            case "target" if port.integer and len(shape) <= 1 and ASKING & {*words}:
                return NAMED
            case _:
                return IMPOSSIBLE

    def _mention(self, slot: Slot, words: list[str]) -> float:
        """What a name says about a kind, or about a relation and its direction."""
        score = 0.0 if find_name(slot.of, words) is None else NAMED + len(slot.of) / 100
        relation = self._relations.get(slot.of)
        if relation is None:
            return score
        turned = bool(REVERSING & {*words} - {*tokens_of(slot.of)})
        score += (2.0 if turned else 0.5) if turned == slot.reverse else -6.0 if turned else -2.0
        ends = [find_name(self._kinds.names[k], words) for k in (relation.source, relation.target)]
        if relation.source != relation.target and None not in ends:
            forward = ends[0] < ends[1]  # type: ignore[operator]  # neither is None
            score += 3.0 if forward != slot.reverse else -3.0
        return score

    def assign(
        self, ports: Sequence[InputPort], allowed: set[tuple[int, Slot]]
    ) -> list[tuple[Slot | None, float]]:
        """The slots that fit best together, each used once, and the score of each."""
        from scipy.optimize import linear_sum_assignment

        scores = np.array(
            [
                self.score(ports[place], slot) if (place, slot) in allowed else IMPOSSIBLE
                for place, slot in product(range(len(ports)), self.slots)
            ]
        ).reshape(len(ports), len(self.slots))
        table = np.hstack((scores, np.full((len(ports), len(ports)), LEFT_OUT)))
        _, columns = linear_sum_assignment(table, maximize=True)
        return [
            (self.slots[column], float(scores[place, column]))
            if column < len(self.slots)
            else (None, LEFT_OUT)
            for place, column in enumerate(columns.tolist())
        ]


def is_joined(ports: Sequence[InputPort], settings: ModelSettings) -> bool:
    """Whether a model takes all kinds in one table of nodes and one list of ties."""
    if any(":" in role for role in settings.roles.values()):
        return False
    pairs = [port for port in ports if port.integer and len(port.shape) == 2 and 2 in port.shape]
    words = [{*tokens_of(port.name)} for port in ports if port.integer and len(port.shape) == 1]
    typed = any({"type", "types", "etype", "ntype", "rel", "relation"} & each for each in words)
    tables = [port for port in ports if port.floating and len(port.shape) == 2]
    return "edges" in settings.roles.values() or (len(pairs) < 2 and (typed or len(tables) < 2))


def assign_kind_roles(
    ports: tuple[InputPort, ...], settings: ModelSettings, kinds: Kinds, ask: Ask
) -> tuple[InputPort, ...]:
    """Give every input of a model of several kinds a role, by name, by form and by asking."""
    declared, guesser = read_declared(ports, settings), Guesser(kinds)
    _check_declared(declared, settings, kinds)
    taken = set(declared.values())
    free = [port for port in ports if port.name not in declared]
    trial = _Trial(ports, kinds, declared, settings.constants, ask)
    allowed = {pair for pair in product(range(len(free)), guesser.slots) if pair[1] not in taken}
    guesses = guesser.assign(free, allowed)
    if all(slot is not None for slot, _ in guesses):
        guesses = _ask_around(guesser, free, guesses, allowed, trial)
    known = dict(zip((port.name for port in free), guesses, strict=True))
    slots = {name: slot for name, (slot, _) in known.items() if slot is not None}
    for name, slot in declared.items() if len(slots) == len(free) else ():
        pairing = slot.role == "edges" and bool(slot.of)
        if pairing and not trial.passes(slots, name, slot) and trial.joins(slots, {}):
            raise ModelError(
                f"{settings.path}: model.roles gives {name!r} the role {slot}, but with such "
                "ties the model looks for nodes that are not there; correct model.roles"
            )
    return tuple(
        port.with_slot(declared[port.name], "declared in the settings", "declared")
        if port.name in declared
        else _explain(port, *known[port.name], trial)
        for port in ports
    )


def _explain(port: InputPort, slot: Slot | None, score: float, trial: "_Trial") -> InputPort:
    form = f"{port.dtype} of rank {len(port.shape)}"
    if slot is None:
        return replace(port, role=None, why=f"no role that is still free takes {form}")
    tested = trial.tested.get(port.name)
    if score >= NAMED:
        sure: Sureness = "certain" if tested != "failed" else "unsure"
        why = f"{form}, and the name" + ("; other pairings fail" if tested == "only" else "")
        return port.with_slot(slot, why, sure)
    if tested == "only":
        return port.with_slot(slot, f"{form}; other pairings fail when asked", "certain")
    return port.with_slot(slot, f"{form}; others would fit as well", "unsure")


def _ask_around(
    guesser: Guesser,
    free: list[InputPort],
    guesses: list[tuple[Slot | None, float]],
    allowed: set[tuple[int, Slot]],
    trial: "_Trial",
) -> list[tuple[Slot | None, float]]:
    """Guesses that pass when the model is asked; those that are given where nothing passes."""
    tables, pairs = (
        [k for k, (slot, _) in enumerate(guesses) if slot and slot.role == role]
        for role in ("features", "edges")
    )
    for order in _orders(guesser, free, tables):
        held = dict(zip(tables, order, strict=True))
        slots = {free[k].name: held.get(k, slot) for k, (slot, _) in enumerate(guesses) if slot}
        edges = {(k, slot) for k, slot in allowed if slot.role == "edges"}
        fits = {(k, s) for k, s in edges if k in pairs and trial.passes(slots, free[k].name, s)}
        kept = {(k, slot) for k, slot in allowed - edges if held.get(k, slot) == slot}
        again = guesser.assign(free, kept | fits)
        if all(slot is not None for slot, _ in again):
            for k in pairs:
                others = {slot for place, slot in fits if place == k}
                trial.tested[free[k].name] = "only" if len(others) == 1 else "passed"
            for k in tables:
                trial.tested[free[k].name] = "only" if pairs else "passed"
            return again
    trial.tested = dict.fromkeys((port.name for port in free), "failed")
    return guesses


def _orders(
    guesser: Guesser, free: list[InputPort], tables: list[int]
) -> Iterator[tuple[Slot, ...]]:
    """Ways to give inputs for features their kinds, the likeliest first."""
    slots = [slot for slot in guesser.slots if slot.role == "features"]
    ways = []
    for count, order in enumerate(permutations(slots, len(tables))):
        score = sum(guesser.score(free[k], s) for k, s in zip(tables, order, strict=True))
        if score > IMPOSSIBLE / 2:
            ways.append((-score, count, order))
    yield from (order for _, _, order in sorted(ways)[:MOST_ORDERS])


@dataclass
class _Trial:
    """Asks the model about small graphs, to see whether an input takes arcs between two kinds."""

    ports: tuple[InputPort, ...]
    kinds: Kinds
    declared: Mapping[str, Slot]
    constants: Mapping[str, object]
    answer: Ask
    tested: dict[str, str] = field(default_factory=dict)

    def passes(self, slots: Mapping[str, Slot], name: str, slot: Slot) -> bool:
        relation = self._relation(slot)
        ends = (relation.source, relation.target)
        return self.joins(slots, {name: ends[::-1] if slot.reverse else ends})

    def joins(self, slots: Mapping[str, Slot], last: Mapping[str, tuple[int, int]]) -> bool:
        """Whether the model answers when inputs have arcs between the last nodes of two kinds."""
        return all(answers is not None for _, answers in self.ask(slots, last))

    def ask(
        self, slots: Mapping[str, Slot], last: Mapping[str, tuple[int, int]]
    ) -> Iterator[tuple[list[int], list[NDArray[Any]] | None]]:
        """Numbers of nodes by kind, once ascending and once descending, and the answers."""
        sizes = [FIRST_SIZE + 2 * kind for kind in range(len(self.kinds.names))]
        for each in (sizes, sizes[::-1]):
            yield each, self.answer(self._feeds({**self.declared, **slots}, each, last))

    def _relation(self, slot: Slot) -> Relation:
        return next(r for r in self.kinds.relations if r.name == slot.of)

    def _feeds(
        self, slots: Mapping[str, Slot], sizes: list[int], last: Mapping[str, tuple[int, int]]
    ) -> dict[str, NDArray[Any]]:
        """Inputs for two arcs of each relation: from first nodes to the last, and back."""
        feeds = {}
        for port in self.ports:
            slot = slots[port.name]
            size = sizes[self.kinds.names.index(slot.of)] if slot.of in self.kinds.names else 0
            value: NDArray[Any]
            match slot.role:
                case "features":
                    width = np.diff(self.kinds.blocks[self.kinds.names.index(slot.of)])[0]
                    value = np.linspace(-1.0, 1.0, size * int(width)).reshape(size, -1)
                case "edges" | "edge_labels":
                    ends = last.get(port.name)
                    far = [0, 0] if ends is None else [sizes[end] - 1 for end in ends]
                    value = np.array([[0, far[0]], [far[1], 0]])  # loops would be masked
                    value = value.T if slot.role == "edges" and port.by_row else value
                case "edge_weight":
                    value = np.ones((2, *[1] * (len(port.shape) - 1)))
                case "edge_attributes":
                    value = np.ones((2, self._relation(slot).attributes))
                case "node_count":
                    value = np.array([size] if port.shape else size)
                case "constant":
                    value = fixed_value(port, self.constants)
                case _:
                    value = np.zeros(1 if port.shape else ())
            feeds[port.name] = np.asarray(value, dtype=port.dtype, order="C")
        return feeds


def invent_kinds(
    ports: tuple[InputPort, ...], settings: ModelSettings, ask: Ask, *, rows: int
) -> Kinds | None:
    """The kinds and relations that inputs are named after, for a model that comes without a graph.

    Which kinds a relation leads between is found out by asking, and so is who is decided on: the
    kind whose number of nodes is that of the rows of an output. Each kind gets so many `rows`.
    None if the model looks like one of a single kind, or does not answer. How many kinds a
    homogenised model knows does not show; all nodes are then of the first.
    """
    if any(port.integer and port.name.lower() == "node_type" for port in ports):
        sizes = [port.shape[-1] for port in ports if port.floating and len(port.shape) == 2]
        width = sizes[0] if sizes and isinstance(sizes[0], int) else 1
        starts = np.array([0, rows])
        return Kinds(names=("?",), starts=starts, blocks=((0, width),), codes=(0,))
    widths, slots = _name_inputs(ports)
    names, edges = [*widths], [port for port in ports if _is_forward(slots.get(port.name))]
    if settings.roles or len(names) < 2 or not edges:
        return None
    bounds = np.cumsum([0, *widths.values()]).tolist()
    told = {slot.of: p for p in ports if (slot := slots.get(p.name)) and slot.role == CARRIED}
    relations = [
        Relation(name=name, source=0, target=0, attributes=_width(told.get(name)))
        for name in (slots[port.name].of for port in edges)
    ]
    kinds = Kinds(
        names=tuple(names),
        starts=rows * np.arange(len(names) + 1),
        blocks=tuple(pairwise(bounds)),
        relations=tuple(relations),
    )
    declared = dict.fromkeys(settings.constants, Slot("constant"))
    slots |= {port.name: Slot("target") for port in ports if port.name not in {*slots, *declared}}
    trial = _Trial(ports, kinds, declared, settings.constants, ask)
    ends = {
        slots[port.name].of: between
        for port in edges
        for between in product(range(len(names)), range(len(names)))
        if trial.joins(slots, {port.name: between})
    }
    if len(ends) < len(relations):
        return None
    relations = [replace(r, source=ends[r.name][0], target=ends[r.name][1]) for r in relations]
    asked = [
        (sizes, [len(table) for table in answers or ()]) for sizes, answers in trial.ask(slots, {})
    ]
    decided = [k for k in range(len(names)) if all(sizes[k] in lengths for sizes, lengths in asked)]
    order = sorted(range(len(names)), key=lambda kind: (kind not in decided[:1], kind))
    return replace(
        kinds,
        names=tuple(names[k] for k in order),
        blocks=tuple(kinds.blocks[k] for k in order),
        relations=tuple(
            replace(r, source=order.index(r.source), target=order.index(r.target))
            for r in relations
        ),
    )


def _name_inputs(ports: Sequence[InputPort]) -> tuple[dict[str, int], dict[str, Slot]]:
    """The widths of kinds by name, and the slots of inputs, as far as their names say."""
    widths: dict[str, int] = {}
    slots: dict[str, Slot] = {}
    for port in ports:
        words, shape = tokens_of(port.name), port.shape
        tied = bool({"edge", "edges", "attr", "weight"} & {*words})
        name = "_".join(word for word in words if word not in FEATURE_WORDS | TIE_WORDS | COUNTING)
        if port.floating and len(shape) == 2 and isinstance(shape[1], int) and not tied:
            widths[name or port.name] = shape[1]
            slots[port.name] = Slot("features", name or port.name)
        elif port.integer and len(shape) <= 1 and COUNTING & {*words} and name:
            widths.setdefault(name, 0)
            slots[port.name] = Slot("node_count", name)
    for port in ports:
        words = [word for word in tokens_of(port.name) if word not in TIE_WORDS]
        plain = [word for word in words if word not in REVERSING | WEIGHING | CARRYING]
        name, reverse = "_".join(plain) or port.name, len(plain) < len(words)
        if port.integer and len(port.shape) == 2 and 2 in port.shape:
            slots[port.name] = Slot("edges", name, reverse and bool(REVERSING & {*words}))
        elif port.floating and port.name not in slots:
            role: Role = CARRIED if len(port.shape) == 2 else "edge_weight"
            slots[port.name] = Slot(role, name)
    own = {slot.of for slot in slots.values() if _is_forward(slot)}
    for port_name, slot in slots.items():
        if slot.role == "edges" and slot.reverse and slot.of not in own:
            slots[port_name] = Slot("edges", slot.of)
    return widths, slots


def _is_forward(slot: Slot | None) -> bool:
    return slot is not None and slot.role == "edges" and not slot.reverse


def _width(port: InputPort | None) -> int:
    return port.shape[1] if port is not None and isinstance(port.shape[1], int) else 0


def _check_declared(declared: Mapping[str, Slot], settings: ModelSettings, kinds: Kinds) -> None:
    for name, slot in declared.items():
        where = f"{settings.path}: model.roles gives {name!r} the role {slot}"
        relation = next((r for r in kinds.relations if r.name == slot.of), None)
        if slot.of and slot.of not in kinds.names and relation is None:
            known = (*kinds.names, *(r.name for r in kinds.relations))
            hint = near_matches(slot.of, known)
            raise ModelError(f"{where}, and there is no {slot.of!r}; {hint}")
        if slot.reverse and relation is not None and not relation.directed:
            raise ModelError(
                f"{where}, but ties of {slot.of} have no direction, so that both arcs are in "
                f"edges:{slot.of}; correct model.roles, or set directed = true there"
            )
        if slot.role == "constant" and name not in settings.constants:
            raise ModelError(f"{where}; say its value in [model.constants]: {name} = …")
