"""
Can I audit a graph that is not in a file?
==========================================

Makes a graph from arrays as PyG has them, ``x`` and ``edge_index``, audits one person on it, and
draws what the decision rests on. The arrays are NumPy's here; PyG's tensors go in as they are, from
any device: ``ra.from_arrays(data.x, data.edge_index)``. Torch is not needed, neither to audit nor
here.
"""

import csv

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import recourse_audit as ra
from recourse_audit.testing import find_sample

SAMPLE = find_sample("lending")
NAMES = [
    "income",
    "debt_ratio",
    "savings",
    "years_employed",
    "late_payments",
    "loan_amount",
    "open_accounts",
]


def read(name: str) -> list[dict[str, str]]:
    with (SAMPLE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# %%
# ``x`` has one row per person, ``edge_index`` one column per direction of a tie. Each tie is listed
# both ways, as PyG does for an undirected graph, and is read once.

people, ties = read("nodes.csv"), read("edges.csv")
number = {person["id"]: row for row, person in enumerate(people)}
x = np.array([[float(person[name]) for name in NAMES] for person in people], dtype=np.float32)
one_way = np.array([[number[tie["source"]], number[tie["target"]]] for tie in ties]).T
edge_index = np.hstack([one_way, one_way[::-1]])
kinds = [tie["kind"] for tie in ties]
x.shape, edge_index.shape

# %%
# Kinds of ties, ids and attributes are optional. Without ids, people are called 0, 1, 2 and so on.

graph = ra.from_arrays(x, edge_index, feature_names=NAMES, kind=kinds * 2)
settings = {
    "model": {"path": str(SAMPLE / "gcn.onnx")},
    "decision": {"classes": ["denied", "approved"], "favourable": ["approved"]},
}
audit = ra.Audit(settings=settings, graph=graph)
audit

# %%
# Row 3 is the person whom the table calls P0004.

report = audit.explain(3)
report

# %%
# The first counterfactual is a small tree around the person, and the ties in it without which the
# model answers differently. Ties left out of the tree are not thereby without influence: the search
# looks for a small picture that tells much, not for everything that matters.

first = report.counterfactuals[0]
tree = nx.Graph(first.explanation.edges)
removed = [tie for tie in tree.edges if tie in first.removed or tie[::-1] in first.removed]
near = nx.Graph(tie.ends for tie in report.ego_network.ties if report.subject.id in tie.ends)
everything = nx.compose(near, tree)
places = nx.spring_layout(everything, seed=1)
me = report.subject.id

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
nx.draw_networkx_edges(everything, places, ax=axes, edge_color="0.85")
nx.draw_networkx_edges(tree, places, ax=axes, width=2)
nx.draw_networkx_edges(tree, places, edgelist=removed, ax=axes, width=3, edge_color="tab:red")
colours = [
    "tab:orange" if node == me else "tab:blue" if node in tree else "0.85" for node in everything
]
nx.draw_networkx_nodes(everything, places, ax=axes, node_color=colours, node_size=380)
nx.draw_networkx_labels(everything, places, ax=axes, font_size=8)
axes.set_axis_off()
plt.show()
print(f"probability of denial in the tree: {first.explanation.probabilities['denied']:.3f}")
print(f"without the red ties: {first.probabilities['denied']:.3f}")

# %%
# On the whole graph, with all other ties in place, removing the same ties may do more or less.

print(f"on the whole graph: {report.subject.probabilities['denied']:.3f}")
print(f"without the red ties: {first.whole_graph.probabilities['denied']:.3f}")

# %%
# Several kinds of nodes go in as dictionaries, or PyG's ``HeteroData`` as it is. This is the form:

hetero = ra.from_arrays(
    {"person": [[1.5], [2.0]], "employer": [[40.0, 3.0]]},
    {("person", "works_at", "employer"): [[0, 1], [0, 0]]},
    subject="person",
)
hetero
