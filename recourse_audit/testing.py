"""A model made of a Python function, for tests of code that builds on this package.

The sealed model is a seam: everything else asks `OnnxModel`, and nothing looks inside the file. A
`FunctionModel` puts a function where the runtime would be. Roles, probes, limits and batches of
queries stay what they are, so what a test sees is what a file with the same answers would give.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings

Answer = Callable[[Floats, Ints], Floats]


class FunctionModel(OnnxModel):
    """A model that answers by a function of features and ties, for `Audit(model=...)`.

    Parameters
    ----------
    answer
        Takes the features, a row per node, and the arcs, their sources above their targets, and
        returns a row of logits per node. It must not depend on the order of nodes or arcs, and a
        node's row only on what is tied to it; the probes find out.
    features, classes
        How many columns the features and the answers have.
    name
        What messages call the model.

    Notes
    -----
    It explains, tries changes and is inspected like any model. `Audit.run` opens files by their
    digests in worker processes, so it refuses a model that is no file.

    Examples
    --------
    >>> import numpy as np
    >>> from recourse_audit import Audit, from_arrays
    >>> from recourse_audit.testing import FunctionModel
    >>> def answer(x, arcs):
    ...     heard = x[:, 0].copy()
    ...     np.add.at(heard, arcs[1], x[arcs[0], 0])
    ...     return np.stack([-heard, heard], axis=1)
    >>> decision = {"classes": ["no", "yes"], "favourable": ["yes"]}
    >>> graph = from_arrays(np.array([[-1.0], [2.0], [0.5]]), np.array([[0, 1], [1, 2]]))
    >>> audit = Audit(
    ...     settings={"model": {"path": "function"}, "decision": decision},
    ...     graph=graph,
    ...     model=FunctionModel(answer, features=1),
    ... )
    >>> audit.explain("0").subject.decision
    'yes'
    """

    def __init__(
        self, answer: Answer, *, features: int, classes: int = 2, name: str = "function"
    ) -> None:
        self._runtime = _Runtime(answer, features, classes)
        super().__init__(ModelSettings(path=Path(name)))
        self.digests = {name: hashlib.sha256(name.encode()).hexdigest()}

    def _open(self, *, keeps_memory: bool = True) -> "_Runtime":
        return self._runtime


class _Runtime:
    """What `OnnxModel` needs of a session of the runtime."""

    def __init__(self, answer: Answer, features: int, classes: int) -> None:
        self._answer = answer
        self._inputs = [
            SimpleNamespace(name="x", type="tensor(float)", shape=["nodes", features]),
            SimpleNamespace(name="edge_index", type="tensor(int64)", shape=[2, "arcs"]),
        ]
        self._outputs = [
            SimpleNamespace(name="logits", type="tensor(float)", shape=["nodes", classes])
        ]

    def get_inputs(self) -> list[SimpleNamespace]:
        return self._inputs

    def get_outputs(self) -> list[SimpleNamespace]:
        return self._outputs

    def run(
        self, names: Sequence[str], feeds: Mapping[str, NDArray[Any]], _options: object
    ) -> list[NDArray[Any]]:
        answer = self._answer(feeds["x"].astype(np.float64), feeds["edge_index"])
        return [np.asarray(answer, np.float32) for _ in names]
