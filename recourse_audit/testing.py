"""A model made of a Python function, and the samples, for tests of code that builds on this.

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

from recourse_audit.errors import InputError, ModelError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings

Answer = Callable[[Floats, Ints], Floats]
PACKAGE = Path(__file__).parent


def find_sample(name: str) -> Path:
    """The folder of a sample: "lending", "lending_deployed" or "hiring".

    Examples
    --------
    >>> from recourse_audit.testing import find_sample
    >>> sorted(path.name for path in find_sample("hiring").glob("*.toml"))
    ['audit.toml', 'rgcn.toml']
    """
    # Inside an installed package, or beside it in a checkout.
    folders = (PACKAGE / "_data" / "sample_models", PACKAGE.parent / "sample_models")
    for folder in folders:
        if (folder / name / "audit.toml").is_file():
            return folder / name
    raise InputError(
        f"there is no sample {name!r} here; choose lending, lending_deployed or hiring, and if it "
        "is one of them, install this program again"
    )


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
    It explains, tries changes and is inspected like any model. `Audit.run` refuses it, since
    every worker opens the model as a file.

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
        self._runtime = _Runtime(answer, features, classes, name)
        super().__init__(ModelSettings(path=Path(name)))
        self.digests = {name: hashlib.sha256(name.encode()).hexdigest()}

    def _open(self, *, keeps_memory: bool = True) -> "_Runtime":
        return self._runtime


class _Runtime:
    """What `OnnxModel` needs of a session of the runtime."""

    def __init__(self, answer: Answer, features: int, classes: int, name: str) -> None:
        self._answer, self._classes, self._name = answer, classes, name
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
        answer = np.asarray(self._answer(feeds["x"].astype(np.float64), feeds["edge_index"]))
        if answer.shape != (shape := (len(feeds["x"]), self._classes)):
            raise ModelError(
                f"{self._name}: must return logits of shape {shape}, one row per node and one "
                f"column per class (got {answer.shape})"
            )
        return [answer.astype(np.float32) for _ in names]
